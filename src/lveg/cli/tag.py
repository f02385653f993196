"""`lveg tag`: tags for sentences."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lveg.cli.options import (
    InputFile,
    InputFormatOption,
    ModelFile,
    OutFile,
    Quiet,
    SkipBad,
    Threads,
    check_output,
    is_typed,
    thread_count,
)

if TYPE_CHECKING:
    from lveg.model import Tagging
    from lveg.treebank.text import Input


class TagFormat(StrEnum):
    """How tagged sentences are written."""

    conllu = "conllu"
    tsv = "tsv"
    jsonl = "jsonl"


class TagDecoder(StrEnum):
    """How tags are chosen."""

    posterior = "posterior"
    viterbi = "viterbi"


def tag(
    model: ModelFile,
    input: InputFile = None,
    out: OutFile = None,
    format: Annotated[
        TagFormat | None,
        typer.Option(
            help="conllu: only the tag column changes. tsv: word, tag and probability a line. jsonl: an object a "
            "sentence. If not given: conllu for CoNLL-U input, tsv otherwise."
        ),
    ] = None,
    decoder: Annotated[
        TagDecoder, typer.Option(help="posterior: the best tag for each word. viterbi: the best sequence.")
    ] = TagDecoder.posterior,
    input_format: InputFormatOption = None,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Tag sentences: plain text (a sentence a line), CoNLL-U, brackets or JSON lines.

    Tagging CoNLL-U changes the column that the model was trained on and nothing
    else: comments, ranges and all other columns stay byte for byte.

        lveg tag en.model news.conllu --out tagged.conllu
    """
    from lveg.cli.console import announce_faults, console_report
    from lveg.errors import ModelError
    from lveg.model import CHUNK, Tagger
    from lveg.model_io import load_model
    from lveg.parallel import chunks, ordered_map
    from lveg.treebank.source import Faults, open_output
    from lveg.treebank.text import guess_format, read_sentences

    tagger = load_model(str(model))
    if not isinstance(tagger, Tagger):
        raise ModelError(f"{model}: is a parser; use `lveg parse`")
    input = input or Path("-")
    check_output(out, input)
    path = str(input)
    is_conllu = (input_format.value if input_format else guess_format(path)) == "conllu"
    wanted = format or (TagFormat.conllu if is_conllu else TagFormat.tsv)
    faults = Faults(skip_bad)
    sentences = read_sentences(path, input_format.value if input_format else None, column=None, faults=faults)

    def work(chunk: list[Input]) -> tuple[int, str]:
        taggings = tagger.tag_all([sentence.words for sentence in chunk], decoder.value)
        return len(chunk), "".join(write(*pair, tagger.column) for pair in zip(chunk, taggings, strict=True))

    n_threads = thread_count(threads, input)
    size = 1 if is_typed(input) else CHUNK
    write = {TagFormat.conllu: conllu_block, TagFormat.tsv: tsv_block, TagFormat.jsonl: json_line}[wanted]
    done = 0
    with (
        open_output(str(out) if out else None) as stream,
        console_report(quiet=quiet or out is None) as report,
    ):
        for count, text in ordered_map(work, chunks(sentences, size), n_threads, ahead=2):
            stream.write(text)
            if out is None:
                stream.flush()
            done += count
            report("progress", {"what": "tagging", "done": done, "total": None})
    announce_faults(faults.messages)


def conllu_block(sentence: Input, tagging: Tagging, column: str) -> str:
    """The sentence as CoNLL-U with the column filled."""
    if sentence.sentence is not None:
        return str(sentence.sentence.with_column(column, tagging.tags))
    if not tagging.words:
        return ""
    place = {"upos": 3, "xpos": 4}[column]
    lines = []
    for number, (word, tag) in enumerate(zip(tagging.words, tagging.tags, strict=True), start=1):
        fields = [str(number), _field(word)] + ["_"] * 8
        fields[place] = tag
        lines.append("\t".join(fields) + "\n")
    return "".join(lines) + "\n"


def _field(word: str) -> str:
    """The word without what would end its column or line; words from JSON may hold it."""
    return word.translate({9: "_", 10: "_", 13: "_"})


def tsv_block(sentence: Input, tagging: Tagging, column: str) -> str:
    """A word a line with its tag and the tag's probability, and an empty line."""
    rows = zip(tagging.words, tagging.tags, tagging.confidence, strict=True)
    return "".join(f"{_field(word)}\t{tag}\t{share:.4f}\n" for word, tag, share in rows) + "\n"


def json_line(sentence: Input, tagging: Tagging, column: str) -> str:
    """The sentence as a JSON object."""
    import msgspec

    line: dict[str, Any] = {} if sentence.id is None else {"id": sentence.id}
    line |= {
        "words": tagging.words,
        "tags": tagging.tags,
        "probabilities": tagging.confidence,
        "log_prob": tagging.log_prob,
        "log_sentence": tagging.log_sentence,
    }
    return msgspec.json.encode(line).decode() + "\n"
