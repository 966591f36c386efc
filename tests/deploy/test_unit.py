"""The unit for systemd by systemd's own tools, and the server under what the unit forbids."""

import asyncio
import errno
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import commands
from tests.deploy.unit_file import DROP_IN, UNIT
from tests.docs.pages import ROOT
from tests.faults.cluster import address_of, alter, metadata
from tests.processes import Processes
from tests.stock.ports import kept_ports
from tests.stock.process import LoggedProcess
from tests.waiting import eventually

__all__ = ["commands"]
MOST_EXPOSED = 3.0
SERVER = "/opt/kafka-reassign-rpc/bin/kafka-reassign-rpc"
EXPOSURE = re.compile(r"Overall exposure level for \S+: (\d+\.\d)")


def systemd_analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip


def installed(folder: Path, files: Sequence[Path], change: tuple[str, str] = ("", "")) -> Path:
    """The unit and its drop-ins in a folder of units. The server's command is not installed here: another one takes its
    place."""
    unit = folder / UNIT.name
    for file in files:
        place = unit if file == UNIT else folder / f"{UNIT.name}.d" / file.name
        place.parent.mkdir(exist_ok=True)
        text = file.read_text()
        assert SERVER in text
        place.write_text(text.replace(SERVER, "/bin/true").replace(*change))
    return unit


@pytest.mark.parametrize("files", [(UNIT,), (UNIT, DROP_IN)], ids=["plain", "secured"])
def test_sv_1_systemd_knows_every_line_of_the_unit(files: Sequence[Path], tmp_path: Path) -> None:
    verify = ("verify", "--man=no", "--recursive-errors=no")
    assert systemd_analyze(*verify, installed(tmp_path, files)).stderr == ""
    assert "Unknown key" in systemd_analyze(*verify, installed(tmp_path, files, ("Restart=", "Restrt="))).stderr


def test_hm_6_the_units_exposure_is_below_three_of_ten(tmp_path: Path) -> None:
    offline = ("security", "--offline=true", "--no-pager")
    said = systemd_analyze(*offline, installed(tmp_path, (UNIT, DROP_IN))).stdout
    (level,) = EXPOSURE.findall(said)
    assert float(level) < MOST_EXPOSED, said


ATTEMPTS = """
import ctypes, mmap, os, resource, socket

def unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) == -1:
        raise OSError(ctypes.get_errno(), "")

for attempt in (
    lambda: mmap.mmap(-1, 4096, prot=7),
    lambda: socket.socket(socket.AF_NETLINK),
    lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    lambda: os.chroot("."),
    unshare,
    lambda: os.setpriority(os.PRIO_PROCESS, 0, 5),
    lambda: os.chown(".", -1, -1),
):
    try:
        attempt()
        print("OK")
    except OSError as error:
        print(error.errno)
print(resource.getrlimit(resource.RLIMIT_CORE)[1])
"""


def test_hm_6_what_the_unit_forbids_is_forbidden_where_its_restrictions_are_tried() -> None:
    """Else the next test would show nothing."""
    program = [sys.executable, "-m", "tests.deploy.unit_file", str(UNIT), sys.executable, "-c", ATTEMPTS]
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT)
    denied, unsupported = str(errno.EPERM), str(errno.EAFNOSUPPORT)
    assert done.stdout.split() == [denied, unsupported, unsupported, denied, denied, denied, denied, "0"]


@pytest.mark.gate
async def test_hm_6_the_server_works_under_what_the_unit_forbids(
    commands: Processes, zk_connect: str, tmp_path: Path
) -> None:
    """System calls, sockets, memory, limits and the mode of files. A systemd is not needed, and not there."""
    bootstrap, metrics = (f"127.0.0.1:{port}" for port in kept_ports(2))
    server = LoggedProcess(tmp_path / "server.log")
    ours = str(Path(sys.executable).with_name("kafka-reassign-rpc"))
    data = tmp_path / "state"
    serve = [
        ours, "serve", "--zookeeper-connect", zk_connect, "--listeners", f"PLAINTEXT://{bootstrap}",
        "--metrics-listener", metrics, "--data-dir", str(data), "--broker-id", "1000",
    ]  # fmt: skip
    server.launch([sys.executable, "-m", "tests.deploy.unit_file", str(UNIT), *serve])
    fleet = ("--zookeeper-connect", zk_connect, "--broker-ids", "1,2", "--topic", "t:1:1:1000")
    await asyncio.gather(
        server.wait_for_line(re.compile(rb"^ready ", re.MULTILINE)),
        commands.start("fleet", "fleet", *fleet, "--data-dir", str(tmp_path / "fleet")),
    )

    def health() -> subprocess.CompletedProcess[str]:
        return subprocess.run([ours, "health", "--pid", str(server.pid)], capture_output=True, text=True, check=False)

    asked = await asyncio.to_thread(health)
    assert (asked.returncode, asked.stderr) == (0, "")

    async def replicas() -> Sequence[int]:
        """None until the server controls the topic."""
        shown = await metadata(address_of(bootstrap), "t")
        return [node for one in shown.topics for partition in one.partitions for node in partition.replica_nodes]

    (at,) = await eventually(replicas)
    assert await alter(address_of(bootstrap), {("t", 0): [3 - at]}) == {("t", 0): 0}
    (log,) = (data / "events-1000").glob("events-*.jsonl")
    await eventually(lambda: "move.completed" in log.read_text())
    assert log.stat().st_mode & 0o077 == 0
    status = Path(f"/proc/{server.pid}/status").read_text()
    assert re.search(r"^Seccomp:\t2$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
    server.send(signal.SIGTERM)
    assert await server.ended() == 0
    assert b"Traceback" not in server.printed()
    assert b"not permitted" not in server.printed()
