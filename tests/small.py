"""Small data and quick options, for tests that run over every family."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from lveg.container import dump
from lveg.families.registry import bases_of, described, find, trainable
from lveg.model import Model
from lveg.options import Described
from lveg.training import train_parser, train_tagger
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

DATA = ENGLISH.parent
FORMATS = {"parser": "mrg", "tagger": "conllu"}

FAMILIES = [(task, model) for task in FORMATS for model in trainable(task)]
"""Task and name of every family that can be trained."""

QUICK = {
    "epochs": 1,
    "learning_rate": 0.2,
    "cycles": 2,
    "split_iterations": 2,
    "merge_iterations": 1,
    "smooth_iterations": 1,
    "components": 2,
    "dim": 2,
    "subtypes": 2,
    "folds": 2,
    "dimensions": 2,
    "phrase_epochs": 1,
}


def options_of(task: str, model: str) -> list[Described]:
    """The options of a family, with those of its usual base."""
    kind = find(task, model)
    return described([kind, *bases_of(task, kind)])


def quick_options(task: str, model: str) -> dict[str, Any]:
    """Options with which a family is trained quickly."""
    own = {item.name for item in options_of(task, model)}
    return {name: value for name, value in QUICK.items() if name in own}


def small_file(folder: Path, task: str, count: int = 40, part: str = "train") -> Path:
    """A file with the first sentences of the demonstration treebank."""
    name = f"{part}.{FORMATS[task]}"
    text = (DATA / f"demo-{name}").read_text(encoding="utf-8")
    end = "\n" if task == "parser" else "\n\n"
    path = folder / name
    path.write_text("".join(block + end for block in text.split(end)[:count]), encoding="utf-8")
    return path


def some_trees(path: Path) -> list[Tree]:
    """The trees of a file, in memory."""
    return list(read_trees(path))


def some_tagged(path: Path) -> list[list[tuple[str, str]]]:
    """The tagged sentences of a file, in memory."""
    return read_tagged([str(path)], "upos")


def train(task: str, train: Any, dev: Any = (), **options: Any) -> Model:
    """A parser or a tagger."""
    return train_parser(train, dev, **options) if task == "parser" else train_tagger(train, dev, **options)


def packed(text: str, tensors: dict[str, Any]) -> bytes:
    """The bytes of a model file with this header and these arrays."""
    stream = io.BytesIO()
    dump(stream, text, {name: np.ascontiguousarray(array) for name, array in tensors.items()})
    return stream.getvalue()
