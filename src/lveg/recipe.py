"""What is trained: a family with its options, bases, contexts and partners."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from lveg._version import __version__
from lveg.errors import UsageError
from lveg.families.forest import Judge
from lveg.families.registry import (
    NO_CONTEXT,
    Kind,
    bases_of,
    default_kind,
    described,
    find_trainable,
    layers,
    partner_kinds,
)
from lveg.grammar.grammar import Grammar, same_rules
from lveg.model import Parser
from lveg.model_io import load_model, model_fingerprint
from lveg.options import Options, describe
from lveg.task_options import ParserOptions, TaskOptions

Task = TypeVar("Task", bound=TaskOptions)


@dataclass(frozen=True)
class Recipe(Generic[Task]):
    """What is trained: a family with its options `own`, and the options of the task.

    bases: the base of the family, if it needs one. above: the layer that adds contexts, then the contexts. partners:
    families that are trained separately and combined with it. start: the model that training starts from.
    """

    kind: Kind
    task: Task
    own: Options
    bases: dict[Kind, Options]
    above: dict[Kind, Options]
    partners: Sequence[Kind] = ()
    start: Origin | None = None

    @property
    def groups(self) -> list[Options]:
        """The options of the base, the family and its contexts; of options with the same name, the last one counts."""
        return [*self.bases.values(), self.own, *self.above.values()]

    @property
    def is_gradual(self) -> bool:
        """Whether it is trained in epochs or cycles."""
        return not self.kind.is_treebank or bool(self.above or self.partners)

    def for_size(self, sentences: int, given: Collection[str]) -> Recipe[Task]:
        """A copy with values adapted to the number of training sentences, except for the options in `given`."""
        above = {item: chosen.for_size(sentences, given) for item, chosen in self.above.items()}
        follow = self.own.as_base if above else self.own.for_size
        task = self.task.for_size(sentences, given)
        bases = {item: chosen.for_size(sentences, given) for item, chosen in self.bases.items()}
        return replace(self, task=task, own=follow(sentences, given), bases=bases, above=above)

    def record(self, for_resume: bool = False) -> dict[str, Any]:
        """The values of all options of the family. for_resume: only those that must be the same to resume a run."""
        return {name: value for group in self.groups for name, value in group.record(for_resume).items()}

    @property
    def key(self) -> dict[str, Any]:
        """The values that must be the same for a run to resume from a checkpoint."""
        key = {"model": self.kind.name, "task": self.task.record(True), "options": self.record(True)}
        return key | ({"start": self.start.name} if self.start else {})

    def info(self, grammar: Grammar, sentences: int) -> dict[str, Any]:
        """What the model file records about training."""
        return {
            "lveg": __version__,
            "config": {"model": self.kind.name, **self.task.record(), **self.record()},
            "train_fingerprint": grammar.fingerprint,
            "train_sentences": sentences,
        }


def make_recipe(task: str, form: type[Task], model: str | None, given: dict[str, Any]) -> Recipe[Task]:
    """The recipe for the given keyword arguments."""
    kind = default_kind(task) if model is None else find_trainable(task, model)
    above = layers(task, given.get("context"), model, given)
    bases = bases_of(task, kind, given.get("base"))
    own = {item.name for item in described([kind])}
    known = own | {item.name for item in (*describe(form), *described([*bases, *above]))}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UsageError(f"{', '.join(unknown)}: not an option of a {task} of model {kind.name}")
    if task == "parser":
        given = given | {"context": ",".join(item.name for item in above[1:]) or NO_CONTEXT}
    rest = {name: value for name, value in given.items() if name not in own}
    task_options = form.take(given)
    chosen = {item: item.load_options().take(given) for item in (kind, *above)}
    below = {item: item.load_options().take(rest) for item in bases}
    is_ensemble = isinstance(task_options, ParserOptions) and task_options.ensemble
    partners = partner_kinds(task, kind) if is_ensemble else []
    if is_ensemble and not partners:
        raise UsageError(f"--ensemble has no partner for --model {kind.name}: leave --model out")
    options = chosen.pop(kind)
    return Recipe(kind, task_options, options, below, chosen, partners, _origin(options))


@dataclass(frozen=True)
class Origin:
    """A parser that training starts from. flag: the option that names its file. name: the parser's fingerprint."""

    parser: Parser
    path: str
    flag: str
    name: str

    def check(self, grammar: Grammar) -> Judge:
        """The family of the parser; raises UsageError if its rules are not those of this grammar."""
        if not same_rules(grammar, self.parser.grammar):
            raise UsageError(
                f"{self.path}: its rules differ from those of these trees; {self.flag} takes a parser trained on the "
                "same trees, with the same options for words and binarisation"
            )
        return self.parser.family


def _origin(own: Options) -> Origin | None:
    """The model to start from, if the options of a family name one."""
    for item in describe(type(own)):
        path = getattr(own, item.name)
        if item.is_model and path is not None:
            parser = load_model(path)
            if not isinstance(parser, Parser):
                raise UsageError(f"{path}: is a {parser.task}; {item.flag} takes a parser trained on the same trees")
            return Origin(parser, path, item.flag, model_fingerprint(parser))
    return None
