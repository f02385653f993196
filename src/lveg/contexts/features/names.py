"""Surface features as text: what a template matches at a position of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lveg.contexts.features.templates import PLACES, Template
from lveg.kernels import features as kernel

LENGTHS = ("0", "1", "2", "3", "4", "5", "6-7", "8-10", "11-15", "16-20", "over 20")
"""The lengths that kernels distinguish."""

_PLACES = {
    "second": "second", "before": "before", "before2": "2 before", "last": "last", "last2": "last but one",
    "after": "after", "after2": "2 after", "left": "left of split", "right": "right of split",
}  # fmt: skip
_QUOTED = {"word": "form", "lower": "word", "prefix2": "prefix", "prefix3": "prefix"} | {
    f"suffix{size}": "suffix" for size in (1, 2, 3, 4)
}


class Anchor(NamedTuple):
    """The position of a template: a span with its split, and whether it is a word's own rule."""

    start: int
    split: int
    end: int
    is_word: bool


def template_text(template: Template, anchor: Anchor, texts: Sequence[Mapping[str, str]]) -> str:
    """What a template matches, such as `first word "the" & last tag NN`; texts: of each word, for each atom."""
    return " & ".join(_part_text(name, anchor, texts) for name in template)


def _part_text(name: str, anchor: Anchor, texts: Sequence[Mapping[str, str]]) -> str:
    place, _, atom = name.partition(".")
    start, split, end, is_word = anchor
    if not atom:
        if name == "outline":
            shapes = " ".join(text["shape"] for text in texts[start:end])
            return f"shapes {shapes}" if end - start <= kernel.LONGEST_OUTLINE else "shapes of a long phrase"
        sizes = {"length": end - start, "left-length": split - start, "right-length": end - split}
        return f"{name.replace('-', ' ')} {LENGTHS[kernel.bucket(sizes[name])]}"
    base, offset = PLACES[place]
    index = offset + {kernel.FIRST: start, kernel.LAST: end - 1, kernel.SPLIT: split}[base]
    where = _PLACES.get(place, "" if is_word else "first")
    if not 0 <= index < len(texts):
        return f"nothing {where}"
    text = f'{_QUOTED[atom]} "{texts[index][atom]}"' if atom in _QUOTED else f"{atom} {texts[index][atom]}"
    return f"{where} {text}".lstrip()
