"""Families that are made of others: how their parts are saved to and loaded from one model file."""

from __future__ import annotations

from collections.abc import Sequence

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, Stored
from lveg.families.registry import kinds
from lveg.grammar.grammar import Floats, Grammar

MOST_PARTS = 64
"""Maximum number of parts: each may take as long as a whole model."""


MOST_IN_ALL = 512
"""Maximum number of parts, parts of parts, and so on: enough for a product of many models with contexts."""


def check_total(facts: Facts) -> None:
    """Raise an error if there are too many parts in all, at any depth."""
    count, waiting = 0, [facts]
    while waiting:
        listed = waiting.pop().get("parts")
        inner = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
        count += len(inner)
        if count > MOST_IN_ALL:
            raise GrammarError(f"it has more than {MOST_IN_ALL} parts")
        waiting += [part["facts"] for part in inner if isinstance(part.get("facts"), dict)]


def check_count(parts: Sequence[object]) -> None:
    """Raise an error if there are too many parts."""
    if len(parts) > MOST_PARTS:
        raise GrammarError(f"it has {len(parts)} parts; there may be at most {MOST_PARTS}")


def nested_arrays(parts: Sequence[Stored]) -> Arrays:
    """The arrays of the parts, each prefixed with its part's number."""
    return {
        f"{number}.{name}": array for number, part in enumerate(parts) for name, array in part.arrays().items()
    }  # fmt: skip


def nested_facts(parts: Sequence[Stored]) -> Facts:
    """Names and facts of the parts."""
    return {"parts": [{"name": part.name, "facts": part.facts()} for part in parts]}


def restore_nested(
    tasks: Sequence[str], owner: str, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts
) -> list[Stored]:
    """The parts in a model file.

    tasks: the task of the first part, of the second, and so on; the last one is for all other parts. owner: the name of
    the family that they are parts of, which must not occur among them.
    """
    listed = facts.get("parts")
    if list(facts) != ["parts"] or not isinstance(listed, list) or not listed:
        raise GrammarError("its parts are not listed")
    check_count(listed)
    check_total(facts)
    parts: list[Stored] = []
    for number, item in enumerate(listed):
        if not isinstance(item, dict) or set(item) != {"name", "facts"} or not isinstance(item["facts"], dict):
            raise GrammarError(f"part {number} is not a name and facts")
        task, name = tasks[min(number, len(tasks) - 1)], item["name"]
        kind = kinds(task).get(name) if isinstance(name, str) else None
        if kind is None or (kind.task, kind.name) == (tasks[0], owner):
            raise GrammarError(f"part {number} is of an unknown kind")
        prefix = f"{number}."
        own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
        parts.append(kind.load_family().restore(grammar, weight, own, item["facts"]))
    if len(arrays) != sum(len(part.arrays()) for part in parts):
        raise GrammarError("it has arrays that belong to no part")
    return parts
