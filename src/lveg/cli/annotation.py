"""What `lveg parse` and `lveg tag` share: reading sentences, writing results, and progress and notices on stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

from lveg.cli.console import TYPED, announce_faults, compilation_notice, console_report
from lveg.cli.options import STANDARD, is_typed
from lveg.errors import LvegError
from lveg.model import Parse, Tagging
from lveg.progress import say
from lveg.report import counted
from lveg.text.joined import joined_words
from lveg.treebank.source import Faults, display_name, open_output
from lveg.treebank.text import Input, Reading, count_sentences, read_sentences

Result = TypeVar("Result", Parse, Tagging)


class Annotation:
    """One run over the sentences of files. known: the words of the model, to recognise text that is not tokenised."""

    def __init__(
        self, what: str, files: list[Path], reading: Reading, out: Path | None, skip_bad: bool, quiet: bool,
        known: Container[str],
    ) -> None:  # fmt: skip
        self.what = what
        self.files = [str(file) for file in files]
        self.reading = reading
        self.out = out or STANDARD
        self.quiet = quiet
        self.faults = Faults(skip_bad)
        self.known = known

    def sentences(self) -> Iterator[Input]:
        """The sentences, one at a time."""
        if not self.quiet and is_typed(map(Path, self.files)):
            say(TYPED)
        sentences = read_sentences(self.files, self.reading, self.faults)
        is_checked = self.reading.tokeniser is None and not self.quiet
        return self._checked(sentences) if is_checked else sentences

    def _checked(self, sentences: Iterator[Input]) -> Iterator[Input]:
        """The sentences; reports on stderr the first word that seems to be two, as in raw text."""
        for sentence in sentences:
            is_noticed = _notice_joined(sentence, self.reading, self.known)
            yield sentence
            if is_noticed:
                break
        yield from sentences

    def write(self, results: Iterable[tuple[Input, Result]], text: Callable[[Input, Result], str]) -> None:
        """Write the text of each result as it arrives; then report fallbacks and faults."""
        is_printed = self.out == STANDARD
        shows_progress = not (self.quiet or is_printed)
        total = count_sentences(self.files, self.reading) if shows_progress else None
        fallbacks: Counter[str] = Counter()
        with (
            compilation_notice(self.quiet),
            open_output(str(self.out)) as stream,
            console_report(quiet=not shows_progress) as report,
        ):
            for sentence, result in counted(results, report, self.what, total):
                stream.write(text(sentence, result))
                if is_printed:
                    stream.flush()
                if result.fallback:
                    fallbacks[result.fallback] += 1
        if not self.quiet:
            announce_fallbacks(fallbacks)
        announce_faults(self.faults.messages)


def announce_fallbacks(fallbacks: Mapping[str, int]) -> None:
    """Report on stderr how many sentences needed a fallback."""
    if fallbacks:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(fallbacks.items()))
        say(f"lveg: sentences that needed a fallback: {counts}; --format jsonl shows which")


def notice_joined(files: Iterable[str], reading: Reading, known: Container[str]) -> None:
    """Report on stderr the first file whose beginning looks like raw text."""
    for file in files:
        with suppress(LvegError):  # reported where the file is read as a whole
            if any(_notice_joined(sentence, reading, known) for sentence in islice(read_sentences(file, reading), 100)):
                return


def _notice_joined(sentence: Input, reading: Reading, known: Container[str]) -> bool:
    """Report on stderr the first word that seems to be two; whether there is one."""
    is_text = reading.format_of(sentence.file) == "text"
    found = joined_words(sentence.words, known) if is_text else None
    if found is None:
        return False
    first, second = found
    say(
        f'lveg: {display_name(sentence.file)}:{sentence.line}: "{first}{second}" looks like two tokens, "{first}" and '
        f'"{second}"; if this is raw text, use --raw'
    )
    return True
