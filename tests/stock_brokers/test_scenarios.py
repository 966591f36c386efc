"""Scenarios of KIP-455, KIP-236 and KIP-46 on stock brokers 3.9.1 with real data, our server being their controller."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.rig import batch, put_request
from tests.faults.cluster import Cluster
from tests.processes import processes
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.waiting import eventually

from .world import BROKERS, PARTITION_BYTES, RACKS, World, controller

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Our server `a` has seized the controllership from a stock broker."""
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("stock-brokers")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path("/stock")
        connect = f"{zookeeper.address}/stock"
        zk = await stack.enter_async_context(ZooKeeper(connect))
        racks = {broker: {"broker.rack": RACKS[broker]} for broker in BROKERS}
        stock = StockCluster(connect, directory, BROKERS, per_broker=racks)
        stack.push_async_callback(stock.kill)
        group = await stack.enter_async_context(processes(directory))
        await stock.start()
        cluster = Cluster(group, zk, connect, directory)
        assert await controller(zk) in BROKERS
        world = World(stock, cluster)
        await world.serve("a")
        await world.hold()
        yield world


async def test_455_4_partitions_move_under_load_and_no_record_is_lost(world: World) -> None:
    await world.create("moved", {0: (1, 2), 1: (2, 3)})
    async with world.load("moved", 2) as load:
        await eventually(lambda: load.acked)
        await world.start({("moved", 0): (3, 1), ("moved", 1): (1, 2)})
        await world.rest_at({("moved", 0): (3, 1), ("moved", 1): (1, 2)})
        await world.start({("moved", 0): (2,), ("moved", 1): (3, 1, 2)})
        await world.rest_at({("moved", 0): (2,), ("moved", 1): (3, 1, 2)})


async def test_455_7_and_240_6_a_throttled_move_says_why_it_gets_nowhere_and_is_cancelled_to_where_it_was(
    world: World,
) -> None:
    await world.create("cancelled", {0: (1, 2)}, held=True)
    async with world.load("cancelled", 1) as load:
        await world.start({("cancelled", 0): (3, 2)})
        before = load.acked
        await eventually(lambda: load.acked > before + 20)
        assert ("cancelled", 0) in await world.moving()
        await eventually(lambda: world.shows_progress(("cancelled", 0), 3))  # the brokers have been asked by then
        await eventually(lambda: world.is_throttled_too_far(("cancelled", 0), 3))
        assert await world.alter({("cancelled", 0): None}) == {("cancelled", 0): 0}
        await world.rest_at({("cancelled", 0): (1, 2)})


async def test_sv_2_a_consumer_group_is_read_by_a_client_that_is_told_of_our_server_alone(world: World) -> None:
    await world.create("read", {0: (1, 2)})
    assert await world.read_in_group("read") == PARTITION_BYTES


async def test_236_5_a_batch_is_carried_out_and_its_znode_goes(world: World) -> None:
    await world.create("batch", {0: (1, 2), 1: (2, 1)}, held=True)
    async with world.load("batch", 2):
        await world.submit({("batch", 0): (3, 1), ("batch", 1): (2, 3)})
        await eventually(lambda: world.has_begun(("batch", 0), ("batch", 1)))
        await world.release("batch")
        await world.gone(znode_paths.REASSIGN_PARTITIONS)
        await world.rest_at({("batch", 0): (3, 1), ("batch", 1): (2, 3)})


async def test_236_2_everything_pending_in_the_batch_is_cancelled_by_the_znode(world: World) -> None:
    await world.create("pending", {0: (1, 2), 1: (2, 1)}, held=True)
    async with world.load("pending", 2):
        await world.submit({("pending", 0): (3, 1), ("pending", 1): (3, 2)})
        await eventually(lambda: world.has_begun(("pending", 0), ("pending", 1)))
        await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await world.gone(znode_paths.CANCEL_IN_PROGRESS)
        await world.gone(znode_paths.REASSIGN_PARTITIONS)
        await world.rest_at({("pending", 0): (1, 2), ("pending", 1): (2, 1)})


async def test_236_6_behind_the_guard_nothing_starts_and_cancels_go_through(world: World) -> None:
    await world.create("guarded", {0: (1, 2), 1: (1, 2)}, held=True)
    await world.start({("guarded", 0): (3, 2)})
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    assert await world.alter({("guarded", 1): (3, 2)}) == {("guarded", 1): PolicyViolation.code}
    await world.submit({("guarded", 1): (3, 1)})
    assert await world.alter({("guarded", 0): None}) == {("guarded", 0): 0}
    await world.rest_at({("guarded", 0): (1, 2), ("guarded", 1): (1, 2)})
    await world.zk.delete(znode_paths.REASSIGN_CANCEL)
    await eventually(lambda: world.has_begun(("guarded", 1)))
    await world.release("guarded")
    await world.gone(znode_paths.REASSIGN_PARTITIONS)
    await world.rest_at({("guarded", 1): (3, 1)})


async def test_236_7_and_236_8_the_queue_and_a_request_are_taken_up_while_others_move(world: World) -> None:
    await world.create("queued", {0: (1, 2), 1: (2, 1)}, held=True)
    async with world.load("queued", 2):
        await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("queued", 0): (3, 2)}))
        await world.gone(znode_paths.REASSIGN_QUEUE)
        await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("queued", 0): (1, 3)}))
        await put_request(world.zk, {("queued", 1): (3, 1)})
        await world.gone(znode_paths.REASSIGN_QUEUE)
        await eventually(lambda: world.moves(("queued", 0), ("queued", 1)))
        await world.release("queued")
        await world.rest_at({("queued", 0): (1, 3), ("queued", 1): (3, 1)})


async def test_236_11_a_lease_throttles_stock_brokers_and_what_stood_before_comes_back(world: World) -> None:
    await world.create("leased", {0: (1, 2)}, held=True)
    before = await world.cluster.throttles()
    assert await world.cluster.alter("a", {("leased", 0): (3, 2)}, throttle=500_000) == {("leased", 0): 0}
    during = await world.cluster.throttles()
    assert set(during["topics/leased"]["leader.replication.throttled.replicas"].split(",")) == {"0:1", "0:2"}
    assert during["brokers/1"]["leader.replication.throttled.rate"] == "500000"
    assert await world.alter({("leased", 0): None}) == {("leased", 0): 0}

    async def as_before() -> bool:
        return await world.cluster.throttles() == before

    await eventually(as_before)
    await world.rest_at({("leased", 0): (1, 2)})


async def test_455_9_a_stock_broker_that_is_killed_while_it_copies_goes_on_when_it_is_back(world: World) -> None:
    await world.create("broken", {0: (1, 2)}, held=True)
    async with world.load("broken", 1) as load:
        await world.start({("broken", 0): (3, 1)})
        await world.stock.brokers[3].kill()
        await world.zk.delete(znode_paths.broker(3))  # what ZooKeeper does once its session has run out
        before = load.acked
        await eventually(lambda: load.acked > before + 20, within=60)
        assert ("broken", 0) in await world.moving()
        await world.stock.brokers[3].start()
        await world.release("broken")
        await world.rest_at({("broken", 0): (3, 1)})


async def test_sv_3_what_moves_when_our_server_is_killed_is_carried_on_by_stock_and_by_the_next(world: World) -> None:
    await world.create("inherited", {0: (1, 2), 1: (2, 1)}, held=True)
    async with world.load("inherited", 2):
        await world.start({("inherited", 0): (3, 2)})
        await world.submit({("inherited", 1): (3, 1)})
        await eventually(lambda: world.has_begun(("inherited", 1)))
        await world.cluster.servers["a"].kill()
        await eventually(world.stock_controls, within=60)
        await world.serve("b")
        assert await world.moving() == {("inherited", 0), ("inherited", 1)}
        await world.release("inherited")
        await world.gone(znode_paths.REASSIGN_PARTITIONS)
        await world.rest_at({("inherited", 0): (3, 2), ("inherited", 1): (3, 1)})


async def test_455_9_a_stock_broker_takes_over_and_we_take_over_from_it(world: World) -> None:
    await world.create("ended", {0: (1, 2)}, held=True)
    await world.create("kept", {0: (2, 1)}, held=True)
    async with world.load("ended", 1), world.load("kept", 1):
        await world.start({("ended", 0): (3, 2), ("kept", 0): (3, 1)})
        await world.cluster.servers["b"].stop()
        await eventually(world.stock_controls, within=60)
        await world.release("ended")

        async def has_ended() -> bool:
            written = await world.cluster.topic("ended")
            return written["partitions"]["0"] == [3, 2] and not written["adding_replicas"]

        await eventually(has_ended, within=90)
        await world.serve("c")
        assert await world.moving() == {("kept", 0)}
        await world.release("kept")
        await world.rest_at({("ended", 0): (3, 2), ("kept", 0): (3, 1)})
    assert await world.moving() == set()


async def test_46_2_and_46_3_a_stock_broker_that_is_killed_under_load_is_healed(world: World) -> None:
    """The fourth, which has come for that: it leads, it follows, it shares its rack with another one."""
    lost = await world.join(4)
    await world.let_go()
    await world.create("healed", {0: (4, 1, 2), 1: (1, 2, 4), 2: (2, 3, 4), 3: (4, 3, 1)})
    before = await world.cluster.throttles()
    await world.cluster.configure(world.server, {"failure.interval.ms": "3000", "self.healing.throttle": "1000000"})
    async with world.load("healed", 4) as load:
        await eventually(lambda: load.acked)
        await lost.kill()
        await world.zk.delete(znode_paths.broker(4))  # what ZooKeeper does once its session has run out
        # Broker 3 is the only other one in its rack; where that has a replica already, another rack has none yet.
        await world.rest_at({("healed", i): to for i, to in enumerate([(3, 1, 2), (1, 2, 3), (2, 3, 1), (2, 3, 1)])})
        assert await world.cluster.failed() == {}

        async def as_before() -> bool:
            return await world.cluster.throttles() == before

        await eventually(as_before)
        acked = load.acked
        await eventually(lambda: load.acked > acked + 20)

    async def is_told() -> bool:
        told = ["heal.noticed", "heal.alert", "heal.scheduled", "heal.done"]
        events = await world.cluster.events(world.server)
        throttled = {one["broker"] for one in events if one["event"] == "throttle.set" and one["bytes"] == 1_000_000}
        assert throttled >= {1, 2, 3}, throttled
        return [one["event"] for one in events if one["event"].startswith("heal.")][-len(told) :] == told

    await eventually(is_told)
    await lost.start()
    await eventually(lambda: world.lives(4))
    assert (await world.cluster.failed(), await world.moving()) == ({}, set())
    assert not any(4 in found for found in (await world.cluster.replicas()).values())
