"""The manifest of a folder of outputs: what it was made from, with which model and options, and what is done."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from lveg._version import __version__
from lveg.corpus.inputs import Source
from lveg.corpus.work import Counts, Options
from lveg.errors import UsageError
from lveg.files import replacing, sha256_of

NAME = "manifest.json"
_ADVICE = "use another --out, or --restart to begin anew"


class Entry(msgspec.Struct):
    """A file and its output. error: why it has no output; corrected, it is annotated the next time."""

    input: str
    input_sha256: str
    output: str
    is_complete: bool = msgspec.field(default=False, name="complete")
    counts: Counts = msgspec.field(default_factory=Counts)
    output_bytes: int = 0
    output_sha256: str = ""
    error: str | None = None


class Total(msgspec.Struct):
    """Sums over all files. errors: number of files without output."""

    files: int = 0
    errors: int = 0
    sentences: int = 0
    words: int = 0
    fallbacks: dict[str, int] = {}
    skipped: int = 0


class Manifest(msgspec.Struct):
    """What a folder of outputs holds. model: the fingerprint of the model."""

    lveg: str
    task: str
    model: str
    options: Options
    is_complete: bool = msgspec.field(default=False, name="complete")
    total: Total = msgspec.field(default_factory=Total)
    files: list[Entry] = []

    def save(self, folder: str) -> None:
        """Write the manifest into its folder; a crash at any moment leaves the old one or the new one."""
        self.files.sort(key=lambda entry: entry.output)
        self.is_complete = all(entry.is_complete for entry in self.files)
        errors = sum(entry.error is not None for entry in self.files)
        counts = sum((entry.counts for entry in self.files), Counts())
        self.total = Total(
            len(self.files), errors, counts.sentences, counts.words, counts.fallbacks, len(counts.skipped)
        )
        with replacing(os.path.join(folder, NAME)) as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")


def load_manifest(folder: str) -> Manifest | None:
    """The manifest in a folder, None if there is none."""
    path = os.path.join(folder, NAME)
    try:
        with open(path, "rb") as stream:
            found = msgspec.json.decode(stream.read(), type=Manifest)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: is not a manifest of `lveg annotate` ({error}); use another --out") from None
    for entry in found.files:
        if os.path.isabs(entry.output) or ".." in entry.output.split(os.sep):
            raise UsageError(f"{path}: lists {entry.output!r}, which is not in {folder}; use another --out")
    return found


def continued(
    folder: str, found: Manifest | None, task: str, model: str, options: Options, sources: Sequence[Source]
) -> Manifest:
    """The manifest to work on: the one found, with these inputs added.

    Refused, if it was made by other means, if an input changed since, or if a file that it does not list is in the way.
    """
    manifest = found or Manifest(__version__, task, model, options)
    for what, old, new in (
        ("another model", manifest.model, model),
        ("other options", manifest.options, options),
        (f"lveg {manifest.lveg}", manifest.lveg, __version__),
    ):
        if old != new:
            raise UsageError(f"{folder}: was made with {what}; {_ADVICE}")
    known = {entry.output: entry for entry in manifest.files}
    for source in sources:
        digest = sha256_of(source.file)
        entry = known.get(source.output)
        if entry is None:
            if os.path.exists(os.path.join(folder, source.output)):
                raise UsageError(
                    f"{os.path.join(folder, source.output)}: exists, and is not listed in {NAME}; {_ADVICE}"
                )
            manifest.files.append(Entry(source.file, digest, source.output))
        elif entry.error is not None:
            entry.input, entry.input_sha256, entry.error = source.file, digest, None
        elif entry.input_sha256 != digest:
            raise UsageError(f"{source.file}: has changed since {folder} was begun; {_ADVICE}")
        elif entry.is_complete:
            _check_output(folder, entry)
    return manifest


def _check_output(folder: str, entry: Entry) -> None:
    """An output that is gone is made again; one that was changed is refused."""
    path = os.path.join(folder, entry.output)
    if not os.path.exists(path):
        entry.is_complete = False
    elif os.path.getsize(path) != entry.output_bytes:
        raise UsageError(f"{path}: has changed since it was written; {_ADVICE}")
