"""KIP-236's queue, created by hand and by request, with the real server."""

import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists
from tests.controller.bare_controller import batch, records
from tests.controller.cluster import Cluster, cluster, dumped
from tests.waiting import eventually

INVALID_REPLICA_ASSIGNMENT, NO_REASSIGNMENT_IN_PROGRESS = 39, 85


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        yield made


async def test_236_7_queued_moves_start_while_others_are_in_flight_and_the_queue_znode_is_deleted(
    world: Cluster,
) -> None:
    await world.create_topic("held", {0: (2, 1), 1: (1, 2), 2: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4)})
    await eventually(lambda: world.started(("held", 0)))

    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("held", 1): (3, 4), ("held", 2): (2, 1)}))

    await eventually(world.queue_gone)
    assert await world.moving() == {("held", 0), ("held", 1)}, "a new order is done at once"
    assert await world.assignment("held", 2) == [2, 1]
    assert await records(world.zk) == {("held", 0), ("held", 1)}
    await world.release("held")
    await eventually(lambda: world.has(("held", 0, (3, 4)), ("held", 1, (3, 4))))


async def test_236_7_an_entry_for_a_moving_partition_cancels_its_move_and_starts_another(world: Cluster) -> None:
    await world.create_topic("held", {0: (2, 1), 1: (1, 2)}, held=True)
    assert await world.alter({("held", 0): (3, 4), ("held", 1): (3, 4)}) == {
        ("held", 0): (0, None),
        ("held", 1): (0, None),
    }
    before = await world.ids()

    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("held", 0): (3, 5), ("held", 1): (3, 4)}))

    await eventually(world.queue_gone)
    after = await world.ids()

    async def has_its_new_target() -> bool:
        """Replica 4 stays in the znode until broker 4 has confirmed its deletion."""
        return await world.assignment("held", 0) == [3, 5, 2, 1]

    await eventually(has_its_new_target)
    assert after["held", 0] > before["held", 0], "cancelled, and begun anew"
    assert after["held", 1] == before["held", 1], "it is in flight already"
    assert set((await world.alter({("held", 0): None, ("held", 1): None})).values()) == {(0, None)}
    await eventually(lambda: world.has(("held", 0, (2, 1)), ("held", 1, (1, 2))))


async def test_236_7_zookeeper_refuses_a_second_queue_while_entries_wait(world: Cluster) -> None:
    await world.create_topic("free", {0: (1, 2), 1: (1, 2)})
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await eventually(lambda: world.disabled(("free", 0)))
    assert await world.alter({("free", 0): (3, 4)}, queue=True) == {("free", 0): (0, None)}, "the queue is open"

    with pytest.raises(NodeExists):
        await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", 1): (3, 4)}))

    await world.zk.delete(znode_paths.REASSIGN_CANCEL)
    await eventually(world.queue_gone)
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", 1): (3, 4)}))
    await eventually(lambda: world.has(("free", 0, (3, 4)), ("free", 1, (3, 4))))


async def test_236_7_the_controller_reads_a_queue_under_its_older_name(world: Cluster) -> None:
    await world.create_topic("free", {0: (1, 2), 1: (1, 2)})
    await world.zk.create(znode_paths.REASSIGN_EXTRA, batch({("free", 0): (3, 4)}))
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", 1): (4, 5)}))
    await eventually(lambda: world.has(("free", 0, (3, 4)), ("free", 1, (4, 5))))
    await eventually(world.queue_gone)


async def test_236_7_invalid_entries_are_reported_once_and_valid_ones_start(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("free", {0: (1, 2), 1: (1, 2)})
    await world.zk.create(
        znode_paths.REASSIGN_QUEUE,
        dumped(
            {"topic": "nope", "partition": 0, "replicas": [1, 2]},
            {"topic": "free", "partition": 7, "replicas": [1, 2]},
            {"topic": "free", "partition": 0, "replicas": [1, 1]},
            {"topic": "free", "partition": 1, "replicas": []},
            {"topic": "free", "partition": 0, "replicas": [3, 4]},
            {"topic": "free", "partition": "0", "replicas": [3, 4]},
            7,
        ),
    )

    await eventually(lambda: world.has(("free", 0, (3, 4)), ("free", 1, (1, 2))))
    await eventually(world.queue_gone)
    logged = [record.message for record in caplog.records if record.message.startswith("entry.refused")]
    for text in (
        "nope-0: to [1, 2]; The partition does not exist.",
        "free-7: to [1, 2]; The partition does not exist.",
        "free-1: to []; INVALID_REPLICA_ASSIGNMENT: Empty replica list",
        "twice",
        "entry 5",
        "entry 6",
    ):
        assert sum(text in line for line in logged) == 1, (text, logged)


@pytest.mark.parametrize("data", [b"", b"{", b"null", b'{"version":3,"partitions":[]}'])
async def test_236_7_the_controller_leaves_an_invalid_queue_alone_until_it_is_corrected(
    world: Cluster, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("free", {0: (1, 2), 1: (1, 2)})
    await world.zk.create(znode_paths.REASSIGN_QUEUE, data)
    await eventually(lambda: any("nothing of it is done" in record.message for record in caplog.records))

    assert await world.alter({("free", 0): (2, 3)}, queue=True) == {("free", 0): (0, None)}, "no other move is held up"
    await eventually(lambda: world.has(("free", 0, (2, 3))))
    assert (await world.zk.get(znode_paths.REASSIGN_QUEUE))[0] == data

    await world.zk.set(znode_paths.REASSIGN_QUEUE, batch({("free", 1): (4, 5)}))
    await eventually(lambda: world.has(("free", 1, (4, 5))))
    await eventually(world.queue_gone)
    assert sum("nothing of it is done" in record.message for record in caplog.records) == 1


async def test_236_7_the_controller_deletes_an_empty_queue(world: Cluster) -> None:
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({}))
    await eventually(world.queue_gone)


async def test_236_13_a_queued_move_waits_for_its_dead_broker_and_delays_no_other(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("free", {0: (1, 2), 1: (1, 2), 2: (1, 2), 3: (1, 2)})
    await world.kill_broker(5)

    targets = {("free", 0): (1, 5), ("free", 1): (3, 4), ("free", 2): (2, 5)}
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch(targets))
    assert await world.alter({("free", 3): (5, 1)}) == {
        ("free", 3): (
            INVALID_REPLICA_ASSIGNMENT,
            "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(5),"
            " live broker list: Set(1, 2, 3, 4)",
        )
    }
    assert await world.alter({("free", 3): (5, 1)}, queue=True) == {("free", 3): (0, None)}

    await eventually(lambda: world.has(("free", 1, (3, 4))))
    await eventually(lambda: world.waits(("free", 0), ("free", 2), ("free", 3)))
    assert await world.states() == dict.fromkeys((("free", 0), ("free", 2), ("free", 3)), "waiting")
    assert sum("waits for broker 5" in record.message for record in caplog.records) == 1
    await world.stop_server()
    await world.start_server()
    assert await world.states() == dict.fromkeys((("free", 0), ("free", 2), ("free", 3)), "waiting")
    await world.start_broker(5)
    await eventually(lambda: world.has(("free", 0, (1, 5)), ("free", 2, (2, 5)), ("free", 3, (5, 1))))
    await eventually(world.queue_gone)


async def test_236_7_a_clients_request_overrides_a_waiting_move(world: Cluster) -> None:
    await world.create_topic("free", {0: (1, 2), 1: (1, 2), 2: (1, 2), 3: (1, 2)})
    await world.kill_broker(5)
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", index): (5, 1) for index in range(4)}))
    await eventually(lambda: world.waits(*[("free", index) for index in range(4)]))

    assert await world.alter({("free", 0): None}) == {("free", 0): (0, None)}, "what waits can be cancelled"
    assert (await world.alter({("free", 0): None}))["free", 0][0] == NO_REASSIGNMENT_IN_PROGRESS
    assert await world.alter({("free", 1): (3, 4), ("free", 2): (1, 2)}) == {
        ("free", 1): (0, None),
        ("free", 2): (0, None),
    }
    assert await world.queue() == {("free", 3): {"replicas": [5, 1]}}
    assert await world.alter({("free", 3): None}) == {("free", 3): (0, None)}
    assert await world.queue_gone()
    await world.start_broker(5)
    await eventually(
        lambda: world.has(("free", 0, (1, 2)), ("free", 1, (3, 4)), ("free", 2, (1, 2)), ("free", 3, (1, 2)))
    )


async def test_236_7_the_controller_follows_changes_deletion_and_recreation_of_the_queue_by_hand(
    world: Cluster,
) -> None:
    await world.create_topic("free", dict.fromkeys(range(4), (1, 2)))
    await world.kill_broker(5)
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", 0): (5, 1), ("free", 1): (5, 1)}))
    await eventually(lambda: world.waits(("free", 0), ("free", 1)))

    await world.zk.set(
        znode_paths.REASSIGN_QUEUE, batch({("free", 1): (5, 2), ("free", 2): (5, 1), ("free", 3): (3, 4)})
    )
    await eventually(lambda: world.has(("free", 3, (3, 4))))
    await eventually(lambda: world.waits(("free", 1), ("free", 2)))

    await world.zk.delete(znode_paths.REASSIGN_QUEUE)
    await eventually(world.nothing_waits)
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", 2): (5, 2)}))
    await eventually(lambda: world.waits(("free", 2)))
    await world.delete_topic("free")
    await eventually(world.queue_gone)


async def test_236_7_the_controller_empties_a_queue_that_has_foreign_children(world: Cluster) -> None:
    await world.create_topic("free", {0: (1, 2)})
    await world.zk.ensure_path(f"{znode_paths.REASSIGN_QUEUE}/mine")
    await world.zk.set(znode_paths.REASSIGN_QUEUE, batch({("free", 0): (3, 4)}))
    await eventually(lambda: world.has(("free", 0, (3, 4))))
    await eventually(world.is_empty_queue)
    await world.zk.delete(f"{znode_paths.REASSIGN_QUEUE}/mine")
    await world.zk.set(znode_paths.REASSIGN_QUEUE, batch({("free", 0): (1, 2)}))
    await eventually(lambda: world.has(("free", 0, (1, 2))))
    await eventually(world.queue_gone)


async def test_236_8_the_reason_and_the_route_of_a_move_are_recorded(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
    assert await world.alter({("held", 0): (3, 4)}, queue=True, reason="make room") == {("held", 0): (0, None)}
    assert await world.alter({("held", 1): (3, 4)}, reason="heal broker 1") == {("held", 1): (0, None)}
    await eventually(world.queue_gone)
    assert await world.record(("held", 0)) == {
        "version": 1,
        "target": [3, 4],
        "original_replicas": [1, 2],
        "route": "queue",
        "reason": "make room",
        "by": {
            "principal": "User:ANONYMOUS",
            "client_id": "test",
            "address": "127.0.0.1",
            "listener": "PLAINTEXT",
        },
    }
    assert (await world.record(("held", 1)))["reason"] == "heal broker 1"
