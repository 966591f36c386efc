"""A disk that is full: one line that says so, exit code 1, and nothing half-written.

A limit on the size of files stands for a full disk, and `/dev/full` for standard output on one. `test_bad_input` has
`audit`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import ReassignmentClient
from tests.fork_server import CLI, KAFKA_REASSIGN
from tests.pipeline.test_plan_room import write_snapshot as write_lost_broker

pytestmark = pytest.mark.gate


_LIMITED = """
import resource, sys
from importlib import import_module
_, module, limit, *arguments = sys.argv
if limit != "none":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
raise SystemExit(import_module(module).main(arguments))
"""
HEAL = ("plan", "heal", "--master", "none")


def ended(
    module: str, *arguments: str, limit: int | None = None, full: bool = False, unbuffered: bool = False
) -> tuple[int, list[str]]:
    """Run a command as a process: its exit code, and what it says on standard error.

    limit       bytes of any file that it writes
    full        its standard output is on a full disk
    unbuffered  it writes each piece at once, as one that prints much does
    """
    command = [sys.executable, "-c", _LIMITED, module, "none" if limit is None else str(limit), *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment |= {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    with open("/dev/full" if full else os.devnull, "wb") as output:
        done = subprocess.run(
            command,
            stdout=output,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            env=environment,
        )
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("limit", [10, 2500], ids=["first_file", "later_file"])
def test_dp_1_an_export_onto_a_full_disk_says_so_and_leaves_nothing(bootstrap: str, tmp_path: Path, limit: int) -> None:
    export = ("export", "--bootstrap-server", bootstrap, "--out", str(tmp_path / "out"))
    code, said = ended(CLI, *export, limit=limit)
    assert code == 1
    assert said[-1].startswith("kafka-reassign-rpc export: ")
    assert said[-1].lower().endswith("file too large")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [10, 9000], ids=["first_file", "report"])
def test_dp_2_a_plan_onto_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path, limit: int) -> None:
    snapshot = write_lost_broker(tmp_path / "snapshot")
    code, said = ended(CLI, *HEAL, "--snapshot", str(snapshot), "--out", str(tmp_path / "plan"), limit=limit)
    assert code == 1
    assert said[-1].startswith("kafka-reassign-rpc plan: ")
    assert said[-1].lower().endswith("file too large")
    assert list(tmp_path.iterdir()) == [snapshot]


FULL = "standard output: no space left on device"


def test_dp_2_a_plan_whose_summary_cannot_be_printed_has_failed_and_is_there_as_a_whole(tmp_path: Path) -> None:
    snapshot, plan = write_lost_broker(tmp_path / "snapshot"), tmp_path / "plan"
    code, said = ended(CLI, *HEAL, "--snapshot", str(snapshot), "--out", str(plan), full=True)
    assert (code, said[-1]) == (1, f"kafka-reassign-rpc: {FULL}")
    assert sorted(tmp_path.iterdir()) == [plan, snapshot]
    assert (plan / "report.html").is_file(), "what is written last"


@pytest.mark.parametrize("unbuffered", [False, True], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", [("plan", "--help"), ("--completion", "bash")])
def test_dp_2_what_argparse_prints_is_not_lost_without_a_word(arguments: tuple[str, ...], unbuffered: bool) -> None:
    assert ended(CLI, *arguments, full=True, unbuffered=unbuffered) == (1, [f"kafka-reassign-rpc: {FULL}"])


_NOBODY = "127.0.0.1:1"


@pytest.mark.parametrize("unbuffered", [False, True], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--zookeeper-connect", _NOBODY, "--listeners", "PLAINTEXT://127.0.0.1:1", "--timeout-ms", "1000"),
        ("check", "--bootstrap-server", _NOBODY, "--listeners", "PLAINTEXT://127.0.0.1:1", "--timeout-ms", "1000"),
        ("watch", "--bootstrap-server", _NOBODY, "--metrics-listener", "127.0.0.1:0"),
        ("fleet", "--zookeeper-connect", _NOBODY, "--help"),
    ],
    ids=["check", "check_kraft", "watch", "help"],
)
def test_dp_2_a_command_that_cannot_print_says_so_in_its_last_line(
    arguments: tuple[str, ...], unbuffered: bool
) -> None:
    code, said = ended(CLI, *arguments, full=True, unbuffered=unbuffered)
    assert (code, said[-1]) == (1, f"kafka-reassign-rpc: {FULL}"), said
    assert [line for line in said if "Traceback" in line] == []


def test_dp_9_the_commands_of_plans_that_cannot_print_say_so(tmp_path: Path) -> None:
    snapshot, plan = write_lost_broker(tmp_path / "snapshot"), tmp_path / "plan"
    assert ended(CLI, *HEAL, "--snapshot", str(snapshot), "--out", str(plan))[0] == 0
    commands = [
        ("plan", "show", str(plan)),
        ("plan", "show", str(plan), "--json"),
        ("plan", "show", str(plan), "--group", "topic"),
        ("plan", "verify", "--master", "none", "--plan", str(plan), "--snapshot", str(snapshot)),
        ("audit", "--master", "none", "--snapshots", str(snapshot)),
        ("audit", "--master", "none", "--snapshots", str(snapshot), "--json"),
    ]
    for one in commands:
        assert ended(CLI, *one, full=True, unbuffered=True) == (1, [f"kafka-reassign-rpc: {FULL}"]), one


def test_dp_1_an_export_that_cannot_print_says_so_and_is_there_as_a_whole(bootstrap: str, tmp_path: Path) -> None:
    export = ("export", "--bootstrap-server", bootstrap, "--out", str(tmp_path / "out"))
    code, said = ended(CLI, *export, full=True)
    assert (code, said[-1]) == (1, f"kafka-reassign-rpc: {FULL}")
    assert (tmp_path / "out").is_dir()


def test_236_12_kafka_reassign_that_cannot_print_says_so_once(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    file = tmp_path / "topics.json"
    file.write_text('{"version":1,"topics":[{"topic":"payments"}]}')
    generate = ("--generate", "--topics-to-move-json-file", str(file), "--broker-list", "1,2,3")
    client.elect_preferred_leaders([("payments", 0)])
    for action in (generate, (*generate, "--json"), ("events",), ("events", "--json")):
        found = ended(KAFKA_REASSIGN, "--bootstrap-server", bootstrap, *action, full=True)
        assert found == (1, [f"kafka-reassign: {FULL}"]), action
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("module", [CLI, KAFKA_REASSIGN])
def test_236_12_a_reader_that_has_gone_ends_a_command_without_a_word(module: str) -> None:
    command = [sys.executable, "-c", _LIMITED, module, "none", "--completion", "bash"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
