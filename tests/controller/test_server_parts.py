"""A server whose start fails half-way, and one of whose parts fails later: nothing of it stays."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import MigrationToKRaft, Takeover
from kafka_reassign_rpc.controller.lifecycle.client_listeners import CannotListen
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig, EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess, NoCluster
from kafka_reassign_rpc.controller.lifecycle.server_registration import IdOfBroker
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent
from tests.controller.bare_controller import register


@contextmanager
def taken_port() -> Iterator[int]:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def free_port() -> int:
    with taken_port() as port:
        return port


def refuses(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


class World:
    """The configuration of a server with all of its parts; what stays of it is counted from `__init__` on."""

    def __init__(self, connect: str, directory: Path) -> None:
        self._tasks = asyncio.all_tasks()
        self.http, self.first = free_port(), free_port()
        self.config: dict[str, Any] = {
            "zookeeper_connect": connect,
            "listeners": (self.endpoint("PLAINTEXT", self.first), self.endpoint("OTHER", 0)),
            "metrics_listener": ("127.0.0.1", self.http),
            "event_log": EventLogConfig(directory / "events"),
            "authorizer": AuthorizerConfig(zookeeper_url=connect, super_users=frozenset({"User:admin"})),
            "connection_timeout_ms": 500,
        }

    @staticmethod
    def endpoint(name: str, port: int) -> Endpoint:
        return Endpoint(name, "PLAINTEXT", "127.0.0.1", port)

    def server(self) -> ControllerProcess:
        return ControllerProcess(ServerConfig(**self.config))

    def nothing_stays_of(self, server: ControllerProcess) -> None:
        assert asyncio.all_tasks() - self._tasks == {asyncio.current_task()}
        assert refuses(self.http)
        assert refuses(self.first)
        assert server._acl_zk is not None
        assert not server._zk.connected
        assert not server._acl_zk.connected


@pytest_asyncio.fixture
async def world(zk: ZooKeeper, zk_connect: str, tmp_path: Path) -> World:
    return World(zk_connect, tmp_path)


async def fails(world: World, error: type[Exception]) -> None:
    server = world.server()
    with pytest.raises(error):
        async with server:
            pass
    world.nothing_stays_of(server)


async def test_sv_3_a_server_that_cannot_serve_its_metrics_leaves_nothing_behind(world: World) -> None:
    with taken_port() as taken:
        world.config["metrics_listener"] = ("127.0.0.1", taken)
        await fails(world, CannotListen)


@pytest.mark.parametrize("step", ["zookeeper", "no cluster", "migration", "id of a broker", "acls", "second listener"])
async def test_sv_3_a_start_that_fails_half_way_leaves_no_task_and_no_socket(
    step: str, world: World, zk: ZooKeeper
) -> None:
    with taken_port() as taken:
        error: type[Exception] = NotSent
        match step:
            case "zookeeper":
                world.config["zookeeper_connect"] = f"127.0.0.1:{free_port()}"
            case "no cluster":
                world.config["takeover"], error = Takeover.VACANT, NoCluster
            case "migration":
                await zk.create(znode_paths.MIGRATION, b'{"version":0,"kraft_metadata_offset":1}')
                error = MigrationToKRaft
            case "id of a broker":
                await register(zk, 1000)
                error = IdOfBroker
            case "acls":
                away = AuthorizerConfig(zookeeper_url=f"127.0.0.1:{free_port()}")
                world.config["authorizer"] = away
            case _:
                world.config["listeners"] = (world.config["listeners"][0], world.endpoint("OTHER", taken))
                error = CannotListen
        await fails(world, error)


async def test_sv_3_a_server_that_is_stopped_leaves_no_task_and_no_socket(world: World) -> None:
    server = world.server()
    async with server:
        await server.ready()
        assert not refuses(world.http)
        assert not refuses(world.first)
    world.nothing_stays_of(server)


async def test_sv_3_a_part_that_has_failed_keeps_no_other_from_ending(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def defective(_: object) -> None:
        raise LookupError("oh")

    monkeypatch.setattr(process_limits, "measure_loop_delay", defective)
    server = world.server()
    with pytest.raises(LookupError, match="oh"):
        async with server:
            await server.ready()
    world.nothing_stays_of(server)


async def test_sv_3_the_controllership_is_given_back_before_the_listeners_close(
    world: World, zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_then: list[bool] = []
    resign = controller_election.resign

    async def resigned(session: ZooKeeper) -> bool:
        open_then.append(not refuses(world.first))
        return await resign(session)

    monkeypatch.setattr(controller_election, "resign", resigned)
    async with world.server() as server:
        await server.ready()
    assert open_then == [True]
    assert await zk.exists(znode_paths.CONTROLLER) is None
