"""What a server leaves where it crashes: the system is asked whether it has dumped core."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fork_server import CLI, fork_server
from tests.waiting import eventually

PYTHON = (sys.executable, "-c")
DIES = "import os; os.kill(os.getpid(), {}); "
FORBIDS = "from kafka_reassign_rpc.server import process_limits; process_limits.forbid_core_dumps(); "
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


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGABRT])
def test_hm_5_a_crash_leaves_no_core_dump_and_says_where_it_was(tmp_path: Path, by: signal.Signals) -> None:
    found = crash(tmp_path / "server", FORBIDS + DIES.format(int(by)), by)
    assert not found.dumped
    assert "Fatal Python error" in found.log
    assert [path.name for path in (tmp_path / "server").iterdir()] == ["log"]


@pytest.mark.parametrize("allowed", [False, True])
async def test_hm_5_a_server_leaves_core_dumps_only_where_the_operator_wants_them(
    tmp_path: Path, allowed: bool
) -> None:
    log = tmp_path / "log"
    arguments = ("--zookeeper-connect", "127.0.0.1:1", "--listeners", "PLAINTEXT://127.0.0.1:0", "--log-level", "DEBUG")
    wanted = ("--core-dumps", "true") if allowed else ()
    with log.open("wb") as file:
        process = fork_server().start(CLI, ("serve", *arguments, *wanted), file.fileno(), file.fileno(), tmp_path)
    try:
        await eventually(lambda: "127.0.0.1:1" in log.read_text())
        limits = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
        soft = next(line.split()[4] for line in limits if line.startswith("Max core file size"))
        own = resource.getrlimit(resource.RLIMIT_CORE)[0]
        assert soft == (str(own) if own >= 0 else "unlimited") if allowed else soft == "0"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def test_hm_5_without_that_the_same_crash_dumps_core_where_the_system_lets_it(tmp_path: Path) -> None:
    """Or the tests above show nothing. A container may forbid core dumps altogether."""
    found = crash(tmp_path / "any", DIES.format(6), signal.SIGABRT)
    limited = resource.getrlimit(resource.RLIMIT_CORE)[1] == 0
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    assert found.dumped or limited or pattern != "core"
