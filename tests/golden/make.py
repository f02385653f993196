"""Makes golden models: one tiny model file for each registered family and context, and their answers.

Models of a release are never changed, so that tests show that every later version still reads them.
`python tests/golden/make.py` makes those of the current version, and refuses if they exist.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from lveg._version import __version__
from lveg.container import FORMAT
from lveg.families.tag_forms import learning
from lveg.model import Parser, Tagger, combine
from lveg.model_io import Loaded, save_model
from lveg.training import train_parser, train_tagger, train_tokeniser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

HERE = Path(__file__).parent

SENTENCES = ("The dog saw a cat .", "Unheard zworks ( 12 ) - x", "a")
"""What parsers and taggers are asked."""

TEXT = "The dogs can't sleep. (Cats do!)  Dr. X-1 saw 3.5 \u00fc."
"""What tokenisers are asked."""


class Golden(msgspec.Struct):
    """A golden model: the digest of its file, its format, and its answers."""

    digest: str
    format: int
    answers: list[Any]


def answers(model: Loaded) -> list[Any]:
    """What a model says about the sentences or the text."""
    if isinstance(model, Parser):
        return [
            [parse.log_sentence, parse.fallback, [[str(one.tree), one.score, one.log_prob] for one in parse.trees]]
            for parse in (model.parse(text, count=2) for text in SENTENCES)
        ]
    if isinstance(model, Tagger):
        found: list[Any] = [
            [tagging.tags, tagging.log_prob, tagging.confidence] for tagging in map(model.tag, SENTENCES)
        ]
        return found if model.tokeniser is None else [*found, *_tokens(model.tokeniser)]
    return _tokens(model)


def _tokens(tokeniser: Any) -> list[Any]:
    return [[list(token.words) for token in sentence.tokens] for sentence in tokeniser.sentences(TEXT)]


QUICK = {"epochs": 1}
NETWORK = {"units": 2, "embedding": 2, "network_epochs": 1, "network_batch": 8}
VECTORS = "the 0.5 -1 2\nsaw 1 0 0.25\n"


def makers() -> dict[str, Callable[[], Loaded]]:
    """A function that trains each model; files that they are trained on are written to the working directory."""
    whole = list(read_trees(ENGLISH.parent / "demo-train.mrg"))
    trees = [tree for tree in whole if len(tree.words()) <= 6][:5]
    tagged = [[(leaf.word or "", leaf.label) for leaf in tree.leaves()] for tree in trees[:4]]
    split = [[(word, f"{tag[0]} F={tag[-1]}|G") for word, tag in sentence] for sentence in tagged]
    Path("vectors.txt").write_text(VECTORS)
    Path("text.conllu").write_text("".join(map(_conllu, trees[:4])))
    vectors = NETWORK | {"vectors": "vectors.txt"}
    fast: dict[str, Any] = {"epochs": 3, "learning_rate": 0.5}  # smaller weights of forms are rounded to 0

    def parser(model: str, **options: Any) -> Callable[[], Parser]:
        return lambda: train_parser(trees, model=model, **options)

    def tagger(model: str, data: Any = tagged, **options: Any) -> Callable[[], Tagger]:
        return lambda: train_tagger(data, model=model, **options)

    def with_attributes() -> Tagger:
        with patch.object(learning, "MANY_TAGS", 2):  # with few tags, attributes are not used
            return tagger("forms", split, subtypes=1, **fast, **NETWORK)()

    subtypes = {"subtypes": 2, **QUICK}
    gaussians = {"components": 2, "dim": 1, **QUICK}
    cycles = {"cycles": 2, "split_iterations": 2, "merge_iterations": 1, "smooth_iterations": 1}
    contexts = {"context_epochs": 1, "narrow": 1e-3}
    made: dict[str, Callable[[], Loaded]] = {
        "parser-pcfg": parser("pcfg"),
        "parser-lvg": parser("lvg", **subtypes),
        "parser-split-merge": parser("split-merge", **cycles),
        "parser-multi-scale": parser("multi-scale", cycles=1, **QUICK),
        "parser-gm": parser("gm", **gaussians),
        "parser-shared": parser("shared", components=2, dim=2, **QUICK),
        "parser-cvg": parser("cvg", base="pcfg", dimensions=2, phrase_epochs=1, folds=2),
        "parser-features": parser("pcfg", context="features", **contexts),
        "parser-network": parser("gm", context="network", **contexts, **vectors, **gaussians),
        "parser-product": lambda: combine([parser("pcfg")(), parser("lvg", **subtypes)()]),
        "parser-head": parser("pcfg", binarise="head", horizontal=1, vertical=2, unknown="english"),
        "tagger-hmm": tagger("hmm"),
        "tagger-lvg": tagger("lvg", **subtypes),
        "tagger-gm": tagger("gm", **gaussians),
        "tagger-forms": tagger("forms", context="forms", subtypes=2, **fast),
        "tagger-network": tagger("forms", context="network", **subtypes, **vectors),
        "tagger-gaussian": tagger("forms", context="forms", chain="gaussian", components=2, dim=1, **fast),
        "tagger-factored": with_attributes,
        "tagger-text": tagger("hmm", "text.conllu", with_tokeniser=True, column="xpos"),
        "tokeniser-forms": lambda: train_tokeniser("text.conllu", **fast),
    }
    return made


def _conllu(tree: Tree) -> str:
    """A tree's words in CoNLL-U, the last two of them as a multiword token."""
    leaves = tree.leaves()
    rows = [f"{n}\t{leaf.word}\t_\tX\t{leaf.label}\t_\t_\t_\t_\t_\n" for n, leaf in enumerate(leaves, 1)]
    last, ends = len(leaves), "".join(leaf.word or "" for leaf in leaves[-2:])
    rows.insert(last - 2, f"{last - 1}-{last}\t{ends}\t_\t_\t_\t_\t_\t_\t_\t_\n")
    return "".join(rows) + "\n"


def make(target: Path) -> dict[str, Golden]:
    """Train all models, write them to a new folder with their answers, and return the latter."""
    target = target.resolve()
    target.mkdir()  # fails if it exists: golden models are never changed
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, train in makers().items():
            model, file = train(), target / f"{name}.model"
            save_model(model, file)
            found[name] = Golden(hashlib.sha256(file.read_bytes()).hexdigest(), FORMAT, answers(model))
            print(f"{name}: {file.stat().st_size:,} bytes")
    rows = [msgspec.json.encode(name) + b": " + msgspec.json.encode(one) for name, one in found.items()]
    (target / "answers.json").write_bytes(b"{\n" + b",\n".join(rows) + b"\n}\n")
    return found


if __name__ == "__main__":
    try:
        make(HERE / __version__)
    except FileExistsError:
        sys.exit(f"{HERE / __version__} exists: golden models of a release are never changed")
