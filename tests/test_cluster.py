"""Training on workers in other processes: the same models as with threads, whatever happens to the workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machines import Machines
from small import quick_options, small_file

from lveg.cluster import Cluster, balanced, connected, difference
from lveg.errors import UsageError
from lveg.learning.checkpoint import Checkpoint
from lveg.model_io import model_fingerprint
from lveg.report import Report, silent
from lveg.training import Setting, train_parser, train_tagger

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


def trained(task: str, files: list[str], setting: Setting, **options: Any) -> str:
    """The fingerprint of a small model."""
    return model_fingerprint((train_parser if task == "parser" else train_tagger)(*files, setting=setting, **options))


CASES: list[tuple[str, dict[str, Any]]] = [
    ("parser", {"model": "gm", "context": "none", "batch": 16, "sparsity": 0.1}),
    ("parser", {"model": "split-merge", "context": "none"}),
    ("parser", {"model": "lvg", "context": "features,network", "context_epochs": 1, "context_batch": 32}),
    ("tagger", {"model": "forms", "batch": 16}),
]


@pytest.mark.parametrize(("task", "options"), CASES, ids=[f"{task}-{options['model']}" for task, options in CASES])
def test_models_are_the_same_as_with_threads(
    cluster: Cluster, tmp_path: Path, task: str, options: dict[str, Any]
) -> None:
    options = quick_options(task, options["model"]) | {"held_out": 0.0} | options
    files = [str(small_file(tmp_path, task))]
    here = trained(task, files, Setting(threads=2, report=silent), **options)
    assert trained(task, files, Setting(report=silent, workers=cluster), **options) == here
