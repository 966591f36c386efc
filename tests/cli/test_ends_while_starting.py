"""SIGTERM ends each command within seconds, whatever it waits for at its start; and ids that others have (hm-4)."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.embedded_zookeeper import free_ports
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.own_server_znodes import encode_registered_server
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.fork_server import CLI, fork_server
from tests.processes import Processes
from tests.silent_server import silent_server
from tests.waiting import eventually

SECONDS = 8
"""Until the end after SIGTERM, on a loaded machine."""
WORD_S = 60
PORT_0 = ("--listeners", "PLAINTEXT://127.0.0.1:0")
NOBODY = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)
"""Where a process that was killed had listened."""


class Starting:
    """A process that need not become ready. `log` has its standard error, and `out` its standard output."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._out, self._log = directory / "out", directory / "log"
        with self._out.open("wb") as out, self._log.open("wb") as log:
            wanted = (*arguments, "--log-level", "DEBUG")
            self._process = fork_server().start(CLI, wanted, out.fileno(), log.fileno(), directory)

    @property
    def log(self) -> str:
        return self._log.read_text()

    async def says(self, word: str) -> None:
        await eventually(lambda: word in self.log)

    async def ends(self) -> None:
        """It ends within seconds after SIGTERM, as it should: by the signal itself where it has begun nothing yet."""
        self._process.send_signal(signal.SIGTERM)
        assert await self._process.ended(SECONDS) in (0, -signal.SIGTERM), self.log
        assert self._out.read_bytes() == b""
        assert "Traceback" not in self.log

    async def is_refused(self) -> str:
        """The last line of its log; it ends by itself, as after a wrong flag."""
        assert await self._process.ended(WORD_S) == 2, self.log
        assert self._out.read_bytes() == b""
        return self.log.strip().splitlines()[-1]

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()


@contextmanager
def started(*arguments: str) -> Iterator[Starting]:
    with TemporaryDirectory() as directory:
        process = Starting(Path(directory), *arguments)
        try:
            yield process
        finally:
            process.kill()


def arguments_of(command: str, connect: str, directory: Path) -> list[str]:
    more = PORT_0 if command == "serve" else ("--broker-ids", "4,5")
    return [command, "--zookeeper-connect", connect, "--data-dir", str(directory), *more]


@pytest.mark.parametrize("command", ["serve", "fleet"])
async def test_hm_4_a_command_ends_while_zookeeper_is_silent(command: str, tmp_path: Path) -> None:
    async with silent_server() as silent:
        with started(*arguments_of(command, f"127.0.0.1:{silent.port}", tmp_path)) as process:
            async with asyncio.timeout(WORD_S):
                await silent.connected.wait()
            await process.ends()


@pytest.mark.parametrize("command", ["serve", "fleet"])
async def test_hm_4_a_command_ends_while_nothing_listens_where_zookeeper_should_be(
    command: str, tmp_path: Path
) -> None:
    with free_ports("127.0.0.1", 1) as (port,):
        pass
    with started(*arguments_of(command, f"127.0.0.1:{port}", tmp_path)) as process:
        await process.says("ZooKeeper")
        await process.ends()


async def test_hm_4_a_fleet_ends_while_it_waits_for_the_end_of_an_earlier_session(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    await zk.ensure_path(znode_paths.BROKER_IDS)
    await zk.create(znode_paths.broker(4), encode_broker([NOBODY], 0), ephemeral=True)
    with started(*arguments_of("fleet", zk_connect, tmp_path)) as process:
        await process.says("broker 4: waits")
        await process.ends()
    assert await zk.children(znode_paths.BROKER_IDS) == ["4"]


async def test_hm_4_a_fleet_ends_while_it_waits_for_a_controller_that_says_nothing(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    await zk.create(znode_paths.CONTROLLER, encode_controller(9, 0, []), ephemeral=True)
    with started(*arguments_of("fleet", zk_connect, tmp_path), "--topic", "t:1:1:10") as process:
        await process.says("broker 5: registered")
        await process.ends()


async def test_hm_4_a_server_ends_while_it_waits_for_the_end_of_a_session_with_its_id(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    await zk.ensure_path(znode_paths.REASSIGNMENT_SERVERS)
    await zk.create(znode_paths.reassignment_server(1000), encode_registered_server([NOBODY]), ephemeral=True)
    with started(*arguments_of("serve", zk_connect, tmp_path)) as process:
        await process.says("standing by: another server")
        await process.ends()


@pytest.mark.parametrize("word", ["", "controller.elected"], ids=["ZooKeeper", "the brokers"])
async def test_hm_4_a_cluster_of_its_own_ends_while_it_starts(tmp_path: Path, word: str) -> None:
    with started("serve", "--data-dir", str(tmp_path), *PORT_0) as process:
        await eventually((tmp_path / "zookeeper" / "zoo.cfg").exists)
        if word:
            await process.says(word)
        await process.ends()


# ------------------------------------------------------------------------------------------ ids that others have


async def refused(*arguments: str) -> str:
    with started(*arguments) as process:
        return await process.is_refused()


async def test_hm_4_a_fleet_is_refused_the_id_of_a_broker_of_another_fleet_and_of_a_server(
    commands: Processes, zk_connect: str, tmp_path: Path
) -> None:
    await commands.start("serve", "serve", "--zookeeper-connect", zk_connect, *PORT_0, "--broker-id", "4")
    first = (
        "fleet",
        "--zookeeper-connect",
        zk_connect,
        "--data-dir",
        str(tmp_path / "first"),
        "--broker-ids",
        "7,8",
        "--session-timeout-ms",
        "2000",
    )
    fleet = await commands.start("fleet", *first)

    other = ("fleet", "--zookeeper-connect", zk_connect, "--data-dir", str(tmp_path / "other"), "--broker-ids")
    why = await refused(*other, "6,7")
    assert why.startswith("kafka-reassign-rpc fleet: --broker-ids: 7 is the id of a broker that runs at "), why
    assert "4 is the id of a server that runs at " in await refused(*other, "4")
    assert fleet.alive

    await fleet.kill()
    again = await commands.start("fleet again", *first)
    assert again.ready_line == "ready brokers=7,8"
    assert await again.stop() == 0


async def test_hm_4_a_fleet_does_not_wait_without_end_for_a_registration_that_stays(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    await zk.ensure_path(znode_paths.BROKER_IDS)
    await zk.create(znode_paths.broker(4), encode_broker([NOBODY], 0))
    why = await refused(*arguments_of("fleet", zk_connect, tmp_path), "--session-timeout-ms", "1000")
    assert "4 is the id of a broker that is registered" in why
    assert await zk.children(znode_paths.BROKER_IDS) == ["4"]


async def test_46_2_serve_warns_of_an_interval_in_which_no_broker_restarts(tmp_path: Path) -> None:
    async with silent_server() as silent:
        arguments = arguments_of("serve", f"127.0.0.1:{silent.port}", tmp_path)
        with started(*arguments, "--failure-interval-ms", "25s") as process:
            await process.says("failure.interval.ms=25000 is 25 s: a broker that restarts is away for longer")
            await process.ends()
