"""What a worker does: answers requests with its models."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from lveg.errors import LvegError
from lveg.forest.constraints import Constraints
from lveg.model import Model, Parse, Parser, Tagger, Tagging, words_of
from lveg.model_io import analyser_of
from lveg.output import SHOWN_FROM, listed_tags
from lveg.serve.api import (
    Constituent,
    Given,
    ModelFacts,
    ParseAnswer,
    ParsedSentence,
    ParseRequest,
    Request,
    ScoredTags,
    ScoredTree,
    Span,
    TagAnswer,
    TaggedSentence,
    TagRequest,
)
from lveg.serve.example import example_sentence, foreign_tag
from lveg.serve.problems import ApiError
from lveg.serve.supplies import Supplies
from lveg.text.joined import joined_words
from lveg.text.ptb import PtbTokeniser
from lveg.text.tokens import Tokeniser

Task = TypeVar("Task", Parser, Tagger)


class Desk:
    """The models of a worker, ready to use."""

    def __init__(self, supplies: Supplies) -> None:
        self.supplies = supplies
        self.models = {name: analyser_of(data, name) for name, data in supplies.models.items()}
        for model in self.models.values():
            _warm(model)

    def facts(self) -> list[ModelFacts]:
        """The models, in the order in which they were given."""
        return [_facts(name, model) for name, model in self.models.items()]

    def answer(self, request: Request) -> bytes:
        """The answer as JSON; raises ApiError if there is none."""
        try:
            if isinstance(request, ParseRequest):
                return msgspec.json.encode(self.parse(request))
            assert isinstance(request, TagRequest)
            return msgspec.json.encode(self.tag(request))
        except LvegError as error:
            raise ApiError(422, "refused", str(error)) from None

    def parse(self, request: ParseRequest) -> ParseAnswer:
        """The sentences of a request, parsed."""
        name, parser = self._chosen(request, Parser)
        sentences = self._sentences(request, _rules(parser))
        given = request.constraints or Given()
        _check_single(request, sentences)
        parses = [
            parser.parse(words, request.decoder, request.kbest, constraints_of(given), marginals=True)
            for words in sentences
        ]
        parsed = [_parsed(words, parse) for words, parse in zip(sentences, parses, strict=True)]
        return ParseAnswer(name, parsed, _joined(request, sentences, parser))

    def tag(self, request: TagRequest) -> TagAnswer:
        """The sentences of a request, tagged."""
        name, tagger = self._chosen(request, Tagger)
        if request.kbest > 1 and request.decoder == "posterior":
            raise ApiError(422, "decoder", "kbest lists sequences: leave out the decoder posterior")
        sentences = self._sentences(request, tagger.tokeniser or _rules(tagger))
        _check_single(request, sentences)
        if request.constraints is None:
            taggings = list(tagger.tag_all(sentences, request.decoder, request.kbest, posteriors=True))
        else:
            given = request.constraints.tags
            taggings = [tagger.tag(sentences[0], request.decoder, request.kbest, posteriors=True, tags=given)]
        return TagAnswer(name, [_tagged(tagging) for tagging in taggings], _joined(request, sentences, tagger))

    def _chosen(self, request: Request, task: type[Task]) -> tuple[str, Task]:
        """The model that a request names, or the first one for the task."""
        for name, model in self.models.items():
            if request.model in (None, name) and isinstance(model, task):
                return name, model
        if request.model in self.models:
            other = "tagger: use /api/tag" if task is Parser else "parser: use /api/parse"
            raise ApiError(422, "task", f"this model is a {other}")
        raise ApiError(404, "model", f"there is no such {task.task}: see /api/models")

    def _sentences(self, request: Request, tokeniser: Tokeniser) -> list[list[str]]:
        """The words of each sentence of a request; lines without words are left out. tokeniser: for raw text."""
        if (request.text is None) == (request.words is None):
            raise ApiError(422, "input", "expected either text or words")
        if request.words is not None:
            found = [request.words]
        elif request.raw:
            found = [sentence.words for sentence in tokeniser.sentences(request.text or "")]
        else:
            found = [words_of(line) for line in (request.text or "").split("\n")]
        if sum(map(len, found)) > self.supplies.max_words:
            most = self.supplies.max_words  # the message does not repeat the words
            raise ApiError(422, "too_many_words", f"a request may have at most {most} words: send fewer")
        return [words for words in found if words]


def _rules(model: Model) -> Tokeniser:
    """The tokeniser by rule, with the spellings that the model knows."""
    return PtbTokeniser(model.grammar.lexicon.word_ids)


def _joined(request: Request, sentences: list[list[str]], model: Model) -> list[str] | None:
    """The two tokens of the first word that seems to be two, where tokens are expected."""
    if request.text is None or request.raw:
        return None
    known = model.grammar.lexicon.word_ids
    return next((list(found) for words in sentences if (found := joined_words(words, known))), None)


def _check_single(request: ParseRequest | TagRequest, sentences: list[list[str]]) -> None:
    """Raise an error if there are constraints, but not one sentence."""
    if request.constraints is not None and len(sentences) != 1:
        raise ApiError(422, "constraints", f"constraints are for one sentence, and there are {len(sentences)}")


def constraints_of(given: Given) -> Constraints:
    """The constraints for the parser."""
    return Constraints(_spans(given.spans), _spans(given.not_spans), given.tags or None)


def _spans(spans: list[Span]) -> list[tuple[int, int] | tuple[int, int, str]]:
    return [(one.start, one.end) if one.label is None else (one.start, one.end, one.label) for one in spans]


def _parsed(words: list[str], parse: Parse) -> ParsedSentence:
    return ParsedSentence(
        words,
        parse.log_sentence,
        parse.fallback,
        [ScoredTree(str(one.tree), one.log_prob, one.score) for one in parse.trees],
        [Constituent(*span, share) for span, share in parse.constituents.items() if share >= SHOWN_FROM],
        listed_tags(parse.posteriors),
    )


def _tagged(tagging: Tagging) -> TaggedSentence:
    return TaggedSentence(
        tagging.words,
        tagging.log_sentence,
        tagging.fallback,
        [ScoredTags(one.tags, one.confidence, one.log_prob, one.score) for one in tagging.sequences],
        listed_tags(tagging.posteriors),
    )


def _facts(name: str, model: Model) -> ModelFacts:
    kind, tags = model.family.title, sorted(model.grammar.tags)
    if isinstance(model, Parser):
        return ModelFacts(name, "parser", kind, sorted(model.grammar.labels), tags, "xpos")
    return ModelFacts(name, "tagger", kind, [], tags, model.column)


def _warm(model: Model) -> None:
    """Analyse a sentence, so that kernels are loaded and tables filled before the first request."""
    if isinstance(model, Parser):
        words = example_sentence(model.grammar, model.weight)
        model.parse(words, count=2, marginals=True)
        if (tag := foreign_tag(model.grammar, words[0])) is not None:  # fallbacks have kernels of their own
            model.parse(words, count=2, constraints=Constraints(tags={0: tag}), marginals=True)
    else:
        model.tag(model.grammar.lexicon.words[:5], posteriors=True)
