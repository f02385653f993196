"""The public names are those that `__all__` lists, and each can be had."""

import subprocess
import sys

import lveg


def test_every_listed_name_exists() -> None:
    for name in lveg.__all__:
        assert getattr(lveg, name) is not None


def test_an_unlisted_name_is_an_attribute_error() -> None:
    assert not hasattr(lveg, "no_such_name")


def test_import_loads_nothing_heavy() -> None:
    code = "import lveg, sys; assert 'numba' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line_loads_nothing_heavy() -> None:
    code = "import lveg.cli, sys; assert 'numba' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
