"""A component for spaCy pipelines: `nlp.add_pipe("lveg", config={"model": "my.model"})`.

A tagger sets `token.pos_` if it was trained on the column `upos`, otherwise `token.tag_`. A parser sets `token.tag_`,
the spans `doc.spans["constituents"]`, labelled with phrase labels, outer ones first, and `doc._.trees`, one `lveg.Tree`
per sentence; `span._.constituents` are those within a span. Sentences are those that the pipeline has found so far, or
the whole text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spacy.language import Language
from spacy.parts_of_speech import IDS
from spacy.tokens import Doc, Span

from lveg.model import Model, Parser, Tagger
from lveg.model_io import load_analyser
from lveg.parallel import chunks
from lveg.treebank.penn import parse_tree
from lveg.trees import Tree

Tokens = list[Any]
"""The tokens of a sentence."""

KEY = "constituents"
"""The name of the spans of constituents in `doc.spans`, and of the extension of spans."""


TREES = "lveg.trees"
"""The key of the trees in `doc.user_data`; they are stored as text, so that documents can be saved."""


class Component:
    """Analyses documents with a parser or a tagger."""

    def __init__(self, model: Model, name: str = "lveg") -> None:
        self.model = model
        self.name = name

    def __call__(self, doc: Doc) -> Doc:
        """Analyse a document, which is changed in place."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 32) -> Iterator[Doc]:
        """Analyse documents, several at a time."""
        for docs in chunks(stream, batch_size):
            sentences = [(doc, tokens) for doc in docs for tokens in _sentences(doc)]
            if isinstance(self.model, Parser):
                _parse(self.model, docs, sentences)
            else:
                _tag(self.model, sentences)
            yield from docs


@Language.factory("lveg", assigns=["token.tag", "token.pos", "doc.spans", "doc._.trees"])
def make_component(nlp: Language, name: str, model: str) -> Component:
    """The component with the model in a file."""
    return Component(load_analyser(model), name)


def _parse(parser: Parser, docs: Sequence[Doc], sentences: Sequence[tuple[Doc, Tokens]]) -> None:
    """Set the tags, trees and constituents of documents."""
    for doc in docs:
        doc.user_data[TREES], doc.spans[KEY] = [], []
    for (doc, tokens), parse in zip(sentences, parser.parse_all(_words(sentences)), strict=True):
        for token, tag in zip(tokens, parse.tree.tags(), strict=True):
            token.tag_ = tag
        doc.user_data[TREES].append(str(parse.tree))
        doc.spans[KEY].extend(_constituents(doc, tokens, parse.tree))


def _tag(tagger: Tagger, sentences: Sequence[tuple[Doc, Tokens]]) -> None:
    """Set the tags of documents; parts of speech that spaCy does not know are tags."""
    for (_, tokens), tagging in zip(sentences, tagger.tag_all(_words(sentences)), strict=True):
        for token, tag in zip(tokens, tagging.tags, strict=True):
            if tagger.column == "upos" and tag in IDS:
                token.pos_ = tag
            else:
                token.tag_ = tag


def _words(sentences: Sequence[tuple[Doc, Tokens]]) -> list[list[str]]:
    return [[token.text for token in tokens] for _, tokens in sentences]


def _sentences(doc: Doc) -> Iterator[Tokens]:
    """The tokens of each sentence, without white space; a text without sentence boundaries is one sentence."""
    for part in doc.sents if doc.has_annotation("SENT_START") else [doc]:
        tokens = [token for token in part if not token.is_space]
        if tokens:
            yield tokens


def _constituents(doc: Doc, tokens: Tokens, tree: Tree) -> list[Span]:
    """The phrases of a tree below its root, as spans."""
    return [
        Span(doc, tokens[start].i, tokens[end - 1].i + 1, label=node.label)
        for node, start, end in tree.spans()[1:]
        if node.word is None
    ]


def _within(span: Span) -> list[Span]:
    """The constituents within a span, outer ones first."""
    found = span.doc.spans.get(KEY, [])
    return [one for one in found if span.start <= one.start and one.end <= span.end]


def _trees(doc: Doc) -> list[Tree]:
    """The trees of the sentences."""
    return [parse_tree(text) for text in doc.user_data.get(TREES, [])]


Doc.set_extension("trees", getter=_trees, force=True)
Span.set_extension(KEY, getter=_within, force=True)
