"""Latent vector grammars: part-of-speech tagging and constituency parsing from your own treebank.

    >>> import lveg
    >>> parser = lveg.load("my.model")
    >>> print(parser.parse("The dog saw a cat .".split()).tree)

Names are imported on first use, so that `import lveg` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lveg._version import __version__

if TYPE_CHECKING:
    from lveg.drawing import draw_text as draw_text
    from lveg.errors import LvegError as LvegError
    from lveg.evaluation.evaluate import ParsingResult as ParsingResult
    from lveg.evaluation.evaluate import TaggingResult as TaggingResult
    from lveg.evaluation.evaluate import evaluate as evaluate
    from lveg.forest.constraints import Constraints as Constraints
    from lveg.model import Parse as Parse
    from lveg.model import Parser as Parser
    from lveg.model import Tagger as Tagger
    from lveg.model import Tagging as Tagging
    from lveg.model import combine as combine
    from lveg.model_io import load_model as load
    from lveg.model_io import save_model as save
    from lveg.text.learned import LearnedTokeniser as LearnedTokeniser
    from lveg.text.ptb import PtbTokeniser as PtbTokeniser
    from lveg.training import Setting as Setting
    from lveg.training import train_parser as train_parser
    from lveg.training import train_tagger as train_tagger
    from lveg.training import train_tokeniser as train_tokeniser
    from lveg.treebank.conllu import read_conllu as read_conllu
    from lveg.treebank.penn import parse_tree as parse_tree
    from lveg.treebank.penn import read_trees as read_trees
    from lveg.trees import Cleaning as Cleaning
    from lveg.trees import Tree as Tree

_HOMES = {
    "Cleaning": "lveg.trees",
    "Constraints": "lveg.forest.constraints",
    "LearnedTokeniser": "lveg.text.learned",
    "LvegError": "lveg.errors",
    "Parse": "lveg.model",
    "Parser": "lveg.model",
    "ParsingResult": "lveg.evaluation.evaluate",
    "PtbTokeniser": "lveg.text.ptb",
    "Setting": "lveg.training",
    "Tagger": "lveg.model",
    "Tagging": "lveg.model",
    "TaggingResult": "lveg.evaluation.evaluate",
    "Tree": "lveg.trees",
    "combine": "lveg.model",
    "draw_text": "lveg.drawing",
    "evaluate": "lveg.evaluation.evaluate",
    "load": "lveg.model_io:load_model",
    "parse_tree": "lveg.treebank.penn",
    "read_conllu": "lveg.treebank.conllu",
    "read_trees": "lveg.treebank.penn",
    "save": "lveg.model_io:save_model",
    "train_parser": "lveg.training",
    "train_tagger": "lveg.training",
    "train_tokeniser": "lveg.training",
}

__all__ = [
    "Cleaning",
    "Constraints",
    "LearnedTokeniser",
    "LvegError",
    "Parse",
    "Parser",
    "ParsingResult",
    "PtbTokeniser",
    "Setting",
    "Tagger",
    "Tagging",
    "TaggingResult",
    "Tree",
    "__version__",
    "combine",
    "draw_text",
    "evaluate",
    "load",
    "parse_tree",
    "read_conllu",
    "read_trees",
    "save",
    "train_parser",
    "train_tagger",
    "train_tokeniser",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lveg' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
