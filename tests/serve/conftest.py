"""Small models, and servers that are started as users start them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small import small_file, some_tagged, some_trees, train

from lveg.model_io import save_model

pytest.importorskip("starlette", reason="lveg serve needs starlette: install the extra `serve`")
pytest.importorskip("uvicorn", reason="lveg serve needs uvicorn: install the extra `serve`")

MAX_WORDS = 60


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def problem(self) -> tuple[int, str]:
        """The status and the code of an error."""
        return self.status, self.json["error"]["code"]


class Server(NamedTuple):
    """A running `lveg serve`."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        """The port of the page."""
        return int(self.address.rstrip("/").rpartition(":")[2])

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """The answer to one request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            found = connection.getresponse()
            return Answer(found.status, {key.lower(): text for key, text in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        """The answer to GET."""
        return self.ask("GET", path)

    def post(self, path: str, request: object) -> Answer:
        """The answer to a request in JSON."""
        return self.ask("POST", path, json.dumps(request).encode(), content_type="application/json")


@contextmanager
def running(*arguments: object) -> Iterator[Server]:
    """A server on a free port; afterwards it ends as after Ctrl-C."""
    command = [sys.executable, "-m", "lveg", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "the page is at" in line:
                    break
            assert lines, "the server ended"
            assert "the page is at" in lines[-1], lines
            yield Server(process, lines[-1].partition(" at ")[2].split()[0])
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            status = process.wait(timeout=30)
        assert (status, rest) == (0, "lveg: ended\n")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of a parser and a tagger."""
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for task, model, read in (("parser", "pcfg", some_trees), ("tagger", "hmm", some_tagged)):
        found[task] = folder / f"{task}.model"
        save_model(train(task, read(small_file(folder, task, 400)), model=model), str(found[task]))
    return found


@pytest.fixture(scope="session")
def server(models: dict[str, Path]) -> Iterator[Server]:
    """A server with a parser and a tagger."""
    with running(*models.values(), "--workers", 1, "--max-words", MAX_WORDS, "--deadline", 60) as found:
        yield found
