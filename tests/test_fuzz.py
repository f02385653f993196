"""Mutated files, texts and requests: each is refused in one line or read, within 512 MiB and about a second.

The targets are those of tests/long/fuzz.py, which runs millions of inputs. Here each gets 50,000, which takes about two
minutes of CPU time for all of them together; half of it is for models, which are loaded and used.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long.fuzz import LARGEST, Mutator, Target, data_of, fuzz
from long.fuzz_targets import TARGETS, scratch

from lveg.errors import LvegError
from lveg.options import read_config, to_toml
from lveg.text.ptb import PtbTokeniser
from lveg.treebank import penn
from lveg.treebank.conllu import read_conllu
from lveg.treebank.penn import read_trees
from lveg.treebank.source import Faults
from lveg.treebank.text import read_sentences

pytest.importorskip("starlette", reason="requests are fuzzed with starlette: install the extra `serve`")

INPUTS = 50_000
"""Inputs of each target."""


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_inputs_are_read_or_refused(name: str, tmp_path: Path) -> None:
    record = fuzz(name, 14, INPUTS, tmp_path)
    assert not record.failures, f"{record}: {record.failures}"
    assert record.inputs == INPUTS


class TestHarness:
    """The harness finds what it is meant to find."""

    def test_inputs_are_repeatable_and_different(self) -> None:
        target = Target(Mutator([b"abc" * 30], [b"x"]), lambda data: None)
        found = [data_of(target, 1, number) for number in range(200)]
        assert found == [data_of(target, 1, number) for number in range(200)]
        assert len(set(found)) > 100
        assert max(map(len, found)) <= LARGEST

    @pytest.mark.parametrize(
        ("code", "told"),
        [
            ("1 / 0", "ZeroDivisionError"),
            ("os.kill(os.getpid(), 11)", "SIGSEGV"),
            ("begun = time.process_time()\n            while time.process_time() < begun + 1.2: pass", "it took"),
            ("b'x' * (600 * 2**20)", "MiB"),
        ],
        ids=["exception", "signal", "time", "memory"],
    )
    def test_failures_are_found(self, code: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "sitecustomize.py").write_text(
            f"import os, sys, time\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "def made():\n"
            "    from long.fuzz import Mutator, Target\n"
            "    count = iter(range(100))\n"
            f"    def run(data):\n        if next(count) == 22:\n            {code}\n"
            "    return Target(Mutator([b'abc'], [b'x']), run)\n"
            "from long import fuzz_targets\nfuzz_targets.TARGETS['bad'] = made\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
        monkeypatch.setitem(TARGETS, "bad", lambda: Target(Mutator([b"abc"], [b"x"]), lambda data: None))
        record = fuzz("bad", 1, 3, tmp_path)
        assert len(record.failures) == 1
        assert told in record.failures[0]
        assert (tmp_path / record.failures[0].partition(":")[0]).exists()


# Structure: values that are drawn, not mutated.

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["gm", "none"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["text", "words", "raw", "kbest", "model", "decoder", "constraints", "x"]),
        VALUES
        | st.lists(st.text(min_size=1, max_size=4), max_size=6)
        | st.text(max_size=20)
        | st.integers(1, 5)
        | st.fixed_dictionaries(
            {},
            optional={
                "spans": st.lists(
                    st.fixed_dictionaries({"start": st.integers(-1, 5), "end": st.integers(-1, 5)}), max_size=2
                ),
                "tags": st.dictionaries(
                    st.integers(-1, 5).map(str), st.sampled_from(["DT", "NN", "x", ""]), max_size=2
                ),
            },
        ),
        max_size=4,
    )
)
@settings(max_examples=300)
def test_requests_of_any_structure(request: dict[str, Any]) -> None:
    import json

    target = _http()
    target.run(json.dumps(request).encode(errors="surrogatepass"))


_made: list[Target] = []


def _http() -> Target:
    if not _made:
        _made.append(TARGETS["http"]())
    return _made[0]


@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.integers() | st.booleans() | st.text(max_size=9))
)
@settings(max_examples=100)
def test_configs_are_written_and_read(values: dict[str, Any]) -> None:
    path = scratch(".toml")(to_toml(values).encode(errors="surrogatepass"))
    try:
        assert read_config(path) == values
    except LvegError:
        assert any(isinstance(value, str) and not value.isprintable() for value in values.values())


# What fuzzing found.


def written(tmp_path: Path, name: str, data: bytes) -> str:
    """A file with these bytes."""
    (tmp_path / name).write_bytes(data)
    return str(tmp_path / name)


def test_a_file_of_only_a_byte_order_mark(tmp_path: Path) -> None:
    for name in ("a.conllu", "a.mrg", "a.txt", "a.jsonl"):
        assert list(read_sentences(written(tmp_path, name, b"\xef\xbb\xbf"))) == []


def test_json_nested_too_deeply(tmp_path: Path) -> None:
    faults = Faults(skip=True)
    path = written(tmp_path, "a.jsonl", b'{"x":' + b"[" * 5000 + b"\n")
    assert list(read_sentences(path, faults=faults)) == []
    assert "not JSON" in faults.messages[0]


def test_a_carriage_return_within_a_column(tmp_path: Path) -> None:
    row = b"1\ta\t_\tX\t_\t_\t_\t_\t_\tA=b\rc\n\n"
    (sentence,) = read_conllu(written(tmp_path, "a.conllu", row))
    assert str(sentence.with_misc("TagProb", ["0.5"])) == row.decode().replace("c\n", "c|TagProb=0.5\n")


def test_many_blank_lines_stay_as_they_are(tmp_path: Path) -> None:
    text = b"\n\r\n# x\n\n\n1\ta" + b"\t_" * 8 + b"\n\n\n"
    found = list(read_conllu(written(tmp_path, "a.conllu", text)))
    assert "".join(map(str, found)).encode() == text
    assert [len(sentence) for sentence in found] == [0, 0, 0, 0, 1, 0]


def test_many_trees_that_are_never_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is followed by reading all others again, so this took time quadratic in their number."""
    monkeypatch.setattr(penn, "_MOST_AGAIN", 10_000)
    faults = Faults(skip=True)
    assert list(read_trees(written(tmp_path, "a.mrg", b"(S\n" * 2_000), faults)) == []
    assert "what follows it is not read" in faults.messages[-1]
    text = b"(S (A a)\n(S (A b))\n" * 50
    assert len(list(read_trees(written(tmp_path, "b.mrg", text), Faults(skip=True)))) == 50


@pytest.mark.parametrize("piece", ["'s", "A. ", "+.", "a+.", "x@", ". ", "--", "n't", "a.b@"])
def test_the_time_of_the_tokeniser_is_linear(piece: str) -> None:
    """Each of these once took time quadratic in the length: minutes for this text, and now about a second."""
    text = "a" + piece * (30_000 // len(piece))
    found = list(PtbTokeniser().sentences(text))
    kept = "".join(token.surface for sentence in found for token in sentence.tokens)
    assert kept.replace(" ", "") == text.replace(" ", "")


def test_paths_with_a_slash_and_a_query_that_is_not_utf8() -> None:
    pytest.importorskip("starlette")
    from long.fuzz_targets import Inline, scope_of

    from lveg.serve.app import make_app

    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    scope = scope_of("/api/models/", "GET", b"", b"\x9f")
    asyncio.run(make_app(Inline(), "127.0.0.1")(scope, receive, send))  # type: ignore[arg-type]
    assert statuses[0] == 404
