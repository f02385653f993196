"""The targets of fuzz.py: what reads files, text and requests, and mutated inputs for it."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
from golden.make import HERE
from long.fuzz import Mutator, Target
from small import DATA, packed

from lveg import container
from lveg._version import __version__
from lveg.model import Parser, Tagger
from lveg.model_io import Loaded, describe_model, load_model, model_of
from lveg.treebank.source import Faults

GOLDEN = sorted((HERE / __version__).glob("*.model"))
NUMBERS = [b"0", b"1", b"-1", b"2", b"9" * 25, b"1e999", b"-0.0", b"nan", b"inf", b"0x10", b"1_000", b"\xc2\xb2"]
BYTES = [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\xed\xa0\x80",
    b"\x1f\x8b",
    b"\r\n",
    b"\x1b[31m",
]


@contextmanager
def file_with(suffix: str) -> Iterator[Callable[[bytes], str]]:
    """A function that writes bytes to one file and returns its path; in memory if the system has such a folder."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        path = f"{folder}/input{suffix}"

        def write(data: bytes) -> str:
            with open(path, "wb", buffering=0) as stream:
                stream.write(data)
            return path

        yield write


_open_files: list[Any] = []


def scratch(suffix: str) -> Callable[[bytes], str]:
    """Like `file_with`, until the process ends."""
    manager = file_with(suffix)
    _open_files.append(manager)
    return manager.__enter__()


# Models: the header and the arrays are changed and sealed with the digest that belongs to them, so that only the checks
# of their contents protect the kernels.

ODD: list[Any] = [
    -1, 0, 1, 2, 3, 7, 64, 65, 1024, 4097, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**64, -(2**31), 10**30, 0.5,
    -0.0, 1e308, None, True, False, "", "x", "a b", "(", ")", "\t", "\n", "\0", "\u2028", "UNK", "phrase", "part",
    "tag", "parser", "tagger", "tokeniser", "pcfg", "lvg", "gm", "cvg", "product", "contextual", "forms", "network",
    "features", "factored", "hmm", "shared", "split-merge", "multi-scale", "inside", "token", "words", "single",
    "english", "upos", "xpos", "(a+)+$", [], {}, [[]], ["x"], {"x": 1}, {"parts": []},
]  # fmt: skip
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint32", "float16", "float32", "float64", "bool"]


class Models:
    """Golden models, taken apart, and mutations of them."""

    def __init__(self) -> None:
        self.files = [file.read_bytes() for file in GOLDEN]
        parts = [container.unpack(data) for data in self.files]
        self.parts = [(text, arrays) for text, arrays in parts]
        self.bytes = Mutator(self.files, [*NUMBERS, *BYTES, b'"', b"{", b"}", b"[", b"]", b"null"])

    def __call__(self, random: Random) -> bytes:
        """A mutated model file; one in twenty by bytes, which the digest detects."""
        if random.random() < 0.05:
            return self.bytes(random)
        text, arrays = random.choice(self.parts)
        header, arrays = msgspec.json.decode(text), dict(arrays)
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            match random.randrange(7):
                case 0 | 1:
                    change_json(header, random)
                case 2 if isinstance(header.get("facts"), dict):
                    change_json(header["facts"], random)
                case 3 | 4:
                    change_array(arrays, random)
                case 5:
                    change_array(arrays, random, "family.")
                case _:
                    self._mix(header, arrays, random)
        try:
            return packed(text_of(header), arrays)
        except (KeyError, ValueError):  # a type that cannot be stored
            return packed(text_of(header), {})

    def _mix(self, header: dict[str, Any], arrays: dict[str, Any], random: Random) -> None:
        """Take a field or some arrays from another model, or change arrays together."""
        text, others = random.choice(self.parts)
        other = msgspec.json.decode(text)
        match random.randrange(5):
            case 0:
                name = random.choice(list(other))
                header[name] = other[name]
            case 1:
                header["facts"], header["family"] = other["facts"], other["family"]
                for name in [name for name in arrays if name.startswith("family.")]:
                    del arrays[name]
                arrays |= {name: array for name, array in others.items() if name.startswith("family.")}
            case 2:  # a rule twice, or one less, in all arrays that have one row per rule
                size = len(arrays["count"]) if "count" in arrays else 0
                place, is_more = random.randrange(size + 1), random.random() < 0.5
                for name, array in list(arrays.items()):
                    if array.ndim and len(array) == size and size:
                        row = array[min(place, size - 1)][None]
                        arrays[name] = (
                            np.insert(array, place, row, axis=0) if is_more else np.delete(array, place - 1, 0)
                        )
                kinds = ("n_binary", "n_unary", "n_root", "")
                kind = random.choice(kinds)
                if kind and isinstance(header.get(kind), int):
                    header[kind] += 1 if is_more else -1
            case 3:  # a family as a part of another one
                part = {"name": header.get("family"), "facts": header.get("facts")}
                header["facts"] = {"parts": [part] * random.choice((1, 2, 100)), **random.choice(({}, {"least": 0.1}))}
                header["family"] = random.choice(("product", "contextual", "cvg", "forms"))
                for name in [name for name in arrays if name.startswith("family.")]:
                    arrays[f"family.0.{name[7:]}"] = arrays.pop(name)
            case _:
                names = random.choices(sorted(arrays), k=2) if arrays else []
                if names:
                    arrays[names[0]], arrays[names[1]] = arrays[names[1]], arrays[names[0]]


def text_of(header: dict[str, Any]) -> str:
    """The header as JSON; the fast encoder does not write integers of more than 64 bits."""
    try:
        return msgspec.json.encode(header).decode()
    except OverflowError:
        return json.dumps(header)


def change_json(value: Any, random: Random) -> None:
    """Change one place of a JSON object or array, at any depth."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = random.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.85:
            value = inner
            continue
        match random.randrange(8):
            case 0:
                del value[key]
            case 1 if isinstance(value, list):
                value.insert(key, random.choice(value))
            case 2 if isinstance(value, dict):
                value[random.choice(("more", "parts", "least", "is_lexical", "tags", "width"))] = random.choice(ODD)
            case 3 if isinstance(inner, int) and not isinstance(inner, bool):
                value[key] = inner + random.choice((-2, -1, 1, 2, 100))
            case 4 if isinstance(value, list):
                random.shuffle(value)
            case 5 if isinstance(inner, list):
                value[key] = inner[: random.randrange(len(inner) + 1)]
            case _:
                value[key] = random.choice(ODD)
        return


def change_array(arrays: dict[str, Any], random: Random, prefix: str = "") -> None:
    """Change one of the arrays whose names have a prefix: values, type, shape, or name."""
    names = sorted(name for name in arrays if name.startswith(prefix))
    if not names:
        return
    name = random.choice(names)
    array = arrays[name].copy()
    is_whole = array.dtype.kind in "iu"
    limits = np.iinfo(array.dtype) if is_whole else None
    match random.randrange(10):
        case 0:
            del arrays[name]
            return
        case 1:
            arrays[random.choice(("more", "family.more", "family.0.weight", "count", "family.1.value"))] = array
            return
        case 2:
            array = array.astype(random.choice(TYPES))
        case 3:
            array = array.reshape(random.choice(((-1,), (1, -1), (-1, 1), (1, *array.shape))))
        case 4 if array.ndim:
            array = np.ascontiguousarray(array[..., : random.randrange(array.shape[-1] + 1)])
        case 5 if array.ndim:
            array = np.repeat(array, random.choice((0, 1, 2)), axis=random.randrange(array.ndim))
        case 6 if array.size:
            array = random_like(array, random)
        case _ if array.size:
            values: list[Any] = [0, 1, 2, 3, 127, 10**4, 10**6, -1, -2]
            if limits is not None:
                values += [limits.min, limits.max, limits.max // 2]
            elif array.dtype.kind == "f":
                values += [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 200.0, -200.0, 700.0, 1e4]
            for _ in range(random.choice((1, 1, 2, 10))):
                value = random.choice(values)
                value = min(max(value, limits.min), limits.max) if limits is not None else value
                with np.errstate(all="ignore"):
                    array.reshape(-1)[random.randrange(array.size)] = value
    arrays[name] = array


def random_like(array: Any, random: Random) -> Any:
    """An array of the same shape and type with the same values in another order, sorted, or at the limits."""
    dice = np.random.default_rng(random.getrandbits(32))
    match random.randrange(4):
        case 0:
            return dice.permutation(array.reshape(-1)).reshape(array.shape)
        case 1:
            return np.sort(array.reshape(-1)).reshape(array.shape)
        case 2:
            return dice.choice(np.array([0, 1, 2, 3]).astype(array.dtype), array.shape)
        case _ if array.dtype.kind == "f":
            largest = random.choice((1.0, 100.0, 200.0, 300.0, 700.0, 1e4))
            return dice.choice(np.array([-largest, 0.0, largest]).astype(array.dtype), array.shape)
    return np.zeros_like(array)


ASKED = ("The dog zworks ( 12 .", "a")
"""Words that the models know, words that they do not know, and a single word."""


def use(model: Loaded) -> None:
    """Ask a model everything that a user would: its facts, and answers, which must be well formed."""
    describe_model(model)
    if isinstance(model, Parser):
        for text in ASKED:
            parse = model.parse(text, count=2, marginals=True)
            assert parse.tree.words() == parse.words
        model.sample(ASKED[0], 2)
    elif isinstance(model, Tagger):
        for tagging in (*model.tag_chunk(ASKED), model.tag(ASKED[0], count=2)):
            assert len(tagging.tags) == len(tagging.words)
        if model.tokeniser is not None:
            check_sentences(model.tokeniser, "A dog. It's (1) a-b!")
    else:
        check_sentences(model, "A dog. It's (1) a-b!")


def model_target() -> Target:
    """Model files: loaded and used."""

    def run(data: bytes) -> None:
        use(model_of(data, "x"))

    return Target(Models(), run)


# Text files.


def head_of(name: str, size: int) -> bytes:
    """The beginning of a file of the demonstration treebank, whole lines."""
    data = (DATA / name).read_bytes()[:size]
    return data[: data.rindex(b"\n") + 1]


def brackets_target() -> Target:
    """Bracketed trees; what is read is written and read again."""
    from lveg.grammar.binarise import Binarisation, binarise, debinarise
    from lveg.treebank.penn import numbered_trees, parse_tree
    from lveg.trees import Cleaning

    write, cleaning, schemes = scratch(".mrg"), Cleaning(), [Binarisation(), Binarisation("left", 1, 2)]

    def run(data: bytes) -> None:
        faults = Faults(skip=data[:1] != b"(")
        for number, (_, tree) in enumerate(numbered_trees(write(data), faults, allow_empty=len(data) % 2 == 0)):
            if number < 3:
                assert parse_tree(str(tree)) == tree or not tree.words()
                cleaned = cleaning(tree)
                if cleaned is not None and len(cleaned.words()) < 50:
                    for scheme in schemes:
                        assert debinarise(binarise(cleaned, scheme), cleaned.words()).words() == cleaned.words()

    seeds = [head_of("demo-train.mrg", size) for size in (200, 400)]
    seeds += [b"( (S (NP-SBJ=2 (-NONE- *T*-1)) (VP (V a b))) )\n", b"(())\n(TOP)\n", b"(S (A (B (C (D d)))))", b""]
    tokens = [
        b"(",
        b")",
        b"(((",
        b")))",
        b"()",
        b"(A b)",
        b" ",
        b"\n",
        b"( (",
        b"\n(S",
        b"-NONE- *",
        b"TOP",
        b"-LRB-",
        *BYTES,
    ]
    return Target(Mutator(seeds, tokens), run)


def conllu_target() -> Target:
    """CoNLL-U; what is read is written unchanged."""
    from lveg.treebank.conllu import numbered_sentences, read_tagged
    from lveg.treebank.raw import read_tokens, to_conllu

    write = scratch(".conllu")

    def run(data: bytes) -> None:
        path, faults = write(data), Faults(skip=data[:1] != b"#")
        for number, (_, sentence) in enumerate(numbered_sentences(path, faults)):
            if number < 3 and sentence:
                words = sentence.words()
                filled = sentence.with_column("upos", ["X"] * len(words)).with_misc("P", ["0.5"] * len(words))
                assert filled.words() == words
                assert filled.column("upos") == ["X"] * len(words)
        if len(data) % 4 == 0 and len(data) < 10_000:
            for tokens in read_tokens(path, Faults(skip=True))[:3]:
                str(to_conllu(tokens, 1))
            read_tagged(path, "upos+feats" if len(data) % 8 else "xpos", Faults(skip=True))

    row = b"1\ta\tb\tNOUN\tNN\tCase=Nom|X=Y\t0\troot\t_\tSpaceAfter=No\n"
    seeds = [
        head_of("demo-train.conllu", 400),
        b"# text = a\n# sent_id = 1\n" + row + b"\n",
        row + b"1.1" + row[1:] + b"\n",
    ]
    seeds += [b"1-2" + row[1:] + row + b"2" + row[1:] + b"\n# newpar\n" + row, b"\n", b""]
    tokens = [
        b"\t",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"_",
        b"1-2\t",
        b"0.1\t",
        b"2\t",
        b"#",
        b"# text = ",
        b"|",
        b"=",
        *NUMBERS,
        *BYTES,
    ]
    return Target(Mutator(seeds, tokens), run)


def jsonl_target() -> Target:
    """Sentences as lines of JSON, and as plain text."""
    from lveg.treebank.text import Reading, read_sentences

    jsonl, text = scratch(".jsonl"), scratch(".txt")

    def run(data: bytes) -> None:
        for sentence in read_sentences(text(data)):
            assert all(sentence.words)
        for sentence in read_sentences(jsonl(data), Reading(), Faults(skip=len(data) % 2 == 0)):
            assert all(sentence.words)

    seeds = [b'["a","b"]\n[]\n', b'{"words":["a"],"tags":["X"],"id":1}\n', b"The dog saw (a) cat .\n\n"]
    tokens = [
        b'"',
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"null",
        b'""',
        b"\\ud800",
        b"\\u0000",
        b"[" * 1000,
        *NUMBERS,
        *BYTES,
    ]
    return Target(Mutator(seeds, tokens), run)


_SPACE = re.compile(r"\s+")


def check_sentences(tokeniser: Any, text: str) -> None:
    """Check that a tokeniser loses no character, and gives every token some words."""
    found = list(tokeniser.sentences(text))
    kept = "".join(token.surface for sentence in found for token in sentence.tokens)
    assert kept.replace(" ", "") == _SPACE.sub("", text)
    assert all(word for sentence in found for word in sentence.words)


def text_target() -> Target:
    """Raw text, for the tokeniser by rule and for a learned one."""
    from lveg.text.joined import joined_words
    from lveg.text.ptb import PtbTokeniser

    ptb, learned = PtbTokeniser(), load_model(HERE / __version__ / "tokeniser-forms.model")
    check_sentences(learned, "A b.")  # loads the kernels, which takes longer than an input may

    def run(data: bytes) -> None:
        text = data.decode(errors="ignore")
        check_sentences(ptb, text)
        joined_words(text.split(" ")[:50] if text.strip(" ") and "  " not in f" {text} " else ["a"], {"a"})
        if len(data) % 50 == 0:
            check_sentences(learned, text[:20_000])

    seeds = [
        "Mr. X. didn't say \"no\" (at 3.5% -- or $1,000.50).",
        "To a@b.org; see http://x.org/a?b=1. It's the U.S. He left.",
        "Dogs can't sleep.\n\nDr. X-1 saw 3.5 \u00fc.", "I'd've gone\u2026 \u201cYes,\u201d she said\u2014no!",
        "A. B. C. d. E.", "",
    ]  # fmt: skip
    tokens = [
        ".", " ", "  ", "\n\n", "'s", "n't", "'", '"', "(", ")", "--", "...", "@", "://", "www.", "U.S.", "A.", "-",
        "+.", "\u2019", "\u2028", "\u00a0", "\U0001f600", "\u0301", "\u5b57", "1,000", "%", "$",
    ]  # fmt: skip
    pieces = [*(token.encode() for token in tokens), *BYTES]
    # The tokeniser by rule takes about 5 s for a megabyte of short tokens, so a second is for less.
    return Target(Mutator([seed.encode() for seed in seeds], pieces, largest=150_000), run)


def vectors_target() -> Target:
    """Files of word vectors."""
    import gzip

    from lveg.contexts.vectors import read_vectors

    write = scratch(".vec")

    def run(data: bytes) -> None:
        found = read_vectors(write(data), 1000)
        assert len(found.words) == len(found.rows)
        assert np.isfinite(found.rows).all()

    plain = b"2 3\nthe 0.5 -1 2e-3\nsaw 1 0 0.25\n"
    seeds = [plain, plain[4:], gzip.compress(plain, mtime=0), b"a 1\n" * 20, b"\xe2\x80\x89 1 2\n"]
    tokens = [b" ", b"\n", b"\t", b"  ", b"a 1 2 3\n", b"-", b".", b"e5", b"1e400", b" 1" * 2001, *NUMBERS, *BYTES]
    return Target(Mutator(seeds, tokens), run)


def config_target() -> Target:
    """Config files of `lveg train`."""
    from lveg.cli.train import TASKS, _config_options, _kinds
    from lveg.options import to_toml

    write = scratch(".toml")

    def run(data: bytes) -> None:
        path, task = write(data), list(TASKS)[len(data) % len(TASKS)]
        values = _config_options(task, _kinds(task, ["--config", path]), path)
        to_toml(values)

    seeds = [b'model = "gm"\ncomponents = 2\ndim = 3\nepochs = 4\n', b'context = "features"\nlearning_rate = 0.1\n']
    seeds += [b'model = "cvg"\nbase = "lvg"\nkeep_traces = true\nseed = 1\n', b"# x\n", b"epochs = 1\nseed = 0\n"]
    tokens = [
        b'"',
        b"'",
        b"'''",
        b"=",
        b"[",
        b"]",
        b"[[a]]",
        b"{a = 1}",
        b".",
        b"true",
        b"1979-05-27",
        b"\\u0000",
        b"\n",
    ]
    tokens += [b'model = "lvg"\n', b"context", b"none", b"[" * 2000, b"a." * 500, *NUMBERS, *BYTES]
    return Target(Mutator(seeds, tokens), run)


# The service: requests in, answers out, in one process.


class Inline:
    """What the application needs of a pool, with a desk in this process."""

    def __init__(self) -> None:
        from lveg.serve.desk import Desk
        from lveg.serve.supplies import Supplies

        names = ("parser-pcfg", "tagger-text")
        self.supplies = Supplies({name: (HERE / __version__ / f"{name}.model").read_bytes() for name in names}, 12)
        self.desk = Desk(self.supplies)
        self.facts, self.n_alive = self.desk.facts(), 1

    @asynccontextmanager
    async def running(self) -> Any:
        """Nothing needs to be started."""
        yield

    async def answer(self, request: Any, is_wanted: Callable[[], Awaitable[bool]]) -> bytes:
        """The desk's answer."""
        return self.desk.answer(request)


def scope_of(path: str, method: str, kind: bytes, query: bytes) -> dict[str, Any]:
    """What the application is told about a request."""
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "path": path,
        "method": method, "raw_path": path.encode(), "query_string": query, "root_path": "", "client": None,
        "headers": [(b"host", b"localhost"), (b"content-type", kind)], "server": None,
    }  # fmt: skip


STATUSES = {200, 400, 404, 405, 413, 415, 422}


def http_target() -> Target:
    """Bodies of requests, and sometimes methods, paths and headers, through the whole application."""
    from lveg.serve.app import make_app

    app, loop = make_app(Inline(), "127.0.0.1"), asyncio.new_event_loop()  # type: ignore[arg-type]
    paths = [
        "/api/parse",
        "/api/tag",
        "/",
        "/health",
        "/api/models",
        "/api/parse/",
        "//",
        "/static/../x",
        "/%00",
        "/\u00fc",
    ]

    async def ask(data: bytes) -> None:
        odd = len(data) % 16 == 0
        path = paths[sum(data[:40]) % (len(paths) if odd else 2)]
        kind = data[:20] if odd and len(data) % 3 == 0 else b"application/json"
        scope = scope_of(path, "GET" if odd and len(data) % 5 == 0 else "POST", kind, data[:9])
        parts = [data[:70], data[70:]]
        statuses = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": parts.pop(0) if parts else b"", "more_body": bool(parts)}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await app(scope, receive, send)
        assert len(statuses) == 1
        assert statuses[0] in STATUSES, statuses

    def run(data: bytes) -> None:
        loop.run_until_complete(ask(data))

    seeds = [
        b'{"text":"The dog saw a cat .","kbest":2}', b'{"words":["a","(","b"],"decoder":"mbr"}',
        b'{"text":"A b.\\nc d","raw":true,"model":"parser-pcfg"}', b'{"words":["a"],"decoder":"viterbi","kbest":3}',
        b'{"words":["a","b","c"],"constraints":{"spans":[{"start":0,"end":2,"label":"NP"}],"tags":{"0":"DT"}}}',
        b'{"words":["a","b","c"],"constraints":{"not_spans":[{"start":0,"end":2}],"spans":[{"start":1,"end":3}]}}',
    ]  # fmt: skip
    tokens = [
        b'"',
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"null",
        b"true",
        b'""',
        b"\\ud800",
        b"\\u0000",
        b"\\n",
        b"[" * 3000,
    ]
    tokens += [
        b'"raw":true,',
        b'"kbest":50,',
        b'"model":"tagger-text",',
        b'"words":["x"],',
        b'"end":9',
        *NUMBERS,
        *BYTES,
    ]
    return Target(Mutator(seeds, tokens), run)


TARGETS: dict[str, Callable[[], Target]] = {
    "model": model_target,
    "brackets": brackets_target,
    "conllu": conllu_target,
    "jsonl": jsonl_target,
    "text": text_target,
    "vectors": vectors_target,
    "config": config_target,
    "http": http_target,
}
