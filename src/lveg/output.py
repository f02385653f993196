"""Analyses as text: trees in brackets, JSON lines, CoNLL-U and tab-separated values."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from lveg.decoding.explain import Explanation
from lveg.drawing import draw_text
from lveg.forest.reasons import Part, Reason
from lveg.model import Parse, Tagging
from lveg.treebank.conllu import Sentence
from lveg.treebank.source import display_name
from lveg.treebank.text import Input
from lveg.trees import Tree

SHOWN_FROM = 0.001
"""Lowest probability of the tags that are listed for a word."""

SHOWN_REASONS, LISTED_REASONS = 3, 20
"""Number of reasons of a part that are listed individually, in text and in JSON."""

SHOWN_VALUE = 0.005
"""In text, parts and reasons with a smaller absolute value are left out: they would be printed as 0.00."""

SHOWN_WORDS = 5
"""Constituents with more words are shown by their first and last word."""


def parse_text(sentence: Input, parse: Parse, form: str, several: bool = False, name_file: bool = False) -> str:
    """The analysis as `brackets` or `jsonl`."""
    return parse_json(sentence, parse, several, name_file) if form == "jsonl" else parse_brackets(parse, several)


def parse_brackets(parse: Parse, several: bool = False) -> str:
    """The best tree on a line; with `several`, all trees, and an empty line after them."""
    if several:
        return "".join(f"{candidate.tree}\n" for candidate in parse.trees) + "\n"
    return f"{parse.tree}\n"


def parse_drawing(parse: Parse, width: int) -> str:
    """All trees drawn for a terminal of that width, each with its probability, and an empty line after each."""
    return "".join(
        draw_text(candidate.tree, width)
        + ("" if candidate.log_prob is None else f"\nprobability {math.exp(candidate.log_prob):.3g}")
        + "\n\n"
        for candidate in parse.trees
    )


def parse_json(sentence: Input, parse: Parse, several: bool = False, name_file: bool = False) -> str:
    """A JSON object on a line; with `several` it lists all `trees`, with `name_file` it names the `file`."""
    trees = [
        {
            "tree": str(candidate.tree),
            "score": None if candidate.log_prob is None else candidate.score,
            "log_prob": candidate.log_prob,
            "constituents": _constituents(candidate.tree, parse),
        }
        for candidate in parse.trees
    ]
    line = _origin(sentence, name_file)
    line |= {"words": sentence.words, "log_sentence": parse.log_sentence, "fallback": parse.fallback}
    line |= {"trees": trees} if several else trees[0]
    if parse.explanations:
        line |= {"explanations": [_explanation_facts(one) for one in parse.explanations]}
    return _json(line)


def parse_explanation(parse: Parse) -> str:
    """What supports the constituents of the best tree, least certain first, and an empty line at the end."""
    ordered = sorted(parse.explanations, key=lambda one: one.difference)
    return "".join(_explanation(parse, one) for one in ordered) + "\n"


def _explanation(parse: Parse, explanation: Explanation) -> str:
    heads = ", ".join(_head(parse.words, *span) for span in explanation.constituents)
    if explanation.rival is None:
        return f"{heads}\n  without any rival\n"
    lines = [heads, f"  {explanation.difference:+.2f} against {_changed(parse.tree, explanation.rival)}"]
    for part in explanation.parts:
        reasons = _weightiest(part, SHOWN_REASONS, SHOWN_VALUE)
        if reasons or abs(part.value) >= SHOWN_VALUE:
            lines.append(f"  {part.value:+.2f} {part.name}")
        for reason in reasons:
            lines.append(f"    {reason.value:+.2f} {'rival: ' if reason.count < 0 else ''}{reason.text}")
    return "\n".join(lines) + "\n"


def _head(words: list[str], label: str, start: int, end: int) -> str:
    """A constituent with its span and its words, or only its first and last word."""
    text = words[start:end] if end - start <= SHOWN_WORDS else [words[start], "...", words[end - 1]]
    return f'{label} {start}-{end} "{" ".join(text)}"'


def _changed(tree: Tree, rival: Tree) -> Tree:
    """The smallest part of the rival that contains every difference from the tree."""
    while True:
        pairs = list(zip(tree.children, rival.children, strict=False))
        others = [(one, other) for one, other in pairs if one != other]
        is_alike = tree.label == rival.label and len(tree.children) == len(rival.children)
        if not is_alike or len(others) != 1 or len(others[0][0].words()) != len(others[0][1].words()):
            return rival
        tree, rival = others[0]


def _weightiest(part: Part, most: int, least: float = 0.0) -> list[Reason]:
    """The first reasons with at least this absolute value, and the sum of the others if it is as large."""
    shown = [one for one in part.reasons[:most] if abs(one.value) >= least]
    others = part.reasons[len(shown) :]
    if len(others) == 1:
        return [*shown, *(one for one in others if abs(one.value) >= least)]
    rest = math.fsum(one.value for one in others)
    return [*shown, Reason(f"{len(others)} others", rest, 0)] if others and abs(rest) >= least else shown


def _explanation_facts(explanation: Explanation) -> dict[str, Any]:
    names = ("label", "start", "end")
    return {
        "constituents": [dict(zip(names, span, strict=True)) for span in explanation.constituents],
        "rival": None if explanation.rival is None else str(explanation.rival),
        "difference": None if explanation.rival is None else explanation.difference,
        "parts": [
            {"name": part.name, "value": part.value, "reasons": _weightiest(part, LISTED_REASONS)}
            for part in explanation.parts
        ],
    }


def _constituents(tree: Tree, parse: Parse) -> list[dict[str, Any]]:
    return [
        {
            "label": node.label,
            "start": start,
            "end": end,
            "probability": parse.constituents.get((node.label, start, end)),
        }
        for node, start, end in tree.spans()[1:]
        if node.word is None
    ]


def tags_text(
    sentence: Input, tagging: Tagging, form: str, column: str, several: bool = False, name_file: bool = False
) -> str:
    """The tags as `conllu`, `tsv` or `jsonl`; column: that of the tags in CoNLL-U."""
    if form == "jsonl":
        return tags_json(sentence, tagging, several, name_file)
    return tags_conllu(sentence, tagging, column) if form == "conllu" else tags_tsv(tagging)


def tags_json(sentence: Input, tagging: Tagging, several: bool = False, name_file: bool = False) -> str:
    """A JSON object on a line; with `several` it lists all `sequences`, with `name_file` it names the `file`."""
    sequences = [
        {
            "tags": sequence.tags,
            "probabilities": sequence.confidence,
            "score": sequence.score,
            "log_prob": sequence.log_prob,
        }
        for sequence in tagging.sequences
    ]
    line = _origin(sentence, name_file)
    line |= {"words": tagging.words, "log_sentence": tagging.log_sentence, "fallback": tagging.fallback}
    line |= {"sequences": sequences} if several else sequences[0]
    line |= {"posteriors": listed_tags(tagging.posteriors)} if tagging.posteriors else {}
    return _json(line)


def tags_conllu(sentence: Input, tagging: Tagging, column: str) -> str:
    """The sentence in CoNLL-U with its tags in the column, and their posteriors, if any, in MISC."""
    lines = sentence.sentence
    if lines is None:
        if not tagging.words:
            return ""
        rows = [f"{n}\t{_field(word)}" + "\t_" * 8 + "\n" for n, word in enumerate(tagging.words, start=1)]
        lines = Sentence(rows, range(len(rows)))
    tagged = lines.with_column(column, tagging.tags)
    if tagging.posteriors:
        tagged = tagged.with_misc("TagProb", [f"{share:.4f}" for share in tagging.confidence])
    return str(tagged)


def tags_tsv(tagging: Tagging) -> str:
    """One line per word with its tag, the tag's probability and the posteriors, if any; then an empty line."""
    rows = zip(tagging.words, tagging.tags, tagging.confidence, strict=True)
    lines = [f"{_field(word)}\t{tag}\t{share:.4f}" for word, tag, share in rows]
    if tagging.posteriors:
        several = listed_tags(tagging.posteriors)
        shares = ("|".join(f"{tag}={value:.4f}" for tag, value in listed.items()) for listed in several)
        lines = [f"{line}\t{share}" for line, share in zip(lines, shares, strict=True)]
    return "".join(f"{line}\n" for line in lines) + "\n"


def listed_tags(posteriors: list[dict[str, float]]) -> list[dict[str, float]]:
    """The tags of each word that are listed."""
    return [{tag: value for tag, value in share.items() if value >= SHOWN_FROM} for share in posteriors]


def _field(word: str) -> str:
    """The word without tabs and line breaks, which words from JSON may contain."""
    return word.translate({9: "_", 10: "_", 13: "_"})


def _origin(sentence: Input, name_file: bool) -> dict[str, Any]:
    origin: dict[str, Any] = {"file": display_name(sentence.file)} if name_file else {}
    return origin if sentence.id is None else origin | {"id": sentence.id}


def _json(line: dict[str, Any]) -> str:
    return msgspec.json.encode(line).decode() + "\n"
