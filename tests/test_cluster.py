"""Training on workers in other processes: the same models as with threads, whatever happens to the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
from machines import Machines
from small import quick_options, small_file, train

from lveg.cluster import Cluster, balanced, connected, difference
from lveg.corpus.inputs import find_sources
from lveg.corpus.run import annotate_corpus
from lveg.corpus.work import Annotator, Options, default_format
from lveg.errors import UsageError
from lveg.learning.checkpoint import Checkpoint
from lveg.model import Parser, Tagger
from lveg.model_io import model_fingerprint
from lveg.report import Report, silent
from lveg.training import Setting

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(2) as found:
        yield found


@pytest.fixture(scope="module")
def cluster(machines: Machines) -> Iterator[Cluster]:
    with connected(machines.address) as found:
        yield found


def trained(task: str, path: str, setting: Setting, **options: Any) -> str:
    """The fingerprint of a small model."""
    return model_fingerprint(train(task, path, setting=setting, **options))


COUNT = 66
"""Number of sentences; a batch of this size has two parts."""

CASES: list[tuple[str, dict[str, Any]]] = [
    ("parser", {"model": "gm", "context": "none", "batch": COUNT, "sparsity": 0.1}),
    ("parser", {"model": "split-merge", "context": "none"}),
    ("parser", {"model": "lvg", "context": "features", "context_epochs": 1, "context_batch": 33}),
    ("tagger", {"model": "forms", "context": "forms", "batch": COUNT}),
]


@pytest.mark.parametrize(("task", "options"), CASES, ids=[f"{task}-{options['model']}" for task, options in CASES])
def test_models_are_the_same_as_with_threads(
    cluster: Cluster, tmp_path: Path, task: str, options: dict[str, Any]
) -> None:
    options = quick_options(task, options["model"]) | {"held_out": 0.0} | options
    path = str(small_file(tmp_path, task, COUNT))
    here = trained(task, path, Setting(threads=2, report=silent), **options)
    assert trained(task, path, Setting(report=silent, workers=cluster), **options) == here


@pytest.mark.parametrize("task", ["parser", "tagger"])
def test_corpora_are_annotated_as_with_threads(cluster: Cluster, tmp_path: Path, task: str) -> None:
    name = {"parser": "pcfg", "tagger": "hmm"}[task]
    model = train(task, small_file(tmp_path, task, COUNT), model=name)
    assert isinstance(model, Parser | Tagger)
    annotator = Annotator(model, Options(default_format(model), part_size=5, input_format="text"))
    (tmp_path / "a.txt").write_text("The dog saw a cat .\n" * 33)
    (tmp_path / "bad.txt").write_bytes(b"The dog slept .\n\xff\n")
    sources, _ = find_sources([str(tmp_path / "a.txt"), str(tmp_path / "bad.txt")], annotator)
    for name, workers in (("here", None), ("there", cluster)):
        manifest = annotate_corpus(str(tmp_path / name), sources, annotator, workers=workers)
        assert [entry.error is None for entry in manifest.files] == [True, False]
    files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("here", "there")]
    assert files[0] == files[1]
    for name in files[0]:
        if (tmp_path / "here" / name).is_file():
            assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def after(events: dict[int, Callable[[], Any]]) -> Report:
    """A report that starts something shortly after certain numbers of progress messages of training."""
    seen = 0

    def report(event: str, facts: dict[str, Any]) -> None:
        nonlocal seen
        if event == "progress" and facts["what"].startswith("epoch"):
            seen += 1
            if seen in events:
                Timer(0.02, events[seen]).start()

    return report


LONGER: dict[str, Any] = {
    "model": "gm", "context": "none", "components": 2, "dim": 2, "batch": COUNT, "epochs": 10, "held_out": 0.0
}  # fmt: skip


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A treebank, and the fingerprint of a model that was trained on it by threads."""
    path = str(small_file(tmp_path_factory.mktemp("longer"), "parser", COUNT))
    return path, trained("parser", path, Setting(report=silent), **LONGER)


def test_workers_that_come_and_go_change_nothing(longer: tuple[str, str]) -> None:
    path, here = longer
    with Machines(2) as machines, connected(machines.address) as cluster:
        first, second = machines.workers
        events: dict[int, Callable[[], Any]] = {
            2: lambda: machines.kill(first),
            4: machines.add,
            6: lambda: machines.kill(second),
            8: machines.add,
        }
        assert trained("parser", path, Setting(report=after(events), workers=cluster), **LONGER) == here
        assert [worker.poll() is None for worker in machines.workers] == [False, False, True, True]


def test_a_run_whose_scheduler_was_killed_resumes(machines: Machines, longer: tuple[str, str], tmp_path: Path) -> None:
    path, here = longer
    kept = str(tmp_path / "run.checkpoint")
    with Machines(1) as lost, connected(lost.address) as cluster:
        report = after({7: lambda: lost.kill(lost.scheduler)})
        with pytest.raises(UsageError, match=r"the scheduler is gone; .*--resume"):
            trained("parser", path, Setting(report=report, workers=cluster, checkpoint=Checkpoint(kept)), **LONGER)
    with connected(machines.address) as cluster:
        setting = Setting(report=silent, workers=cluster, checkpoint=Checkpoint(kept, resume=True))
        assert trained("parser", path, setting, **LONGER) == here


def test_a_connection_that_fails_to_close_hides_no_error(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client

    attempts = []
    close = Client.close

    def fail_once(client: Any) -> None:
        attempts.append(client)
        if len(attempts) == 1:
            raise RuntimeError("Cannot change state of expiring Timeout")
        close(client)

    monkeypatch.setattr(Client, "close", fail_once)
    with pytest.raises(UsageError, match="the work"), connected(machines.address):
        raise UsageError("the work")
    assert len(attempts) == 2
    assert attempts[0].status == "closed"


def test_what_cannot_be_done_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lveg.cluster.CONNECT", 1.0)
    for address, message in {
        "local:0": "expected the number of processes",
        "local:": "expected the number of processes",
        "tcp://127.0.0.1:9": "cannot connect",
    }.items():
        with pytest.raises(UsageError, match=message), connected(address):
            pass


def test_parts_stay_where_they_were() -> None:
    two = balanced([], 8, {"a": 1, "b": 1})
    assert sorted(two) == ["a"] * 4 + ["b"] * 4
    three = balanced(two, 8, {"a": 1, "b": 1, "c": 1})
    assert sum(old == new for old, new in zip(two, three, strict=True)) == 6
    assert {name: three.count(name) for name in "abc"} == {"a": 3, "b": 3, "c": 2}
    one = balanced(three, 8, {"b": 2, "c": 1})
    assert sum(old == new for old, new in zip(three, one, strict=True)) == 5
    assert one.count("b") == 5
    assert balanced(one, 4, {}) == [""] * 4
    assert balanced([], 2, {"a": 1, "b": 1, "c": 1}) == ["a", "b"]


def test_changes_are_found_bit_by_bit() -> None:
    old = np.array([0.0, 1.0, np.nan, *[2.0] * 9])
    new = old.copy()
    assert difference(old, new) is None
    new[0] = -0.0
    found = difference(old, new)
    assert found is not None
    assert found.indices is not None
    found.write_to(old)
    assert old.tobytes() == new.tobytes()
    whole = difference(old, new + 1.0)
    assert whole is not None
    assert whole.indices is None
