"""`lveg tag`: tags for sentences."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
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
    thread_count,
)

if TYPE_CHECKING:
    from lveg.model import Tagging
    from lveg.treebank.text import Input


LEAST_SHOWN = 0.001
"""Tags of lower probability are not listed."""


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
    kbest: Annotated[
        int, typer.Option(min=1, help="How many tag sequences a sentence, best first; needs --format jsonl.")
    ] = 1,
    format: Annotated[
        TagFormat | None,
        typer.Option(
            help="conllu: only the tag column changes. tsv: word, tag and probability a line. jsonl: an object a "
            "sentence. If not given: conllu for CoNLL-U input, tsv otherwise."
        ),
    ] = None,
    decoder: Annotated[
        TagDecoder | None,
        typer.Option(
            help="posterior: the best tag for each word. viterbi: the best sequence. If not given: posterior, and "
            "viterbi with --kbest."
        ),
    ] = None,
    posteriors: Annotated[
        bool,
        typer.Option(
            "--posteriors",
            help="Probabilities of tags. conllu: of each tag, as TagProb in MISC. tsv, jsonl: of all tags from "
            f"{LEAST_SHOWN} on.",
        ),
    ] = False,
    input_format: InputFormatOption = None,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Tag sentences: plain text (a sentence a line), CoNLL-U, brackets or JSON lines.

    Tagging CoNLL-U changes the column that the model was trained on and nothing
    else: comments, ranges and all other columns stay byte for byte, but for
    MISC with --posteriors.

        lveg tag en.model news.conllu --out tagged.conllu
    """
    from lveg.cli.console import announce_faults, console_report
    from lveg.errors import ModelError, UsageError
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
    if kbest > 1 and wanted is not TagFormat.jsonl:
        raise UsageError(f"--kbest needs --format jsonl: {wanted.value} has one tag a word")
    if kbest > 1 and decoder is TagDecoder.posterior:
        raise UsageError("--kbest lists sequences: leave --decoder posterior out")
    faults = Faults(skip_bad)
    sentences = read_sentences(path, input_format.value if input_format else None, column=None, faults=faults)

    def work(chunk: list[Input]) -> tuple[int, str]:
        taggings = tagger.tag_all([sentence.words for sentence in chunk], decoder, kbest, posteriors)
        return len(chunk), "".join(write(*pair) for pair in zip(chunk, taggings, strict=True))

    n_threads = thread_count(threads, input)
    size = (
        1 if path == "-" and n_threads == 1 else CHUNK
    )  # who types sentences, or pipes them, gets each answer at once
    writers: dict[TagFormat, Callable[[Input, Tagging], str]] = {
        TagFormat.conllu: partial(conllu_block, tagger.column),
        TagFormat.tsv: tsv_block,
        TagFormat.jsonl: partial(json_line, kbest),
    }
    write = writers[wanted]
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


def conllu_block(column: str, sentence: Input, tagging: Tagging) -> str:
    """The sentence as CoNLL-U with the column filled, and where posteriors were asked for those of the tags in MISC."""
    from lveg.treebank.conllu import Sentence

    lines = sentence.sentence
    if lines is None:
        if not tagging.words:
            return ""
        rows = [f"{n}\t{_field(word)}" + "\t_" * 8 + "\n" for n, word in enumerate(tagging.words, start=1)]
        lines = Sentence(rows, range(len(rows)))
    tagged = lines.with_column(column, tagging.tags)
    if tagging.posteriors:
        tagged = tagged.with_misc("TagProb", [f"{share:.4f}" for share in tagging.confidence])
    return str(tagged)


def _field(word: str) -> str:
    """The word without what would end its column or line; words from JSON may hold it."""
    return word.translate({9: "_", 10: "_", 13: "_"})


def tsv_block(sentence: Input, tagging: Tagging) -> str:
    """A word a line with its tag and the tag's probability, perhaps those of all its tags, and an empty line."""
    rows = zip(tagging.words, tagging.tags, tagging.confidence, strict=True)
    lines = [f"{_field(word)}\t{tag}\t{share:.4f}" for word, tag, share in rows]
    if tagging.posteriors:
        shares = ("|".join(f"{tag}={value:.4f}" for tag, value in shown.items()) for shown in _shown(tagging))
        lines = [f"{line}\t{share}" for line, share in zip(lines, shares, strict=True)]
    return "".join(f"{line}\n" for line in lines) + "\n"


def _shown(tagging: Tagging) -> list[dict[str, float]]:
    """The posteriors that are listed."""
    return [{tag: value for tag, value in share.items() if value >= LEAST_SHOWN} for share in tagging.posteriors]


def json_line(kbest: int, sentence: Input, tagging: Tagging) -> str:
    """The sentence as a JSON object; with k-best, `sequences` lists all of them."""
    import msgspec

    sequences = [
        {
            "tags": sequence.tags,
            "probabilities": sequence.confidence,
            "score": sequence.score,
            "log_prob": sequence.log_prob,
        }
        for sequence in tagging.sequences
    ]
    line: dict[str, Any] = {} if sentence.id is None else {"id": sentence.id}
    line |= {"words": tagging.words, "log_sentence": tagging.log_sentence}
    line |= {"sequences": sequences} if kbest > 1 else sequences[0]
    line |= {"posteriors": _shown(tagging)} if tagging.posteriors else {}
    return msgspec.json.encode(line).decode() + "\n"
