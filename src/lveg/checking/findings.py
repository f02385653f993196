"""What a check found, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Level = Literal["error", "warning", "note"]

SHOWN, LONGEST = 5, 200
"""Examples of a finding that are kept, and their longest text."""

WIDTH = 100
_TITLES: dict[Level, str] = {"error": "Errors", "warning": "Warnings", "note": "Notes"}


@dataclass(frozen=True)
class Finding:
    """Something worth knowing: what was found, what it means, what to do about it, and examples.

    An error stops training or, in a model, makes it useless; a warning costs accuracy or makes scores misleading; a
    note is good to know.
    """

    level: Level
    what: str
    meaning: str
    advice: str
    examples: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    """The result of a check. facts: sizes and the like, by name."""

    kind: Literal["treebank", "model"]
    facts: dict[str, Any]
    findings: list[Finding]

    @property
    def has_errors(self) -> bool:
        """Whether something stops training, or makes the model useless."""
        return any(finding.level == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The result as a JSON object."""
        findings = [asdict(finding) for finding in self.findings]
        return {"kind": self.kind, "has_errors": self.has_errors, "facts": self.facts, "findings": findings}

    def as_text(self) -> str:
        """The result for people: facts, then the findings, errors first."""
        lines = list(_facts(self.facts))
        for level, title in _TITLES.items():
            chosen = [finding for finding in self.findings if finding.level == level]
            lines += ["", title, ""] if chosen else []
            for finding in chosen:
                lines += _finding(finding)
        counts = [counted(sum(one.level == level for one in self.findings), level) for level in _TITLES]
        return "\n".join([*lines, "", ", ".join(counts)])


def _facts(facts: dict[str, Any], indent: str = "") -> Iterable[str]:
    for name, value in facts.items():
        label = f"{indent}{name.replace('_', ' ')}:"
        if isinstance(value, dict):
            yield label
            yield from _facts(value, indent + "  ")
        else:
            yield f"{label} {value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{label} {value}"


def _finding(finding: Finding) -> list[str]:
    text = f"{finding.meaning} {finding.advice}".strip()
    lines = textwrap.wrap(f"- {finding.what}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    lines += textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return lines + [f"    {example}" for example in finding.examples]


def some(examples: Sequence[str]) -> list[str]:
    """The first examples, and how many more there are."""
    more = len(examples) - SHOWN
    shown = [text if len(text) <= LONGEST else text[: LONGEST - 3] + "..." for text in examples[:SHOWN]]
    return [*shown, *([f"and {more:,} more"] if more > 0 else [])]


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def share(part: int, whole: int) -> str:
    """A share in percent."""
    return f"{100.0 * part / max(whole, 1):.1f} %"
