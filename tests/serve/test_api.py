"""The JSON interface, over HTTP."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import run_main

import lveg
from lveg.serve.api import ParseRequest, TagRequest
from lveg.serve.desk import Desk
from lveg.serve.example import example_sentence, foreign_tag
from lveg.serve.supplies import Supplies, names_of
from serve.conftest import MAX_WORDS, Server, running

DOG = "The dog saw a cat with a telescope ."


def test_a_parse_is_that_of_the_parser(server: Server, models: dict[str, Path]) -> None:
    parser = lveg.load(str(models["parser"]))
    assert isinstance(parser, lveg.Parser)
    expected = parser.parse(DOG, count=3, marginals=True)
    (sentence,) = server.post("/api/parse", {"text": DOG, "kbest": 3}).json["sentences"]
    assert sentence["words"] == DOG.split()
    assert [one["tree"] for one in sentence["trees"]] == [str(one.tree) for one in expected.trees]
    assert [one["log_prob"] for one in sentence["trees"]] == [one.log_prob for one in expected.trees]
    found = {(one["label"], one["start"], one["end"]): one["probability"] for one in sentence["constituents"]}
    assert found == {span: share for span, share in expected.constituents.items() if share >= 0.001}
    assert [max(tags, key=tags.__getitem__) for tags in sentence["tags"]] == expected.tree.tags()


def test_tags_are_those_of_the_tagger(server: Server, models: dict[str, Path]) -> None:
    tagger = lveg.load(str(models["tagger"]))
    assert isinstance(tagger, lveg.Tagger)
    answer = server.post("/api/tag", {"text": f"{DOG}\n\nHe slept .\n"}).json
    assert answer["model"] == "tagger"
    assert [one["sequences"][0]["tags"] for one in answer["sentences"]] == [
        tagger.tag(text).tags for text in (DOG, "He slept .")
    ]
    assert all(sum(tags.values()) == pytest.approx(1, abs=0.02) for tags in answer["sentences"][0]["tags"])


def test_what_is_given_is_kept(server: Server) -> None:
    def spans(**given: object) -> dict[tuple[int, int], str]:
        answer = server.post("/api/parse", {"words": DOG.split(), "constraints": given}).json
        tree = lveg.parse_tree(answer["sentences"][0]["trees"][0]["tree"])
        return {(start, end): node.label for node, start, end in tree.spans()}

    assert (3, 8) in spans(spans=[{"start": 3, "end": 8, "label": "NP"}])
    assert (3, 8) not in spans(not_spans=[{"start": 3, "end": 8}])
    assert (2, 5) in spans(spans=[{"start": 2, "end": 5}])
    assert spans(tags={"1": "NNP"})[1, 2] == "NNP"


def test_models_health_and_description(server: Server) -> None:
    facts = server.get("/api/models").json
    assert [(one["name"], one["task"]) for one in facts["models"]] == [("parser", "parser"), ("tagger", "tagger")]
    assert "NP" in facts["models"][0]["labels"]
    assert facts["max_words"] == MAX_WORDS
    assert server.get("/health").json == {"status": "ok", "workers": 1}
    described = server.get("/openapi.json").json
    for path, methods in described["paths"].items():
        assert server.ask("DELETE", path).problem == (405, "http")
        for method in methods:
            assert server.ask(method.upper(), path).status in (200, 415)
    for reference in references(described):
        assert reference.removeprefix("#/components/schemas/") in described["components"]["schemas"]


def references(value: Any) -> Iterator[str]:
    """All references in a JSON document."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({}, (422, "input")),
        ({"text": "a", "words": ["a"]}, (422, "input")),
        ({"words": [""]}, (422, "schema")),
        ({"text": 1}, (422, "schema")),
        ({"text": "a", "kbest": 51}, (422, "schema")),
        ({"text": "a", "colour": "red"}, (422, "schema")),
        ({"text": "a", "decoder": "best"}, (422, "schema")),
        ({"text": "a", "model": "../../etc/passwd"}, (404, "model")),
        ({"text": "a", "model": "tagger"}, (422, "task")),
        ({"text": "a\nb", "constraints": {}}, (422, "constraints")),
        ({"text": "a b", "constraints": {"spans": [{"start": 1, "end": 3}]}}, (422, "refused")),
        ({"text": "a b", "constraints": {"spans": [{"start": -1, "end": 3}]}}, (422, "schema")),
        ({"text": "a b", "constraints": {"tags": {"0": "no such tag"}}}, (422, "refused")),
        ({"text": "a b", "constraints": {"tags": {"2": "NN"}}}, (422, "refused")),
    ],
)
def test_bad_requests_are_refused(server: Server, request_: object, problem: tuple[int, str]) -> None:
    assert server.post("/api/parse", request_).problem == problem


def test_too_many_words_are_not_repeated(server: Server) -> None:
    answer = server.post("/api/parse", {"text": "secret " * (MAX_WORDS + 1)})
    assert answer.problem == (422, "too_many_words")
    assert b"secret" not in answer.body
    assert server.post("/api/tag", {"text": "a\n" * MAX_WORDS}).status == 200


def test_bodies_that_are_too_large_or_not_json(server: Server) -> None:
    big = json.dumps({"text": "x" * 1_000_000}).encode()
    assert server.ask("POST", "/api/parse", big, content_type="application/json").problem == (413, "too_large")
    chunked = server.ask("POST", "/api/parse", iter([big]), content_type="application/json")  # type: ignore[arg-type]
    assert chunked.problem == (413, "too_large")
    assert server.ask("POST", "/api/parse", b"{}", content_type="text/plain").problem == (415, "type")
    for body in (b"", b"{", b'{"text": "\xff"}', b"[" * 100_000):
        assert server.ask("POST", "/api/parse", body, content_type="application/json").problem in (
            (400, "json"),
            (422, "schema"),
        )


@pytest.mark.parametrize(
    "word",
    ["<script>alert(1)</script>", "(", "()", "\x00", "‮abc", "a\u2028b", "😀" * 50, "x" * 50_000, "'; DROP TABLE", "%s"],
)
def test_hostile_words_get_an_analysis(server: Server, word: str) -> None:
    for path, key in (("/api/parse", "trees"), ("/api/tag", "sequences")):
        (sentence,) = server.post(path, {"words": [word, "slept"]}).json["sentences"]
        assert sentence["words"] == [word, "slept"]
        assert sentence[key]


def test_lone_surrogates_do_no_harm(server: Server) -> None:
    body = b'{"text": "\\ud800 x"}'
    assert server.ask("POST", "/api/parse", body, content_type="application/json").status in (200, 400, 422)
    assert server.get("/health").status == 200


def test_an_empty_text_has_no_sentences(server: Server) -> None:
    assert server.post("/api/parse", {"text": " \n \t"}).json["sentences"] == []
    assert server.post("/api/tag", {"text": ""}).json["sentences"] == []


def test_headers_and_paths(server: Server) -> None:
    for path in ("/", "/static/app.js", "/no/such/page", "/health"):
        headers = server.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    assert server.get("/").headers["content-type"].startswith("text/html")
    assert server.get("/static/app.js").headers["content-type"].startswith("text/javascript")
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/"):
        assert server.get(path).status == 404
    for host in ("evil.example", "localhost.evil.example", "localhost:1@evil.example", ""):
        refusal = server.ask("GET", "/health", Host=host)
        assert refusal.problem == (400, "host")
        assert refusal.headers["content-type"] == "application/json"
    for host in ("127.0.0.1", "LOCALHOST:80"):
        assert server.ask("GET", "/health", Host=host).status == 200
    with suppress(ConnectionError):  # the server may close the connection before all is sent
        assert server.ask("GET", "/health", X_Long="x" * 3_000_000).status == 400


def test_raw_text_is_tokenised(models: dict[str, Path]) -> None:
    data = {name: file.read_bytes() for name, file in models.items()}
    found = Desk(Supplies(data, 50)).parse(ParseRequest(text="He didn't sleep. She left.", raw=True))
    assert [sentence.words for sentence in found.sentences] == [
        ["He", "did", "n't", "sleep", "."],
        ["She", "left", "."],
    ]
    assert found.joined is None


def test_raw_sentences_have_their_text_and_tokens(models: dict[str, Path]) -> None:
    desk = Desk(Supplies({name: file.read_bytes() for name, file in models.items()}, 50))
    text = "(He didn't  leave the U.S."
    parsed = desk.parse(ParseRequest(text=text, raw=True)).sentences[0]
    tagged = desk.tag(TagRequest(text=text, raw=True)).sentences[0]
    assert parsed.text == tagged.text == "(He didn't leave the U.S."
    assert parsed.tokens == tagged.tokens
    assert parsed.tokens is not None
    assert [(one.form, one.start, one.end, one.space_after) for one in parsed.tokens] == [
        ("(", 0, 1, False), ("He", 1, 2, True), ("did", 2, 3, False), ("n't", 3, 4, True), ("leave", 4, 5, True),
        ("the", 5, 6, True), ("U.S.", 6, 8, False),
    ]  # fmt: skip
    (plain,) = desk.parse(ParseRequest(text="He slept .")).sentences
    assert (plain.text, plain.tokens) == (None, None)


def test_raw_text_is_spelled_as_the_model_knows_it(models: dict[str, Path]) -> None:
    desk = Desk(Supplies({"parser": models["parser"].read_bytes()}, 50))
    [sentence] = desk.parse(ParseRequest(text="A (small) dog.", raw=True)).sentences
    assert sentence.words == ["A", "(", "small", ")", "dog", "."], "the model knows no -LRB-"


def test_text_that_looks_raw_is_noticed(models: dict[str, Path]) -> None:
    desk = Desk(Supplies({name: file.read_bytes() for name, file in models.items()}, 50))
    for text, joined in (("The dog slept.", ["slept", "."]), ("The dog slept .", None)):
        assert desk.parse(ParseRequest(text=text)).joined == joined
        assert desk.tag(TagRequest(text=text)).joined == joined


def children_of(process: int) -> set[int]:
    """The processes that a process has started."""
    file = Path(f"/proc/{process}/task/{process}/children")
    if not file.exists():
        pytest.skip("the system does not list the children of a process")
    return {int(number) for number in file.read_text().split()}


def test_the_deadline_stops_the_work_and_many_requests_are_busy(models: dict[str, Path]) -> None:
    slow = {"words": ["dog"] * 400, "kbest": 50}
    with running(models["parser"], "--workers", 1, "--max-words", 400, "--deadline", 0.3) as server:
        before = children_of(server.process.pid)
        assert server.post("/api/parse", slow).problem == (504, "deadline")
        assert before - children_of(server.process.pid), "the worker is gone"
        with ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(lambda _: server.post("/api/parse", slow), range(12)))
        assert {answer.status for answer in answers} <= {503, 504}
        busy = [answer for answer in answers if answer.status == 503]
        assert busy
        assert {answer.headers["retry-after"] for answer in busy} == {"1"}
        end = time.monotonic() + 60
        while server.post("/api/parse", {"text": "He slept ."}).status != 200:
            assert time.monotonic() < end, "a new worker takes over"
            time.sleep(0.1)
        workers = children_of(server.process.pid)
    for process in workers:
        command = Path(f"/proc/{process}/cmdline")
        assert not command.exists() or b"spawn_main" not in command.read_bytes(), "no worker is left"


def test_errors_before_the_start_are_one_line(models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "bad.model").write_bytes(b"no model at all")
    assert "bad: is not a model file" in run_main("serve", tmp_path / "bad.model", "--port", 0).refusal()
    assert "cannot be opened" in run_main("serve", tmp_path / "none.model").refusal()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "choose another" in run_main("serve", models["parser"], "--port", port).refusal()


def test_models_have_different_names() -> None:
    assert names_of(map(Path, ["a/my.model", "b/my.model", "my.model", "x"])) == ["my", "my-2", "my-3", "x"]


def test_the_requests_of_the_guide(server: Server) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "serve.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    curl \S+8000(\S+) .* -d '(.*)'$", guide, re.MULTILINE)
    assert len(commands) == 3
    for path, body in commands:
        assert server.ask("POST", path, body.encode(), content_type="application/json").status == 200


def test_workers_warm_up_with_and_without_a_fallback(models: dict[str, Path]) -> None:
    parser = lveg.load(str(models["parser"]))
    assert isinstance(parser, lveg.Parser)
    words = example_sentence(parser.grammar, parser.weight)
    assert parser.parse(words).fallback is None
    tag = foreign_tag(parser.grammar, words[0])
    assert tag is not None
    assert parser.parse(words, constraints=lveg.Constraints(tags={0: tag})).fallback == "glue"
