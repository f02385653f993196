"""Models on disk: the same bytes for the same training, and checks that detect every damaged file.

Everything is tried on a model of every family that can be trained, and on a product of parsers.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file
from small import FAMILIES, packed, quick_options, small_file, train

from lveg import container, model_io
from lveg.container import FORMAT
from lveg.errors import ModelError, UsageError
from lveg.families.registry import kinds
from lveg.families.tag_lvg.family import size_of
from lveg.model import Model, Parser, Tagger, combine
from lveg.model_io import Loaded, load_model, save_model
from lveg.text.learned import LearnedTokeniser

NAMES = [*(f"{model}-{task}" for task, model in FAMILIES), "product-parser"]
MEMBERS = ("gm-parser", "split-merge-parser")
"""The models of the product."""

SENTENCES = ("The dog saw a cat with a telescope .", "Unheard zworks ( 12 ) - x", "a", "Dogs and cats slept")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small treebanks and models of them: one of every family, and a product."""
    made = tmp_path_factory.mktemp("models")
    for task, model in FAMILIES:
        small_file(made, task)
        save_model(learned(made, task, model), str(made / f"{model}-{task}"))
    save_model(combine([parser_of(made / name) for name in MEMBERS]), str(made / "product-parser"))
    return made


def learned(folder: Path, task: str, model: str) -> Model:
    """A model of the small treebank in the folder."""
    file = folder / ("train.mrg" if task == "parser" else "train.conllu")
    return train(task, file, model=model, **quick_options(task, model))


def parser_of(path: Path) -> Parser:
    """The parser in a file."""
    model = load_model(str(path))
    assert isinstance(model, Parser)
    return model


@pytest.fixture(params=NAMES)
def path(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A model file."""
    return folder / str(request.param)


def answers(model: Loaded) -> list[Any]:
    """A model's results for some sentences."""
    assert not isinstance(model, LearnedTokeniser)
    if isinstance(model, Parser):
        return [model.parse(text.split(), count=3, marginals=True) for text in SENTENCES]
    return [model.tag(text.split(), decoder) for text in SENTENCES for decoder in ("posterior", "viterbi")]


def check_answers(model: Model) -> None:
    """Check that a model, whatever its parameters, has a result for every sentence."""
    for text, answer in zip(SENTENCES, answers(model)[:: 1 if isinstance(model, Parser) else 2], strict=True):
        assert len(answer.words) == len(text.split())
        if isinstance(model, Parser):
            assert answer.tree.words() == answer.words
            assert len(model.sample(text, 2)) == 2
        else:
            assert len(answer.tags) == len(answer.words)


def reload(data: bytes, folder: Path) -> Model:
    """The model in these bytes."""
    target = folder / "reloaded"
    target.write_bytes(data)
    model = load_model(str(target))
    assert not isinstance(model, LearnedTokeniser)
    return model


def refused(data: bytes, folder: Path) -> str:
    """The error that these bytes get."""
    with pytest.raises(ModelError) as caught:
        reload(data, folder)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'reloaded'}: ")
    assert "\n" not in message
    return message


class TestRoundTrip:
    @pytest.mark.parametrize(("task", "model"), FAMILIES)
    def test_a_loaded_model_gives_the_same_results(self, folder: Path, task: str, model: str) -> None:
        assert answers(load_model(str(folder / f"{model}-{task}"))) == answers(learned(folder, task, model))

    def test_a_loaded_product_gives_the_same_results(self, folder: Path) -> None:
        members = [parser_of(folder / name) for name in MEMBERS]
        assert answers(load_model(str(folder / "product-parser"))) == answers(combine(members))

    def test_saving_a_loaded_model_gives_the_same_bytes(self, path: Path, tmp_path: Path) -> None:
        save_model(load_model(str(path)), str(tmp_path / "again"))
        assert (tmp_path / "again").read_bytes() == path.read_bytes()

    @pytest.mark.parametrize(("task", "model"), FAMILIES)
    def test_training_again_gives_the_same_bytes(self, folder: Path, tmp_path: Path, task: str, model: str) -> None:
        save_model(learned(folder, task, model), str(tmp_path / "again"))
        assert (tmp_path / "again").read_bytes() == (folder / f"{model}-{task}").read_bytes()

    def test_hash_seeds_do_not_matter(self, folder: Path, tmp_path: Path) -> None:
        code = (
            "import sys, lveg\n"
            "trees, tags, out = sys.argv[1:]\n"
            "lveg.save(lveg.train_parser(trees, trees, 'pcfg'), out + '.p')\n"
            "lveg.save(lveg.train_parser(trees, model='pcfg', binarise='head', horizontal=1, vertical=2), out + '.h')\n"
            "lveg.save(lveg.train_tagger(tags, tags, epochs=1, network_epochs=1), out + '.t')\n"
        )
        for seed in ("1", "2"):
            files = (folder / "train.mrg", folder / "train.conllu", tmp_path / seed)
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            subprocess.run([sys.executable, "-c", code, *map(str, files)], check=True, env=environment)
        for kind in "pht":
            assert (tmp_path / f"1.{kind}").read_bytes() == (tmp_path / f"2.{kind}").read_bytes()


class TestForeignFiles:
    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (b"", "is not a model file, or was truncated"),
            (b"\0" * 7, "is not a model file, or was truncated"),
            (b"\0" * 8, "is not a model file of lveg"),
            (b"The dog saw a cat .\n" * 50, "is not a model file, or was truncated"),
            (pickle.dumps({"lveg": [1.0] * 100}), "is not a model file"),
            (save({"weight": np.zeros(3)}), "is not a model file of lveg"),
            (save({"weight": np.zeros(3)}, {"format": "pt"}), "is not a model file of lveg"),
            (save({}, {"lveg": "x"}), "is damaged: its header cannot be read"),
            (struct.pack("<Q", 2**63) + b"{}", "is not a model file, or was truncated"),
        ],
        ids=["empty", "short", "zeros", "text", "pickle", "safetensors", "torch", "header", "huge"],
    )
    def test_are_named(self, tmp_path: Path, data: bytes, what: str) -> None:
        assert what in refused(data, tmp_path)

    def test_directory_and_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="cannot be opened: Is a directory"):
            load_model(str(tmp_path))
        with pytest.raises(ModelError, match="cannot be opened: No such file"):
            load_model(str(tmp_path / "none"))

    def test_safetensors_file_with_our_names(self, tmp_path: Path) -> None:
        save_file({name: np.zeros(2, kind) for name, (kind, _) in model_io._ARRAYS.items()}, tmp_path / "a")
        with pytest.raises(ModelError, match="not a model file of lveg"):
            load_model(str(tmp_path / "a"))


def test_a_truncated_file_is_refused(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    draw = random.Random(1)
    lengths = {*range(300), *range(len(data) - 100, len(data)), *(draw.randrange(len(data)) for _ in range(300))}
    for length in sorted(lengths):
        refused(data[:length], tmp_path)
    refused(data + b"\0", tmp_path)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """The bytes after one to four small corruptions, half of them in the header."""
    changed = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(draw.choice((16, 600, header, len(changed))))
        length = draw.randrange(1, draw.choice((2, 9, 200)))
        other = draw.randrange(len(changed) - 200)
        match draw.randrange(6):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at] = draw.randrange(256)
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = draw.randbytes(length)
            case 4:
                first, second = changed[at : at + length], changed[other : other + length]
                changed[at : at + length], changed[other : other + length] = second, first
            case 5:
                changed[at : at + length] = draw.choice((b"0", b"-1", b"9" * 30, b"null", b'"', b"[", b"}", b"\\u"))
    return bytes(changed)


def survey(path: Path, seed: int, count: int) -> tuple[int, int]:
    """The numbers of refused and harmless mutated files; anything except a refusal or the same model is an error."""
    data = path.read_bytes()
    draw = random.Random(seed)
    n_refused = n_harmless = 0
    for _ in range(count):
        try:
            model = model_io._decode(mutated(data, draw))
        except ModelError:
            n_refused += 1
        else:
            n_harmless += 1
            assert saved(model) == data
    return n_refused, n_harmless


def saved(model: Loaded) -> bytes:
    """The bytes of a model's file."""
    return packed(*model_io._encode(model))


def test_random_corruptions_are_refused_or_harmless(path: Path) -> None:
    n_refused, n_harmless = survey(path, 7, 3000)
    assert n_refused + n_harmless == 3000
    assert n_refused > 2500


def test_random_corruptions_do_not_crash_the_process(folder: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path; from test_model_io import survey\n"
        "print(sum(map(sum, (survey(Path(name), 11, 100) for name in sys.argv[1:]))))\n"
    )
    files = [str(folder / name) for name in NAMES]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, *files], capture_output=True, text=True
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{100 * len(NAMES)}\n", "")


# Crafted files with a correct digest: only the checks protect the kernels from them.


def parts_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(header, tensors) of a model file."""
    text, tensors = container.unpack(path.read_bytes())
    return json.loads(text), tensors


def sealed(header: dict[str, Any] | str, tensors: dict[str, Any]) -> bytes:
    """A model file of these parts, with the digest that belongs to them."""
    text = header if isinstance(header, str) else json.dumps(header)
    return packed(text, tensors)


def test_sealing_equals_saving(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    text, tensors = container.unpack(data)
    assert sealed(text, tensors) == data
    assert answers(reload(sealed(*parts_of(path)), tmp_path)) == answers(load_model(str(path)))


VALUES: tuple[Any, ...] = (
    -1,
    0,
    2,
    10**9,
    2**31,
    2**63,
    2**64,
    10**300,
    None,
    True,
    "x",
    "",
    1.5,
    -0.0,
    [],
    {},
    [[]],
    ["x"],
    [None],
)


def test_header_fields_of_any_value(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    free = {"version", "fingerprint", "info"}  # shown but not used
    optional = {"cleaning", "binarisation", "column"}
    unused = {"column"} if header["task"] == "parser" else {"cleaning", "binarisation"}
    for name in header:
        for value in VALUES:
            if value == header[name] and type(value) is type(header[name]):
                continue
            data = sealed({**header, name: value}, tensors)
            if name in free | unused or (name in optional and value == {}):
                try:
                    check_answers(reload(data, tmp_path))
                except ModelError:
                    continue
            else:
                refused(data, tmp_path)
        if name not in optional:
            refused(sealed({key: value for key, value in header.items() if key != name}, tensors), tmp_path)
    refused(sealed({**header, "more": 1}, tensors), tmp_path)


def test_other_versions_give_advice(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    message = refused(sealed({**header, "format": FORMAT + 1}, tensors), tmp_path)
    assert f"has format {FORMAT + 1}; this version of lveg reads format {FORMAT}" in message
    assert "not installed here" in refused(sealed({**header, "task": "translator"}, tensors), tmp_path)
    assert "not installed here" in refused(sealed({**header, "family": "rnn"}, tensors), tmp_path)


def test_unusual_json(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    text = json.dumps(header)
    deep = "[" * 100_000 + "]" * 100_000
    for odd in (
        text.replace('"info": {', f'"info": {{"x": {deep}, ', 1),
        f'{text[:-1]}, "more": {deep}}}',
        f"[{text}]",
        text[:-1],
        f"{text}{text}",
        text.replace(f'"format": {FORMAT}', f'"format": {FORMAT}.0', 1),
        text.replace('"n_binary": ', '"n_binary": -', 1),
        text.replace('"n_binary": ', '"n_binary": 1e400, "n_unary": ', 1),
        text.replace('"scheme": "', '"scheme": "\\ud800', 1),
        "",
        "null",
        "NaN",
    ):
        assert odd != text
        refused(sealed(odd, tensors), tmp_path)
    # If a key occurs twice, the last one is read; it must pass the same checks.
    twice = f'{text[:-1]}, "n_binary": {header["n_binary"]}}}'
    assert answers(reload(sealed(twice, tensors), tmp_path)) == answers(load_model(str(path)))
    refused(sealed(f'{text[:-1]}, "n_binary": {header["n_binary"] + 1}}}', tensors), tmp_path)


def test_unusual_safetensors_headers(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for text in (
        f'{{"a":{deep}}}',
        f'{{"__metadata__":{deep}}}',
        '{"__metadata__":null}',
        '{"__metadata__":{"lveg":1}}',
        '{"__metadata__":{"lveg":"\\ud800"}}',
        f'{{"__metadata__":{{"lveg":"x\\n{{\\"format\\":FORMAT,\\"x\\":{deep}}}"}}}}',
        '{"__metadata__":{"lveg":"x\\n{\\"format\\":FORMAT}"},"weight":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}}',
        '{"__metadata__":{"lveg":"x\\n{\\"format\\":FORMAT}"},"w":{"dtype":"F64","shape":[4611686018427387904,8],'
        '"data_offsets":[0,0]}}',
    ):
        data = text.replace("FORMAT", str(FORMAT)).encode()
        refused(struct.pack("<Q", len(data)) + data, tmp_path)


@pytest.mark.parametrize("name", ["count", "weight"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-300, -1.0])
def test_numbers_that_are_not_finite(path: Path, tmp_path: Path, name: str, value: float) -> None:
    header, tensors = parts_of(path)
    for index in (0, tensors[name].size // 2, -1):
        changed = tensors[name].copy()
        changed[index] = value
        refused(sealed(header, {**tensors, name: changed}), tmp_path)


@pytest.mark.parametrize("factor", [0.0, 1e-320, 1e-9, 1e10, 1e307])
def test_weights_that_are_not_probabilities_are_refused_or_harmless(path: Path, tmp_path: Path, factor: float) -> None:
    header, tensors = parts_of(path)
    data = sealed(header, {**tensors, "weight": tensors["weight"] * factor})
    if header["task"] == "tagger":
        assert "do not sum to one" in refused(data, tmp_path)
    else:
        check_answers(reload(data, tmp_path))


@pytest.mark.parametrize("name", ["rule_lhs", "rule_left", "rule_right"])
def test_symbols_that_do_not_exist(path: Path, tmp_path: Path, name: str) -> None:
    header, tensors = parts_of(path)
    for index in (0, 5, header["n_binary"], header["n_binary"] + header["n_unary"], -1):
        for value in (-2, 10**6, 2**31 - 1, -(2**31)):
            changed = tensors[name].copy()
            changed[index] = value
            refused(sealed(header, {**tensors, name: changed}), tmp_path)


@pytest.mark.parametrize("name", list(model_io._ARRAYS))
def test_arrays_of_other_types_or_shapes(path: Path, tmp_path: Path, name: str) -> None:
    header, tensors = parts_of(path)
    array = tensors[name]
    changes: tuple[Callable[[], Any], ...] = (
        lambda: array[:-1].copy(),
        lambda: np.append(array, array[-1:]),
        lambda: array[:0].copy(),
        lambda: array.reshape(1, -1),
        lambda: array.astype(np.float32),
        lambda: array.astype(np.int64),
        lambda: np.array(array[0]),
    )
    for change in changes:
        refused(sealed(header, {**tensors, name: change()}), tmp_path)
    refused(sealed(header, {key: value for key, value in tensors.items() if key != name}), tmp_path)
    refused(sealed(header, {**tensors, "more": array}), tmp_path)


def test_rules_in_another_order(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    order = np.arange(tensors["count"].size)
    for first, second in ((0, header["n_binary"] - 1), (-1, -2)):
        swapped = order.copy()
        swapped[[first, second]] = order[[second, first]]
        changed = {name: tensors[name][swapped] for name in model_io._ARRAYS}
        refused(sealed(header, {**tensors, **changed}), tmp_path)


def test_a_lexicon_that_leaves_words_without_terminals_or_tags(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    words, classes = header["words"], header["classes"]
    renamed = [name if name != "UNK" else "ELSE" for name in classes]
    assert "unknown-word" in refused(sealed({**header, "classes": renamed}, tensors), tmp_path)
    assert "unknown-word" in refused(sealed({**header, "scheme": "none"}, tensors), tmp_path)
    assert "twice" in refused(sealed({**header, "words": [words[1], *words[1:]]}, tensors), tmp_path)
    assert "no tag" in refused(sealed({**header, "words": [*words, "\u2603"]}, tensors), tmp_path)


def test_a_parser_labelled_as_a_tagger(folder: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(folder / "pcfg-parser")
    dressed = {**header, "task": "tagger", "family": "hmm", "column": "upos"}
    assert "not those of a tagger" in refused(sealed(dressed, tensors), tmp_path)
    pattern = {**header, "cleaning": {**header["cleaning"], "empty_elements": "("}}
    assert "could take forever to match" in refused(sealed(pattern, tensors), tmp_path)
    direction = {**header, "binarisation": {**header["binarisation"], "direction": "up"}}
    assert "is not one of right, left, head" in refused(sealed(direction, tensors), tmp_path)


# What families store: their arrays and their facts.


def own_arrays(tensors: dict[str, Any], kind: type = np.generic) -> list[str]:
    """The names of the family's arrays of a kind of numbers."""
    return sorted(
        name for name, array in tensors.items() if name.startswith("family.") and issubclass(array.dtype.type, kind)
    )


def refused_or_harmless(data: bytes, folder: Path) -> bool:
    """Whether the bytes are a model; if so, checks that it gives results."""
    try:
        model = reload(data, folder)
    except ModelError:
        return False
    check_answers(model)
    return True


def places_of(array: Any) -> list[tuple[int, ...]]:
    """The first, a middle and the last index of an array."""
    return [np.unravel_index(index, array.shape) for index in {0, array.size // 2, array.size - 1} if array.size]


FREE_FACTS = {"count"}
"""Facts that no array depends on: other values of the same type are allowed within their bounds."""


class TestFamilyData:
    def test_numbers_that_are_not_finite(self, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        for name in own_arrays(tensors, np.floating):
            for place in places_of(tensors[name]):
                for value in (np.nan, np.inf, -np.inf):
                    changed = tensors[name].copy()
                    changed[place] = value
                    assert "is damaged: " in refused(sealed(header, {**tensors, name: changed}), tmp_path)

    def test_other_numbers(self, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        for name in own_arrays(tensors):
            is_whole = issubclass(tensors[name].dtype.type, np.integer)
            values = (-(2**31), -1, 0, 1, 3, 4097, 2**21, 2**31 - 1) if is_whole else (1e300, -1e300, -1e-300, 1e5, 0.0)
            for place in places_of(tensors[name]):
                for value in values:
                    changed = tensors[name].copy()
                    changed[place] = np.clip(value, *limits_of(changed))
                    refused_or_harmless(sealed(header, {**tensors, name: changed}), tmp_path)

    def test_numbers_at_their_limits_still_give_an_answer(self, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        dice = np.random.default_rng(1)
        for name in own_arrays(tensors, np.floating):
            n_accepted = 0
            for limits in LIMITS:
                for _ in range(3):
                    changed = dice.choice(np.clip(limits, *limits_of(tensors[name])), tensors[name].shape)
                    changed = changed.astype(tensors[name].dtype)
                    n_accepted += refused_or_harmless(sealed(header, {**tensors, name: changed}), tmp_path)
            assert n_accepted

    def test_other_shapes(self, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        for name in own_arrays(tensors):
            value = tensors[name]
            others = [
                value[..., :-1],
                value[..., :0],
                np.repeat(value, 2, axis=-1),
                value[None],
                value.reshape(1, -1)[0, :1].reshape(()) if value.size else value.astype(np.int16),
                value.astype(np.float32),
                value.astype(np.int64),
            ]
            for other in others:
                refused(sealed(header, {**tensors, name: np.ascontiguousarray(other)}), tmp_path)
            refused(sealed(header, {key: kept for key, kept in tensors.items() if key != name}), tmp_path)
        for more in ("family.more", "family.", "family.0.more", "family.9.weight"):
            refused(sealed(header, {**tensors, more: np.zeros(3)}), tmp_path)

    def test_facts_of_any_value(self, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        facts = header["facts"]
        for name, fact in facts.items():
            for value in (*VALUES, 1, 3, 10**6, 2**40, 2**70, "full", "diagonal", [{}], [1] * 3):
                changed = sealed({**header, "facts": {**facts, name: value}}, tensors)
                if name in FREE_FACTS and type(value) is type(fact):
                    refused_or_harmless(changed, tmp_path)
                elif value != fact or type(value) is not type(fact):
                    refused(changed, tmp_path)
            refused(sealed({**header, "facts": {key: facts[key] for key in facts if key != name}}, tensors), tmp_path)
        refused(sealed({**header, "facts": {**facts, "more": 1}}, tensors), tmp_path)

    def test_a_file_that_names_another_family(self, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        for family in {*kinds("parser"), *kinds("tagger")} - {header["family"]}:
            refused(sealed({**header, "family": family}, tensors), tmp_path)

    def test_the_parts_of_another_family(self, folder: Path, path: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(path)
        for name in NAMES:
            other, arrays = parts_of(folder / name)
            own = {key: arrays[key] for key in own_arrays(arrays)}
            if header["task"] == other["task"] and own and set(own) != set(own_arrays(tensors)):
                refused(sealed(header, tensors | own), tmp_path)
                rest = {key: array for key, array in tensors.items() if not key.startswith("family.")}
                refused(sealed(header, rest | own), tmp_path)


LIMITS = (
    [0.0],
    [0.0, 1.0],
    [-1.0, 0.0, 1.0],
    [-200.0, 0.0, 200.0],
    [-300.0, 0.0, 300.0],
    [-700.0, 0.0, 700.0],
    [0.0, 1e-300, 1e300],
    [0.0, 1e308],
    [-1e308, 1e308],
)


def limits_of(array: Any) -> tuple[float, float]:
    """The smallest and the largest number of an array's type."""
    found = np.iinfo(array.dtype) if issubclass(array.dtype.type, np.integer) else np.finfo(array.dtype)
    return found.min, found.max


def test_taggers_with_large_parameters_still_tag(folder: Path, tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    for name in ("lvg-tagger", "gm-tagger"):
        header, tensors = parts_of(folder / name)
        for _ in range(20):
            changed = dice.choice([-200.0, 0.0, 200.0], tensors["family.value"].size)
            check_answers(reload(sealed(header, {**tensors, "family.value": changed}), tmp_path))
        for value in (1e300, -1e5):
            changed = tensors["family.value"].copy()
            changed[-1] = value
            assert "not a number from" in refused(sealed(header, {**tensors, "family.value": changed}), tmp_path)


@pytest.mark.parametrize("name", ["lvg-parser", "split-merge-parser"])
def test_impossible_numbers_of_subtypes(folder: Path, tmp_path: Path, name: str) -> None:
    header, tensors = parts_of(folder / name)
    for number in (-(2**31), -1, 0, 3, 4097, 2**21, 2**31 - 1):
        subtypes = tensors["family.subtypes"].copy()
        subtypes[len(subtypes) // 2] = number
        if not np.array_equal(subtypes, tensors["family.subtypes"]):
            refused(sealed(header, {**tensors, "family.subtypes": subtypes}), tmp_path)
    for limits in ([0.0, 1e-300, 1e300], [1e308], [0.0, 1.0], [0.0]):
        weight = np.random.default_rng(1).choice(limits, tensors["family.weight"].size)
        data = sealed(header, {**tensors, "family.weight": weight})
        if name == "split-merge-parser" and max(limits) > 1e200:  # its coarser grammars may overflow
            refused_or_harmless(data, tmp_path)
        else:
            check_answers(reload(data, tmp_path))


def test_invalid_groups(folder: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(folder / "split-merge-parser")
    groups = tensors["family.groups"]
    assert groups.shape[0] == 1
    for value in (-(2**31), -1, 2, 2**31 - 1):
        for at in (0, groups.shape[1] // 2, -1):
            changed = groups.copy()
            changed[0, at] = value
            assert "groups" in refused(sealed(header, {**tensors, "family.groups": changed}), tmp_path)


class TestNested:
    """Families that are made of others."""

    def test_invalid_members(self, folder: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(folder / "product-parser")
        parts = header["facts"]["parts"]
        for number, part in enumerate(parts):
            for other in (
                *VALUES, {**part, "more": 1}, {"name": part["name"]}, {**part, "name": "product"},
                {**part, "name": "none"}, {**part, "name": 3}, {**part, "facts": [1]}, {**part, "facts": {"more": 1}},
            ):  # fmt: skip
                changed = [*parts[:number], other, *parts[number + 1 :]]
                refused(sealed({**header, "facts": {"parts": changed}}, tensors), tmp_path)
        for changed in (parts[:-1], parts[1:], parts[::-1], [*parts, parts[-1]], []):
            refused(sealed({**header, "facts": {"parts": changed}}, tensors), tmp_path)

    def test_members_that_cannot_be_multiplied(self, folder: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(folder / "pcfg-parser")
        plain = {"name": "pcfg", "facts": {}}
        product = {"name": "product", "facts": {"parts": [plain]}}
        for parts in ([plain], [plain, plain], [product], [product, plain]):
            refused(sealed({**header, "family": "contextual", "facts": {"parts": parts}}, tensors), tmp_path)
        deep: dict[str, Any] = plain
        for number in range(150):
            deep = {"name": ("contextual", "product")[number % 2], "facts": {"parts": [deep]}}
        refused(sealed({**header, "family": deep["name"], "facts": deep["facts"]}, tensors), tmp_path)

    def test_chains_times_contexts(self, folder: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(folder / "forms-tagger")
        base, *contexts = header["facts"]["parts"]
        forms, network = contexts
        for parts in ([base], [base, forms], [base, base, network], [forms, base, network], [base, network, forms]):
            refused(sealed({**header, "facts": {"parts": parts}}, tensors), tmp_path)
        rest = {key: array for key, array in tensors.items() if not key.startswith("family.0.")}
        for name in ("hmm", "lvg", "gm"):  # their words do not have every tag
            other, arrays = parts_of(folder / f"{name}-tagger")
            own = {key.replace("family.", "family.0."): arrays[key] for key in own_arrays(arrays)}
            parts = [{"name": name, "facts": other["facts"]}, *contexts]
            data = sealed({**header, "facts": {"parts": parts}}, rest | own)
            refused(data, tmp_path)
        deep = {"name": "forms", "facts": header["facts"]}
        refused(sealed({**header, "facts": {"parts": [deep, *contexts]}}, tensors), tmp_path)

    def test_a_chain_without_emissions(self, folder: Path, tmp_path: Path) -> None:
        header, tensors = parts_of(folder / "lvg-tagger")
        tagger = load_model(str(folder / "lvg-tagger"))
        assert isinstance(tagger, Tagger)
        tags, subtypes = len(tagger.grammar.tags), header["facts"]["subtypes"]
        changed = {**header, "facts": {**header["facts"], "has_emissions": False}}
        refused(sealed(changed, tensors), tmp_path)
        value = tensors["family.value"][: size_of(tags, 0, subtypes)].copy()
        assert refused_or_harmless(sealed(changed, {**tensors, "family.value": value}), tmp_path)


class TestWriting:
    def test_a_failing_write_leaves_the_old_file(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, target = load_model(str(path)), tmp_path / "m"
        target.write_text("old")

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        for name in ("fsync", "replace", "chmod"):
            with monkeypatch.context() as patch:
                patch.setattr(os, name, fail)
                with pytest.raises(UsageError, match="m: cannot be written: No space left on device"):
                    save_model(model, str(target))
            assert os.listdir(tmp_path) == ["m"]
            assert target.read_text() == "old"

    def test_an_interrupted_write_leaves_the_old_file(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, target = load_model(str(path)), tmp_path / "m"
        target.write_text("old")

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save_model(model, str(target))
        assert os.listdir(tmp_path) == ["m"]
        assert target.read_text() == "old"

    def test_a_missing_folder(self, path: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
            save_model(load_model(str(path)), str(tmp_path / "none" / "m"))
        with pytest.raises(UsageError, match="cannot be written: Is a directory"):
            save_model(load_model(str(path)), str(tmp_path))

    def test_a_link_stays_a_link(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("m")
        save_model(load_model(str(path)), str(tmp_path / "link"))
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "m").read_bytes() == path.read_bytes()

    def test_a_device_is_written_to_and_not_replaced(self, path: Path, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        reader = subprocess.Popen(["cp", str(tmp_path / "pipe"), str(tmp_path / "copy")])
        save_model(load_model(str(path)), str(tmp_path / "pipe"))
        assert reader.wait(timeout=300) == 0
        assert (tmp_path / "copy").read_bytes() == path.read_bytes()
        assert (tmp_path / "pipe").is_fifo()

    def test_the_file_is_readable_by_others(self, path: Path, tmp_path: Path) -> None:
        save_model(load_model(str(path)), str(tmp_path / "m"))
        (tmp_path / "plain").write_text("")
        assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode
