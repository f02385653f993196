"""Training that is killed, or cannot save, ends with the same model; tests/long/kills.py says how it is disturbed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "long" / "kills.py"


def test_runs_that_are_killed_end_with_the_same_model() -> None:
    command = [sys.executable, str(SCRIPT), "--kills", "20", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {what: int(count) for count, what in re.findall(r"(\d+) (.*)", done.stdout)}
    assert told["clock: killed"] + told.get("inside: killed", 0) == 20
    assert told["same model"] >= 4
