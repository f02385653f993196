"""Which files are annotated, and where their output goes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from lveg.corpus.work import EXTENSIONS, Annotator
from lveg.errors import UsageError
from lveg.treebank import zstd
from lveg.treebank.source import STDIN, InputFormat, files_in, guess_format, known_format, split_compression


@dataclass(frozen=True)
class Source:
    """A file to annotate. output: the name of its output in the folder of outputs."""

    file: str
    output: str
    input_format: InputFormat


def find_sources(paths: Iterable[str], annotator: Annotator) -> tuple[list[Source], list[str]]:
    """The files that the paths name, and messages about files in directories that are skipped.

    The output of a named file has its name; that of a file in a directory has its path in the directory. Its extension
    becomes that of the output's format, and it is compressed as the input is. In a directory, hidden files are ignored,
    and files whose extension says nothing, unless a format is given.
    """
    given, is_raw = annotator.options.input_format, annotator.tokeniser is not None
    found: dict[str, Source] = {}
    skipped = []
    for path in paths:
        if path == STDIN:
            raise UsageError(
                "`annotate` reads files and directories; for standard input use `lveg tag` or `lveg parse`"
            )
        is_folder = os.path.isdir(path)
        for file in files_in(path) if is_folder else [path]:
            form = given or (known_format(file) if is_folder else guess_format(file))
            if is_raw and form not in ("text", None):
                if not is_folder:
                    raise UsageError(
                        f"{file}: raw text cannot be read from {form}; --input-format text reads it as text"
                    )
                skipped.append(f"{file}: is {form}, not raw text")
            elif form is None:
                skipped.append(f"{file}: its extension is not known; --input-format says how to read all files")
            else:
                name = os.path.relpath(file, path) if is_folder else os.path.basename(file)
                source = Source(file, _output_name(name, EXTENSIONS[annotator.options.format]), form)
                _add(found, source)
        if is_folder and not any(source.file.startswith(os.path.join(path, "")) for source in found.values()):
            raise UsageError(f"{path}: the directory holds no files to annotate")
    return list(found.values()), skipped


def _output_name(name: str, extension: str) -> str:
    """The name of an output: another extension, if that of the input is known, and the same compression."""
    bare, ending = split_compression(name)
    return (os.path.splitext(bare)[0] if known_format(bare) else bare) + extension + ending


def _add(found: dict[str, Source], source: Source) -> None:
    zstd.check(source.file)
    other = found.setdefault(source.output, source)
    if other is not source:
        raise UsageError(
            f"{other.file} and {source.file} would both be written to {source.output}; name the directory that has "
            "both, rename one, or use two --out"
        )


def check_apart(folder: str, paths: Iterable[str]) -> None:
    """Refuse a folder of outputs inside a directory of inputs: its files would be inputs the next time."""
    inside = os.path.realpath(folder)
    for path in paths:
        outside = os.path.realpath(path)
        if os.path.isdir(path) and os.path.commonpath([inside, outside]) == outside:
            raise UsageError(f"{folder}: is inside {path}, which is an input; choose a directory outside")
