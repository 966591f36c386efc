"""The embedded ZooKeeper: ready when it says so, its data kept, and never without its parent."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_zookeeper import (
    EmbeddedZooKeeper,
    JavaNotFound,
    ZooKeeperFailed,
    find_java,
    parse_version,
)
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that has ended but was not waited for still answers to signals.
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while alive(pid):
            await asyncio.sleep(0.01)


async def test_sv_1_data_and_port_are_kept_between_starts(tmp_data: Path) -> None:
    async with EmbeddedZooKeeper(tmp_data) as server:
        assert server.address == f"127.0.0.1:{server.port}"
        async with ZooKeeper(server.address) as zk:
            await zk.create("/kept", b"data")
        port = server.port
        await server.kill()
        assert not server.running
        await server.start()
        assert server.port == port
    async with EmbeddedZooKeeper(tmp_data) as server, ZooKeeper(server.address) as zk:
        assert (await zk.get("/kept"))[0] == b"data"
        pid = server.pid
    assert pid is not None
    assert not alive(pid)
    assert "binding to port" in server.log_file.read_text()


async def test_sv_1_no_child_is_left_when_its_parent_is_killed(tmp_data: Path) -> None:
    script = f"""
        import asyncio
        from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
        async def main():
            server = EmbeddedZooKeeper({str(tmp_data)!r})
            await server.start()
            print(server.pid, flush=True)
            await asyncio.Event().wait()
        asyncio.run(main())
    """
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, cwd=root, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(await asyncio.to_thread(parent.stdout.readline))
        assert alive(pid)
        parent.send_signal(signal.SIGKILL)
    await until_gone(pid)


async def test_sv_1_a_data_directory_serves_one_zookeeper_at_a_time(tmp_data: Path) -> None:
    async with EmbeddedZooKeeper(tmp_data):
        with pytest.raises(ZooKeeperFailed, match="in use by another embedded ZooKeeper"):
            await EmbeddedZooKeeper(tmp_data).start()


async def test_sv_1_a_port_that_is_taken_is_said_with_the_end_of_the_log(tmp_data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = EmbeddedZooKeeper(tmp_data, taken.getsockname()[1])
        with pytest.raises(ZooKeeperFailed, match=r"127\.0\.0\.1:\d+ is taken; the end of .*zookeeper\.log:"):
            await server.start()
        assert not server.running
    await server.stop()


async def test_sv_1_a_start_that_is_cancelled_leaves_no_child(tmp_data: Path) -> None:
    server = EmbeddedZooKeeper(tmp_data)
    start = asyncio.ensure_future(server.start())
    async with asyncio.timeout(20):
        while server.pid is None:
            await asyncio.sleep(0.005)
    pid = server.pid
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    await until_gone(pid)
    await server.stop()


def test_sv_1_without_java_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaNotFound, match=r"^Java 17 or later is needed .*no java in JAVA_HOME or on the PATH"):
        find_java()


def test_sv_1_an_old_java_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaNotFound, match=r"JAVA_HOME: .*/bin/java is Java 11"):
        find_java()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no java", None),
    ],
)
def test_sv_1_java_versions_are_read_in_both_schemes(text: str, version: int | None) -> None:
    assert parse_version(text) == version
