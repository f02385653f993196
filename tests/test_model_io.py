"""Models on disk: the same bytes for the same training, and no file that gets past the checks by accident."""

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
from safetensors.numpy import load, save, save_file

from lveg import container, model_io
from lveg.errors import ModelError, UsageError
from lveg.learning.descent import Descent
from lveg.learning.lvg import LvgOptions
from lveg.learning.split_merge import SplitMergeOptions
from lveg.learning.tags import TagFormsOptions, TagGmOptions, TagLvgOptions
from lveg.learning.train import ParserOptions, TaggerOptions, train_parser, train_tagger
from lveg.model import Model, Parser
from lveg.model_io import load_model, save_model
from lveg.treebank.synthetic import ENGLISH

BRIEF = Descent(epochs=1)
LVG = TaggerOptions("lvg", lvg=TagLvgOptions(2, descent=BRIEF))
GM = TaggerOptions("gm", gm=TagGmOptions(2, 2, descent=BRIEF))
FORMS = TaggerOptions("forms", forms=TagFormsOptions(2, descent=BRIEF))
HMM = TaggerOptions("hmm")
LVG_PARSER = ParserOptions("lvg", lvg=LvgOptions(2, descent=BRIEF))
SPLIT = ParserOptions("split-merge", split_merge=SplitMergeOptions(2, (2, 1, 1)))
SENTENCES = ("The dog saw a cat with a telescope .", "Unheard zworks ( 12 ) - x", "a", "Dogs and cats slept")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small treebanks and models of them."""
    made = tmp_path_factory.mktemp("models")
    trees = (ENGLISH.parent / "demo-train.mrg").read_text().splitlines(keepends=True)
    blocks = (ENGLISH.parent / "demo-train.conllu").read_text().split("\n\n")
    (made / "train.mrg").write_text("".join(trees[:60]))
    (made / "train.conllu").write_text("\n\n".join(blocks[:60]) + "\n\n")
    save_model(train_parser([str(made / "train.mrg")]), str(made / "parser"))
    for options in (FORMS, HMM, LVG, GM):
        save_model(train_tagger([str(made / "train.conllu")], options=options), str(made / f"{options.model}-tagger"))
    for options in (LVG_PARSER, SPLIT):
        save_model(train_parser([str(made / "train.mrg")], options=options), str(made / f"{options.model}-parser"))
    return made


@pytest.fixture(params=["parser", "forms-tagger", "hmm-tagger", "lvg-tagger", "gm-tagger", "split-merge-parser"])
def path(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A model file."""
    return folder / str(request.param)


def answers(model: Model) -> list[Any]:
    """What a model says of some sentences."""
    if isinstance(model, Parser):
        return [model.parse(text.split(), count=3, marginals=True) for text in SENTENCES]
    return [model.tag(text.split(), decoder) for text in SENTENCES for decoder in ("posterior", "viterbi")]


def reload(data: bytes, folder: Path) -> Model:
    """The model in these bytes."""
    target = folder / "reloaded"
    target.write_bytes(data)
    return load_model(str(target))


def refused(data: bytes, folder: Path) -> str:
    """The error that these bytes get."""
    with pytest.raises(ModelError) as caught:
        reload(data, folder)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'reloaded'}: ")
    assert "\n" not in message
    return message


class TestRoundTrip:
    def test_a_loaded_model_says_the_same(self, folder: Path) -> None:
        for name, parser_options in (
            ("parser", ParserOptions()), ("lvg-parser", LVG_PARSER), ("split-merge-parser", SPLIT),
        ):  # fmt: skip
            parser = train_parser([str(folder / "train.mrg")], options=parser_options)
            assert answers(load_model(str(folder / name))) == answers(parser)
        for options in (FORMS, HMM, LVG, GM):
            tagger = train_tagger([str(folder / "train.conllu")], options=options)
            assert answers(load_model(str(folder / f"{options.model}-tagger"))) == answers(tagger)

    def test_saving_a_loaded_model_gives_the_same_bytes(self, path: Path, tmp_path: Path) -> None:
        save_model(load_model(str(path)), str(tmp_path / "again"))
        assert (tmp_path / "again").read_bytes() == path.read_bytes()

    def test_training_again_gives_the_same_bytes(self, folder: Path, tmp_path: Path) -> None:
        save_model(train_parser([str(folder / "train.mrg")], options=ParserOptions()), str(tmp_path / "p"))
        save_model(train_tagger([str(folder / "train.conllu")], options=FORMS), str(tmp_path / "t"))
        assert (tmp_path / "p").read_bytes() == (folder / "parser").read_bytes()
        assert (tmp_path / "t").read_bytes() == (folder / "forms-tagger").read_bytes()

    def test_hash_seeds_do_not_matter(self, folder: Path, tmp_path: Path) -> None:
        code = (
            "import sys; from lveg.learning.train import *; from lveg.model_io import save_model\n"
            "trees, tags, out = sys.argv[1:]\n"
            "head = ParserOptions(binarisation=Binarisation('head', 1, 2))\n"
            "save_model(train_parser([trees], [trees]), out + '.p')\n"
            "save_model(train_parser([trees], options=head), out + '.h')\n"
            "save_model(train_tagger([tags], [tags]), out + '.t')\n"
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
            (b"", "is not a model file, or was cut"),
            (b"\0" * 7, "is not a model file, or was cut"),
            (b"\0" * 8, "is not a model file of lveg"),
            (b"The dog saw a cat .\n" * 50, "is not a model file, or was cut"),
            (pickle.dumps({"lveg": [1.0] * 100}), "is not a model file"),
            (save({"weight": np.zeros(3)}), "is not a model file of lveg"),
            (save({"weight": np.zeros(3)}, {"format": "pt"}), "is not a model file of lveg"),
            (save({}, {"lveg": "x"}), "is damaged: its header cannot be read"),
            (struct.pack("<Q", 2**63) + b"{}", "is not a model file, or was cut"),
        ],
        ids=["empty", "short", "zeros", "text", "pickle", "safetensors", "torch", "header", "huge"],
    )
    def test_are_named(self, tmp_path: Path, data: bytes, what: str) -> None:
        assert what in refused(data, tmp_path)

    def test_directory_and_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="cannot be opened: Is a directory"):
            load_model(str(tmp_path))
        with pytest.raises(ModelError, match="cannot be opened: No such file"):
            load_model(str(tmp_path / "none"))

    def test_safetensors_file_with_our_names(self, tmp_path: Path) -> None:
        save_file({name: np.zeros(2, kind) for name, kind in model_io._TENSORS.items()}, tmp_path / "a")
        with pytest.raises(ModelError, match="not a model file of lveg"):
            load_model(str(tmp_path / "a"))


def test_a_file_cut_anywhere_is_refused(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    draw = random.Random(1)
    lengths = {*range(300), *range(len(data) - 100, len(data)), *(draw.randrange(len(data)) for _ in range(300))}
    for length in sorted(lengths):
        refused(data[:length], tmp_path)
    refused(data + b"\0", tmp_path)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """The bytes after one to four small accidents, half of them in the header."""
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
    """(refused, harmless) of mutated files; anything but a refusal or the same model is an error."""
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


def saved(model: Model) -> bytes:
    """The bytes of a model's file."""
    kept: list[bytes] = []
    old = model_io.write_whole
    model_io.write_whole = lambda _, data: kept.append(data)
    try:
        save_model(model, "")
    finally:
        model_io.write_whole = old
    return kept[0]


def test_thousands_of_accidents_are_refused_or_harmless(path: Path) -> None:
    n_refused, n_harmless = survey(path, 7, 3000)
    assert n_refused + n_harmless == 3000
    assert n_refused > 2500


def test_accidents_do_not_crash_a_process(folder: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path; from test_model_io import survey\n"
        "print(sum(map(sum, (survey(Path(name), 11, 500) for name in sys.argv[1:]))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, str(folder / "parser"), str(folder / "forms-tagger")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1000\n", "")


# Files that someone made, with the right digest: nothing but the checks stands between them and the kernels.


def parts_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(header, tensors) of a model file."""
    data = path.read_bytes()
    return json.loads(container.unpack(data)[0]), dict(load(data))


def sealed(header: dict[str, Any] | str, tensors: dict[str, Any]) -> bytes:
    """A model file of these parts, with the digest that belongs to them."""
    text = header if isinstance(header, str) else json.dumps(header)
    return container.pack(text, tensors)


def test_sealing_is_what_saving_does(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    text, tensors = container.unpack(data)
    assert sealed(text, tensors) == data
    assert answers(reload(sealed(*parts_of(path)), tmp_path)) == answers(load_model(str(path)))


VALUES = (-1, 0, 2, 10**9, 2**31, 2**63, 2**64, 10**300, None, True, "x", "", 1.5, -0.0, [], {}, [[]], ["x"], [None])


def test_header_fields_of_any_value(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    free = {"version", "fingerprint", "info"}  # told, not used
    unused = {"column"} if path.name.endswith("parser") else {"cleaning", "binarisation"}
    for name in header:
        for value in VALUES:
            if value == header[name] and type(value) is type(header[name]):
                continue
            data = sealed({**header, name: value}, tensors)
            if name in free | unused or (name in ("cleaning", "binarisation", "latent") and value == {}):
                try:
                    answers(reload(data, tmp_path))
                except ModelError:
                    continue
            else:
                refused(data, tmp_path)
        if name not in unused | {"cleaning", "binarisation", "column", "latent", "forms"}:
            refused(sealed({key: value for key, value in header.items() if key != name}, tensors), tmp_path)
    refused(sealed({**header, "more": 1}, tensors), tmp_path)


def test_other_versions_say_what_to_do(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    message = refused(sealed({**header, "format": 2}, tensors), tmp_path)
    assert "has format 2; this version of lveg reads format 1" in message
    assert "does not know" in refused(sealed({**header, "kind": "translator"}, tensors), tmp_path)
    assert "does not know" in refused(sealed({**header, "family": "cvg"}, tensors), tmp_path)


def test_json_that_is_odd(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    text = json.dumps(header)
    deep = "[" * 100_000 + "]" * 100_000
    for odd in (
        text.replace('"info": {', f'"info": {{"x": {deep}, ', 1),
        f'{text[:-1]}, "more": {deep}}}',
        f"[{text}]",
        text[:-1],
        f"{text}{text}",
        text.replace('"format": 1', '"format": 1.0', 1),
        text.replace('"n_binary": ', '"n_binary": -', 1),
        text.replace('"n_binary": ', '"n_binary": 1e400, "n_unary": ', 1),
        text.replace('"scheme": "', '"scheme": "\\ud800', 1),
        "",
        "null",
        "NaN",
    ):
        assert odd != text
        refused(sealed(odd, tensors), tmp_path)
    # Of a key that stands twice the last is read; it must pass the same checks.
    twice = f'{text[:-1]}, "n_binary": {header["n_binary"]}}}'
    assert answers(reload(sealed(twice, tensors), tmp_path)) == answers(load_model(str(path)))
    refused(sealed(f'{text[:-1]}, "n_binary": {header["n_binary"] + 1}}}', tensors), tmp_path)


def test_safetensors_headers_that_are_odd(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for text in (
        f'{{"a":{deep}}}',
        f'{{"__metadata__":{deep}}}',
        '{"__metadata__":null}',
        '{"__metadata__":{"lveg":1}}',
        '{"__metadata__":{"lveg":"\\ud800"}}',
        f'{{"__metadata__":{{"lveg":"x\\n{{\\"format\\":1,\\"x\\":{deep}}}"}}}}',
        '{"__metadata__":{"lveg":"x\\n{\\"format\\":1}"},"weight":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}}',
        '{"__metadata__":{"lveg":"x\\n{\\"format\\":1}"},"w":{"dtype":"F64","shape":[4611686018427387904,8],'
        '"data_offsets":[0,0]}}',
    ):
        refused(struct.pack("<Q", len(text)) + text.encode(), tmp_path)


@pytest.mark.parametrize("name", ["count", "weight"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-300, -1.0])
def test_numbers_that_are_none(path: Path, tmp_path: Path, name: str, value: float) -> None:
    header, tensors = parts_of(path)
    for index in (0, tensors[name].size // 2, -1):
        changed = tensors[name].copy()
        changed[index] = value
        refused(sealed(header, {**tensors, name: changed}), tmp_path)


@pytest.mark.parametrize("factor", [0.0, 1e-320, 1e-9, 1e10, 1e307])
def test_weights_that_are_no_probabilities_are_refused_or_harmless(path: Path, tmp_path: Path, factor: float) -> None:
    header, tensors = parts_of(path)
    data = sealed(header, {**tensors, "weight": tensors["weight"] * factor})
    if not path.name.endswith("parser"):
        assert "do not sum to one" in refused(data, tmp_path)
    else:
        assert [parse.words for parse in answers(reload(data, tmp_path))] == [
            parse.words for parse in answers(load_model(str(path)))
        ]


@pytest.mark.parametrize("name", ["rule_lhs", "rule_left", "rule_right"])
def test_symbols_that_do_not_exist(path: Path, tmp_path: Path, name: str) -> None:
    header, tensors = parts_of(path)
    for index in (0, 5, header["n_binary"], header["n_binary"] + header["n_unary"], -1):
        for value in (-2, 10**6, 2**31 - 1, -(2**31)):
            changed = tensors[name].copy()
            changed[index] = value
            refused(sealed(header, {**tensors, name: changed}), tmp_path)


@pytest.mark.parametrize("name", list(model_io._TENSORS))
def test_arrays_of_another_form(path: Path, tmp_path: Path, name: str) -> None:
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
        changed = {name: tensors[name][swapped] for name in model_io._TENSORS}
        refused(sealed(header, {**tensors, **changed}), tmp_path)


def test_a_lexicon_that_leaves_words_without_an_answer(path: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(path)
    words, classes = header["words"], header["classes"]
    renamed = [name if name != "UNK" else "ELSE" for name in classes]
    assert "unknown-word" in refused(sealed({**header, "classes": renamed}, tensors), tmp_path)
    assert "unknown-word" in refused(sealed({**header, "scheme": "none"}, tensors), tmp_path)
    assert "twice" in refused(sealed({**header, "words": [words[1], *words[1:]]}, tensors), tmp_path)
    assert "no tag" in refused(sealed({**header, "words": [*words, "\u2603"]}, tensors), tmp_path)


def test_one_kind_in_the_dress_of_the_other(folder: Path, tmp_path: Path) -> None:
    header, tensors = parts_of(folder / "parser")
    dressed = {**header, "kind": "tagger", "family": "hmm", "column": "upos"}
    assert "not those of a tagger" in refused(sealed(dressed, tensors), tmp_path)
    pattern = {**header, "cleaning": {**header["cleaning"], "empty_elements": "("}}
    assert "not a regular expression" in refused(sealed(pattern, tensors), tmp_path)
    direction = {**header, "binarisation": {**header["binarisation"], "direction": "up"}}
    assert "is not one of right, left, head" in refused(sealed(direction, tensors), tmp_path)


@pytest.mark.parametrize("name", ["lvg-tagger", "gm-tagger"])
class TestLatentTaggers:
    def test_numbers_that_are_none_or_too_large(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        for value in (np.nan, np.inf, -np.inf, 1e300, -1e5):
            for index in (0, tensors["latent"].size // 2, -1):
                changed = tensors["latent"].copy()
                changed[index] = value
                assert "not a number from" in refused(sealed(header, {**tensors, "latent": changed}), tmp_path)

    def test_numbers_at_their_limits_still_give_an_answer(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        dice = np.random.default_rng(1)
        for _ in range(20):
            changed = dice.choice([-200.0, 0.0, 200.0], tensors["latent"].size)
            model = reload(sealed(header, {**tensors, "latent": changed}), tmp_path)
            for tagging in answers(model):
                assert len(tagging.tags) == len(tagging.words)

    def test_other_shapes(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        value = tensors["latent"]
        for other in (value[:-1], np.append(value, 0.0), value[:0], value.reshape(1, -1), value.astype(np.float32)):
            refused(sealed(header, {**tensors, "latent": np.ascontiguousarray(other)}), tmp_path)
        shape = header["latent"]
        for field in shape:
            for changed in (-1, 0, 1, 3, 10**6, 2**40, 2**70, None, "full", "diagonal", 1.5, []):
                if changed != shape[field]:
                    refused(sealed({**header, "latent": {**shape, field: changed}}, tensors), tmp_path)
        refused(sealed({**header, "latent": None}, tensors), tmp_path)
        refused(sealed({**header, "latent": {**shape, "more": 1}}, tensors), tmp_path)

    def test_one_family_in_the_dress_of_another(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        for family in {"hmm", "lvg", "gm", "pcfg"} - {header["family"]}:
            refused(sealed({**header, "family": family}, tensors), tmp_path)
        plain = {key: array for key, array in tensors.items() if key != "latent"}
        refused(sealed(header, plain), tmp_path)
        parser_header, parser_tensors = parts_of(folder / "parser")
        message = "a parser has the parts of a tagger"
        dressed = sealed(parser_header, {**parser_tensors, "latent": tensors["latent"]})
        assert message in refused(dressed, tmp_path)
        assert message in refused(sealed({**parser_header, "latent": header["latent"]}, parser_tensors), tmp_path)


@pytest.mark.parametrize("name", ["lvg-parser", "split-merge-parser"])
class TestParsersWithSubtypes:
    def test_numbers_that_are_none(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        for array in ("lvg.weight", "lvg.usage"):
            for value in (np.nan, np.inf, -np.inf, -1e-300) if array in tensors else ():
                changed = tensors[array].copy()
                changed[changed.size // 2] = value
                assert "is not a number from 0 upwards" in refused(
                    sealed(header, {**tensors, array: changed}), tmp_path
                )

    def test_other_shapes(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        for array in [key for key in tensors if key.startswith("lvg.")]:
            value = tensors[array]
            for other in (
                value[..., :-1],
                value[..., :0],
                value[None],
                value.astype(np.float32),
                value.astype(np.int64),
            ):
                refused(sealed(header, {**tensors, array: np.ascontiguousarray(other)}), tmp_path)
            rest = {key: kept for key, kept in tensors.items() if key != array}
            refused(sealed(header, rest), tmp_path)
        for number in (-(2**31), -1, 0, 3, 4097, 2**21, 2**31 - 1):
            subtypes = tensors["lvg.subtypes"].copy()
            subtypes[len(subtypes) // 2] = number
            if number != tensors["lvg.subtypes"][len(subtypes) // 2]:
                refused(sealed(header, {**tensors, "lvg.subtypes": subtypes}), tmp_path)

    def test_groups_that_are_none(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        if "lvg.groups" not in tensors:
            return
        groups = tensors["lvg.groups"]
        for value in (-(2**31), -1, 2, 2**31 - 1):
            for at in (0, groups.shape[1] // 2, -1):
                changed = groups.copy()
                changed[0, at] = value
                assert "groups" in refused(sealed(header, {**tensors, "lvg.groups": changed}), tmp_path)

    def test_one_family_in_the_dress_of_another(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        for family in {"hmm", "lvg", "gm", "pcfg", "split-merge"} - {header["family"]}:
            refused(sealed({**header, "family": family}, tensors), tmp_path)
        tagger, arrays = parts_of(folder / "hmm-tagger")
        with_subtypes = {key: array for key, array in tensors.items() if key.startswith("lvg.")}
        assert "parts of a parser" in refused(sealed(tagger, arrays | with_subtypes), tmp_path)

    def test_weights_at_their_limits_still_give_an_answer(self, folder: Path, tmp_path: Path, name: str) -> None:
        header, tensors = parts_of(folder / name)
        dice = np.random.default_rng(1)
        for limits in ([0.0, 1e-300, 1e300], [0.0, 1.0], [0.0], [1e308]):
            changed = dice.choice(limits, tensors["lvg.weight"].size)
            data = sealed(header, {**tensors, "lvg.weight": changed})
            if name == "split-merge-parser" and max(limits) > 1e200:
                refused(data, tmp_path)
                continue
            model = reload(data, tmp_path)
            assert isinstance(model, Parser)
            for parse in answers(model):
                assert parse.tree.words()
                assert len(model.sample(parse.words, 2)) == 2


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

    def test_a_folder_that_is_not_there(self, path: Path, tmp_path: Path) -> None:
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
        reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
        save_model(load_model(str(path)), str(tmp_path / "pipe"))
        assert reader.communicate(timeout=300)[0] == path.read_bytes()
        assert (tmp_path / "pipe").is_fifo()

    def test_others_may_read_it(self, path: Path, tmp_path: Path) -> None:
        save_model(load_model(str(path)), str(tmp_path / "m"))
        (tmp_path / "plain").write_text("")
        assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode
