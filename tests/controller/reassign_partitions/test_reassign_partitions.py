"""`/admin/reassign_partitions`, created by hand, with the real server."""

import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper import reassign_partitions_znode, znode_paths
from tests.controller.bare_controller import batch, records
from tests.controller.cluster import Cluster, cluster, dumped
from tests.waiting import eventually


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        yield made


async def test_236_5_entries_become_moves_and_leave_when_these_complete_then_the_znode_is_deleted(
    world: Cluster,
) -> None:
    await world.create_topic("held", {0: (2, 1), 1: (1, 2)}, held=True)
    await world.create_topic("free", {0: (1, 2)})

    await world.submit({("held", 0): (3, 4), ("free", 0): (4, 5), ("held", 1): (2, 1)})

    await eventually(lambda: world.started(("held", 0)))
    await eventually(lambda: world.has(("free", 0, (4, 5))))
    assert await world.batch() == {("held", 0): {"replicas": [3, 4], "original_replicas": [2, 1]}}
    assert await world.assignment("held", 0) == [3, 4, 2, 1]
    assert await world.assignment("held", 1) == [2, 1], "a new order is done at once"
    assert await world.moving() == {("held", 0)}, "F06: List shows what came through the znode too"
    assert await records(world.zk) == {("held", 0)}

    await world.release("held")
    await eventually(world.batch_gone)
    await eventually(lambda: world.has(("held", 0, (3, 4))))
    assert await records(world.zk) == set()


async def test_236_5_a_second_batch_starts_after_the_first_is_done(world: Cluster) -> None:
    await world.create_topic("free", {0: (1, 2)})
    for target in ((3, 4), (4, 5), (1, 2)):
        await world.submit({("free", 0): target})
        await eventually(world.batch_gone)
        await eventually(lambda target=target: world.has(("free", 0, target)))  # type: ignore[misc]


async def test_236_5_invalid_entries_are_reported_once_and_valid_ones_start(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.zk.create(
        znode_paths.REASSIGN_PARTITIONS,
        dumped(
            {"topic": "nope", "partition": 0, "replicas": [1, 2]},
            {"topic": "held", "partition": 7, "replicas": [1, 2]},
            {"topic": "held", "partition": 0, "replicas": [1, 1]},
            {"topic": "held", "partition": 0, "replicas": [3, 4]},
            {"topic": "held", "partition": "0", "replicas": [3, 4]},
            {"topic": "held"},
            7,
        ),
    )

    await eventually(lambda: world.started(("held", 0)))
    assert await world.batch() == {("held", 0): {"replicas": [3, 4], "original_replicas": [1, 2]}}
    await world.cancel_all()
    logged = [record.message for record in caplog.records if "reassign_partitions" in record.message]
    for text in (
        "nope-0: to [1, 2]; The partition does not exist.",
        "held-7: to [1, 2]; The partition does not exist.",
        "twice",
        "entry 4",
        "entry 5",
        "entry 6",
    ):
        assert sum(text in line for line in logged) == 1, (text, logged)


@pytest.mark.parametrize("data", [b"", b"{", b"null", b'{"version":3,"partitions":[]}', b"\xff", b"[" * 50_000])
async def test_i08_the_controller_leaves_an_invalid_batch_alone_until_it_is_corrected(
    world: Cluster, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("free", {0: (1, 2)})
    await world.zk.create(znode_paths.REASSIGN_PARTITIONS, data)
    await eventually(lambda: any("nothing of it is done" in record.message for record in caplog.records))

    assert await world.alter({("free", 0): (2, 3)}) == {("free", 0): (0, None)}, "no other move is held up"
    await eventually(lambda: world.has(("free", 0, (2, 3))))
    assert (await world.zk.get(znode_paths.REASSIGN_PARTITIONS))[0] == data

    await world.zk.set(znode_paths.REASSIGN_PARTITIONS, batch({("free", 0): (4, 5)}))
    await eventually(world.batch_gone)
    await eventually(lambda: world.has(("free", 0, (4, 5))))
    assert sum("nothing of it is done" in record.message for record in caplog.records) == 1


async def test_236_5_the_controller_deletes_an_empty_batch(world: Cluster) -> None:
    await world.submit({})
    await eventually(world.batch_gone)


async def test_h01_h02_an_entry_waits_for_its_dead_broker_and_delays_no_other(world: Cluster) -> None:
    await world.create_topic("free", {0: (1, 2), 1: (1, 2)})
    await world.kill_broker(5)

    await world.submit({("free", 0): (1, 5), ("free", 1): (3, 4)})

    await eventually(lambda: world.started(("free", 0)))
    await eventually(lambda: world.has_only({("free", 0): {"replicas": [1, 5], "original_replicas": [1, 2]}}))
    assert await world.assignment("free", 0) == [1, 5, 2]
    await world.start_broker(5)
    await eventually(world.batch_gone)
    await eventually(lambda: world.has(("free", 0, (1, 5)), ("free", 1, (3, 4))))


async def test_236_10_a_batch_created_without_a_controller_starts_at_failover(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.create_topic("free", {0: (1, 2)})
    await world.stop_server()
    await world.submit({("held", 0): (3, 4), ("free", 0): (4, 5)})

    await world.start_server()

    await eventually(lambda: world.started(("held", 0)))
    await eventually(lambda: world.has(("free", 0, (4, 5))))
    await world.stop_server()
    await world.start_server()
    assert await world.batch() == {("held", 0): {"replicas": [3, 4], "original_replicas": [1, 2]}}
    assert await world.moving() == {("held", 0)}
    await world.release("held")
    await eventually(world.batch_gone)


async def test_i06_a_clients_target_overrides_the_entry_which_leaves_the_batch(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4), ("held", 1): (3, 4)})
    await eventually(lambda: world.started(("held", 0), ("held", 1)))

    assert await world.alter({("held", 0): (4, 5)}) == {("held", 0): (0, None)}
    assert await world.batch() == {("held", 1): {"replicas": [3, 4], "original_replicas": [1, 2]}}
    assert await world.alter({("held", 1): None}) == {("held", 1): (0, None)}
    assert await world.batch() is None
    assert await world.moving() == {("held", 0)}
    assert await world.assignment("held", 0) == [4, 5, 1, 2]
    assert await world.assignment("held", 1) in ([1, 2], [1, 2, 3, 4]), "until the added replicas are gone"


async def test_d03_a_batch_changes_the_target_of_a_move_that_a_client_started(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.alter({("held", 0): (3, 4)})
    await world.submit({("held", 0): (4, 5)})
    await eventually(lambda: world.started(("held", 0)))
    assert await world.batch() == {("held", 0): {"replicas": [4, 5], "original_replicas": [1, 2]}}


async def test_236_5_the_controller_follows_changes_of_the_batch_by_hand(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2), 1: (1, 2), 2: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4), ("held", 1): (3, 4)})
    await eventually(lambda: world.started(("held", 0), ("held", 1)))

    await world.zk.set(znode_paths.REASSIGN_PARTITIONS, batch({("held", 0): (4, 5), ("held", 2): (3, 4)}))

    await eventually(lambda: world.started(("held", 0), ("held", 2)))
    assert await world.moving() == {("held", 0), ("held", 1), ("held", 2)}, "what is taken out goes on by itself"
    assert await world.batch() == {
        ("held", 0): {"replicas": [4, 5], "original_replicas": [1, 2]},
        ("held", 2): {"replicas": [3, 4], "original_replicas": [1, 2]},
    }


async def test_236_5_the_controller_follows_a_batch_that_is_deleted_and_created_again(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4)})
    await eventually(lambda: world.started(("held", 0)))

    await world.zk.delete(znode_paths.REASSIGN_PARTITIONS)
    await world.submit({("held", 1): (4, 5)})

    await eventually(lambda: world.started(("held", 1)))
    assert await world.moving() == {("held", 0), ("held", 1)}
    await world.zk.delete(znode_paths.REASSIGN_PARTITIONS)
    await world.release("held")
    await eventually(lambda: world.has(("held", 0, (3, 4)), ("held", 1, (4, 5))))
    assert await world.batch_gone()


async def test_236_5_the_entries_of_a_deleted_topic_leave_the_batch(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.create_topic("other", {0: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4), ("other", 0): (3, 4)})
    await eventually(lambda: world.started(("held", 0), ("other", 0)))

    await world.delete_topic("held")
    assert await world.batch() == {("other", 0): {"replicas": [3, 4], "original_replicas": [1, 2]}}
    await world.zk.create(znode_paths.delete_topic("other"), b"")
    await eventually(world.batch_gone)


async def test_236_5_the_controller_empties_a_batch_znode_that_it_cannot_delete(world: Cluster) -> None:
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4)})
    await eventually(lambda: world.started(("held", 0)))
    await world.zk.create(f"{znode_paths.REASSIGN_PARTITIONS}/somebodys", b"")
    await world.release("held")

    await eventually(lambda: world.has(("held", 0, (3, 4))))
    assert await world.batch() == {}


async def test_236_14_entries_whose_original_replicas_do_not_fit_into_the_znode_wait_until_others_have_left(
    world: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    names = [("held", index) for index in range(4)]
    await world.create_topic("held", {index: (1, 2) for _, index in names}, held=True)
    targets = dict.fromkeys(names, (3, 4))
    one = len(',"original_replicas":[1, 2]')
    monkeypatch.setattr(reassign_partitions_znode, "MAX_BYTES", len(batch(targets).replace(b" ", b"")) + 2 * one)

    await world.submit(targets)

    await eventually(lambda: world.started(*names[:2]))
    assert await world.moving() == set(names[:2])
    assert any("is full" in record.message for record in caplog.records)
    await world.alter({names[0]: None})
    await eventually(lambda: world.started(*names[1:3]))
    await world.release("held")
    await eventually(world.batch_gone)
    await eventually(lambda: world.has(*((*name, (3, 4)) for name in names[1:])))


async def test_236_5_a_batch_changed_by_hand_may_send_some_of_its_moves_back(world: Cluster) -> None:
    """An entry with the original replicas as its target is a move like any other, and completes at once."""
    await world.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
    await world.submit({("held", 0): (3, 4), ("held", 1): (3, 4)})
    await eventually(lambda: world.started(("held", 0), ("held", 1)))
    kept = {"topic": "held", "partition": 1, "replicas": [3, 4], "original_replicas": [1, 2]}
    back = {"topic": "held", "partition": 0, "replicas": [1, 2], "original_replicas": [1, 2]}
    await world.zk.set(znode_paths.REASSIGN_PARTITIONS, dumped(back, kept))
    await eventually(lambda: world.has_only({("held", 1): {"replicas": [3, 4], "original_replicas": [1, 2]}}))
    assert await world.moving() == {("held", 1)}
