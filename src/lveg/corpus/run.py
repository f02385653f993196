"""Annotates the files of a corpus into a folder: in parts, on all cores; killed at any moment, it can be repeated.

Each finished part is a file under `.lveg` in the folder. When the last part of an input is finished, they are joined to
its output, which is recorded in the manifest; only then are they removed. All of these are written to temporary files
that are synced and renamed. Repeated, a run makes the parts that are missing: no sentence is lost or written twice.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lveg.corpus.inputs import Source
from lveg.corpus.manifest import NAME, Entry, Manifest, continued, load_manifest
from lveg.corpus.work import Annotator, Counts, Done, RemoteAnnotator, annotate_part, counts_in, write_part
from lveg.errors import TreebankError, UsageError
from lveg.files import remove_leftovers, sha256_of
from lveg.learning.run import Workers
from lveg.model_io import model_fingerprint
from lveg.parallel import chunks, ordered_map
from lveg.report import Report, silent
from lveg.treebank.parts import cut
from lveg.treebank.source import Part, open_output

PARTS = ".lveg"
"""The folder of finished parts, in the folder of outputs."""

SAVED_EVERY = 10.0
"""Seconds between two versions of the manifest."""

AT_ONCE = 64
"""Parts that are sent to workers in other processes together."""


@dataclass
class _File:
    """A file that is being annotated. error: the first fault in it; n_parts: their number, once it is known."""

    source: Source
    entry: Entry
    error: str | None = None
    n_parts: int = 0


@dataclass(frozen=True)
class _Job:
    """A part of a file to annotate; None for the end of the file, with an error if it ends too early."""

    file: _File
    part: Part | None = None
    error: str | None = None


@dataclass(frozen=True)
class _Outcome:
    job: _Job
    counts: Counts = field(default_factory=Counts)
    error: str | None = None


def annotate_corpus(
    folder: str,
    sources: Sequence[Source],
    annotator: Annotator,
    threads: int = 1,
    restart: bool = False,
    report: Report = silent,
    total: int | None = None,
    workers: Workers | None = None,
) -> Manifest:
    """Annotate files into a folder, or continue where an earlier run stopped; the manifest of what is done.

    The output is the same for any number of threads and interruptions. A file with a malformed sentence has an error in
    the manifest and no output; the others are annotated. restart: discard what an earlier run did. total: the number of
    sentences, if known. workers: other processes that annotate parts, instead of threads.
    """
    with _alone_in(folder):
        run = _Run(folder, sources, annotator, restart)
        run.work(threads, report, total, workers)
        return run.manifest


@contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Create the folder if needed, and lock it against other processes; a process that ends gives up its lock."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be created: {error.strerror}") from None
    if sys.platform == "win32":  # has no locks on folders
        yield
        return
    import fcntl

    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError(f"{folder}: another process is annotating into it; wait for it or use another --out") from None
    finally:
        os.close(number)


class _Run:
    """One run; nothing else writes to its folder."""

    def __init__(self, folder: str, sources: Sequence[Source], annotator: Annotator, restart: bool) -> None:
        self.folder, self.annotator = folder, annotator
        found = load_manifest(folder)
        if restart:
            self._discard(found)
            found = None
        model = model_fingerprint(annotator.model)
        self.manifest = continued(folder, found, annotator.model.task, model, annotator.options, sources)
        entries = {entry.output: entry for entry in self.manifest.files}
        self.files = [_File(source, entries[source.output]) for source in sources]
        self.saved = 0.0
        self.joined: list[_File] = []  # parts are still there

    def work(self, threads: int, report: Report, total: int | None, workers: Workers | None) -> None:
        """Annotate what is not complete."""
        for folder in {self.folder, *(os.path.dirname(self._output(file)) for file in self.files)}:
            os.makedirs(folder, exist_ok=True)
            remove_leftovers(folder)
        self._save()
        done = sum(file.entry.counts.sentences for file in self.files if file.entry.is_complete)
        found = ordered_map(self._annotate, self._jobs(), threads, ahead=2) if workers is None else self._sent(workers)
        for outcome in found:
            file = outcome.job.file
            file.error = file.error or outcome.error
            done += outcome.counts.sentences
            if outcome.job.part is None:
                self._finish(file)
            report("progress", {"what": "annotating", "done": done, "total": total})
        self._save()
        if self.manifest.is_complete:
            shutil.rmtree(os.path.join(self.folder, PARTS), ignore_errors=True)

    def _jobs(self) -> Iterator[_Job]:
        """The parts of all files that are not complete, and the end of each file."""
        options, is_raw = self.annotator.options, self.annotator.tokeniser is not None
        for file in self.files:
            if file.entry.is_complete:
                continue
            os.makedirs(self._parts(file), exist_ok=True)
            try:
                for part in cut(file.source.file, file.source.input_format, is_raw, options.part_size):
                    if file.error is not None:
                        break
                    file.n_parts += 1
                    yield _Job(file, part)
            except TreebankError as error:  # a damaged compressed file
                yield _Job(file, error=str(error))
            else:
                yield _Job(file)

    def _annotate(self, job: _Job) -> _Outcome:
        """Annotate a part, unless an earlier run did."""
        if job.part is None:
            return _Outcome(job, error=job.error)
        if self._is_done(job):
            return _Outcome(job, counts_in(self._path(job)))
        try:
            return self._keep(job, annotate_part(self.annotator, job.file.source.file, job.part))
        except TreebankError as error:
            return _Outcome(job, error=str(error))

    def _sent(self, workers: Workers) -> Iterator[_Outcome]:
        """Like `_annotate` for all jobs, by workers in other processes; they send the text, which is written here."""
        annotator = RemoteAnnotator.of(self.annotator)
        for jobs in chunks(self._jobs(), AT_ONCE):
            parts = {
                number: (job.file.source.file, job.part)
                for number, job in enumerate(jobs)
                if job.part is not None and not self._is_done(job)
            }
            found = dict(zip(parts, workers.map(annotator, parts.values()), strict=True))
            for number, job in enumerate(jobs):
                done = found.get(number)
                if isinstance(done, str):
                    yield _Outcome(job, error=done)
                else:
                    yield self._annotate(job) if done is None else self._keep(job, done)

    def _is_done(self, job: _Job) -> bool:
        return os.path.exists(self._path(job))

    def _keep(self, job: _Job, done: Done) -> _Outcome:
        """Write an annotated part."""
        write_part(self._path(job), done)
        return _Outcome(job, done.counts)

    def _path(self, job: _Job) -> str:
        assert job.part is not None
        return os.path.join(self._parts(job.file), f"{job.part.number:08d}")

    def _finish(self, file: _File) -> None:
        """Join the parts of a file, or record why there is no output."""
        entry = file.entry
        if file.error is not None:
            entry.error, entry.counts = file.error, Counts()
        else:
            path, entry.counts = self._output(file), Counts()
            with open_output(path) as stream:
                for number in range(file.n_parts):
                    part = os.path.join(self._parts(file), f"{number:08d}")
                    entry.counts += counts_in(part)
                    with open(part, encoding="utf-8", newline="") as text:
                        text.readline()
                        shutil.copyfileobj(text, stream)
            entry.output_sha256, entry.output_bytes = sha256_of(path), os.path.getsize(path)
            entry.is_complete = True
        self.joined.append(file)
        if time.monotonic() - self.saved > SAVED_EVERY:
            self._save()

    def _save(self) -> None:
        """Save the manifest; then the parts of the files that it lists as finished are no longer needed."""
        self.manifest.save(self.folder)
        self.saved = time.monotonic()
        for file in self.joined:
            shutil.rmtree(self._parts(file), ignore_errors=True)
        self.joined.clear()

    def _discard(self, found: Manifest | None) -> None:
        """Remove what an earlier run wrote."""
        shutil.rmtree(os.path.join(self.folder, PARTS), ignore_errors=True)
        names = [entry.output for entry in found.files] if found else []
        for path in (os.path.join(self.folder, name) for name in (*names, NAME)):
            if os.path.exists(path):
                os.unlink(path)

    def _output(self, file: _File) -> str:
        return os.path.join(self.folder, file.source.output)

    def _parts(self, file: _File) -> str:
        """The folder of the parts of a file, different for each content."""
        key = f"{file.entry.input_sha256} {file.entry.output}"
        return os.path.join(self.folder, PARTS, hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:24])
