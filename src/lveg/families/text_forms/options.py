"""Options of tokenisers."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.families.tag_forms.options import FORMS, TagFormsOptions
from lveg.options import with_default


@dataclass(frozen=True)
class TextFormsOptions(TagFormsOptions):
    """Options of a tagger with word forms, with defaults for characters."""

    context: str = with_default(TagFormsOptions, "context", FORMS)
    epochs: int = with_default(TagFormsOptions, "epochs", 8)
    batch: int = with_default(TagFormsOptions, "batch", 32)
    l2: float = with_default(TagFormsOptions, "l2", 1.0)
