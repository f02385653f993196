"""The JSON interface: what requests and answers contain. The OpenAPI document is generated from these classes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MOST_TREES = 50
"""The largest number of analyses that a request may ask for."""

Position = Annotated[int, Meta(ge=0, description="A position between words: 0 is before the first word.")]


class Span(msgspec.Struct, forbid_unknown_fields=True):
    """The words from `start` up to, but not including, `end`, and perhaps the label of a constituent."""

    start: Position
    end: Position
    label: str | None = None


class Given(msgspec.Struct, forbid_unknown_fields=True):
    """What is known about a sentence in advance: constituents, spans that are none, tags by position of the word."""

    spans: list[Span] = []
    not_spans: list[Span] = []
    tags: dict[int, str] = {}


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """What all requests have: sentences as `text`, or the `words` of one sentence."""

    model: Annotated[str | None, Meta(description="A name from /api/models; by default the first fitting one.")] = None
    text: Annotated[str | None, Meta(description="One sentence per line, words separated by white space.")] = None
    words: Annotated[list[Annotated[str, Meta(min_length=1)]] | None, Meta(description="One sentence.")] = None
    raw: Annotated[bool, Meta(description="Find sentences and words in `text`.")] = False
    kbest: Annotated[int, Meta(ge=1, le=MOST_TREES, description="How many analyses, best first.")] = 1


class ParseRequest(Request, forbid_unknown_fields=True):
    """Sentences to parse. Constraints are for a single sentence."""

    decoder: Literal["max-rule", "viterbi", "mbr"] | None = None
    constraints: Given | None = None


class GivenTags(msgspec.Struct, forbid_unknown_fields=True):
    """What is known about a sentence to tag in advance: tags by position of the word."""

    tags: dict[int, str] = {}


class TagRequest(Request, forbid_unknown_fields=True):
    """Sentences to tag. Constraints are for a single sentence."""

    decoder: Literal["posterior", "viterbi"] | None = None
    constraints: GivenTags | None = None


class ScoredTree(msgspec.Struct):
    """A tree in brackets, log P(tree | sentence), and what the decoder maximised."""

    tree: str
    log_prob: float | None
    score: float | None


class Constituent(msgspec.Struct):
    """P(constituent | sentence)."""

    label: str
    start: int
    end: int
    probability: float


Joined = Annotated[
    list[str] | None,
    Meta(description="The two tokens of the first word that seems to be two, such as `go.`: is the text raw?"),
]


class TextToken(msgspec.Struct):
    """A piece of raw text, and the words from `start` up to, but not including, `end` that it stands for.

    space_after: whether white space follows it.
    """

    form: str
    start: Position
    end: Position
    space_after: bool


Text = Annotated[str | None, Meta(description="The text of the sentence, if the request is `raw`; otherwise null.")]
Tokens = Annotated[
    list[TextToken] | None, Meta(description="What the text consists of, if the request is `raw`; otherwise null.")
]


class ParsedSentence(msgspec.Struct):
    """Trees, best first, and the probabilities of all constituents and tags of 0.001 or more.

    fallback: null, or what the parser had to fall back to. tags: for each word, most probable first.
    """

    words: list[str]
    text: Text
    tokens: Tokens
    log_sentence: float | None
    fallback: str | None
    trees: list[ScoredTree]
    constituents: list[Constituent]
    tags: list[dict[str, float]]


class ParseAnswer(msgspec.Struct):
    """The sentences of a request, parsed."""

    model: str
    sentences: list[ParsedSentence]
    joined: Joined


class ScoredTags(msgspec.Struct):
    """Tags with their probabilities, log P(tags | sentence), and what the decoder maximised."""

    tags: list[str]
    probabilities: list[float]
    log_prob: float | None
    score: float | None


class TaggedSentence(msgspec.Struct):
    """Tag sequences, best first, and for each word the probabilities of 0.001 or more, highest first."""

    words: list[str]
    text: Text
    tokens: Tokens
    log_sentence: float | None
    fallback: str | None
    sequences: list[ScoredTags]
    tags: list[dict[str, float]]


class TagAnswer(msgspec.Struct):
    """The sentences of a request, tagged."""

    model: str
    sentences: list[TaggedSentence]
    joined: Joined


class ModelFacts(msgspec.Struct):
    """A model: the labels and tags that it knows, and the column of CoNLL-U that its tags belong in."""

    name: str
    task: Literal["parser", "tagger"]
    kind: str
    labels: list[str]
    tags: list[str]
    column: str


class Models(msgspec.Struct):
    """The models of this server."""

    models: list[ModelFacts]
    max_words: int
    version: str


class Health(msgspec.Struct):
    """Whether the server can answer, and how many of its workers are running."""

    status: Literal["ok", "starting"]
    workers: int


class Problem(msgspec.Struct):
    """Why there is no answer."""

    code: str
    message: str


class ProblemAnswer(msgspec.Struct):
    """Every answer with a status of 400 or more."""

    error: Problem
