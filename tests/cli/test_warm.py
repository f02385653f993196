"""`lveg warm`, and the notices while kernels are compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cli.conftest import run_main

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
