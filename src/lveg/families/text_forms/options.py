"""Options of tokenisers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.families.tag_forms.options import FORMS, TagFormsOptions
from lveg.options import with_default


@dataclass(frozen=True)
class TextFormsOptions(TagFormsOptions):
    """Options of a tagger with word forms, with defaults for characters."""

    context: str = with_default(TagFormsOptions, "context", FORMS)
    epochs: int = with_default(TagFormsOptions, "epochs", 8)
    batch: int = with_default(TagFormsOptions, "batch", 32)
    l2: float = with_default(TagFormsOptions, "l2", 0.5)
    subtypes: int = with_default(TagFormsOptions, "subtypes", 1)

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """As for taggers, but with the same L2 for any size: there are few different characters."""
        return super().for_size(sentences, {*given, "l2"})
