"""Kinds of parsing errors, in the manner of Kummerfeld et al. (2012); docs/guide/evaluation.md has the rules.

Kummerfeld et al. transform the system's tree into the gold tree step by step and name each step. Here each missing and
each extra bracket is classified by itself, by the first rule that applies, so that every one of them is counted once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from lveg.evaluation.brackets import Alignment, Bracket

Span = tuple[int, int]


class ErrorClass(StrEnum):
    """What is wrong about a missing or extra bracket."""

    pp = "PP attachment"
    clause = "clause attachment"
    modifier = "modifier attachment"
    noun = "NP attachment"
    coordination = "coordination"
    inside_noun = "NP-internal structure"
    unary = "unary"
    label = "label only"
    span = "other span"


_PHRASES = {
    ErrorClass.pp: re.compile(r"(WH)?PP|sp"),
    ErrorClass.clause: re.compile(r"S|SBAR|SBARQ|SINV|SQ|RRC|FRAG|VP|S\..*"),
    ErrorClass.modifier: re.compile(r"(WH)?(ADVP|ADJP)|INTJ|PRN|PRT|sadv|s\.a.*|grup\.(a|adv).*"),
    ErrorClass.noun: re.compile(r"(WH)?NP|NX|NML|NAC|QP|sn.*|grup\.nom.*"),
}
"""Labels of phrases, in the Penn Treebank and its relatives and in CESS."""

_ADVERBIAL_TAG = re.compile(r"RB[RS]?|JJ[RS]?|ADV|ADJ|rg|rn|aq.*")
_CONJUNCTION = re.compile(r"CC|CCONJ|CONJP|coord|cc")
_NOMINAL = frozenset({ErrorClass.noun, ErrorClass.modifier})
_MOVABLE = frozenset({ErrorClass.pp, ErrorClass.clause, ErrorClass.modifier})


@lru_cache(maxsize=4096)
def phrase_class(label: str) -> ErrorClass | None:
    """The class of error if a phrase with this label is attached in the wrong place; None for none of its own."""
    return next((kind for kind, pattern in _PHRASES.items() if pattern.fullmatch(label)), None)


class WrongBracket(NamedTuple):
    """A missing or extra bracket, its class, and the words that it is about: those moved, or its own.

    place: the bracket's index among those of its tree.
    """

    bracket: Bracket
    is_missing: bool
    kind: ErrorClass
    about: Span
    place: int


@dataclass(frozen=True)
class ErrorCount:
    """How often a class of error occurs: its brackets, and the errors that they form.

    Brackets of one class that are about the same words form one error.
    """

    kind: ErrorClass
    errors: int
    missing: int
    extra: int


def count_errors(sentences: Iterable[list[WrongBracket]]) -> list[ErrorCount]:
    """The counts of all classes over sentences, in the order of `ErrorClass`."""
    found = [(number, wrong) for number, sentence in enumerate(sentences) for wrong in sentence]
    return [
        ErrorCount(
            kind,
            len({(number, wrong.about) for number, wrong in found if wrong.kind == kind}),
            sum(wrong.is_missing for _, wrong in found if wrong.kind == kind),
            sum(not wrong.is_missing for _, wrong in found if wrong.kind == kind),
        )
        for kind in ErrorClass
    ]


def classify(found: Alignment) -> list[WrongBracket]:
    """The missing brackets, then the extra ones, each with its class."""
    conjunctions = _conjunctions(found)
    material = _Material(found, conjunctions)
    relabelled = _same_spans(found)
    gold = _Brackets(found.gold, found.missing, {index for index, _ in relabelled}, conjunctions)
    system = _Brackets(found.system, found.extra, {index for _, index in relabelled}, conjunctions)
    return [
        WrongBracket(own.brackets[index], own is gold, *_kind(own, other, index, material), index)
        for own, other in ((gold, system), (system, gold))
        for index in own.wrong
    ]


def label_confusions(found: Alignment) -> list[tuple[str, str]]:
    """(gold label, system label) of brackets whose span is right and whose label is wrong."""
    return [(found.gold[index][0], found.system[other][0]) for index, other in _same_spans(found)]


def _same_spans(found: Alignment) -> list[tuple[int, int]]:
    """Pairs of a missing and an extra bracket with the same span, from the top down."""
    waiting: dict[Span, list[int]] = {}
    for index in reversed(found.extra):
        waiting.setdefault(found.system[index][1:], []).append(index)
    return [(index, extras.pop()) for index in found.missing if (extras := waiting.get(found.gold[index][1:]))]


def _conjunctions(found: Alignment) -> frozenset[int]:
    """The positions of conjunctions in the gold tree: by their tag, or inside a conjunction phrase."""
    tagged = {place for place, tag in enumerate(found.gold_tags) if _CONJUNCTION.fullmatch(tag)}
    phrases = (range(start, end) for label, start, end in found.gold if _CONJUNCTION.fullmatch(label))
    return frozenset(tagged.union(*phrases))


class _Brackets:
    """The brackets of one tree with their parents.

    wrong: those that are not in the other tree. relabelled: those of them that are there with another label.
    """

    def __init__(
        self, brackets: list[Bracket], wrong: list[int], relabelled: set[int], conjunctions: frozenset[int]
    ) -> None:
        self.brackets = brackets
        self.wrong = wrong
        self.relabelled = relabelled
        self.conjunctions = conjunctions
        self.spans = {(start, end) for _, start, end in brackets}
        self.parents: list[int | None] = []
        open_brackets: list[int] = []
        for index, (_, start, end) in enumerate(brackets):
            while open_brackets and not _contains(brackets[open_brackets[-1]], (start, end)):
                open_brackets.pop()
            self.parents.append(open_brackets[-1] if open_brackets else None)
            open_brackets.append(index)

    def span(self, index: int) -> Span:
        return self.brackets[index][1:]

    def kind(self, index: int | None) -> ErrorClass | None:
        """The class of the bracket's label."""
        return None if index is None else phrase_class(self.brackets[index][0])

    def children(self, index: int | None) -> list[int]:
        """The brackets directly below one, or the outermost ones."""
        return [child for child, parent in enumerate(self.parents) if parent == index]

    def enclosing(self, span: Span) -> Span | None:
        """The smallest span of a bracket that contains this one and is larger."""
        around = [own[1:] for own in self.brackets if _contains(own, span) and own[1:] != span]
        return around[-1] if around else None

    def is_nominal(self, index: int) -> bool:
        """Whether this is part of a noun phrase, contains only parts of noun phrases, and has no conjunction."""
        inside = [bracket for bracket in self.brackets if _contains(self.brackets[index], bracket[1:])]
        return (
            self.kind(self.parents[index]) is ErrorClass.noun
            and all(phrase_class(label) in _NOMINAL for label, _, _ in inside)
            and not self.conjunctions.intersection(range(*self.span(index)))
        )

    def is_coordinated(self, index: int) -> bool:
        """Whether a conjunction is directly below this bracket, or next to it below its parent."""
        start, end = self.span(index)
        parent = self.parents[index]
        around = (start, end) if parent is None else self.span(parent)
        if any(place in self.conjunctions and around[0] <= place < around[1] for place in (start - 1, end)):
            return True
        return any(self._holder(place) == (start, end) for place in self.conjunctions if start <= place < end)

    def _holder(self, place: int) -> Span | None:
        """The span of the smallest phrase over this conjunction, apart from phrases of conjunctions."""
        phrases = [own for own in self.brackets if _contains(own, (place, place + 1))]
        outer = [own[1:] for own in phrases if not self.conjunctions.issuperset(range(*own[1:]))]
        return outer[-1] if outer else None

    def neighbours(self, index: int) -> Iterator[int]:
        """The last and first bracket below this one, if they are at its edge, then the ones next to it."""
        start, end = self.span(index)
        children = self.children(index)
        yield from (child for child in reversed(children) if self.span(child)[1] == end)
        yield from (child for child in children if self.span(child)[0] == start)
        siblings = self.children(self.parents[index])
        yield from (sibling for sibling in siblings if self.span(sibling)[0] == end)
        yield from (sibling for sibling in siblings if self.span(sibling)[1] == start)


class _Material:
    """What the words of a span are in the gold tree."""

    def __init__(self, found: Alignment, conjunctions: frozenset[int]) -> None:
        self.found = found
        self.conjunctions = conjunctions

    def pieces(self, span: Span) -> Iterator[tuple[str, bool]]:
        """(label, whether it is a tag) of the largest gold constituents in a span, without punctuation."""
        place, end = span
        while place < end:
            inside = [own for own in self.found.gold if own[1] == place and own[2] <= end]
            if inside:
                yield inside[0][0], False
                place = inside[0][2]
            else:
                if any(char.isalnum() for char in self.found.words[place]):
                    yield self.found.gold_tags[place], True
                place += 1

    def touches_conjunction(self, span: Span) -> bool:
        """Whether there is a conjunction at an end of the span or next to it."""
        start, end = span
        return not self.conjunctions.isdisjoint((start - 1, start, end - 1, end))

    def kind(self, span: Span) -> ErrorClass | None:
        """The class of error if these words are attached in the wrong place; None if they have none."""
        if self.touches_conjunction(span):
            return ErrorClass.coordination
        label, is_tag = next(self.pieces(span), ("", True))
        if is_tag:
            return ErrorClass.modifier if _ADVERBIAL_TAG.fullmatch(label) else None
        return phrase_class(label)


def _kind(own: _Brackets, other: _Brackets, index: int, material: _Material) -> tuple[ErrorClass, Span]:
    """The class of a wrong bracket, and the words that it is about."""
    span = own.span(index)
    if index in own.relabelled:
        return ErrorClass.label, span
    shifted = _shifted(own, other, index)
    is_nominal = own.is_nominal(index)
    kind = None if shifted is None else material.kind(shifted)
    if shifted and kind and not (is_nominal and kind in _NOMINAL):
        return kind, shifted
    if span in other.spans or span[1] - span[0] == 1:
        return ErrorClass.unary, span
    if is_nominal:
        return ErrorClass.inside_noun, shifted or span
    for moved in own.neighbours(index):
        if (kind := own.kind(moved)) is not own.kind(index) and kind in _MOVABLE:
            place = own.span(moved)
            if place in other.spans and own.enclosing(place) != other.enclosing(place):
                return ErrorClass.coordination if material.touches_conjunction(place) else kind, place
    return (ErrorClass.coordination if own.is_coordinated(index) else ErrorClass.span), span


def _shifted(own: _Brackets, other: _Brackets, index: int) -> Span | None:
    """The words by which the bracket is too long or too short, if the other tree has it with one other end."""
    label, start, end = own.brackets[index]
    differences = []
    for candidate in set(other.wrong) - other.relabelled:
        other_label, other_start, other_end = other.brackets[candidate]
        if label == other_label and (start == other_start) != (end == other_end):
            edges = sorted((end, other_end) if start == other_start else (start, other_start))
            differences.append((edges[0], edges[1]))
    return min(differences, key=lambda words: (words[1] - words[0], words), default=None)


def _contains(bracket: Bracket, span: Span) -> bool:
    return bracket[1] <= span[0] and span[1] <= bracket[2]
