"""Models on disk: one file (see container), fully checked before it is used."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from typing import Any, cast

import msgspec
import numpy as np

from lveg._version import __version__
from lveg.container import FORMAT, digest_of, dump, read_whole, unpack, write
from lveg.errors import GrammarError, ModelError
from lveg.families.chain import Chains
from lveg.families.family import check_arrays
from lveg.families.forest import Judge
from lveg.families.registry import kinds
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import NONE, Floats, Grammar, Ints, check_labels, check_tables
from lveg.grammar.lexicon import Lexicon
from lveg.grammar.symbols import PART, PHRASE, TAG, Symbol
from lveg.grammar.unknown import SCHEMES, UNKNOWN
from lveg.model import Model, Parser, Tagger
from lveg.task_options import TAG_COLUMNS, TokeniserOptions
from lveg.text.expansions import Expansions
from lveg.text.learned import LearnedTokeniser
from lveg.trees import Cleaning, check_empty_elements

_ARRAYS = {
    "rule_lhs": (np.int32, 1),
    "rule_left": (np.int32, 1),
    "rule_right": (np.int32, 1),
    "count": (np.float64, 1),
    "weight": (np.float64, 1),
}
"""Type and number of axes of the arrays that every model has; the arrays of its family have a prefix."""

_FAMILY = "family."
_TOKENISER = "tokeniser."

Loaded = Model | LearnedTokeniser
"""What a model file can hold."""


class _Text(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a tokeniser has besides its chain; see `LearnedTokeniser`."""

    expansions: dict[str, list[str]]
    either: list[str]
    joins_spaces: bool
    seen_as: dict[str, str] = {}


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """Everything in a model file that is not an array; `facts` belong to the family.

    text: only for a tokeniser. tokeniser: the header of the one that a tagger has, if any.
    """

    format: int
    version: str
    task: str
    family: str
    facts: dict[str, Any]
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
    text: _Text | msgspec.UnsetType = msgspec.UNSET
    tokeniser: _Header | msgspec.UnsetType = msgspec.UNSET


def save_model(model: Loaded, path: str | os.PathLike[str]) -> None:
    """Write the model to a temporary file next to `path`, sync it and rename it: all of it is written, or nothing."""
    write(os.fspath(path), *_encode(model))


def model_bytes(model: Loaded) -> bytes:
    """The bytes that `save_model` writes; `model_of` reads them."""
    stream = io.BytesIO()
    dump(stream, *_encode(model))
    return stream.getvalue()


def model_fingerprint(model: Loaded) -> str:
    """A short hash of the model: models with the same hash have the same parameters and settings."""
    return digest_of(*_encode(model))[:16]


def _encode(model: Loaded) -> tuple[str, dict[str, Any]]:
    """(the header as JSON, the arrays) of a model."""
    header, arrays = _parts(model)
    text = msgspec.json.encode(header, order="deterministic").decode()
    return text, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _parts(model: Loaded) -> tuple[_Header, dict[str, Any]]:
    """(the header, the arrays) of a model."""
    if isinstance(model, LearnedTokeniser):
        header, arrays = _parts(model.tagger)
        expansions = {token: list(words) for token, words in model.expansions.lexicon.items()}
        either = sorted(model.expansions.either)
        text = _Text(expansions, either, model.joins_spaces, dict(model.seen_as))
        header.task, header.column, header.text = model.task, None, text
        return header, arrays
    grammar = model.grammar
    header = _Header(
        format=FORMAT,
        version=__version__,
        task=model.task,
        family=model.family.name,
        facts=model.family.facts(),
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
    )
    arrays = {name: getattr(grammar, name) for name in _ARRAYS if name != "weight"} | {"weight": model.weight}
    arrays |= {_FAMILY + name: array for name, array in model.family.arrays().items()}
    if isinstance(model, Tagger) and isinstance(model.tokeniser, LearnedTokeniser):
        header.tokeniser, inner = _parts(model.tokeniser)
        arrays |= {_TOKENISER + name: array for name, array in inner.items()}
    return header, arrays


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a model file, even if it is truncated: with eight bytes, and then a JSON object."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        start = stream.read(40)
    is_whole = int.from_bytes(start[:8], "little") < os.path.getsize(path)
    return start[8:9] == b"{" and (is_whole or b'"__metadata__"' in start)


def load_model(path: str | os.PathLike[str]) -> Loaded:
    """The model in a file, checked; raises ModelError if the file is not a complete model file."""
    return model_of(read_whole(os.fspath(path)), os.fspath(path))


def load_analyser(path: str | os.PathLike[str]) -> Model:
    """The parser or tagger in a file; raises ModelError for anything else."""
    return analyser_of(read_whole(os.fspath(path)), os.fspath(path))


def analyser_of(data: bytes, name: str) -> Model:
    """The parser or tagger in the bytes of a file; errors begin with the name."""
    model = model_of(data, name)
    if isinstance(model, LearnedTokeniser):
        raise ModelError(f"{name}: is a tokeniser; a parser or a tagger is needed here")
    return model


def model_of(data: bytes, name: str) -> Loaded:
    """The model in the bytes of a file, checked; errors begin with the name."""
    try:
        return _decode(data)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None


def _decode(data: bytes) -> Loaded:
    text, arrays = unpack(data)
    try:
        header = msgspec.json.decode(text, type=_Header)
        return _model(header, arrays)
    except (msgspec.MsgspecError, GrammarError, RecursionError, OverflowError) as error:
        raise ModelError(f"is damaged: {error}") from None


def _model(header: _Header, arrays: dict[str, Any]) -> Loaded:
    if header.task == "tagger" and header.tokeniser is not msgspec.UNSET:
        inner = {name.removeprefix(_TOKENISER): arrays[name] for name in arrays if name.startswith(_TOKENISER)}
        outer = {name: array for name, array in arrays.items() if not name.startswith(_TOKENISER)}
        tokeniser = _model(header.tokeniser, inner)
        header.tokeniser = msgspec.UNSET
        tagger = _model(header, outer)
        if not (isinstance(tokeniser, LearnedTokeniser) and isinstance(tagger, Tagger)):
            raise ModelError("is damaged: what it has as a tokeniser is something else")
        return replace(tagger, tokeniser=tokeniser)
    own = {name: array for name, array in arrays.items() if not name.startswith(_FAMILY)}
    check_arrays(own, _ARRAYS)
    weight = arrays["weight"]
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ModelError("is damaged: a rule weight is not a number")
    grammar = Grammar(
        symbols=tuple(header.symbols),
        n_nonterminals=header.n_nonterminals,
        rule_lhs=arrays["rule_lhs"],
        rule_left=arrays["rule_left"],
        rule_right=arrays["rule_right"],
        n_binary=header.n_binary,
        n_unary=header.n_unary,
        n_root=header.n_root,
        paths=tuple(tuple(path) for path in header.paths),
        count=arrays["count"],
        lexicon=Lexicon(header.scheme, tuple(header.words), tuple(header.classes)),
        fingerprint=header.fingerprint,
    )
    if weight.shape != (grammar.n_rules,):
        raise ModelError("is damaged: there is not one weight per rule")
    _check_lexicon(grammar)
    _check_rules(grammar)
    check_labels(grammar, in_brackets=header.task == "parser")
    kind = kinds(header.task).get(header.family) if header.task in ("parser", "tagger", "tokeniser") else None
    if kind is None:
        name = repr(f"{header.task[:40]} of model {header.family[:40]}")[1:-1]  # on one line, whatever it is
        raise ModelError(f"holds a {name}, which is not installed here")
    if header.task == "parser":
        check_tables(grammar)
    else:
        _check_tag_grammar(grammar)
        _check_probabilities(grammar, weight)
    learned = {name.removeprefix(_FAMILY): array for name, array in arrays.items() if name not in own}
    family = kind.load_family().restore(grammar, weight, learned, header.facts)
    is_bare = not (header.cleaning or header.binarisation) and header.tokeniser is msgspec.UNSET
    has_text = header.text is not msgspec.UNSET
    if header.task == "parser" and header.cleaning and header.binarisation and header.column is None and not has_text:
        _check_pattern(header.cleaning.empty_elements)
        return Parser(grammar, weight, header.cleaning, header.binarisation, header.info, cast(Judge, family))
    if header.task == "tagger" and header.column in TAG_COLUMNS and is_bare and not has_text:
        return Tagger(grammar, weight, header.column, header.info, cast(Chains, family))
    if header.task == "tokeniser" and header.column is None and is_bare and header.text is not msgspec.UNSET:
        tagger = Tagger(grammar, weight, TokeniserOptions.column, header.info, cast(Chains, family))
        return _tokeniser(tagger, header.text)
    raise ModelError(f"is damaged: it lacks what a {header.task} has, or has more")


def _tokeniser(tagger: Tagger, text: _Text) -> LearnedTokeniser:
    """A tokeniser; its expansions must have at least two words each, and its tags must be labels of characters."""
    if not all(token and len(words) > 1 and all(words) for token, words in text.expansions.items()):
        raise ModelError("is damaged: a multiword token has fewer than two words")
    if not all(len(one) == len(other) == 1 and " " not in one + other for one, other in text.seen_as.items()):
        raise ModelError("is damaged: what stands in for a character is not a character")
    lexicon = {token: tuple(words) for token, words in text.expansions.items()}
    return LearnedTokeniser(tagger, Expansions(lexicon, frozenset(text.either)), text.joins_spaces, text.seen_as)


def _check_lexicon(grammar: Grammar) -> None:
    """Every word must have a terminal, and every terminal a tag."""
    lexicon = grammar.lexicon
    if lexicon.scheme not in SCHEMES or UNKNOWN not in lexicon.classes:
        raise ModelError(f"is damaged: no unknown-word classes of scheme {lexicon.scheme!r}")
    if len(lexicon.word_ids) + len(lexicon.class_ids) != lexicon.n_terminals:
        raise ModelError("is damaged: a word occurs twice in its lexicon")
    if np.unique(grammar.rule_left[grammar.kind_slice("lexical")]).size != lexicon.n_terminals:
        raise ModelError("is damaged: a word has no tag")


def _check_rules(grammar: Grammar) -> None:
    """Symbols and rules must be in the order that charts rely on, each only once, and every symbol in some rule."""
    if not all(
        symbol.kind in ((PHRASE, PART) if index < grammar.n_nonterminals else (TAG,))
        for index, symbol in enumerate(grammar.symbols)
    ):
        raise ModelError("is damaged: a symbol is of the wrong kind")
    if grammar.is_part[grammar.rule_left[grammar.kind_slice("root")]].any():
        raise ModelError("is damaged: a part of a phrase is a whole tree")
    size, columns = max(len(grammar.symbols), grammar.lexicon.n_terminals) + 1, _columns(grammar)
    for kind in ("binary", "unary", "root", "lexical"):
        lhs, left, right = (column[grammar.kind_slice(kind)].astype(np.int64) for column in columns)
        step = np.diff((lhs * size + left) * size + right)
        if (step < 0).any():
            raise ModelError("is damaged: its rules are not in order")
        again = np.flatnonzero(step == 0)
        if again.size and (kind != "unary" or any(grammar.paths[at] == grammar.paths[at + 1] for at in again)):
            raise ModelError("is damaged: a rule occurs twice")
    inner = [column[: grammar.lexical_start] for column in columns]
    used = np.unique(np.concatenate([*inner, columns[0][grammar.lexical_start :], [NONE]]))
    if used.size != len(grammar.symbols) + 1 or len(grammar.symbol_ids) != len(grammar.symbols):
        raise ModelError("is damaged: a symbol occurs twice, or in no rule")


def _columns(grammar: Grammar) -> tuple[Ints, Ints, Ints]:
    """Left-hand sides, left and right children of all rules."""
    return grammar.rule_lhs, grammar.rule_left, grammar.rule_right


def _check_tag_grammar(grammar: Grammar) -> None:
    """Families identify a transition by its number: rule t * n_tags + u is `t^ -> t u^`, then come ends and starts."""
    n = len(grammar.tags)
    states = np.arange(n)
    expected = (
        [*np.repeat(states, n), *states, *np.full(n, NONE)],
        [*np.repeat(states + n, n), *(states + n), *states],
        [*np.tile(states, n), *np.full(2 * n, NONE)],
    )
    found = (column[: grammar.lexical_start] for column in _columns(grammar))
    if (grammar.n_binary, grammar.n_unary, grammar.n_root) != (n * n, n, n) or not all(
        np.array_equal(a, b) for a, b in zip(expected, found, strict=True)
    ):
        raise ModelError("is damaged: its rules are not those of a tagger")


def _check_probabilities(grammar: Grammar, weight: Floats) -> None:
    """A tagger's transitions, starts and emissions must be nonzero probabilities, so that any word has a tag."""
    for kind in (slice(0, grammar.root_start), grammar.kind_slice("root"), grammar.kind_slice("lexical")):
        lhs = grammar.rule_lhs[kind] + 1  # ROOT is -1
        sums = np.bincount(lhs, weights=np.minimum(weight[kind], 2.0))[np.unique(lhs)]
        if (weight[kind] <= 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
            raise ModelError("is damaged: its probabilities do not sum to one")


def _check_pattern(pattern: str) -> None:
    try:
        check_empty_elements(pattern)
    except ValueError as error:
        raise ModelError(f"is damaged: the pattern {pattern[:60]!r}: {error}") from None


def describe_model(model: Loaded) -> dict[str, Any]:
    """A description of a model, as `lveg info` shows it."""
    if isinstance(model, LearnedTokeniser):
        return {
            "task": model.task,
            "model": model.tagger.family.name,
            "labels": len(model.tagger.grammar.tags),
            **model.tagger.family.describe(),
            "multiword_tokens": len(model.expansions.lexicon),
            **model.info,
        }
    grammar = model.grammar
    facts = {
        "task": model.task,
        "model": model.family.name,
        "tags": len(grammar.tags),
        "nonterminals": grammar.n_nonterminals,
        "binary_rules": grammar.n_binary,
        "unary_rules": grammar.n_unary,
        "lexical_rules": grammar.n_rules - grammar.lexical_start,
        **model.family.describe(),
        "known_words": len(grammar.lexicon.words),
        "unknown_scheme": grammar.lexicon.scheme,
        "unknown_classes": len(grammar.lexicon.classes),
        **model.info,
    }
    if isinstance(model, Tagger) and isinstance(model.tokeniser, LearnedTokeniser):
        facts["tokeniser"] = describe_model(model.tokeniser)
    return facts
