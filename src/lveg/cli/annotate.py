"""`lveg annotate`: annotate a corpus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lveg.cli.options import (
    InputFormatOption,
    ModelFile,
    Quiet,
    Raw,
    SkipBad,
    Threads,
    TokeniserName,
    check_outputs,
    cluster_workers,
    find_tokeniser,
    thread_count,
)

if TYPE_CHECKING:
    from lveg.corpus.inputs import Source
    from lveg.corpus.manifest import Manifest
    from lveg.corpus.work import Annotator
    from lveg.text.tokens import Tokeniser


Inputs = Annotated[
    list[Path],
    typer.Argument(metavar="INPUT", help="Files and directories; .gz and .zst are read and written compressed."),
]
Folder = Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to write, created if needed.")]
FormatOption = Annotated[
    Literal["brackets", "conllu", "tsv", "jsonl"] | None,
    typer.Option(
        help="Parsers: brackets (default) or jsonl. Taggers: conllu (default), tsv or jsonl. As in `lveg parse` and "
        "`lveg tag`."
    ),
]
Kbest = Annotated[int, typer.Option(min=1, help="How many analyses per sentence, best first; for taggers with jsonl.")]
DecoderOption = Annotated[
    str | None, typer.Option(help="Parsers: max-rule, viterbi or mbr. Taggers: posterior or viterbi.")
]
PartSize = Annotated[
    int,
    typer.Option(
        "--part",
        min=1,
        help="Sentences (paragraphs of raw text) that are annotated together; an interruption loses at most this many "
        "per thread.",
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS|local:N",
        help="Annotate on the workers of a Dask scheduler, such as tcp://host:8786, or on N processes of this machine: "
        "local:N. Files are read and written here. Needs lveg\\[cluster].",
    ),
]
Restart = Annotated[bool, typer.Option("--restart", help="Discard what an earlier run wrote to DIR, and begin anew.")]


def annotate(
    model: ModelFile,
    inputs: Inputs,
    out: Folder,
    format: FormatOption = None,
    kbest: Kbest = 1,
    decoder: DecoderOption = None,
    raw: Raw = False,
    tokeniser: TokeniserName = None,
    input_format: InputFormatOption = None,
    part: PartSize = 128,
    restart: Restart = False,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    cluster: ClusterAddress = None,
    quiet: Quiet = False,
) -> None:
    """Tag or parse a corpus: one output file for each input file, resumable.

    Directories are mirrored, and files stay compressed. Interrupted in any way,
    the same command continues: no sentence is lost or written twice, and the
    bytes of the output are those of a run without interruption, on any number of
    threads. `manifest.json` in DIR lists files, counts, SHA-256 hashes and the
    model's fingerprint. A DIR that was begun with another model, other options or
    a file that has changed since is refused; further inputs are added to it. A
    file with a malformed sentence gets no output, unless --skip-bad is given; the
    others do, and the exit status is 2.

        lveg annotate en.model news/ --out tagged/

        lveg annotate my.model --raw news/ more.txt.gz --out parsed/
    """
    from lveg.cli.annotation import notice_joined
    from lveg.corpus.inputs import check_apart, find_sources
    from lveg.corpus.work import Annotator, Options, default_format
    from lveg.model_io import load_analyser

    paths = [str(path) for path in inputs]
    check_apart(str(out), paths)
    analyser = load_analyser(str(model))
    found = find_tokeniser(raw, tokeniser, analyser, model)
    chosen = format or default_format(analyser)
    options = Options(chosen, kbest, decoder, _name_of(found), input_format, skip_bad, part)
    annotator = Annotator(analyser, options, found)
    sources, skipped = find_sources(paths, annotator)
    outputs = [out / source.output for source in sources]
    check_outputs((path for path in outputs if path.exists()), [model, *(Path(source.file) for source in sources)])
    if not quiet and found is None:
        notice_joined((source.file for source in sources[:5]), annotator.reading, analyser.grammar.lexicon.word_ids)
    manifest = _run(str(out), sources, annotator, thread_count(threads), restart, cluster, quiet)
    _conclude(manifest, str(out), sources, skipped, quiet)


def _name_of(tokeniser: Tokeniser | None) -> str | None:
    """What distinguishes a tokeniser from others."""
    from lveg.cli.options import RULES
    from lveg.model_io import model_fingerprint
    from lveg.text.learned import LearnedTokeniser

    if isinstance(tokeniser, LearnedTokeniser):
        return model_fingerprint(tokeniser)
    return None if tokeniser is None else RULES


def _run(
    folder: str,
    sources: list[Source],
    annotator: Annotator,
    threads: int,
    restart: bool,
    cluster: str | None,
    quiet: bool,
) -> Manifest:
    """Do the work, with progress on stderr."""
    from lveg.cli.console import compilation_notice, console_report
    from lveg.corpus.run import annotate_corpus
    from lveg.progress import say
    from lveg.treebank.text import count_sentences

    total = None if quiet else count_sentences([source.file for source in sources], annotator.reading)
    try:
        with (
            compilation_notice(quiet),
            console_report(quiet=quiet) as report,
            cluster_workers(cluster, report) as workers,
        ):
            return annotate_corpus(folder, sources, annotator, threads, restart, report, total, workers)
    except KeyboardInterrupt:
        say("lveg: stopped; the same command continues")
        os._exit(130)  # without waiting for the parts that are being annotated


def _conclude(manifest: Manifest, folder: str, sources: list[Source], skipped: list[str], quiet: bool) -> None:
    """Report what was done and what was not; an error if a file has no output."""
    from lveg.cli.annotation import announce_fallbacks
    from lveg.cli.console import announce_faults
    from lveg.errors import UsageError
    from lveg.progress import say

    names = {source.output for source in sources}
    entries = [entry for entry in manifest.files if entry.output in names]
    announce_faults(skipped + [message for entry in entries for message in entry.counts.skipped])
    total = manifest.total
    if not quiet:
        announce_fallbacks(total.fallbacks)
        say(f"lveg: {folder} has {total.sentences:,} sentences, {total.words:,} words, {total.files:,} files")
    errors = [entry.error for entry in entries if entry.error is not None]
    for error in errors[1:]:
        say(f"lveg: {error}")
    if errors:
        rest = f" ({len(errors):,} of {len(entries):,} files have no output)"
        raise UsageError(f"{errors[0]}{rest}; correct it and repeat the command, or use --skip-bad")
