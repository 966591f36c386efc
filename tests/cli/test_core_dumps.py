"""What a server leaves where it crashes: the system is asked whether it has dumped core."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PYTHON = (sys.executable, "-c")
DIES = "import os; os.kill(os.getpid(), {}); "
FORBIDS = "from kafka_reassign_rpc.server import core_dumps; core_dumps.forbid(); "
SERVE = "import sys; from kafka_reassign_rpc.cli import main, serve_command as serve; "
IN_THE_PLACE_OF_ITS_LOOP = "serve.run_until_signalled = lambda *_, **__: os.kill(os.getpid(), 6); "
LIMIT = "import resource; hard = resource.getrlimit(resource.RLIMIT_CORE)[1]; "
RAISED = "resource.setrlimit(resource.RLIMIT_CORE, (min(65536, hard) if hard >= 0 else 65536, hard)); "


class Crash(NamedTuple):
    """`dumped`: whether the system says that there is a core dump."""

    dumped: bool
    log: str


def crash(directory: Path, code: str, by: signal.Signals) -> Crash:
    """Of Python that runs `code` in a folder of its own, where a core dump, the beginning of one, is allowed."""
    directory.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen((*PYTHON, LIMIT + RAISED + code), cwd=directory, env=environment, stderr=log)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -by, (directory / "log").read_text()
    return Crash(os.WCOREDUMP(status), (directory / "log").read_text())


def serve(*arguments: str) -> str:
    """`serve`, which ends by SIGABRT where its event loop would begin."""
    command = ["serve", "--zookeeper-connect", "127.0.0.1:1", "--listeners", "PLAINTEXT://127.0.0.1:0", *arguments]
    return f"import os; {SERVE}{IN_THE_PLACE_OF_ITS_LOOP}sys.exit(main.main({command!r}))"


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGABRT])
def test_hm_5_a_crash_leaves_no_core_dump_and_says_where_it_was(tmp_path: Path, by: signal.Signals) -> None:
    found = crash(tmp_path / "server", FORBIDS + DIES.format(int(by)), by)
    assert not found.dumped
    assert "Fatal Python error" in found.log
    assert [path.name for path in (tmp_path / "server").iterdir()] == ["log"]


def test_hm_5_a_server_leaves_core_dumps_only_where_the_operator_wants_them(tmp_path: Path) -> None:
    system_dumps = crash(tmp_path / "any", DIES.format(6), signal.SIGABRT).dumped
    if (
        resource.getrlimit(resource.RLIMIT_CORE)[1] != 0
        and Path("/proc/sys/kernel/core_pattern").read_text() == "core\n"
    ):
        assert system_dumps, "or this test shows nothing"
    assert not crash(tmp_path / "server", serve(), signal.SIGABRT).dumped
    assert crash(tmp_path / "allowed", serve("--core-dumps", "true"), signal.SIGABRT).dumped == system_dumps
