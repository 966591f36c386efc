"""The server loses its connection to ZooKeeper while its session lives: that is no failover.

The server comes to ZooKeeper over a proxy that closes sockets. Brokers and the test have a way of their own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.fleet.controller_requests import ControllerRequests
from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, DeleteTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths, zookeeper_session
from tests.controller.bare_controller import batch, put_request, put_topic, state_json
from tests.controller.cluster import THROTTLED, Cluster, cluster
from tests.waiting import eventually
from tests.zookeeper.cutting_proxy import Cut, CuttingProxy, When
from tests.zookeeper.trees import delete_tree


@asynccontextmanager
async def behind_proxy(
    zookeeper: EmbeddedZooKeeper, connect: str, **kwargs: Any
) -> AsyncIterator[tuple[Cluster, CuttingProxy]]:
    async with (
        CuttingProxy(zookeeper.address) as proxy,
        cluster(connect, connect_of_server=f"{proxy.address}/{connect.partition('/')[2]}", **kwargs) as world,
    ):
        yield world, proxy


async def epoch(world: Cluster) -> int:
    return int((await world.zk.get(znode_paths.CONTROLLER_EPOCH))[0])


async def owner(world: Cluster) -> int:
    """The czxid of `/controller`."""
    return (await world.zk.get(znode_paths.CONTROLLER))[1].czxid


async def names_of_events(world: Cluster) -> list[str]:
    return [event["event"] for event in await world.events()]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the controller asks of brokers, request by request."""
    found: list[str] = []
    for name in ("leader_and_isr", "update_metadata", "stop_replica"):
        really = getattr(ControllerRequests, name)

        def noted(self: ControllerRequests, request: Any, version: int, name: str = name, really: Any = really) -> Any:
            found.append(name)
            return really(self, request, version)

        monkeypatch.setattr(ControllerRequests, name, noted)
    return found


async def is_back(caplog: pytest.LogCaptureFixture, times: int) -> None:
    await eventually(lambda: caplog.text.count("this server goes on as the controller") >= times)


@pytest.mark.parametrize("fin", [False, True])
async def test_hm_3_idle_connections_that_are_lost_change_nothing(
    zookeeper: EmbeddedZooKeeper,
    zk_connect: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    told: list[str],
    fin: bool,
) -> None:
    caplog.set_level("INFO")
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3), event_log=tmp_path) as (world, proxy):
        await world.create_topic("t", {0: [1, 2], 1: [2, 3]}, held=True)
        await world.alter({("t", 0): (3, 2)})
        await world.configure("topics", "t", {"retention.ms": "1000", THROTTLED: "*"})
        before = await epoch(world), await owner(world), await state_json(world.zk, ("t", 0))
        events = await names_of_events(world)
        caplog.clear()
        requests = list(told)
        for cut in range(5):
            proxy.cut_all(fin=fin)
            await is_back(caplog, cut + 1)
        # A command that has to know all that was written before it waits until all is read again.
        assert (await world.alter({("t", 0): (2, 3, 4)}))["t", 0][0] == 39

        assert told == requests
        assert (await epoch(world), await owner(world), await state_json(world.zk, ("t", 0))) == before
        assert [name for name in await names_of_events(world) if name != "move.refused"] == events
        assert "another server is the controller" not in caplog.text
        assert caplog.text.count("this server remains the controller if ZooKeeper is back within") == 5


async def test_hm_3_what_has_changed_while_the_connection_was_lost_is_found(
    zookeeper: EmbeddedZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each kind of znode that the controller watches changes while its server cannot see it."""
    caplog.set_level("INFO")
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3)) as (world, proxy):
        for name in ("batch", "queued", "request", "grown", "vanished", "deleted", "led", "config"):
            await world.create_topic(name, {0: [1, 2]})
        before = await epoch(world)
        proxy.refusing = True
        proxy.cut_all()
        await eventually(lambda: "this server remains the controller" in caplog.text)

        await world.kill_broker(1)
        await world.submit({("batch", 0): (2, 3)})
        await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("queued", 0): (2, 3)}))
        await put_request(world.zk, {("request", 0): (2, 3)})
        grown, _ = await world.zk.get(znode_paths.topic("grown"))
        await world.zk.set(znode_paths.topic("grown"), grown.replace(b'"0":[1,2]', b'"0":[1,2],"1":[2,3]'))
        await delete_tree(world.zk, znode_paths.topic("vanished"))
        await world.zk.create(znode_paths.delete_topic("deleted"))
        await put_topic(world.zk, "new", {0: (2, 3)}, topic_id=uuid4())
        await world.configure("topics", "config", {"min.insync.replicas": "2"})
        proxy.refusing = False

        await eventually(lambda: world.led_by(("led", 0), 2))
        await eventually(lambda: world.has(("batch", 0, [2, 3]), ("queued", 0, [2, 3]), ("request", 0, [2, 3])))
        await eventually(lambda: world.has_all(("grown", 1), 2, 3))
        await eventually(lambda: world.has_no(("deleted", 0), 2))
        await eventually(lambda: world.has_all(("new", 0), 2, 3))
        assert await epoch(world) == before
        assert "another server is the controller" not in caplog.text


async def test_hm_3_a_replica_that_was_moved_off_an_absent_broker_is_deleted_there_after_a_lost_connection(
    zookeeper: EmbeddedZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3)) as (world, proxy):
        await world.create_topic("t", {0: [1, 2]})
        await world.kill_broker(1)
        await world.alter({("t", 0): (2, 3)})
        await eventually(lambda: world.in_sync(("t", 0), 3))
        proxy.cut_all()
        await is_back(caplog, 1)
        await world.start_broker(1)
        await eventually(lambda: world.has(("t", 0, [2, 3])))
        await eventually(lambda: world.has_no(("t", 0), 1))


async def test_hm_3_new_moves_stay_disabled_where_that_was_decided_while_the_connection_was_lost(
    zookeeper: EmbeddedZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A client asks as soon as the znode exists, and before the server is back."""
    caplog.set_level("INFO")
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3)) as (world, proxy):
        await world.create_topic("t", {0: [1, 2]})
        proxy.refusing = True
        proxy.cut_all()
        await eventually(lambda: "this server remains the controller" in caplog.text)
        await world.zk.create(znode_paths.REASSIGN_CANCEL)
        asked = asyncio.create_task(world.alter({("t", 0): (3, 2)}))
        await asyncio.sleep(0.05)
        proxy.refusing = False
        assert (await asked)["t", 0][0] == 44


async def test_hm_3_a_session_that_ends_without_its_connection_ends_the_term(
    zookeeper: EmbeddedZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its lease runs out while commands wait: they are answered that this is no controller."""
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3), session_timeout_ms=2000) as (world, proxy):
        await world.create_topic("t", {0: [1, 2]})
        before = await epoch(world)
        proxy.refusing = True
        proxy.cut_all()
        answer = await world.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 4)
        assert [one.error_code for one in answer.responses] == [NotController.code]
        proxy.refusing = False
        await eventually(world.controls)
        assert await epoch(world) == before + 1


async def every_command(world: Cluster, name: str) -> None:
    """Every command is answered without an error."""
    await world.create_topic(name, {0: [1, 2], 1: [2, 3]}, held=True)
    grow = CreatePartitionsRequest
    wanted = grow.CreatePartitionsTopic(name=name, count=3, assignments=None)
    answer = await world.ask(grow(topics=[wanted], timeout_ms=10_000, validate_only=False), 1)
    assert [one.error_code for one in answer.results] == [0], answer
    for target in ((2, 3), (3, 1), None):
        assert {code for code, _ in (await world.alter({(name, 0): target})).values()} == {0}
    assert {code for code, _ in (await world.alter({(name, 1): (3, 1)}, queue=True)).values()} == {0}
    assert {code for code, _ in (await world.alter({(name, 1): None})).values()} == {0}
    assert await world.incremental("log.cleaner.threads", "2") == 0
    await world.delete_topic(name)


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
async def test_hm_3_and_sv_3_clients_get_no_error_wherever_the_connection_is_cut(
    zookeeper: EmbeddedZooKeeper,
    zk_connect: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    when: When,
) -> None:
    monkeypatch.setattr(zookeeper_session, "MAX_BACKOFF", 0.02)
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3)) as (world, proxy):
        before = await epoch(world)
        for number in count():
            proxy.plan(Cut(number, when, fin=bool(number % 2)), *[Cut(0, when)] * (number % 3))
            await every_command(world, f"t{number}")
            if not proxy.made:
                break
        assert number > 5
        proxy.plan()
        await eventually(lambda: no_topics(world))
        assert await epoch(world) == before
        assert "another server is the controller" not in caplog.text


async def no_topics(world: Cluster) -> bool:
    return not await world.zk.children(znode_paths.TOPICS)


async def test_hm_3_a_broker_that_dies_while_a_commit_waits_for_its_connection_is_followed_by_elections(
    zookeeper: EmbeddedZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with behind_proxy(zookeeper, zk_connect, brokers=(1, 2, 3)) as (world, proxy):
        await world.create_topic("t", {index: [1, 2] for index in range(4)})
        before = await epoch(world)
        proxy.plan(Cut(0, When.AFTER), Cut(0, When.BEFORE))
        proxy.refusing = True
        moved = asyncio.create_task(world.alter({("t", 0): (1, 3), ("t", 1): (2, 3)}))
        await eventually(lambda: proxy.made)
        await world.kill_broker(1)
        proxy.refusing = False
        assert {code for code, _ in (await moved).values()} == {0}
        for index in (1, 2, 3):
            await eventually(partial(world.led_by, ("t", index), 2))
        await eventually(lambda: world.has(("t", 1, [2, 3])))
        assert await epoch(world) == before
        assert "another server is the controller" not in caplog.text
