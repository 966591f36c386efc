"""Standard output that cannot be written, in one place for all commands. `pipeline/test_full_disk` has them as
processes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_reassign_rpc.support.standard_output import ReaderGone, write_out, written_out

_CLOSED = """
import sys
from importlib import import_module
raise SystemExit(import_module(sys.argv[1]).main(sys.argv[2:]))
"""


def test_236_12_no_handler_of_another_fault_takes_one_of_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> int:
        try:
            print("lost")
            sys.stdout.flush()
        except OSError:
            return 0
        return 0

    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert written_out("command", run) == 1
        assert sys.stdout is full
        monkeypatch.undo()
    assert capsys.readouterr().err == "command: standard output: no space left on device\n"


def test_236_12_a_command_that_has_failed_says_too_that_its_text_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as the findings of `check`: the exit code alone does not say what is wrong."""

    def run() -> int:
        print("what is wrong")
        return 1

    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert written_out("command", run) == 1
        monkeypatch.undo()
    assert capsys.readouterr().err == "command: standard output: no space left on device\n"


def test_236_12_a_reader_that_has_gone_can_be_told_from_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> int:
        with pytest.raises(ReaderGone):
            write_out(sys.stdout, "nobody reads this")
        return 0

    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert written_out("command", run) == 1
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("kafka_reassign_rpc.cli.main", "kafka-reassign-rpc", ["--version"]),
        ("kafka_reassign_rpc.reassign_command.main", "kafka-reassign", ["--completion", "bash"]),
    ],
)
def test_236_12_a_command_without_a_standard_output_says_so(module: str, name: str, arguments: list[str]) -> None:
    command = [sys.executable, "-c", _CLOSED, module, *arguments]
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{name}: standard output: bad file descriptor\n")
