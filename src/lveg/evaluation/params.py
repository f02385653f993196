"""EVALB's parameter files: which labels are deleted, and which count as equal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lveg.errors import UsageError
from lveg.treebank.source import read_lines

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class EvalbParams:
    """EVALB's settings; the defaults are those of EVALB without a parameter file.

    labeled: whether brackets are compared by label and span, or by span only.
    delete_labels: for a tag, its word is deleted; for a phrase, its bracket but not its contents.
    delete_labels_for_length: tags whose words do not count towards the length of the gold sentence.
    eq_labels, eq_words: pairs that count as equal, in both directions; as in EVALB, not transitive.
    quote_labels: tags of possibly misread quotation marks, see `brackets`.
    cutoff_len: the second half of the summary is for sentences up to this length.
    max_error: the number of errors at which EVALB stops. It is stored, but scoring here never stops early.
    """

    labeled: bool = True
    delete_labels: frozenset[str] = frozenset()
    delete_labels_for_length: frozenset[str] = frozenset()
    eq_labels: Pairs = ()
    eq_words: Pairs = ()
    quote_labels: frozenset[str] = frozenset()
    cutoff_len: int = 40
    max_error: int = 10


COLLINS = EvalbParams(
    delete_labels=frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."}),
    delete_labels_for_length=frozenset({"-NONE-"}),
    eq_labels=(("ADVP", "PRT"),),
    max_error=100_000,
)
"""The settings of COLLINS.prm, the most common ones."""

# Keywords of a parameter file and the fields they set. DEBUG only adds output: checked and dropped.
_NUMBERS = {"DEBUG": None, "MAX_ERROR": "max_error", "CUTOFF_LEN": "cutoff_len", "LABELED": "labeled"}
_LABELS = {
    "DELETE_LABEL": "delete_labels",
    "DELETE_LABEL_FOR_LENGTH": "delete_labels_for_length",
    "QUOTE_LABEL": "quote_labels",
}
_PAIRS = {"EQ_LABEL": "eq_labels", "EQ_WORD": "eq_words"}


def read_params(path: str | os.PathLike[str]) -> EvalbParams:
    """The settings in one of EVALB's parameter files (.prm).

    EVALB ignores unknown keywords. Here they are an error, since the scores would not be the requested ones.
    """
    settings: dict[str, Any] = {}
    for line, text in read_lines(os.fspath(path)):
        keyword, *values = text.split() or [""]
        if not keyword or keyword.startswith("#"):
            continue
        where = f"{os.fspath(path)}:{line}"
        if keyword in _NUMBERS:
            number = _number(where, keyword, values)
            if (name := _NUMBERS[keyword]) is not None:
                settings[name] = bool(number) if name == "labeled" else number
        elif (name := _LABELS.get(keyword)) is not None:
            _need(where, keyword, values, 1)
            settings[name] = settings.get(name, frozenset()) | {values[0]}
        elif (name := _PAIRS.get(keyword)) is not None:
            _need(where, keyword, values, 2)
            settings[name] = (*settings.get(name, ()), (values[0], values[1]))
        else:
            known = ", ".join(sorted({*_NUMBERS, *_LABELS, *_PAIRS}))
            raise UsageError(f"{where}: unknown keyword {keyword!r}; EVALB's keywords are {known}")
    return EvalbParams(**settings)


def _need(where: str, keyword: str, values: list[str], count: int) -> None:
    if len(values) != count:
        noun = "value" if count == 1 else "values"
        raise UsageError(f"{where}: {keyword} needs {count} {noun}, got {len(values)}: {' '.join(values)!r}")


def _number(where: str, keyword: str, values: list[str]) -> int:
    _need(where, keyword, values, 1)
    try:
        return int(values[0])
    except ValueError:
        raise UsageError(f"{where}: {keyword} needs a whole number, got {values[0]!r}") from None


def classes(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Maps each member of a pair to a name shared by everything that the pairs connect, directly or indirectly."""
    name: dict[str, str] = {}
    for first, second in pairs:
        keep, drop = name.setdefault(first, first), name.setdefault(second, second)
        for member, current in name.items():
            if current == drop:
                name[member] = keep
    return name
