"""The consistency of a model: its file, its probabilities, what its rules reach, and how it behaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from lveg._version import __version__
from lveg.checking.findings import Checked, Finding, counted, some
from lveg.container import read_whole, unpack
from lveg.errors import ModelError
from lveg.grammar.grammar import NONE, Floats, Grammar
from lveg.model import Model, Parser, Tagger
from lveg.model_io import Loaded, describe_model, model_fingerprint, model_of
from lveg.text.learned import LearnedTokeniser

CLOSE = 1e-6
"""Sums of probabilities may differ from one by this much."""

CHECKED = (
    "digest, everything that loading needs, finite parameters, sums of probabilities, symbols that can occur, analyses "
    "of sample sentences"
)


def check_model(path: str) -> Checked:
    """The consistency of the model in a file; an error if it cannot be loaded."""
    data = read_whole(path)
    facts: dict[str, Any] = {"file": path, "bytes": len(data)}
    try:
        model = model_of(data, path)
    except ModelError as error:
        meaning = "A model is used only if its digest matches and everything in it fits together."
        advice = "Copy it again from where it came from, or train it again."
        return Checked("model", facts, [Finding("error", str(error), meaning, advice)])
    _, arrays = unpack(data)
    facts |= {"fingerprint": model_fingerprint(model), "digest": "matches the contents"}
    facts |= {"size_by_part": _sizes(len(data), arrays), "contents": _described(model), "checked": CHECKED}
    findings = [*_finite(arrays), *_version(model)]
    analyser = model.tagger if isinstance(model, LearnedTokeniser) else model
    findings += check_grammar(analyser.grammar, analyser.weight, isinstance(analyser, Parser))
    findings += _behaviour(analyser)
    return Checked("model", facts, findings)


def _sizes(total: int, arrays: dict[str, Any]) -> dict[str, int]:
    """Bytes of each part of a file: arrays with a common prefix are one, and everything that is not an array."""
    sizes = Counter({"words, symbols and settings": total - sum(array.nbytes for array in arrays.values())})
    for name, array in arrays.items():
        prefix, _, _ = name.rpartition(".")
        sizes[prefix or "rules and their treebank probabilities"] += array.nbytes
    return dict(sizes.most_common())


def _described(model: Loaded) -> dict[str, Any]:
    """The description that `lveg info` shows, without how the model was trained."""
    facts = describe_model(model)
    return {name: value for name, value in facts.items() if name not in model.info and not isinstance(value, dict)}


def _finite(arrays: dict[str, Any]) -> Iterator[Finding]:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            yield Finding(
                "error",
                f"{counted(int((~np.isfinite(array)).sum()), 'parameter')} of {name} not finite",
                "Training overflowed.",
                "Train again with a lower learning rate.",
            )


def _version(model: Loaded) -> Iterator[Finding]:
    version = model.info.get("lveg")
    if version is not None and version != __version__:
        yield Finding(
            "note",
            f"Trained by lveg {version}; this is lveg {__version__}",
            "The file format is the same, so it works; scores may differ in details.",
            "No action is needed.",
        )


def check_grammar(grammar: Grammar, weight: Floats, is_parser: bool) -> Iterator[Finding]:
    """Whether treebank probabilities sum to one, and every symbol and rule can occur in a tree."""
    sums = _sums(grammar, weight, is_parser)
    wrong = {name: total for name, total in sums.items() if abs(total - 1.0) > CLOSE}
    if wrong:
        worst = sorted(wrong.items(), key=lambda pair: -abs(pair[1] - 1.0))
        yield Finding(
            "error",
            f"{counted(len(wrong), 'symbol')} whose rule probabilities do not sum to one",
            "Probabilities of sentences and trees are wrong.",
            "Train the model again.",
            some([f"{name}: {total:.6g}" for name, total in worst]),
        )
    reached, productive = _reached(grammar, weight), _productive(grammar, weight)
    for is_fine, what, meaning in (
        (reached, "out of reach of ROOT", "They never occur in a tree: they only take space and time."),
        (productive, "without words below", "They never occur in a tree, and neither do rules with them."),
    ):
        names = [grammar.symbols[symbol].name for symbol in np.flatnonzero(~is_fine)]
        if names:
            yield Finding(
                "warning", f"{counted(len(names), 'symbol')} {what}", meaning, "Train the model again.", some(names)
            )
    never = np.flatnonzero(weight == 0.0)
    if never.size:
        yield Finding(
            "note",
            f"{counted(int(never.size), 'rule')} with probability 0",
            "They are never used.",
            "No action is needed.",
            some([grammar.describe_rule(int(rule)) for rule in never]),
        )


def _sums(grammar: Grammar, weight: Floats, is_parser: bool) -> dict[str, float]:
    """The sum of the probabilities of each symbol's rules, and of ROOT's.

    In a parser, a unary step is followed by none (docs/math.md: unary), so that its weight has been divided by the
    probability that its child takes none.
    """
    n_symbols = len(grammar.symbols)
    names = [symbol.name for symbol in grammar.symbols]
    lhs = grammar.rule_lhs

    def summed(kind: str, values: Floats) -> Floats:
        part = grammar.kind_slice(kind)
        return np.bincount(lhs[part], weights=values[part], minlength=n_symbols).astype(np.float64)

    stay = summed("binary", weight)
    tags = slice(grammar.n_nonterminals, n_symbols)
    below = np.ones(grammar.n_rules)
    if is_parser:
        unary = grammar.kind_slice("unary")
        child = np.where(np.arange(n_symbols) < grammar.n_nonterminals, stay, 1.0)
        below[unary] = child[grammar.rule_left[unary]]
    inner = stay + summed("unary", weight * below)
    found = dict(zip(names[: grammar.n_nonterminals], inner[: grammar.n_nonterminals].tolist(), strict=True))
    found |= dict(
        zip((f"{name} (words)" for name in names[tags]), summed("lexical", weight)[tags].tolist(), strict=True)
    )
    return found | {"ROOT": float(weight[grammar.kind_slice("root")].sum())}


def _reached(grammar: Grammar, weight: Floats) -> np.ndarray:
    """Whether each symbol can be reached from ROOT."""
    found = np.zeros(len(grammar.symbols), dtype=bool)
    rules = np.flatnonzero(weight[: grammar.lexical_start] > 0.0)
    lhs, children = grammar.rule_lhs[rules], (grammar.rule_left[rules], grammar.rule_right[rules])
    active = lhs == NONE
    while True:
        before = found.sum()
        for child in children:
            found[child[active & (child != NONE)]] = True
        if found.sum() == before:
            return found
        active = (lhs == NONE) | found[lhs]


def _productive(grammar: Grammar, weight: Floats) -> np.ndarray:
    """Whether each symbol can become words."""
    found = np.zeros(len(grammar.symbols), dtype=bool)
    lexical = grammar.kind_slice("lexical")
    found[grammar.rule_lhs[lexical][weight[lexical] > 0.0]] = True
    rules = np.flatnonzero(weight[: grammar.root_start] > 0.0)
    lhs, left, right = grammar.rule_lhs[rules], grammar.rule_left[rules], grammar.rule_right[rules]
    while True:
        before = found.sum()
        found[lhs[found[left] & ((right == NONE) | found[right])]] = True
        if found.sum() == before:
            return found


def _behaviour(model: Model) -> Iterator[Finding]:
    """Whether the model analyses a few sentences, of frequent and of unknown words, with sound probabilities."""
    problems = []
    for words in _probes(model.grammar):
        trouble = _trouble(model, words)
        if trouble:
            problems.append(f"{' '.join(words)}: {trouble}")
    if problems:
        yield Finding(
            "error",
            "Analyses of simple sentences are not sound",
            "The parameters do not fit together, or are extreme.",
            "Train the model again.",
            problems,
        )


def _probes(grammar: Grammar) -> list[list[str]]:
    """Sentences to try: the most frequent words, one word, and words that are not known."""
    lexical = grammar.kind_slice("lexical")
    words = grammar.lexicon.words
    uses = np.bincount(grammar.rule_left[lexical], weights=grammar.count[lexical], minlength=len(words))[: len(words)]
    frequent = [words[index] for index in np.argsort(-uses, kind="stable")[:10]]
    return [probe for probe in (frequent, frequent[:1], ["Qxzzy", "qxzzed", "1234567", "\u20ac"]) if probe]


def _trouble(model: Model, words: list[str]) -> str | None:
    """What is wrong with the analysis of a sentence."""
    if isinstance(model, Tagger):
        tagging = model.tag(words, posteriors=True)
        log_prob, shares = tagging.log_prob, tagging.posteriors
        has_all = len(tagging.tags) == len(words)
    else:
        parse = model.parse(words, marginals=True)
        log_prob, shares = parse.trees[0].log_prob or 0.0, parse.posteriors
        has_all = len(parse.tree.words()) == len(words)
    if not has_all:
        return "words are missing"
    if not (np.isfinite(log_prob) and log_prob <= CLOSE):
        return f"its best analysis has the log probability {log_prob:g}"
    wrong = [sum(one.values()) for one in shares if abs(sum(one.values()) - 1.0) > 1e-3]
    return f"the probabilities of tags of a word sum to {wrong[0]:g}" if wrong else None
