"""Fixtures and settings for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The time of a generated example depends more on the machine than on the code.
settings.register_profile("lveg", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lveg")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of treebanks that are not part of the repository; the test is skipped where it is absent."""
    folder = Path(os.environ.get("LVEG_DATA") or REPOSITORY / "../shared/data").resolve()
    if not folder.is_dir():
        pytest.skip(f"no treebank data at {folder}; set LVEG_DATA")
    return folder
