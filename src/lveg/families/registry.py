"""Finds the available families and contexts: folders of lveg, and entry points `lveg.families` of other packages.

A package adds a family with an entry point of that group that refers to a `Kind`. Nothing slow is imported before a
family is used, so that `--help` is immediate.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from lveg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from lveg.families.family import Stored
    from lveg.options import Described, Options

ENTRY_POINTS = "lveg.families"


@dataclass(frozen=True)
class Kind:
    """The description of a family or context.

    name: its name for `--model` and in model files. task: parser or tagger; parser-context or tagger-context for
    contexts. summary: one line for `--help`. family, options, learning: where its class, its options class and its
    function `learn(data, options, run)` are, as "module:name"; no options and learning if it cannot be trained.
    is_layer: whether it adds contexts to another family. is_treebank: whether its parameters are the treebank's own
    probabilities; each task has one such family, which prunes for the others and is their fallback. is_default: whether
    it is the default model. is_partner: whether --ensemble trains it in addition to the default. has_base: whether it
    is trained on top of the family named by its option `base`; `learn` then gets, as its last argument, a function that
    trains the base from data in a run.
    """

    name: str
    task: str
    summary: str
    family: str
    options: str = ""
    learning: str = ""
    is_layer: bool = False
    is_treebank: bool = False
    is_default: bool = False
    is_partner: bool = False
    has_base: bool = False

    def load_family(self) -> type[Stored]:
        """Its class."""
        found: type[Stored] = _load(self.family)
        return found

    def load_options(self) -> type[Options]:
        """Its options class."""
        found: type[Options] = _load(self.options)
        return found

    def load_learning(self) -> Callable[..., Any]:
        """The function that trains it."""
        found: Callable[..., Any] = _load(self.learning)
        return found


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


@cache
def kinds(task: str) -> dict[str, Kind]:
    """All families of a task by name: the treebank's own first, then by name, then those of other packages."""
    import lveg.contexts
    import lveg.families

    found = [
        importlib.import_module(f"{home.__name__}.{module.name}").KIND
        for home in (lveg.families, lveg.contexts)
        for module in pkgutil.iter_modules(home.__path__)
        if module.ispkg
    ]
    found.sort(key=lambda kind: (not kind.is_treebank, kind.name))
    found += [point.load() for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)]
    result: dict[str, Kind] = {}
    for kind in found:
        if kind.task == task and result.setdefault(kind.name, kind) is not kind:
            raise UsageError(f"two packages offer a {task} family called {kind.name!r}: remove one of them")
    return result


def trainable(task: str) -> dict[str, Kind]:
    """The families of a task that can be trained."""
    return {name: kind for name, kind in kinds(task).items() if kind.learning and not kind.is_layer}


def find(task: str, name: str) -> Kind:
    """The family of a task with this name."""
    found = kinds(task).get(name)
    if found is None:
        raise UsageError(f"there is no {task} model {name!r}; there are {', '.join(trainable(task))}")
    return found


def find_trainable(task: str, name: str) -> Kind:
    """The family of a task with this name, if it can be trained."""
    kind = find(task, name)
    if not kind.learning or kind.is_layer:
        raise UsageError(f"a {task} of model {name} is not trained: {kind.summary}")
    return kind


def default_kind(task: str) -> Kind:
    """The default family of a task."""
    return next(kind for kind in kinds(task).values() if kind.is_default)


NO_CONTEXT = "none"


def trainable_contexts(task: str) -> dict[str, Kind]:
    """The contexts of a task that can be trained on top of any family."""
    return {name: kind for name, kind in kinds(f"{task}-context").items() if kind.learning}


def layers(task: str, names: str | None, model: str | None, given: Collection[str] = ()) -> list[Kind]:
    """What is trained on top of a family: nothing, or the family with contexts and the contexts with these names.

    names: separated by commas; None for those of the default model, and those of which an option is given. model: the
    name of the family, if given. given: names of options.
    """
    found = _chosen_contexts(task, names, model, given)
    return [*layer_kinds(task), *found] if found else []


def _chosen_contexts(task: str, names: str | None, model: str | None, given: Collection[str]) -> list[Kind]:
    known = trainable_contexts(task)
    if not known or names == NO_CONTEXT:
        return []
    if names is None:
        own = find(task, model).load_options() if model is not None else None
        rest = given if own is None else [name for name in given if not _has(own, name)]
        return [kind for kind in known.values() if (kind.is_default and model is None) or _is_meant(kind, rest)]
    chosen = names.split(",")
    for name in chosen:
        if name not in known or chosen.count(name) > 1:
            raise UsageError(f"--context {names!r}: expected {NO_CONTEXT}, or some of {', '.join(known)}")
    return [known[name] for name in chosen]


def _is_meant(kind: Kind, given: Collection[str]) -> bool:
    """Whether one of the given options is an option of this kind."""
    own = kind.load_options()
    return any(_has(own, name) for name in given)


def _has(options: type[Options], name: str) -> bool:
    from lveg.options import describe

    return any(item.name == name for item in describe(options))


def bases_of(task: str, kind: Kind, name: Any = None) -> list[Kind]:
    """The family that another one is trained on top of, with this name or the default one; empty if it needs none."""
    from lveg.options import describe

    if not kind.has_base:
        return []
    usual = next(item.default for item in describe(kind.load_options()) if item.name == "base")
    base = find_trainable(task, usual if name is None else str(name))
    if base.has_base:
        raise UsageError(f"--base {base.name}: a parser of model {base.name} needs a base itself")
    return [base]


def described(kinds: Iterable[Kind]) -> list[Described]:
    """The options of several kinds; if names clash, the first one is used."""
    from lveg.options import describe

    found = [item for kind in kinds for item in describe(kind.load_options())]
    return list({item.name: item for item in reversed(found)}.values())[::-1]


def partner_kinds(task: str, kind: Kind) -> list[Kind]:
    """The families that `--ensemble` trains in addition to a family."""
    return [other for other in kinds(task).values() if other.is_partner and other is not kind]


def layer_kinds(task: str) -> list[Kind]:
    """The families that add contexts to another; at most one for each task."""
    return [kind for kind in kinds(task).values() if kind.is_layer]


def treebank_kind(task: str) -> Kind:
    """The family of the treebank's own probabilities."""
    return next(kind for kind in kinds(task).values() if kind.is_treebank)
