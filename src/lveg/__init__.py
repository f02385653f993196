"""Latent vector grammars: part-of-speech tagging and constituency parsing from your own treebank.

    >>> import lveg
    >>> parser = lveg.load("my.model")
    >>> print(parser.parse("The dog saw a cat .".split()).tree)

Names load what they need on first use, so that `import lveg` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from lveg._version import __version__

_HOMES = {
    "Cleaning": "lveg.trees",
    "Constraints": "lveg.forest.builders",
    "LvegError": "lveg.errors",
    "Parse": "lveg.model",
    "Parser": "lveg.model",
    "ParserOptions": "lveg.learning.train",
    "Tagger": "lveg.model",
    "TaggerOptions": "lveg.learning.train",
    "Tagging": "lveg.model",
    "Tree": "lveg.trees",
    "draw_text": "lveg.drawing",
    "load": "lveg.model_io:load_model",
    "parse_tree": "lveg.treebank.penn",
    "read_conllu": "lveg.treebank.conllu",
    "read_trees": "lveg.treebank.penn",
    "save": "lveg.model_io:save_model",
    "train_parser": "lveg.learning.train",
    "train_tagger": "lveg.learning.train",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lveg' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
