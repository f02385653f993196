"""Options: allowed values, and agreement of flags, config files, keywords and models."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Outcome, run_main
from hypothesis import given
from hypothesis import strategies as st
from small import FAMILIES, FORMATS, options_of, quick_options, small_file

import lveg
from lveg.errors import UsageError
from lveg.families.family import Family
from lveg.families.registry import described, find, trainable, trainable_contexts
from lveg.learning import memory
from lveg.learning.options import GradientOptions
from lveg.options import Described, Options, describe, option, read_config, to_toml, with_default
from lveg.task_options import ParserOptions, TaggerOptions

TASKS: dict[str, type[Options]] = {"parser": ParserOptions, "tagger": TaggerOptions}


@dataclass(frozen=True)
class Sample(Options):
    """One option of every sort."""

    count: int = option(4, "A number.", least=1, most=64)
    share: float = option(0.5, "A share.", least=0.0, most=1.0, may_change=True)
    kind: str = option("one", "A choice.", choices=("one", "two"))
    pattern: str | None = option(None, "A text.")
    is_kept: bool = option(False, "A switch.", is_recorded=False)
    free: int = option(0, "Any number.")


def refusal_of(**values: Any) -> str:
    """The error message for these values of a sample, after checking that it is one line."""
    with pytest.raises(UsageError) as caught:
        Sample(**values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestValues:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"count": 0}, "--count 0: expected at least 1"),
            ({"count": 65}, "--count 65: expected at most 64"),
            ({"count": 1.0}, "--count 1.0: expected a whole number"),
            ({"count": "4"}, "--count '4': expected a whole number"),
            ({"count": True}, "--count True: expected a whole number"),
            ({"count": None}, "--count None: expected a whole number"),
            ({"count": [4]}, "--count [4]: expected a whole number"),
            ({"free": 2**63}, "--free: expected a number of at most 64 bits"),
            ({"free": -(10**5000)}, "--free: expected a number of at most 64 bits"),
            ({"share": 1.5}, "--share 1.5: expected at most 1"),
            ({"share": -1}, "--share -1.0: expected at least 0"),
            ({"share": math.nan}, "--share nan: expected a finite number"),
            ({"share": math.inf}, "--share inf: expected a finite number"),
            ({"share": 10**400}, "--share: expected a number of at most 64 bits"),
            ({"share": "x"}, "--share 'x': expected a number"),
            ({"kind": "three"}, "--kind 'three': expected one of one, two"),
            ({"kind": 1}, "--kind 1: expected a text"),
            ({"pattern": 3}, "--pattern 3: expected a text"),
            ({"pattern": "a\udcffb"}, "--pattern 'a\\udcffb': expected Unicode text"),
            ({"is_kept": 1}, "--is-kept 1: expected true or false"),
        ],
    )
    def test_that_are_refused(self, values: dict[str, Any], message: str) -> None:
        assert refusal_of(**values) == message

    def test_at_their_bounds(self) -> None:
        for count in (1, 64):
            assert Sample(count=count).count == count
        for share in (0, 0.0, 1, 1.0):
            assert Sample(share=share).share == share
            assert type(Sample(share=share).share) is float
        assert Sample(free=2**63 - 1, pattern="", kind="two", is_kept=True) == Sample(
            4, 0.5, "two", "", True, 2**63 - 1
        )  # fmt: skip

    def test_unknown_names(self) -> None:
        given = {"count": 2, "share": 1, "other": 3}
        assert Sample.take(given) == Sample(2, 1.0)

    def test_records(self) -> None:
        sample = Sample(2, is_kept=True)
        assert sample.record() == {"count": 2, "share": 0.5, "kind": "one", "pattern": None, "free": 0}
        assert sample.record(for_resume=True) == {"count": 2, "kind": "one", "pattern": None, "free": 0}

    def test_a_changed_default_keeps_the_description(self) -> None:
        @dataclass(frozen=True)
        class Other(Sample):
            """A sample with another default."""

            count: int = with_default(Sample, "count", 8)

        (one, other) = (describe(owner)[0] for owner in (Sample, Other))
        assert (one.default, other.default) == (4, 8)
        assert one.option == other.option
        with pytest.raises(UsageError, match="--count 99: expected at most 64"):
            Other(count=99)


def all_described() -> Iterator[tuple[str, str, Described]]:
    for task, model in FAMILIES:
        for item in (*options_of(task, model), *describe(TASKS[task])):
            yield task, model, item


def test_every_option_is_described() -> None:
    for task, model, item in all_described():
        where = f"{task} {model} {item.name}"
        assert item.type in (int, float, str, bool), where
        assert item.option.help.endswith("."), where
        assert item.option.help[0].isupper() or item.option.help.startswith(("auto", "1:")), where
        assert "\n" not in item.option.help, where
        assert item.default is None or item.check(item.default) == item.default, where
        if item.type in (int, float):
            assert item.option.least is not None, where


def test_options_of_family_and_task_do_not_share_names() -> None:
    for task, model in FAMILIES:
        own = {item.name for item in options_of(task, model)}
        common = {item.name for item in describe(TASKS[task])}
        assert not own & common
        assert not (own | common) & {"train", "out", "dev", "model", "config", "resume", "log", "threads", "quiet"}


class TestToml:
    @given(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False, allow_infinity=False),
           st.integers(-(2**63), 2**63 - 1), st.booleans())  # fmt: skip
    def test_round_trip(self, text: str, number: float, whole: int, switch: bool) -> None:
        values = {"a": text, "b": number, "c": whole, "d": switch, "e": None}
        found = tomllib.loads(to_toml(values))
        assert found == {"a": text, "b": number, "c": whole, "d": switch}
        assert [type(value) for value in found.values()] == [str, float, int, bool]

    @pytest.mark.parametrize(
        "text",
        ["", "\"'", "\\", "\\n", "a\nb\r\nc\td", "\0\x01\x1f\x7f\x80\x85\u2028\ufeff", "# = [x]", "\U0001f600", '"""'],
    )
    def test_unusual_texts_in_a_file(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "a.toml"
        path.write_text(to_toml({"empty": text, "seed": 3}), encoding="utf-8", newline="")
        assert read_config(str(path)) == {"empty": text, "seed": 3}

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"seed 3", "is not TOML"),
            (b"seed = 1\nseed = 2", "is not TOML"),
            (b"\xff = 1", "is not TOML"),
            (b"seed = " + b"9" * 5000, "is not TOML"),
            (b"seed = " + b"[" * 5000, "is not TOML"),
        ],
        ids=["text", "twice", "bytes", "long", "deep"],
    )
    def test_invalid_files(self, tmp_path: Path, data: bytes, message: str) -> None:
        path = tmp_path / "a.toml"
        path.write_bytes(data)
        with pytest.raises(UsageError) as caught:
            read_config(str(path))
        assert str(caught.value).startswith(f"{path}: {message}")
        assert "\n" not in str(caught.value)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="nowhere: cannot be opened: No such file"):
            read_config(str(tmp_path / "nowhere"))
        with pytest.raises(UsageError, match="cannot be opened: Is a directory"):
            read_config(str(tmp_path))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The training files of both tasks; the working directory is an empty folder."""
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return {task: small_file(tmp_path / "data", task, 40) for task in FORMATS}


def flags_of(options: dict[str, Any]) -> list[str]:
    """Options as command-line flags."""
    return [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def trained(task: str, data: dict[str, Path], out: str, *arguments: object) -> Outcome:
    """Run `lveg train TASK` and check that it succeeded."""
    outcome = run_main("train", task, data[task], "--out", out, "-q", *arguments)
    assert outcome.status == 0, outcome.err
    return outcome


class TestConfigs:
    @pytest.mark.parametrize(("task", "model"), FAMILIES)
    def test_info_prints_a_config_that_trains_the_same_bytes(
        self, data: dict[str, Path], task: str, model: str
    ) -> None:
        trained(task, data, "first", "--model", model, "--seed", 3, *flags_of(quick_options(task, model)))
        config = run_main("info", "first", "--config")
        assert (config.status, config.err) == (0, "")
        Path("c.toml").write_text(config.out, encoding="utf-8")
        trained(task, data, "second", "--config", "c.toml")
        assert Path("first").read_bytes() == Path("second").read_bytes()
        learn: Callable[..., Any] = lveg.train_parser if task == "parser" else lveg.train_tagger
        lveg.save(learn(data[task], **read_config("c.toml")), "third")
        assert Path("first").read_bytes() == Path("third").read_bytes()

    def test_a_config_is_equivalent_to_flags(self, data: dict[str, Path]) -> None:
        Path("c.toml").write_text(
            'model = "lvg"\nsubtypes = 2\nepochs = 1\nnoise = 1e-1\nbinarise = "left"\nkeep_traces = true\nseed = 2\n'
        )
        trained("parser", data, "a", "--config", "c.toml")
        trained(
            "parser", data, "b", "--model", "lvg", "--subtypes", 2, "--epochs", 1, "--noise", 0.1,
            "--binarise", "left", "--keep-traces", "--seed", 2,
        )  # fmt: skip
        assert Path("a").read_bytes() == Path("b").read_bytes()

    def test_flags_take_precedence(self, data: dict[str, Path]) -> None:
        Path("c.toml").write_text('model = "pcfg"\nbinarise = "left"\nkeep_functions = true\nhorizontal = 1\n')
        trained("parser", data, "a", "--config", "c.toml", "--binarise", "right", "--no-keep-functions")
        trained("parser", data, "b", "--model", "pcfg", "--horizontal", 1)
        assert Path("a").read_bytes() == Path("b").read_bytes()
        Path("d.toml").write_text('model = "gm"\nsubtypes = 2\nepochs = 1\n')
        trained("parser", data, "c", "--config=d.toml", "--model=lvg")
        trained("parser", data, "d", "--model", "lvg", "--subtypes", 2, "--epochs", 1)
        assert Path("c").read_bytes() == Path("d").read_bytes()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("component = 3", "'component' is not an option of a parser of model gm"),
            ('model = "lvg"\ncomponents = 3', "'components' is not an option of a parser of model lvg"),
            ("[gm]\ncomponents = 3", "'gm' is not an option of a parser of model gm"),
            ('"a\\nb" = 3', "'a\\nb' is not an option of a parser of model gm"),
            ('model = "gm"\ncomponents = 99', "--components 99: expected at most 64"),
            ('model = "gm"\ncomponents = "3"', "--components '3': expected a whole number"),
            ("seed = -1", "--seed -1: expected at least 0"),
            ("seed = 1.5", "--seed 1.5: expected a whole number"),
            ('binarise = "up"', "--binarise 'up': expected one of right, left, head"),
            ('model = "rnn"', "there is no parser model 'rnn'; there are pcfg, "),
            ("model = 3", "there is no parser model '3'"),
            ('model = "product"', "a parser of model product is not trained"),
            ('column = "xpos"', "'column' is not an option of a parser"),
            ("out = 'm'", "'out' is not an option of a parser"),
            ("seed 3", "is not TOML"),
        ],
    )
    def test_errors_name_file_and_key(self, data: dict[str, Path], text: str, message: str) -> None:
        Path("c.toml").write_text(text + "\n")
        refusal = run_main("train", "parser", data["parser"], "--out", "m", "--config", "c.toml").refusal()
        assert refusal.startswith(f"lveg: c.toml: {message}")
        assert not os.path.exists("m")

    def test_a_missing_config(self, data: dict[str, Path]) -> None:
        refusal = run_main("train", "parser", data["parser"], "--out", "m", "--config", "none.toml").refusal()
        assert refusal == "lveg: none.toml: cannot be opened: No such file or directory\n"

    def test_outputs_do_not_overwrite_it(self, data: dict[str, Path]) -> None:
        Path("c.toml").write_text("seed = 1\n")
        for options in (("--out", "c.toml"), ("--out", "m", "--log", "c.toml")):
            refusal = run_main("train", "parser", data["parser"], "--config", "c.toml", *options).refusal()
            assert refusal == "lveg: c.toml: cannot be written: it is an input; choose another file\n"
        assert Path("c.toml").read_text() == "seed = 1\n"


class TestFlags:
    def test_an_option_of_another_family_is_refused_by_name(self, data: dict[str, Path]) -> None:
        for task, model in FAMILIES:
            own = {item.name for item in options_of(task, model)}
            own |= {item.name for item in described(trainable_contexts(task).values())}  # these turn the context on
            for other in trainable(task).values():
                for item in describe(other.load_options()):
                    if item.name not in own:
                        given = (item.flag, 1) if item.type is not bool else (item.flag,)
                        options = ("--out", "m", "--model", model, *given)
                        refusal = run_main("train", task, data[task], *options).refusal()
                        assert f"{item.flag} is an option of --model " in refusal
                        assert refusal.endswith(f", not of --model {model}\n")
                        assert other.name in refusal
        pcfg = ("train", "parser", data["parser"], "--out", "m", "--model", "pcfg")
        refusal = run_main(*pcfg, "--k-hard=99").refusal()
        assert refusal == "lveg: --k-hard is an option of --model gm, not of --model pcfg\n"
        assert "--split is an option" in run_main(*pcfg, "--no-split").refusal()
        for flag in ("--context-epochs", "--feature-dropout"):
            refusal = run_main(*pcfg, "--context", "none", flag, 1).refusal()
            assert refusal.startswith(f"lveg: {flag} needs --context")

    def test_keywords_of_another_family_are_refused_by_name(self, data: dict[str, Path]) -> None:
        with pytest.raises(UsageError, match="components: not an option of a parser of model pcfg"):
            lveg.train_parser(data["parser"], model="pcfg", components=99)
        with pytest.raises(UsageError, match="--components 99: expected at most 64"):
            lveg.train_parser(data["parser"], model="gm", components=99)
        with pytest.raises(UsageError, match="no tagger model 'crf'; there are hmm, forms, gm, lvg"):
            lveg.train_tagger(data["tagger"], model="crf")
        with pytest.raises(UsageError, match="product is not trained"):
            lveg.train_parser(data["parser"], model="product")

    @pytest.mark.parametrize(
        ("model", "options", "message"),
        [
            ("gm", "--dim 1000", "--dim 1000: expected at most 100"),
            ("gm", "--components 0", "--components 0: expected at least 1"),
            ("gm", "--p-min 0.5", "--p-min 0.5: expected at most 0.1"),
            ("gm", "--l2 nan", "--l2 nan: expected a finite number"),
            ("gm", "--split --components 3", "--split needs --components 2, 4, 8"),
            ("gm", "--k-min 3", "component pruning needs both --k-min and --k-max"),
            ("gm", "--k-hard 3 --k-max 3 --k-min 3", "--k-hard cannot be used with"),
            ("lvg", "--subtypes 5000", "--subtypes 5000: expected at most 4096"),
            ("pcfg", "--seed -1", "--seed -1: expected at least 0"),
            ("pcfg", f"--seed {2**64}", "--seed: expected a number of at most 64 bits"),
            ("pcfg", "--empty \udcff", "expected Unicode text"),
        ],
    )
    def test_violated_bounds_give_a_one_line_error(
        self, data: dict[str, Path], model: str, options: str, message: str
    ) -> None:
        given = ("--out", "m", "--model", model, *options.split())
        assert message in run_main("train", "parser", data["parser"], *given).refusal()

    @pytest.mark.parametrize(("task", "model"), FAMILIES)
    def test_help_shows_the_options_of_the_family_and_of_no_other(self, task: str, model: str) -> None:
        outcome = run_main("train", task, "--model", model, "--help")
        assert (outcome.status, outcome.err) == (0, "")
        words = {word.strip("│,.;:()") for word in outcome.out.split()}
        own = {item.flag for item in (*options_of(task, model), *describe(TASKS[task]))}
        others = {item.flag for other in trainable(task).values() for item in describe(other.load_options())}
        assert own <= words
        assert not (others - own) & words
        assert f"options of --model {model};" in " ".join(outcome.out.split())
        assert all(other in outcome.out for other in trainable(task))


class TestMemory:
    @pytest.mark.parametrize(
        ("task", "model", "options"),
        [
            ("parser", "lvg", "--subtypes 3000"),
            ("parser", "lvg", "--subtypes 3000 --objective discriminative"),
            ("parser", "multi-scale", "--cycles 8"),
            ("tagger", "lvg", "--subtypes 4000"),
        ],
    )
    def test_models_too_large_for_memory_are_refused_in_advance(
        self, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch, task: str, model: str, options: str
    ) -> None:
        monkeypatch.setattr(memory, "physical_memory", lambda: 4 * 2**30)
        given = ("--out", "m", "-q", "--model", model, *options.split())
        refusal = run_main("train", task, data[task], *given).refusal()
        flag, number, *_ = options.split()
        assert refusal.startswith(f"lveg: {flag} {number} would need about ")
        assert refusal.endswith(" GiB of memory; this machine has 4.0 GiB\n")

    @pytest.mark.parametrize(("task", "model"), FAMILIES)
    def test_every_trained_family_counts_its_parameters(
        self, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch, task: str, model: str
    ) -> None:
        """The count is exact, except for parameters that are removed at the end or shared by several combinations."""
        kind, counted = find(task, model), list[int]()
        monkeypatch.setattr(
            f"{kind.learning.partition(':')[0]}.check_memory", lambda _, count, __: counted.append(count), raising=False
        )
        trained(task, data, "m", "--model", model, *flags_of(quick_options(task, model)))
        loaded = lveg.load("m")
        assert not isinstance(loaded, lveg.LearnedTokeniser)
        family = loaded.family
        assert isinstance(family, Family)
        if kind.is_treebank:
            assert not counted
        elif model in ("split-merge", "multi-scale", "forms"):
            assert counted[-1] >= family.value.size
        else:
            assert counted == [family.value.size]

    def test_physical_memory_is_known_or_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = memory.physical_memory()
        assert found is None or 2**28 < found < 2**50
        monkeypatch.delattr(os, "sysconf")
        assert memory.physical_memory() is None
        memory.check_memory("anything", 2**60, 2**10)

    def test_running_out_of_memory_gives_a_one_line_error(
        self, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise MemoryError("Unable to allocate 9 GiB")

        monkeypatch.setattr("lveg.training.tree_grammar", fail)
        refusal = run_main("train", "parser", data["parser"], "--out", "m", "-q").refusal()
        assert refusal == "lveg: there is not enough memory: Unable to allocate 9 GiB\n"


GRADUAL = [(task, model) for task, model in FAMILIES if issubclass(find(task, model).load_options(), GradientOptions)]


class TestFailedTraining:
    @pytest.mark.parametrize(("task", "model"), GRADUAL)
    def test_gives_a_one_line_error(self, data: dict[str, Path], task: str, model: str) -> None:
        own = {item.name for item in describe(find(task, model).load_options())}
        options = quick_options(task, model) | {"epochs": 3, "learning_rate": 1e9, "batch": 8}
        if "objective" in own:
            options["objective"] = "discriminative"
        for dev in ((), ("--dev", data[task])):
            given = ("--out", "m", "-q", "--model", model, *flags_of(options), *dev)
            refusal = run_main("train", task, data[task], *given).refusal()
            assert "training failed in epoch 1: " in refusal
            assert "try a smaller --learning-rate" in refusal
            assert not os.path.exists("m")

    def test_keeps_the_last_good_checkpoint(self, data: dict[str, Path]) -> None:
        """Steps of 100 add up until a weight overflows, some epochs after the first."""
        options = flags_of({
            "model": "lvg", "objective": "discriminative", "subtypes": 2, "learning_rate": 100.0, "decay": 1.0,
            "batch": 1000, "patience": 0, "l2": 0.0,
        })  # fmt: skip
        given = ("--out", "m", "-q", *options)
        refusal = run_main("train", "tagger", data["tagger"], *given, "--epochs", 50).refusal()
        epoch = int(refusal.partition("failed in epoch ")[2].partition(":")[0])
        assert epoch > 1
        assert f"get the model before with --resume --epochs {epoch - 1}" in refusal
        assert os.path.exists("m.checkpoint")
        trained("tagger", data, "m", *options, "--epochs", epoch - 1, "--resume")
        assert not os.path.exists("m.checkpoint")
        trained("tagger", data, "same", *options, "--epochs", epoch - 1)
        assert Path("m").read_bytes() == Path("same").read_bytes()
        assert run_main("tag", "m", stdin=b"The dog saw a cat .\n").status == 0


def test_no_sentence_short_enough(data: dict[str, Path]) -> None:
    for task, path in data.items():
        refusal = run_main("train", task, path, "--out", "m", "-q", "--max-length", 1).refusal()
        assert refusal == "lveg: no training sentence has at most 1 words: raise --max-length\n"
    given = ("--out", "m", "-q", "--model", "gm", "--forest-length", 1)
    refusal = run_main("train", "parser", data["parser"], *given).refusal()
    assert refusal == "lveg: no sentence has at most 1 words: raise --forest-length\n"


SHELLS = {
    "bash": {"COMP_WORDS": "{words}", "COMP_CWORD": "{last}"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "{text}"},
    "fish": {"_TYPER_COMPLETE_ARGS": "{text}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", list(SHELLS))
class TestCompletion:
    def complete(self, monkeypatch: pytest.MonkeyPatch, shell: str, *words: str) -> str:
        """The completions of the last word."""
        filled = {"words": "\n".join(words), "last": len(words) - 1, "text": " ".join(words)}
        monkeypatch.setenv("_LVEG_COMPLETE", f"complete_{shell}")
        for name, value in SHELLS[shell].items():
            monkeypatch.setenv(name, value.format(**filled))
        outcome = run_main()
        assert (outcome.status, outcome.err) == (0, "")
        return outcome.out

    def test_of_the_options_of_a_family(self, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
        for words in (("--model", "gm"), ("--model=gm",)):
            found = self.complete(monkeypatch, shell, "lveg", "train", "parser", *words, "--comp")
            assert "--components" in found
        assert "--subtypes" in self.complete(monkeypatch, shell, "lveg", "train", "tagger", "--sub")
        assert "--subtypes" not in self.complete(monkeypatch, shell, "lveg", "train", "parser", "--sub")

    def test_of_names_and_choices(self, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
        assert "combine" in self.complete(monkeypatch, shell, "lveg", "comb")
        assert "split-merge" in self.complete(monkeypatch, shell, "lveg", "train", "parser", "--model", "spl")
        assert "spherical" in self.complete(
            monkeypatch, shell, "lveg", "train", "parser", "--model", "gm", "--covariance", "sph"
        )  # fmt: skip

    def test_refuses_nothing_that_is_being_typed(self, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
        for words in (("--model", "none"), ("--config", "nowhere.toml"), ("--components", "3"), ("--model", "product")):
            assert "--seed" in self.complete(monkeypatch, shell, "lveg", "train", "parser", *words, "--see")


def test_completion_in_bash_splits_at_equal_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LVEG_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "lveg\ntrain\nparser\n--model\n=\ngm\n--comp")
    monkeypatch.setenv("COMP_CWORD", "6")
    assert run_main().out == "--components\n"


def test_a_shell_that_completes_something_else_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", "other --model none")
    assert run_main("--version") == (0, f"lveg {lveg.__version__}\n", "")
