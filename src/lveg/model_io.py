"""Models on disk: one file (see container), checked in every part before it is used."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np

from lveg._version import __version__
from lveg.container import FORMAT, digest_of, pack, read_whole, unpack, write_whole
from lveg.errors import GrammarError, ModelError
from lveg.families.gm import Gm, columns_of
from lveg.families.tag_forms import TagForms, of_steps
from lveg.families.tag_gm import TagGm
from lveg.families.tag_lvg import TagLvg
from lveg.families.tags import TagFamily, tag_table
from lveg.grammar.binarise import Binarisation
from lveg.grammar.forms import Forms
from lveg.grammar.grammar import NONE, Floats, Grammar
from lveg.grammar.lexicon import Lexicon
from lveg.grammar.symbols import PART, PHRASE, TAG, Symbol
from lveg.grammar.unknown import SCHEMES, UNKNOWN
from lveg.model import Model, Parser, Tagger
from lveg.trees import Cleaning

_GM = "gm."
_TENSORS = {
    "rule_lhs": (np.int32, 1),
    "rule_left": (np.int32, 1),
    "rule_right": (np.int32, 1),
    "count": (np.float64, 1),
    "weight": (np.float64, 1),
}
_GM_TENSORS = {
    "ptr": (np.int32, 1),
    "log_weight": (np.float64, 1),
    "mean": (np.float64, 2),
    "log_std": (np.float64, 2),
}
"""Type and number of axes of each array; those of a Gaussian mixture grammar have the prefix `gm.`."""


_TAGGERS = ("forms", "hmm", "lvg", "gm")
_LATENT, _FORMS = "latent", "forms"
_LATENT_TENSORS = {_LATENT: (np.float64, 1)}
"""The parameters of a tagger with latent subtypes, in one vector."""
_FORMS_TENSORS = _LATENT_TENSORS | {_FORMS: (np.int8, 2)}
"""The same of one that sees the forms of words, whose weights are a byte each."""


class _Latent(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of a tagger's latent family: subtypes for lvg, the others for gm."""

    subtypes: int = 0
    components: int = 0
    dim: int = 0
    covariance: str = ""


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """Everything in a model file that is not an array."""

    format: int
    version: str
    kind: str
    family: str
    symbols: list[Symbol]
    n_nonterminals: int
    n_binary: int
    n_unary: int
    n_root: int
    paths: list[list[str]]
    scheme: str
    words: list[str]
    classes: list[str]
    fingerprint: str
    info: dict[str, Any]
    cleaning: Cleaning | None = None
    binarisation: Binarisation | None = None
    column: str | None = None
    latent: _Latent | None = None
    forms: list[str] = []


def save_model(model: Model, path: str) -> None:
    """Write the model to a temporary file beside `path`, sync it and rename it: the file is whole or not there."""
    write_whole(path, pack(*_encode(model)))


def model_fingerprint(model: Model) -> str:
    """A short name for the model: two models with the same name are the same in every number and setting."""
    return digest_of(*_encode(model))[:16]


def _encode(model: Model) -> tuple[str, dict[str, Any]]:
    """(the header as JSON, the arrays) of a model."""
    grammar = model.grammar
    header = _Header(
        format=FORMAT,
        version=__version__,
        kind=model.kind,
        family=model.family_name,
        symbols=list(grammar.symbols),
        n_nonterminals=grammar.n_nonterminals,
        n_binary=grammar.n_binary,
        n_unary=grammar.n_unary,
        n_root=grammar.n_root,
        paths=[list(path) for path in grammar.paths],
        scheme=grammar.lexicon.scheme,
        words=list(grammar.lexicon.words),
        classes=list(grammar.lexicon.classes),
        fingerprint=grammar.fingerprint,
        info=model.info,
        cleaning=model.cleaning if isinstance(model, Parser) else None,
        binarisation=model.binarisation if isinstance(model, Parser) else None,
        column=model.column if isinstance(model, Tagger) else None,
        latent=_latent_shape(model.latent) if isinstance(model, Tagger) else None,
        forms=list(_forms_of(model)),
    )
    tensors: dict[str, Any] = {
        "rule_lhs": grammar.rule_lhs,
        "rule_left": grammar.rule_left,
        "rule_right": grammar.rule_right,
        "count": grammar.count,
        "weight": np.ascontiguousarray(model.weight),
    }
    if isinstance(model, Parser) and model.gm is not None:
        tensors |= {_GM + name: np.ascontiguousarray(getattr(model.gm, name)) for name in _GM_TENSORS}
    if isinstance(model, Tagger) and isinstance(model.latent, TagForms):
        tensors[_LATENT] = np.ascontiguousarray(model.latent.value[: model.latent.cut])
        tensors[_FORMS] = model.latent.steps
    elif isinstance(model, Tagger) and model.latent is not None:
        tensors[_LATENT] = np.ascontiguousarray(model.latent.value)
    return msgspec.json.encode(header, order="deterministic").decode(), tensors


def _forms_of(model: Model) -> tuple[str, ...]:
    latent = model.latent if isinstance(model, Tagger) else None
    return latent.forms.names if isinstance(latent, TagForms) else ()


def _latent_shape(family: TagFamily | TagForms | None) -> _Latent | None:
    if isinstance(family, TagLvg | TagForms):
        return _Latent(subtypes=family.subtypes)
    if isinstance(family, TagGm):
        return _Latent(components=family.components, dim=family.dim, covariance=family.covariance)
    return None


def load_model(path: str) -> Model:
    """The model in a file, checked; a file that is no whole model of ours is a ModelError."""
    data = read_whole(path)
    try:
        return _decode(data)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def _decode(data: bytes) -> Model:
    text, tensors = unpack(data)
    form = {name: (array.dtype.type, array.ndim) for name, array in tensors.items()}
    of_parser = {_GM + name: kind for name, kind in _GM_TENSORS.items()}
    if form not in (_TENSORS, _TENSORS | of_parser, _TENSORS | _LATENT_TENSORS, _TENSORS | _FORMS_TENSORS):
        raise ModelError("is damaged: its arrays are not those of a model")
    try:
        header = msgspec.json.decode(text, type=_Header)
        return _model(header, tensors)
    except (msgspec.MsgspecError, GrammarError, RecursionError) as error:
        raise ModelError(f"is damaged: {error}") from None


def _model(header: _Header, tensors: dict[str, Any]) -> Model:
    weight = tensors["weight"]
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ModelError("is damaged: a rule weight is not a number")
    grammar = Grammar(
        symbols=tuple(header.symbols),
        n_nonterminals=header.n_nonterminals,
        rule_lhs=tensors["rule_lhs"],
        rule_left=tensors["rule_left"],
        rule_right=tensors["rule_right"],
        n_binary=header.n_binary,
        n_unary=header.n_unary,
        n_root=header.n_root,
        paths=tuple(tuple(path) for path in header.paths),
        count=tensors["count"],
        lexicon=Lexicon(header.scheme, tuple(header.words), tuple(header.classes)),
        fingerprint=header.fingerprint,
    )
    if weight.shape != (grammar.n_rules,):
        raise ModelError("is damaged: there is not one weight a rule")
    _check_lexicon(grammar)
    _check_rules(grammar)
    made = (header.kind, header.family)
    if header.kind == "parser" and (header.latent is not None or header.forms or _LATENT in tensors):
        raise ModelError("is damaged: a parser has the parts of a tagger")
    if header.kind == "tagger" and _GM + "ptr" in tensors:
        raise ModelError("is damaged: a tagger has the parts of a parser")
    if (
        made in (("parser", "pcfg"), ("parser", "gm"))
        and header.cleaning is not None
        and header.binarisation is not None
    ):
        _check_pattern(header.cleaning.empty_elements)
        gm = _gm(grammar, tensors) if header.family == "gm" else None
        return Parser(grammar, weight, header.cleaning, header.binarisation, header.info, gm)
    if header.kind == "tagger" and header.family in _TAGGERS and header.column in ("upos", "xpos"):
        _check_tag_grammar(grammar)
        _check_probabilities(grammar, weight)
        return Tagger(grammar, weight, header.column, header.info, _latent(grammar, header, tensors))
    raise ModelError(f"holds a {header.family} {header.kind}, which this version does not know")


def _gm(grammar: Grammar, tensors: dict[str, Any]) -> Gm:
    if _GM + "ptr" not in tensors:
        raise ModelError("is damaged: it lacks the arrays of a Gaussian mixture grammar")
    arrays = {name: tensors[_GM + name] for name in _GM_TENSORS}
    ptr = arrays["ptr"]
    if ptr.shape != (grammar.n_rules + 1,) or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise ModelError("is damaged: there are no components for each rule")
    *first, columns = columns_of(grammar, ptr)
    if arrays["mean"].shape[1] != columns:
        raise ModelError("is damaged: it does not have one mean a Gaussian")
    return Gm(first=np.array(first), **arrays)


def _latent(grammar: Grammar, header: _Header, tensors: dict[str, Any]) -> TagFamily | TagForms | None:
    """The latent family of a tagger; it checks its own numbers."""
    shape, value, steps = header.latent, tensors.get(_LATENT), tensors.get(_FORMS)
    is_forms = header.family == "forms"
    if is_forms != (steps is not None) or (header.forms and not is_forms):
        raise ModelError(f"is damaged: a tagger of model {header.family} does not go with its forms of words")
    if header.family == "hmm" and shape is None and value is None:
        return None
    if header.family == "hmm" or shape is None or value is None:
        raise ModelError(f"is damaged: its parts are not those of a tagger of model {header.family}")
    table, tags, n_emissions = tag_table(grammar), len(grammar.tags), grammar.n_rules - grammar.lexical_start
    if is_forms and shape == _Latent(subtypes=shape.subtypes):
        return of_steps(tags, shape.subtypes, Forms(tuple(header.forms)), value, steps)
    if header.family == "lvg" and shape == _Latent(subtypes=shape.subtypes):
        return TagLvg(table, tags, n_emissions, shape.subtypes, value)
    if header.family == "gm" and shape.subtypes == 0:
        return TagGm(table, tags, n_emissions, shape.components, shape.dim, shape.covariance, value)
    raise ModelError(f"is damaged: its latent shape is not that of a tagger of model {header.family}")


def _check_lexicon(grammar: Grammar) -> None:
    """Every word must find a terminal, and every terminal a tag."""
    lexicon = grammar.lexicon
    if lexicon.scheme not in SCHEMES or UNKNOWN not in lexicon.classes:
        raise ModelError(f"is damaged: no unknown-word classes of scheme {lexicon.scheme!r}")
    if len(lexicon.word_ids) + len(lexicon.class_ids) != lexicon.n_terminals:
        raise ModelError("is damaged: a word stands twice in its lexicon")
    if np.unique(grammar.rule_left[grammar.kind_slice("lexical")]).size != lexicon.n_terminals:
        raise ModelError("is damaged: a word has no tag")


def _check_rules(grammar: Grammar) -> None:
    """Symbols and rules must stand in the order that charts rely on."""
    if not all(
        symbol.kind in ((PHRASE, PART) if index < grammar.n_nonterminals else (TAG,))
        for index, symbol in enumerate(grammar.symbols)
    ):
        raise ModelError("is damaged: a symbol is of the wrong kind")
    size = max(len(grammar.symbols), grammar.lexicon.n_terminals) + 1
    for kind in ("binary", "unary", "root", "lexical"):
        part = grammar.kind_slice(kind)
        lhs, left, right = (a[part].astype(np.int64) for a in (grammar.rule_lhs, grammar.rule_left, grammar.rule_right))
        if (np.diff((lhs * size + left) * size + right) < 0).any():
            raise ModelError("is damaged: its rules are not in order")


def _check_tag_grammar(grammar: Grammar) -> None:
    """Families know a transition by its number: rule t * n_tags + u is `t^ -> t u^`, then come ends and starts."""
    n = len(grammar.tags)
    states = np.arange(n)
    expected = (
        [*np.repeat(states, n), *states, *np.full(n, NONE)],
        [*np.repeat(states + n, n), *(states + n), *states],
        [*np.tile(states, n), *np.full(2 * n, NONE)],
    )
    found = (array[: grammar.lexical_start] for array in (grammar.rule_lhs, grammar.rule_left, grammar.rule_right))
    if (grammar.n_binary, grammar.n_unary, grammar.n_root) != (n * n, n, n) or not all(
        np.array_equal(a, b) for a, b in zip(expected, found, strict=True)
    ):
        raise ModelError("is damaged: its rules are not those of a tagger")


def _check_probabilities(grammar: Grammar, weight: Floats) -> None:
    """A tagger's steps, starts and emissions must be probabilities, none of them zero: any word has a tag then."""
    for kind in (slice(0, grammar.root_start), grammar.kind_slice("root"), grammar.kind_slice("lexical")):
        lhs = grammar.rule_lhs[kind] + 1  # ROOT is -1
        sums = np.bincount(lhs, weights=np.minimum(weight[kind], 2.0))[np.unique(lhs)]
        if (weight[kind] <= 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
            raise ModelError("is damaged: its probabilities do not sum to one")


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise ModelError(f"is damaged: {pattern[:60]!r} is not a regular expression") from None


def _describe_latent(model: Model) -> dict[str, Any]:
    """The shape of a tagger's latent family, and how many parameters it has."""
    family = model.latent if isinstance(model, Tagger) else None
    shape = _latent_shape(family)
    if family is None or shape is None:
        return {}
    told = {name: value for name, value in msgspec.structs.asdict(shape).items() if value}
    return {**told, "parameters": len(family.value)}


def describe_model(model: Model) -> dict[str, Any]:
    """What there is to know of a model without using it."""
    grammar = model.grammar
    return {
        "kind": model.kind,
        "model": model.family_name,
        "tags": len(grammar.tags),
        "nonterminals": grammar.n_nonterminals,
        "binary_rules": grammar.n_binary,
        "unary_rules": grammar.n_unary,
        "lexical_rules": grammar.n_rules - grammar.lexical_start,
        **({"components": len(model.gm.log_weight)} if isinstance(model, Parser) and model.gm else {}),
        **_describe_latent(model),
        "known_words": len(grammar.lexicon.words),
        "unknown_scheme": grammar.lexicon.scheme,
        "unknown_classes": len(grammar.lexicon.classes),
        **model.info,
    }
