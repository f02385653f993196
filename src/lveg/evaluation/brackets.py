"""Bracket scores by the rules of EVALB (Sekine and Collins, version of 2013), per sentence and in total.

Behaviour of EVALB that may be unexpected:

- A phrase's label ends before the first `-` or `=`, even at its start: a phrase `-NONE-` has the label "".
  A tag's label stays whole.
- Tags in DELETE_LABEL are deleted with their words. Brackets that are left without words do not count.
- EQ_LABEL also applies to tags, and to the decision whether a phrase's label is deleted.
- Crossing counts brackets of the system, each once.
- A sentence with an error, or skipped because it has no analysis, counts only in the number of errors or of skipped
  sentences.
- If lengths differ, a quotation mark that one side deletes and the other keeps under another tag is restored
  (QUOTE_LABEL). The order of the steps in `_restore_quotes` is EVALB's and decides which mark that is.

Its limits on the length of lines and its stop after MAX_ERROR errors are not reproduced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import accumulate, zip_longest

import numpy as np
from numpy.typing import NDArray

from lveg.errors import UsageError
from lveg.evaluation.params import COLLINS, EvalbParams, Pairs, classes
from lveg.trees import Tree

OK, ERROR, SKIP = 0, 1, 2
"""A sentence's status: scored; lengths or words differ; no words in the system's tree."""

Bracket = tuple[str, int, int]
"""(label, start, end) of a bracket over the words that are not deleted, half-open."""

_MARKS = frozenset({"'", '"', "/"})


def percent(part: float, whole: float) -> float:
    """100 part / whole, or 0 if the whole is 0, as in EVALB."""
    return 100.0 * part / whole if whole else 0.0


class _Rates:
    """Percentages that are computed in the same way for a sentence and for sums over sentences."""

    __slots__ = ()
    matched: int
    gold: int
    test: int
    words: int
    correct_tags: int

    @property
    def recall(self) -> float:
        """Percentage of gold brackets that the system has."""
        return percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Percentage of the system's brackets that are in the gold."""
        return percent(self.matched, self.test)

    @property
    def tag_accuracy(self) -> float:
        """Percentage of words with the gold tag."""
        return percent(self.correct_tags, self.words)


@dataclass(frozen=True, slots=True)
class SentenceScore(_Rates):
    """EVALB's counts for one sentence; all are 0 unless `status` is OK.

    length: number of gold words without those of DELETE_LABEL_FOR_LENGTH. words: number of words whose tags are
    compared.
    """

    number: int
    length: int
    status: int = OK
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0

    @property
    def counts(self) -> BracketCounts:
        """This sentence's contribution to the sums."""
        if self.status != OK:
            return BracketCounts(1, errors=int(self.status == ERROR), skipped=int(self.status == SKIP))
        return BracketCounts(
            sentences=1,
            matched=self.matched,
            gold=self.gold,
            test=self.test,
            complete=int(self.matched == self.gold == self.test),
            crossing=self.crossing,
            no_crossing=int(self.crossing == 0),
            few_crossing=int(self.crossing <= 2),
            words=self.words,
            correct_tags=self.correct_tags,
        )


@dataclass(frozen=True, slots=True)
class BracketCounts(_Rates):
    """Sums over sentences; counts are added, and scores are computed from them.

    matched to correct_tags: over valid sentences only. complete, no_crossing, few_crossing: number of sentences with
    all brackets correct, with no crossing bracket, with at most two.
    """

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    matched: int = 0
    gold: int = 0
    test: int = 0
    complete: int = 0
    crossing: int = 0
    no_crossing: int = 0
    few_crossing: int = 0
    words: int = 0
    correct_tags: int = 0

    def __add__(self, other: BracketCounts) -> BracketCounts:
        return total((self, other))

    @property
    def valid(self) -> int:
        """Number of sentences that were scored."""
        return self.sentences - self.errors - self.skipped

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 if both are 0 (EVALB prints nan)."""
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def exact_match(self) -> float:
        """Percentage of valid sentences with all brackets correct ("complete match")."""
        return percent(self.complete, self.valid)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per valid sentence."""
        return 1.0 * self.crossing / self.valid if self.valid else 0.0

    @property
    def no_crossing_rate(self) -> float:
        """Percentage of valid sentences without crossing brackets."""
        return percent(self.no_crossing, self.valid)

    @property
    def few_crossing_rate(self) -> float:
        """Percentage of valid sentences with at most two crossing brackets."""
        return percent(self.few_crossing, self.valid)


_COUNTS = tuple(part.name for part in fields(BracketCounts))


def total(counts: Iterable[BracketCounts]) -> BracketCounts:
    """The sum of the counts."""
    sums = [0] * len(_COUNTS)
    for one in counts:
        for index, name in enumerate(_COUNTS):
            sums[index] += getattr(one, name)
    return BracketCounts(*sums)


@dataclass(frozen=True)
class Summary:
    """Sums over all sentences, and over those of at most `cutoff_len` words."""

    all: BracketCounts
    short: BracketCounts
    cutoff_len: int


def summarise(scores: Iterable[SentenceScore], params: EvalbParams = COLLINS) -> Summary:
    """The two halves of EVALB's summary."""
    counted = [(score.length, score.counts) for score in scores]
    return Summary(
        all=total(counts for _, counts in counted),
        short=total(counts for length, counts in counted if length <= params.cutoff_len),
        cutoff_len=params.cutoff_len,
    )


def score_pairs(gold: Iterable[Tree], system: Iterable[Tree], params: EvalbParams = COLLINS) -> list[SentenceScore]:
    """The score of each pair of trees, in order, numbered from 1; both sides must have the same number of trees."""
    scores = []
    for number, (gold_tree, test_tree) in enumerate(zip_longest(gold, system), start=1):
        if gold_tree is None or test_tree is None:
            fewer, more = ("gold", "system") if gold_tree is None else ("system", "gold")
            raise UsageError(f"the {fewer} side ends after {number - 1} trees, the {more} side has more")
        scores.append(score_pair(gold_tree, test_tree, params, number))
    return scores


def score_pair(gold: Tree, system: Tree, params: EvalbParams = COLLINS, number: int = 1) -> SentenceScore:
    """The score of one analysis. Linear, except that crossing takes wrong brackets times gold brackets."""
    found = align(gold, system, params)
    if found.status != OK:
        return SentenceScore(number, found.length, found.status)
    same_label = _rules(params).same_label
    return SentenceScore(
        number,
        found.length,
        OK,
        matched=sum(match is not None for match in found.matches),
        gold=len(found.gold),
        test=len(found.system),
        crossing=_n_crossing(found.gold, found.system),
        words=len(found.words),
        correct_tags=sum(map(same_label, found.gold_tags, found.system_tags)),
    )


@dataclass(frozen=True, slots=True)
class Alignment:
    """The brackets of two trees that EVALB compares, parents before children; empty unless `status` is OK.

    matches: for each gold bracket, the index of the system's bracket that it is matched with, or None. gold_nodes,
    system_nodes: for each bracket, the index of its node in the tree, parents first. words, gold_tags, system_tags: of
    the words that are not deleted; brackets count them.
    """

    length: int
    status: int
    gold: list[Bracket] = field(default_factory=list)
    system: list[Bracket] = field(default_factory=list)
    matches: list[int | None] = field(default_factory=list)
    gold_nodes: list[int] = field(default_factory=list)
    system_nodes: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    gold_tags: list[str] = field(default_factory=list)
    system_tags: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[int]:
        """The gold brackets that the system does not have."""
        return [index for index, match in enumerate(self.matches) if match is None]

    @property
    def extra(self) -> list[int]:
        """The system's brackets that are not in the gold."""
        matched = set(self.matches)
        return [index for index in range(len(self.system)) if index not in matched]


def align(gold: Tree, system: Tree, params: EvalbParams = COLLINS) -> Alignment:
    """The brackets of two trees, and which of them match."""
    rules = _rules(params)
    gold_side, test_side = _Side(gold, params), _Side(system, params)
    length = sum(leaf.label not in params.delete_labels_for_length for leaf in gold_side.leaves)
    if not test_side.words:
        return Alignment(length, SKIP)
    if len(gold_side.words) != len(test_side.words):
        _restore_quotes(gold_side, test_side, params)
    if not _same_words(gold_side.words, test_side.words, rules.same_word):
        return Alignment(length, ERROR)
    gold_brackets, gold_nodes = gold_side.brackets(rules)
    test_brackets, test_nodes = test_side.brackets(rules)
    return Alignment(
        length,
        OK,
        gold_brackets,
        test_brackets,
        _matches(gold_brackets, test_brackets, rules),
        gold_nodes,
        test_nodes,
        gold_side.words,
        gold_side.tags,
        test_side.tags,
    )


def brackets(tree: Tree, params: EvalbParams = COLLINS) -> Counter[Bracket]:
    """How often the tree has each bracket that is scored.

    Labels are cut, and equivalent ones are mapped to one name ("" for all if labels do not count), so that
    `(brackets(gold) & brackets(system)).total()` is the number of matched brackets. That differs from EVALB's number
    only if EQ_LABEL has chains (A B, B C), which EVALB does not follow and this does, and if quotation marks are
    restored.
    """
    rules = _rules(params)
    scored, _ = _Side(tree, params).brackets(rules)
    if not params.labeled:
        return Counter(("", start, end) for _, start, end in scored)
    name = rules.class_name
    return Counter((name.get(label, label), start, end) for label, start, end in scored)


@lru_cache(maxsize=64)
def _rules(params: EvalbParams) -> _Rules:
    """The settings in the form that scoring uses, cached."""
    return _Rules(params)


class _Rules:
    """Comparisons of labels and words according to the settings."""

    def __init__(self, params: EvalbParams) -> None:
        self.labeled = params.labeled
        self.same_label = _comparison(params.eq_labels)
        self.same_word = _comparison(params.eq_words)
        self.class_name = classes(params.eq_labels)
        self._delete_labels = params.delete_labels
        self._scored: dict[str, str | None] = {}

    def scored_label(self, label: str) -> str | None:
        """The phrase's label as it is compared, cut at `-` and `=`; None if its bracket is deleted."""
        try:
            return self._scored[label]
        except KeyError:
            cut = label.partition("-")[0].partition("=")[0]
            deleted = any(self.same_label(cut, other) for other in self._delete_labels)
            return self._scored.setdefault(label, None if deleted else cut)


def _comparison(pairs: Pairs) -> Callable[[str, str], bool]:
    both_ways = frozenset(pairs) | {(second, first) for first, second in pairs}
    return lambda first, second: first == second or (first, second) in both_ways


class _Side:
    """One tree as EVALB reads it: the words and tags that are not deleted, and the number of copies of each leaf.

    copies: 0 for a deleted leaf and 1 for a kept one; brackets are measured in copies. Restoring a quotation
    mark adds a copy.
    """

    __slots__ = ("copies", "leaves", "spans", "tags", "words")

    def __init__(self, tree: Tree, params: EvalbParams) -> None:
        self.spans = tree.spans()
        self.leaves = [node for node, _, _ in self.spans if node.word is not None]
        self.copies = [int(leaf.label not in params.delete_labels) for leaf in self.leaves]
        kept = [leaf for leaf, copies in zip(self.leaves, self.copies, strict=True) if copies]
        self.words = [leaf.word or "" for leaf in kept]
        self.tags = [leaf.label for leaf in kept]

    def brackets(self, rules: _Rules) -> tuple[list[Bracket], list[int]]:
        """The brackets that are scored, parents before children, and the indices of their nodes in the tree."""
        position = list(accumulate(self.copies, initial=0))
        found, nodes = [], []
        for index, (node, first, last) in enumerate(self.spans):
            if node.word is None and position[first] != position[last]:
                label = rules.scored_label(node.label)
                if label is not None:
                    found.append((label, position[first], position[last]))
                    nodes.append(index)
        return found, nodes

    def quotes(self, params: EvalbParams) -> list[_Quote]:
        """The leaves that may be misread quotation marks, in order."""
        position = accumulate(self.copies, initial=0)
        return [
            _Quote(leaf.label, leaf_index, at)
            for leaf_index, (leaf, at) in enumerate(zip(self.leaves, position, strict=False))
            if leaf.label in params.quote_labels and leaf.word in _MARKS
        ]

    def restore(self, quotes: Sequence[_Quote], index: int) -> None:
        """Restore a quotation mark; it and the words after it move by one position, as in EVALB."""
        quote = quotes[index]
        self.words.insert(quote.at, self.leaves[quote.leaf_index].word or "")
        self.tags.insert(quote.at, quote.label)
        self.copies[quote.leaf_index] += 1
        for later in quotes[index:]:
            later.at += 1


@dataclass(slots=True)
class _Quote:
    """A leaf that may be a misread quotation mark; `at` is its position among the words that are not deleted."""

    label: str
    leaf_index: int
    at: int


def _restore_quotes(gold: _Side, test: _Side, params: EvalbParams) -> None:
    """Restore quotation marks that one side deletes if the other side has one that it keeps.

    This reproduces EVALB's loop exactly: `at` is the position of the system's mark when the mark is reached, although
    restoring that mark moves it, and a restored mark can be restored again.
    """
    gold_quotes, test_quotes = gold.quotes(params), test.quotes(params)
    for test_index, test_quote in enumerate(test_quotes):
        at = test_quote.at
        for gold_index, gold_quote in enumerate(gold_quotes):
            if gold_quote.at != at or gold_quote.label == test_quote.label:
                continue
            gold_deleted = gold_quote.label in params.delete_labels
            test_deleted = test_quote.label in params.delete_labels
            if gold_deleted and not test_deleted:
                gold.restore(gold_quotes, gold_index)
            elif test_deleted and not gold_deleted:
                test.restore(test_quotes, test_index)


def _same_words(gold: list[str], test: list[str], same: Callable[[str, str], bool]) -> bool:
    return gold == test or (len(gold) == len(test) and all(map(same, gold, test)))


def _matches(gold: list[Bracket], test: list[Bracket], rules: _Rules) -> list[int | None]:
    """For each gold bracket, the system's bracket that it is matched with, used once, in the order of the trees.

    The order matters only if EQ_LABEL has chains.
    """
    unused: dict[tuple[int, int], list[int]] = {}
    for index, (_, start, end) in enumerate(test):
        unused.setdefault((start, end), []).append(index)
    matches: list[int | None] = []
    for label, start, end in gold:
        candidates = unused.get((start, end), [])
        match = next((c for c in candidates if not rules.labeled or rules.same_label(label, test[c][0])), None)
        if match is not None:
            candidates.remove(match)
        matches.append(match)
    return matches


def _n_crossing(gold: list[Bracket], test: list[Bracket]) -> int:
    """Number of the system's brackets that overlap a gold bracket with neither inside the other."""
    spans = {(start, end) for _, start, end in gold}
    crossing = 0
    for _, start, end in test:
        # A span of the gold tree does not cross the gold tree.
        if (start, end) not in spans:
            crossing += any(left < start < right < end or start < left < end < right for left, right in spans)
    return crossing


def f1_counts(scores: Sequence[SentenceScore]) -> NDArray[np.float64]:
    """(matched, gold, test) of each sentence, of shape (n_sentences, 3), for `significance`."""
    rows = [(score.matched, score.gold, score.test) for score in scores]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 3)


def f1_from_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 in percent of sums (matched, gold, test) along the last axis; 0 if there are no brackets."""
    matched, both = counts[..., 0], counts[..., 1] + counts[..., 2]
    return np.asarray(200.0 * matched / np.where(both > 0, both, 1.0))


_HEAD = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n"
)
_RULE = "=" * 76 + "\n"


def evalb_report(scores: Sequence[SentenceScore], params: EvalbParams = COLLINS) -> str:
    """The text that EVALB prints: a line for each sentence, their sum, and the summary."""
    summary = summarise(scores, params)
    return "".join(
        (
            _HEAD,
            _RULE,
            *map(_sentence_line, scores),
            _RULE,
            _total_line(summary.all),
            "=== Summary ===\n\n",
            _summary_text("All", summary.all),
            "\n",
            _summary_text(f"len<={summary.cutoff_len}", summary.short),
        )
    )


def _sentence_line(score: SentenceScore) -> str:
    return (
        f"{score.number:4d}  {score.length:3d}    {score.status:d}"
        f"  {score.recall:6.2f} {score.precision:6.2f}"
        f"   {score.matched:3d}    {score.gold:3d}  {score.test:3d}    {score.crossing:3d}"
        f"   {score.words:4d}  {score.correct_tags:4d}   {score.tag_accuracy:6.2f}\n"
    )


def _total_line(counts: BracketCounts) -> str:
    spaced = f"{'':16}{counts.recall:6.2f} {counts.precision:6.2f} {counts.matched:6d}"
    bracketing = f"{spaced} {counts.gold:5d} {counts.test:5d}  {counts.crossing:5d}"
    tagging = f"  {counts.words:5d} {counts.correct_tags:5d}   {counts.tag_accuracy:6.2f}\n"
    return bracketing + tagging if counts.gold and counts.test else tagging


def _summary_text(title: str, counts: BracketCounts) -> str:
    return (
        f"-- {title} --\n"
        f"Number of sentence        = {counts.sentences:6d}\n"
        f"Number of Error sentence  = {counts.errors:6d}\n"
        f"Number of Skip  sentence  = {counts.skipped:6d}\n"
        f"Number of Valid sentence  = {counts.valid:6d}\n"
        f"Bracketing Recall         = {counts.recall:6.2f}\n"
        f"Bracketing Precision      = {counts.precision:6.2f}\n"
        f"Bracketing FMeasure       = {counts.f1:6.2f}\n"
        f"Complete match            = {counts.exact_match:6.2f}\n"
        f"Average crossing          = {counts.average_crossing:6.2f}\n"
        f"No crossing               = {counts.no_crossing_rate:6.2f}\n"
        f"2 or less crossing        = {counts.few_crossing_rate:6.2f}\n"
        f"Tagging accuracy          = {counts.tag_accuracy:6.2f}\n"
    )


def summary_json(summary: Summary) -> dict[str, object]:
    """The summary as a plain dict, rounded as EVALB prints it; `le40` is for the short sentences."""
    return {**_counts_json(summary.all), "le40": _counts_json(summary.short)}


def _counts_json(counts: BracketCounts) -> dict[str, int | float]:
    return {
        "sentences": counts.sentences,
        "errors": counts.errors,
        "skipped": counts.skipped,
        "precision": round(counts.precision, 2),
        "recall": round(counts.recall, 2),
        "f1": round(counts.f1, 2),
        "exact_match": round(counts.exact_match, 2),
        "crossing": round(counts.average_crossing, 2),
        "tag_accuracy": round(counts.tag_accuracy, 2),
    }
