"""Behaviour that needs a separate process: signals, pipes, byte streams, and the exit status."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lveg.cli.console import COMPILING, TYPED

from .conftest import DOG, Samples

COMMAND = (sys.executable, "-c", "from lveg.cli import main; main()")


def without_notice(err: bytes) -> bytes:
    """The text on stderr without the notice about compiled kernels, which depends on what ran before."""
    return err.replace(f"{COMPILING}\n".encode(), b"")


def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start `lveg ARGUMENTS`, with pipes by default.

    Ctrl-C works even if the tests run in the background, where shells ignore it.
    """
    for name in ("stdin", "stdout", "stderr"):
        options.setdefault(name, subprocess.PIPE)
    options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **options)


def run_process(*arguments: object, stdin: bytes = b"", **options: Any) -> tuple[int, bytes, bytes]:
    """Status, output and errors of `lveg ARGUMENTS`."""
    process = start(*arguments, **options)
    out, err = process.communicate(stdin, timeout=120)
    return process.returncode, out, without_notice(err)


def stop(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Status and errors after a Ctrl-C."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    return process.returncode, without_notice(err)


def test_bytes_in_any_locale(samples: Samples) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    status, out, err = run_process("parse", samples.parser, stdin="caf\u00e9 \u65e5 .\n".encode(), env=environment)
    assert (status, err) == (0, b"")
    assert "caf\u00e9".encode() in out
    assert "\u65e5".encode() in out


def test_status_and_line_for_bad_bytes(samples: Samples) -> None:
    status, _, err = run_process("parse", samples.parser, stdin=b"fine\n\xff\n")
    assert (status, err) == (2, b"lveg: <stdin>:2: byte 0xff at column 1 is not UTF-8\n")


def test_a_piped_sentence_is_answered_before_the_next(samples: Samples) -> None:
    process = start("tag", samples.tagger, "--threads", 1)
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(2):
        process.stdin.write(f"{DOG}\n".encode())
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 120)
        assert ready
        assert [process.stdout.readline().split(b"\t")[0] for _ in DOG.split()] == DOG.encode().split()
        assert process.stdout.readline() == b"\n"
    out, err = process.communicate(timeout=120)
    assert (out, without_notice(err)) == (b"", b"")


def test_a_closed_pipe_is_not_an_error(samples: Samples, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(f"{DOG}\n" * 2000)
    process = start("parse", samples.parser, text, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"(TOP")
    process.stdout.close()
    assert process.wait(timeout=120) == 1
    assert without_notice(process.stderr.read()) == b""
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_gives_a_one_line_error(samples: Samples) -> None:
    expected = (2, b"lveg: the output cannot be written: No space left on device\n")
    with open("/dev/full", "wb") as full:
        for arguments in (("parse", samples.parser), ("info", samples.parser)):
            status, _, err = run_process(*arguments, stdin=DOG.encode(), stdout=full)
            assert (status, err) == expected
    status, _, err = run_process("parse", samples.parser, "--out", "/dev/full", stdin=DOG.encode())
    assert (status, err) == (2, b"lveg: /dev/full: cannot be written: No space left on device\n")


def test_an_output_that_is_a_pipe_is_written_directly(samples: Samples) -> None:
    reading, writing = os.pipe()
    arguments = ("parse", samples.parser, "--out", f"/dev/fd/{writing}", "--quiet")
    status, out, err = run_process(*arguments, stdin=DOG.encode(), pass_fds=[writing])
    os.close(writing)
    assert (status, out, err) == (0, b"", b"")
    with open(reading, "rb") as stream:
        assert stream.read().startswith(b"(TOP ")


def test_a_run_that_is_killed_leaves_the_old_output(samples: Samples, tmp_path: Path) -> None:
    text, out = tmp_path / "a.txt", tmp_path / "out" / "a.mrg"
    text.write_text(f"{DOG}\n" * 50_000)
    out.parent.mkdir()
    out.write_text("old")
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = start("parse", samples.parser, text, "--out", out, "--threads", 1, stdin=subprocess.DEVNULL)
        while not any(path.stat().st_size for path in out.parent.glob(".lveg-*")):  # under way
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=120)
        assert process.returncode == status
        assert out.read_text() == "old"
        assert len(os.listdir(out.parent)) == (1 if number == signal.SIGINT else 2)


def test_an_output_that_is_the_input_by_redirection(samples: Samples, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(f"{DOG}\n")
    with text.open("rb") as reading, text.open("ab") as writing:
        status, _, err = run_process("parse", samples.parser, text, stdout=writing)
        assert (status, err) == (2, b"lveg: standard output: cannot be written: it is an input; choose another file\n")
        tag = ("tag", samples.tagger, "--out", text)
        ran = subprocess.run([*COMMAND, *map(str, tag)], stdin=reading, capture_output=True, timeout=120)
        assert ran.returncode == 2
        assert b"a.txt: cannot be written: it is an input" in ran.stderr
    assert text.read_text() == f"{DOG}\n"


def test_run_as_a_module(samples: Samples) -> None:
    ran = subprocess.run([sys.executable, "-m", "lveg", "info", samples.parser], capture_output=True, timeout=120)
    assert (ran.returncode, without_notice(ran.stderr)) == (0, b"")
    assert b"task: parser" in ran.stdout


class TestStderr:
    """Work continues even if no one reads stderr."""

    @staticmethod
    def run_unheard(how: str, *arguments: object) -> tuple[int, bytes]:
        """Status and output of `lveg ARGUMENTS` with a closed stderr or a broken pipe."""
        reading, writing = os.pipe()
        os.close(reading)
        command = ["sh", "-c", f'exec "$@" {"2>&-" if how == "closed" else ""}', "sh", *COMMAND, *map(str, arguments)]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writing, timeout=120)
        os.close(writing)
        return ran.returncode, ran.stdout

    @pytest.mark.parametrize("how", ["closed", "broken"])
    def test_work_continues(self, samples: Samples, tmp_path: Path, how: str) -> None:
        out = tmp_path / "m"
        assert self.run_unheard(how, "train", "tagger", samples.train_tags, "--out", out, "--model", "hmm") == (0, b"")
        assert out.stat().st_size > 1000
        (tmp_path / "a.mrg").write_text("((S (A a)))\n((S (A a))\n((S (A b)))\n")
        bad = ("parse", samples.parser, tmp_path / "a.mrg")
        status, printed = self.run_unheard(how, *bad, "--skip-bad")
        assert (status, printed.count(b"\n")) == (0, 2)
        status, printed = self.run_unheard(how, *bad)  # the message is lost, and must not appear among the trees
        assert (status, printed.count(b"\n"), b"lveg:" in printed) == (2, 1, False)


def test_each_line_is_answered_before_the_next_is_written(samples: Samples) -> None:
    process = start("parse", samples.parser, "--threads", 1)
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(3):
        process.stdin.write(f"{DOG}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"(TOP")
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_ctrl_c_while_waiting_for_input(samples: Samples) -> None:
    process = start("parse", samples.parser, "--threads", 1)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{DOG}\n".encode())
    process.stdin.flush()
    process.stdout.readline()
    assert stop(process) == (130, b"lveg: stopped\n")


def test_ctrl_c_while_parsing(samples: Samples, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(f"{DOG}\n" * 50_000)
    process = start("parse", samples.parser, text, "--threads", 2, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"(TOP")  # under way
    assert stop(process) == (130, b"lveg: stopped\n")


def test_ctrl_c_while_training_leaves_no_file(samples: Samples, tmp_path: Path) -> None:
    dev = tmp_path / "dev.mrg"
    dev.write_text(samples.train_trees.read_text() * 20)
    out = tmp_path / "models" / "m"
    out.parent.mkdir()
    out.write_text("old")
    process = start(
        "train", "parser", "--model", "pcfg", samples.train_trees, "--dev", dev, "--out", out, "--threads", 2
    )
    assert process.stderr is not None
    while not process.stderr.readline().startswith(b"grammar"):
        assert process.poll() is None
    status, err = stop(process)
    assert (status, err) == (130, b"lveg: stopped\n")
    assert os.listdir(out.parent) == ["m"]
    assert out.read_text() == "old"


def test_plain_progress_without_a_terminal(samples: Samples, tmp_path: Path) -> None:
    status, out, err = run_process(
        "train", "tagger", samples.train_tags, "--context", "forms", "--epochs", "2", "--out", tmp_path / "m"
    )
    assert (status, out) == (0, b"")
    assert b"\x1b" not in err
    assert b"\r" not in err


def test_interrupt_during_a_kernel_with_one_thread_ends_cleanly(samples: Samples) -> None:
    """Kernels run outside the main thread, where an interrupt would hit Numba's own Python code."""
    process = start("parse", samples.parser, "--threads", 1)
    assert process.stdin is not None
    process.stdin.write(b"the dog saw a cat .\n" + b"the " * 399 + b"\n")
    process.stdin.flush()
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"(TOP")  # the short sentence is done: the long one is being parsed
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.endswith(b"lveg: stopped\n")


@pytest.mark.parametrize(("flags", "notice"), [((), f"{TYPED}\n"), (("--quiet",), "")])
def test_someone_who_types_is_told_that_lveg_waits(samples: Samples, flags: tuple[str, ...], notice: str) -> None:
    terminal, other = os.openpty()
    with start("parse", samples.parser, *flags, stdin=other) as process:
        os.close(other)
        os.write(terminal, f"{DOG}\n\x04".encode())
        out, err = process.communicate(timeout=120)
    os.close(terminal)
    assert (process.returncode, without_notice(err).decode()) == (0, notice)
    assert out.startswith(b"(TOP (S ")
