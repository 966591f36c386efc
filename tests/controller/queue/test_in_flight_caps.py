"""Caps on moves in flight, with the real server, for requests, the queue and the batch."""

from collections.abc import AsyncIterator

import pytest_asyncio

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    MAX_BYTES_IN_FLIGHT,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
    InFlightCaps,
    ReassignmentSettings,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import batch, put_request
from tests.controller.cluster import SIZE, Cluster, cluster
from tests.waiting import eventually

OK = (0, None)


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        await made.create_topic("held", dict.fromkeys(range(4), (1, 2)), held=True)
        await made.create_topic("other", dict.fromkeys(range(4), (3, 4)), held=True)
        yield made


async def set_caps(world: Cluster, **caps: int) -> None:
    names = {"per_broker": MAX_PER_BROKER, "per_cluster": MAX_PER_CLUSTER, "bytes_in_flight": MAX_BYTES_IN_FLIGHT}
    await world.settings({names[cap]: str(n) for cap, n in caps.items()})


async def test_236_13_moves_beyond_the_caps_are_accepted_wait_in_their_order_and_survive_a_failover(
    world: Cluster,
) -> None:
    await set_caps(world, per_cluster=2)
    assert await world.described(MAX_PER_CLUSTER) == "2"
    assert set((await world.alter({("held", index): (3, 4) for index in range(3)})).values()) == {OK}
    assert await world.alter({("other", 0): (1, 2)}) == {("other", 0): OK}
    states = {("held", 0): "moving", ("held", 1): "moving", ("held", 2): "waiting", ("other", 0): "waiting"}
    assert await world.states() == states
    assert await world.queue() == {
        ("held", 2): {"replicas": [3, 4], "route": "rpc", "client": 0, "original_replicas": [1, 2]},
        ("other", 0): {"replicas": [1, 2], "route": "rpc", "client": 0, "original_replicas": [3, 4]},
    }
    await world.stop_server()
    await world.start_server()
    assert await world.states() == states

    assert await world.alter({("held", 0): None}) == {("held", 0): OK}
    await eventually(lambda: world.waits(("other", 0)))
    assert await world.alter({("other", 0): None}) == {("other", 0): OK}
    await set_caps(world)
    await world.release("held")
    await eventually(lambda: world.has(("held", 0, (1, 2)), ("held", 1, (3, 4)), ("held", 2, (3, 4))))
    assert await world.queue_gone()


async def test_236_13_a_broker_at_its_cap_delays_only_moves_that_need_it_until_a_config_raises_the_cap(
    world: Cluster,
) -> None:
    await set_caps(world, per_broker=1)
    targets = {("held", 0): (1, 3), ("held", 1): (1, 3), ("other", 0): (4, 5), ("other", 1): (4, 2)}
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch(targets))
    # The third has broker 3 as its leader too; only the first can start, and what concerns neither 1 nor 3.
    await eventually(lambda: world.waits(("held", 1), ("other", 0), ("other", 1)))
    assert await world.alter({("held", 2): (2, 1), ("held", 3): (1,)}) == {("held", 2): OK, ("held", 3): OK}
    assert await world.waits(("held", 1), ("other", 0), ("other", 1)), "those bring in no broker"
    await set_caps(world, per_broker=4)
    await eventually(world.queue_gone)
    assert await world.moving() == set(targets)


async def test_236_13_the_batch_waits_in_its_own_znode_and_a_dead_broker_frees_its_place(zk_connect: str) -> None:
    async with cluster(zk_connect, settings=ReassignmentSettings(caps=InFlightCaps(per_cluster=1))) as world:
        await world.create_topic("held", {0: (1, 2), 1: (1, 2), 2: (1, 2)}, held=True)
        assert await world.alter({("held", 0): (1, 5)}) == {("held", 0): OK}
        await world.submit({("held", 1): (1, 3), ("held", 2): (1, 4)})
        assert await world.alter({("held", 0): (1, 5)}) == {("held", 0): OK}, "it is in flight"
        assert await world.moving() == {("held", 0)}

        await world.kill_broker(5)

        await eventually(lambda: world.started(("held", 1)))
        assert await world.moving() == {("held", 0), ("held", 1)}
        assert (await world.batch() or {})["held", 2] == {"replicas": [1, 4]}
        await world.release("held")
        await world.start_broker(5)
        await eventually(world.batch_gone)


async def test_236_10_a_new_controller_continues_moves_queue_requests_and_batch_within_the_caps(
    world: Cluster,
) -> None:
    await set_caps(world, per_cluster=1)
    assert await world.alter({("held", 0): (1, 3)}) == {("held", 0): OK}
    await world.stop_server()
    await world.submit({("held", 2): (1, 5), ("other", 0): (3, 5)})
    await put_request(world.zk, {("held", 2): (1, 4)})
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("held", 1): (1, 3)}))

    await world.start_server()

    states = {("held", 0): "moving", ("held", 1): "waiting", ("held", 2): "waiting"}
    await eventually(lambda: shows(world, states))
    await eventually(lambda: holds(world, {("other", 0): {"replicas": [3, 5]}}))
    assert not await world.zk.children(znode_paths.REASSIGNMENT_REQUESTS), "it waits in the queue, durably"
    requested = {"replicas": [1, 4], "route": "request", "original_replicas": [1, 2]}
    queued = {("held", 1): {"replicas": [1, 3]}, ("held", 2): requested}
    assert await world.queue() == queued
    assert await world.alter({("held", 0): None}) == {("held", 0): OK}
    await eventually(lambda: world.moves_to(("held", 1), (1, 3)))
    assert await world.alter({("held", 1): None}) == {("held", 1): OK}
    await eventually(lambda: world.moves_to(("held", 2), (1, 4)))
    assert await world.alter({("held", 2): None}) == {("held", 2): OK}
    await eventually(lambda: world.moves_to(("other", 0), (3, 5)))


async def shows(world: Cluster, states: dict[tuple[str, int], str]) -> bool:
    return await world.states() == states


async def holds(world: Cluster, entries: dict[tuple[str, int], dict[str, object]]) -> bool:
    return await world.batch() == entries


async def test_236_13_the_bytes_in_flight_are_capped_by_the_sizes_on_leaders(zk_connect: str) -> None:
    caps = InFlightCaps(bytes_in_flight=2 * SIZE + SIZE // 2)
    async with cluster(
        zk_connect, settings=ReassignmentSettings(caps=caps), sampling=Sampling(interval_s=0.1)
    ) as world:
        await world.create_topic("held", {index: (1 + index % 2, 3) for index in range(5)}, held=True)
        targets = {("held", index): (1 + index % 2, 4) for index in range(5)}
        assert set((await world.alter(targets)).values()) == {OK}
        await eventually(lambda: world.waits(("held", 2), ("held", 3), ("held", 4)))
        assert await world.alter({("held", 0): None}) == {("held", 0): OK}
        await eventually(lambda: world.waits(("held", 3), ("held", 4)))
        await world.release("held")
        await eventually(lambda: world.has(*[("held", index, (1 + index % 2, 4)) for index in range(1, 5)]))
        assert await world.queue_gone()


async def test_236_13_a_change_of_target_waits_while_its_brokers_are_at_their_caps(world: Cluster) -> None:
    await set_caps(world, per_broker=1)
    assert await world.alter({("held", 0): (1, 3)}) == {("held", 0): OK}
    assert await world.alter({("other", 0): (4, 5)}) == {("other", 0): OK}
    assert await world.states() == {("held", 0): "moving", ("other", 0): "waiting"}, "broker 3 leads it"
    assert await world.alter({("held", 0): (1, 4)}) == {("held", 0): OK}
    await eventually(lambda: world.moves_to(("held", 0), (1, 4)))
    await eventually(lambda: world.moves_to(("other", 0), (4, 5)))
    assert await world.queue_gone()
