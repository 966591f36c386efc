"""Another target for a partition that moves (KIP-236's rule), with the real server and simulated brokers."""

import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.protocol.messages import ElectLeadersRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import put_request, records, state_json, topic_json
from tests.controller.cluster import NO_BALANCE, THROTTLED, Cluster, cluster
from tests.waiting import eventually

INVALID_REPLICA_ASSIGNMENT = 39
NAME = ("held", 0)


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, replica_lag_ms=60_000, broker_settings=NO_BALANCE) as made:
        yield made


async def moving(world: Cluster) -> tuple[list[int], list[int], list[int]]:
    """Replicas, adding, removing, as the topic znode has them."""
    found = await topic_json(world.zk, "held")
    return found["partitions"]["0"], found["adding_replicas"].get("0", []), found["removing_replicas"].get("0", [])


async def moving_is(world: Cluster, sets: tuple[list[int], list[int], list[int]]) -> bool:
    return await moving(world) == sets


async def isr_is(world: Cluster, *replicas: int) -> bool:
    return sorted((await state_json(world.zk, NAME))["isr"]) == sorted(replicas)


async def hold_only(world: Cluster, *brokers: int) -> None:
    await world.configure("topics", "held", {THROTTLED: ",".join(f"0:{broker}" for broker in brokers)})


async def test_236_9_in_the_proposals_example_replicas_of_the_first_target_alone_are_removed(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.alter({NAME: (2, 3)})
    await eventually(lambda: world.has_all(NAME, 3))

    assert await world.alter({NAME: (2, 4)}) == {NAME: (0, None)}

    await eventually(lambda: world.has_no(NAME, 3))
    await eventually(lambda: world.has_all(NAME, 4))
    await eventually(lambda: moving_is(world, ([2, 4, 1], [4], [1])))
    assert await world.led_by(NAME, 1)
    assert await isr_is(world, 1, 2)


async def test_236_9_an_adding_replica_that_leads_stays_leader_until_the_new_target_is_in_sync(world: Cluster) -> None:
    await world.create_topic("held", {0: (1,)}, held=True)
    await world.alter({NAME: (2, 3)})
    await hold_only(world, 3, 4, 5)
    await eventually(lambda: world.in_sync(NAME, 2))
    topic = ElectLeadersRequest.TopicPartitions
    answer = await world.ask(
        ElectLeadersRequest(election_type=0, topic_partitions=[topic(topic="held", partitions=[0])], timeout_ms=9_000),
        1,
    )
    assert answer.replica_election_results[0].partition_result[0].error_code == 0
    assert await world.led_by(NAME, 2)

    await put_request(world.zk, {NAME: (4, 5)})

    await eventually(lambda: world.has_no(NAME, 3))
    await eventually(lambda: moving_is(world, ([4, 5, 1, 2], [4, 5], [1, 2])))
    assert await world.led_by(NAME, 2)
    assert await isr_is(world, 1, 2)
    await world.stop_server()
    await world.start_server()
    assert await moving(world) == ([4, 5, 1, 2], [4, 5], [1, 2]), "the next controller knows that it is still needed"
    assert await world.led_by(NAME, 2)

    await world.release("held")
    await eventually(lambda: world.has(("held", 0, (4, 5))))
    await eventually(lambda: world.has_no(NAME, 1, 2))
    assert await records(world.zk) == set()


async def test_236_9_an_adding_replica_in_the_isr_stays_there_while_an_original_replica_is_dead(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.alter({NAME: (3, 4)})
    await hold_only(world, 4, 5)
    await eventually(lambda: world.in_sync(NAME, 3))
    await world.kill_broker(2)
    await eventually(lambda: isr_is(world, 1, 3))

    assert await world.alter({NAME: (4, 5)}) == {NAME: (0, None)}

    assert await isr_is(world, 1, 3), "two, as before, and as there were at first"
    assert await moving(world) == ([4, 5, 1, 2, 3], [4, 5], [1, 2, 3])
    assert await world.alter({NAME: None}) == {NAME: (0, None)}
    assert (await moving(world))[0][:2] == [1, 2]
    assert await isr_is(world, 1)


async def test_236_9_every_route_refuses_a_target_that_would_leave_too_few_in_sync_replicas_for_producers(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("held", {0: (1,)}, held=True)
    await world.configure("topics", "held", {THROTTLED: "0:2,0:3,0:4,0:5", "min.insync.replicas": "2"})
    assert await world.alter({NAME: (1, 2, 3)}) == {NAME: (0, None)}
    why = (
        "Unable to change the target of the reassignment for held:0: it began with 1 replica(s), fewer than"
        " min.insync.replicas=2, so that dropping [3] could cut producers off. Cancel it first, or leave them in the"
        " target."
    )

    assert await world.alter({NAME: (1, 2, 4)}) == {NAME: (INVALID_REPLICA_ASSIGNMENT, why)}
    await put_request(world.zk, {NAME: (1, 2, 4)})
    await world.submit({NAME: (1, 2, 4)})
    for route in (znode_paths.REASSIGNMENT_REQUESTS, znode_paths.REASSIGN_PARTITIONS):
        await eventually(
            lambda route=route: any(  # type: ignore[misc]
                f"entry.refused held-0: to [1, 2, 4]; {why}" in record.getMessage() and route in record.getMessage()
                for record in caplog.records
            )
        )
    assert await moving(world) == ([1, 2, 3], [2, 3], [])
    assert await world.alter({NAME: (3, 2, 1, 4)}) == {NAME: (0, None)}, "this one drops nothing"
    assert await world.alter({NAME: (1,)}) == {NAME: (0, None)}, "and back is always possible"
    assert (await moving(world))[1] == []
