"""`lveg tag`: tag sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lveg.cli.options import (
    STANDARD,
    InputFiles,
    InputFormatOption,
    ModelFile,
    OutFile,
    Quiet,
    Raw,
    SkipBad,
    Threads,
    TokeniserName,
    check_outputs,
    find_tokeniser,
    load_tagger,
    thread_count,
)

if TYPE_CHECKING:
    from lveg.model import Tagging
    from lveg.treebank.text import Input


Kbest = Annotated[
    int, typer.Option(min=1, help="How many tag sequences per sentence, best first; needs --format jsonl.")
]
Format = Annotated[
    Literal["conllu", "tsv", "jsonl"] | None,
    typer.Option(
        help="conllu: only the tag column changes. tsv: word, tag and probability, one word per line. jsonl: one "
        "object per sentence. If not given: conllu with --raw or if all input is CoNLL-U, otherwise tsv."
    ),
]
DecoderOption = Annotated[
    Literal["posterior", "viterbi"] | None,
    typer.Option(
        help="posterior: the best tag for each word. viterbi: the best sequence. If not given: posterior, or viterbi "
        "with --kbest."
    ),
]
Posteriors = Annotated[
    bool,
    typer.Option(
        "--posteriors",
        help="Probabilities of tags. conllu: of each tag, as TagProb in MISC. tsv, jsonl: of all tags >= 0.001.",
    ),
]


def tag(
    model: ModelFile,
    inputs: InputFiles = None,
    out: OutFile = None,
    kbest: Kbest = 1,
    format: Format = None,
    decoder: DecoderOption = None,
    posteriors: Posteriors = False,
    raw: Raw = False,
    tokeniser: TokeniserName = None,
    input_format: InputFormatOption = None,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Tag sentences: plain text (one sentence per line), CoNLL-U, brackets or JSON lines.

    Tagging CoNLL-U changes the column that the model was trained on and nothing
    else: comments, ranges, blank lines and all other columns stay byte for byte,
    except MISC with --posteriors. Several INPUT files are read one after the
    other, and JSON lines then name the `file`; a directory is refused. With --raw,
    running text becomes CoNLL-U.

        lveg tag en.model news.conllu --out tagged.conllu

        lveg tag en.model --raw news.txt --out tagged.conllu
    """
    from lveg.annotate import TagSettings, tag_all
    from lveg.cli.annotation import Annotation
    from lveg.errors import UsageError
    from lveg.model import CHUNK
    from lveg.output import tags_text
    from lveg.treebank.source import guess_format
    from lveg.treebank.text import Reading

    files = inputs or [STANDARD]
    check_outputs([out or STANDARD], [model, *files])
    is_conllu = raw or all((input_format or guess_format(file)) == "conllu" for file in files)
    wanted = format or ("conllu" if is_conllu else "tsv")
    if kbest > 1 and wanted != "jsonl":
        raise UsageError(f"--kbest needs --format jsonl: {wanted} has one tag per word")
    if kbest > 1 and decoder == "posterior":
        raise UsageError("--kbest lists sequences: leave --decoder posterior out")
    tagger = load_tagger(model)

    def text(sentence: Input, tagging: Tagging) -> str:
        return tags_text(sentence, tagging, wanted, tagger.column, kbest > 1, name_file=len(files) > 1)

    found = find_tokeniser(raw, tokeniser, tagger, model)
    reading = Reading(input_format, column=None, keep_blanks=wanted == "conllu", tokeniser=found)
    job = Annotation("tagging", files, reading, out, skip_bad, quiet, tagger.grammar.lexicon.word_ids)
    n_threads = thread_count(threads, files)
    # One at a time for interactive or piped input, so that each sentence is answered at once.
    chunk_size = 1 if STANDARD in files and n_threads == 1 else CHUNK
    settings = TagSettings(decoder, kbest, posteriors)
    results = tag_all(tagger, job.sentences(), settings, n_threads, chunk_size)
    job.write(results, text)
