"""`lveg warm`, and the notices while kernels are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import run_main
from lveg.kernels import jit

SCRIPT = """
import numba, sys
class Nowhere:
    @classmethod
    def from_function(cls, *_): return None
from numba.core import caching
caching.CacheImpl._locator_classes = [Nowhere]
from lveg.kernels import jit
@jit.kernel
def double(value): return 2 * value
assert double(21) == 42
assert jit.uncached == ["power_of_two", "exponent_of", "double"], jit.uncached
seen = []
with jit.watch_compilation(seen.append):
    assert double(0.5) == 1.0
assert seen == [1]
"""


def test_kernels_work_without_a_writable_directory() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_warm_of_an_unknown_model_is_refused(tmp_path: Path) -> None:
    assert "there is no model 'mystery'" in run_main("warm", "--model", "mystery").refusal()


def test_warm_compiles_and_reports_it() -> None:
    outcome = run_main("warm", "--model", "hmm")
    assert outcome.status == 0
    assert "tagger: " in outcome.err
    assert "kernels compiled in" in outcome.err


TRAINING = """
import sys
import lveg
from lveg.treebank.synthetic import ENGLISH
from lveg.treebank.conllu import read_tagged
some = read_tagged(str(ENGLISH.parent / "demo-dev.conllu"), "upos")[:40]
lveg.save(lveg.train_tagger(some, model="gm", epochs=2, held_out=0.0), sys.argv[1])
"""


def test_results_do_not_depend_on_the_cache_of_kernels(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    models = [tmp_path / "compiled", tmp_path / "cached"]
    for model in models:
        subprocess.run([sys.executable, "-c", TRAINING, str(model)], check=True, env=environment)
    assert models[0].read_bytes() == models[1].read_bytes()


def test_warm_is_refused_where_kernels_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "uncached", ["adam_step"])
    assert "compiled kernels cannot be kept" in run_main("warm").refusal()
