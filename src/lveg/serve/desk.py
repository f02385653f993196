"""What a worker does: answers requests with its models."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

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
    TextToken,
)
from lveg.serve.example import example_sentence, foreign_tag
from lveg.serve.problems import ApiError
from lveg.serve.supplies import Supplies
from lveg.text.joined import joined_words
from lveg.text.ptb import PtbTokeniser
from lveg.text.tokens import Tokeniser, TokenSentence

Task = TypeVar("Task", Parser, Tagger)


class Input(NamedTuple):
    """A sentence of a request: its words and, of raw text, its text and tokens."""

    words: list[str]
    text: str | None = None
    tokens: list[TextToken] | None = None


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
            parser.parse(one.words, request.decoder, request.kbest, constraints_of(given), marginals=True)
            for one in sentences
        ]
        parsed = [_parsed(one, parse) for one, parse in zip(sentences, parses, strict=True)]
        return ParseAnswer(name, parsed, _joined(request, sentences, parser))

    def tag(self, request: TagRequest) -> TagAnswer:
        """The sentences of a request, tagged."""
        name, tagger = self._chosen(request, Tagger)
        if request.kbest > 1 and request.decoder == "posterior":
            raise ApiError(422, "decoder", "kbest lists sequences: leave out the decoder posterior")
        sentences = self._sentences(request, tagger.tokeniser or _rules(tagger))
        _check_single(request, sentences)
        if request.constraints is None:
            words = [one.words for one in sentences]
            taggings = list(tagger.tag_all(words, request.decoder, request.kbest, posteriors=True))
        else:
            given = request.constraints.tags
            taggings = [tagger.tag(sentences[0].words, request.decoder, request.kbest, posteriors=True, tags=given)]
        tagged = [_tagged(one, tagging) for one, tagging in zip(sentences, taggings, strict=True)]
        return TagAnswer(name, tagged, _joined(request, sentences, tagger))

    def _chosen(self, request: Request, task: type[Task]) -> tuple[str, Task]:
        """The model that a request names, or the first one for the task."""
        for name, model in self.models.items():
            if request.model in (None, name) and isinstance(model, task):
                return name, model
        if request.model in self.models:
            other = "tagger: use /api/tag" if task is Parser else "parser: use /api/parse"
            raise ApiError(422, "task", f"this model is a {other}")
        raise ApiError(404, "model", f"there is no such {task.task}: see /api/models")

    def _sentences(self, request: Request, tokeniser: Tokeniser) -> list[Input]:
        """The sentences of a request; lines without words are left out. tokeniser: for raw text."""
        if (request.text is None) == (request.words is None):
            raise ApiError(422, "input", "expected either text or words")
        if request.words is not None:
            found = [Input(request.words)]
        elif request.raw:
            found = [Input(one.words, one.text, _tokens(one)) for one in tokeniser.sentences(request.text or "")]
        else:
            found = [Input(words_of(line)) for line in (request.text or "").split("\n")]
        if sum(len(one.words) for one in found) > self.supplies.max_words:
            most = self.supplies.max_words  # the message does not repeat the words
            raise ApiError(422, "too_many_words", f"a request may have at most {most} words: send fewer")
        return [one for one in found if one.words]


def _tokens(sentence: TokenSentence) -> list[TextToken]:
    """The tokens of a sentence of raw text, each with the span of its words."""
    found, start = [], 0
    for token in sentence.tokens:
        end = start + len(token.words)
        found.append(TextToken(token.surface, start, end, token.space_after))
        start = end
    return found


def _rules(model: Model) -> Tokeniser:
    """The tokeniser by rule, with the spellings that the model knows."""
    return PtbTokeniser(model.grammar.lexicon.word_ids)


def _joined(request: Request, sentences: list[Input], model: Model) -> list[str] | None:
    """The two tokens of the first word that seems to be two, where tokens are expected."""
    if request.text is None or request.raw:
        return None
    known = model.grammar.lexicon.word_ids
    return next((list(found) for one in sentences if (found := joined_words(one.words, known))), None)


def _check_single(request: ParseRequest | TagRequest, sentences: list[Input]) -> None:
    """Raise an error if there are constraints, but not one sentence."""
    if request.constraints is not None and len(sentences) != 1:
        raise ApiError(422, "constraints", f"constraints are for one sentence, and there are {len(sentences)}")


def constraints_of(given: Given) -> Constraints:
    """The constraints for the parser."""
    return Constraints(_spans(given.spans), _spans(given.not_spans), given.tags or None)


def _spans(spans: list[Span]) -> list[tuple[int, int] | tuple[int, int, str]]:
    return [(one.start, one.end) if one.label is None else (one.start, one.end, one.label) for one in spans]


def _parsed(sentence: Input, parse: Parse) -> ParsedSentence:
    return ParsedSentence(
        sentence.words,
        sentence.text,
        sentence.tokens,
        parse.log_sentence,
        parse.fallback,
        [ScoredTree(str(one.tree), one.log_prob, one.score) for one in parse.trees],
        [Constituent(*span, share) for span, share in parse.constituents.items() if share >= SHOWN_FROM],
        listed_tags(parse.posteriors),
    )


def _tagged(sentence: Input, tagging: Tagging) -> TaggedSentence:
    return TaggedSentence(
        sentence.words,
        sentence.text,
        sentence.tokens,
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
