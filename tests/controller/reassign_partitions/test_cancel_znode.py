"""`/admin/cancel_reassignment_in_progress` with the real server: all pending entries are rolled back (KIP-236)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.loading import load_cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import AdminZnodes
from kafka_reassign_rpc.fleet.controller_requests import ControllerRequests
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Delete, SetData
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists
from tests.controller.bare_controller import (
    Name,
    Replicas,
    batch,
    elected_controller,
    put_topic,
    records,
    register,
    state_json,
)
from tests.controller.cluster import BROKERS, Cluster, cluster, dumped
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

NAMES = [("held", index) for index in range(3)]


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        await made.create_topic("held", {0: (2, 1), 1: (1, 2), 2: (1, 3)}, held=True)
        await made.create_topic("free", {0: (1, 2)})
        yield made


async def submit(world: Cluster) -> None:
    await world.submit({("held", 0): (3, 4), ("held", 1): (2, 5), ("held", 2): (4, 5), ("free", 0): (4, 5)})
    await eventually(lambda: world.started(*NAMES))
    await eventually(lambda: world.has(("free", 0, (4, 5))))


async def back(world: Cluster) -> bool:
    return await world.has(("held", 0, (2, 1)), ("held", 1, (1, 2)), ("held", 2, (1, 3)), ("free", 0, (4, 5)))


async def test_236_2_a_cancel_rolls_back_pending_entries_and_leaves_completed_moves(world: Cluster) -> None:
    await submit(world)
    epochs = {name: (await state_json(world.zk, name))["leader_epoch"] for name in NAMES}

    await world.cancel_all()

    assert await world.batch_gone()
    assert await world.moving() == set()
    assert await records(world.zk) == set()
    await eventually(lambda: back(world))
    for name in NAMES:
        state = await state_json(world.zk, name)
        assert state["leader_epoch"] > epochs[name], "the leader learns the assignment whoever it is"
        assert state["leader"] in (await world.assignment(*name)), name


async def test_236_3_a_rollback_deletes_adding_replicas_and_elects_leaders_of_the_original_set(world: Cluster) -> None:
    await world.create_topic("slow", {0: (1, 2)}, held=True)
    await world.submit({("slow", 0): (3, 4)})
    await eventually(lambda: world.started(("slow", 0)))
    await world.kill_broker(1)
    await eventually(lambda: world.led_by(("slow", 0), 2))

    await world.cancel_all()

    await eventually(lambda: world.has(("slow", 0, (1, 2))))
    assert (await state_json(world.zk, ("slow", 0)))["leader"] == 2
    await eventually(lambda: world.has_no(("slow", 0), 3, 4))
    assert ("slow", 0) in await world.replicas_on(2)


async def test_236_2_several_cancels_work_one_after_the_other_also_with_nothing_to_cancel(world: Cluster) -> None:
    await world.cancel_all()
    for _ in range(3):
        await world.submit(dict.fromkeys(NAMES, (3, 4, 5)))
        await eventually(lambda: world.started(*NAMES))
        await world.cancel_all()
        assert await world.batch_gone()
        await world.cancel_all()
    await eventually(lambda: world.has(("held", 0, (2, 1)), ("held", 1, (1, 2)), ("held", 2, (1, 3))))


async def test_236_2_a_cancel_created_together_with_its_batch_rolls_it_back(world: Cluster) -> None:
    await world.submit(dict.fromkeys(NAMES, (3, 4, 5)))
    try:
        await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
    except NodeExists:
        pass
    await eventually(world.cancel_gone)
    await eventually(world.batch_gone)
    await eventually(lambda: world.has(("held", 0, (2, 1)), ("held", 1, (1, 2)), ("held", 2, (1, 3))))


async def test_236_2_a_cancel_created_without_a_controller_is_carried_out_at_failover(world: Cluster) -> None:
    await submit(world)
    await world.stop_server()
    await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")

    await world.start_server()

    await eventually(world.cancel_gone)
    assert await world.batch_gone()
    await eventually(lambda: back(world))


async def test_236_2_a_cancel_of_the_batch_leaves_moves_that_clients_started(world: Cluster) -> None:
    await submit(world)
    await world.alter({("held", 1): (4, 5)})
    await world.cancel_all()
    assert await world.batch_gone()
    assert await world.moving() == {("held", 1)}


async def test_236_4_the_cancel_skips_an_entry_without_original_replicas_with_the_reason_in_the_znode(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await submit(world)
    kept = {"topic": "held", "partition": 1, "replicas": [2, 5], "original_replicas": [1, 2]}
    await world.zk.set(
        znode_paths.REASSIGN_PARTITIONS, dumped({"topic": "held", "partition": 0, "replicas": [3, 4]}, kept)
    )

    await world.cancel_all()

    reason = "not cancelled: its original_replicas are missing in the znode"
    assert await world.batch() == {("held", 0): {"replicas": [3, 4], "cancel_skipped": reason}}
    assert await world.moving() == {("held", 0), ("held", 2)}, "what was taken out goes on by itself"
    assert sum(reason in record.message for record in caplog.records) == 1
    await world.release("held")
    await eventually(world.batch_gone)
    await eventually(lambda: world.has(("held", 0, (3, 4)), ("held", 1, (1, 2)), ("held", 2, (4, 5))))


async def test_236_4_the_cancel_skips_a_partition_that_only_new_replicas_keep_online(world: Cluster) -> None:
    await world.create_topic("slow", {0: (1, 2)}, held=True)
    await world.submit({("slow", 0): (3, 4), ("held", 0): (3, 4)})
    await eventually(lambda: world.started(("slow", 0), ("held", 0)))
    await world.configure("topics", "slow", {"follower.replication.throttled.replicas": "0:4"})
    await eventually(lambda: world.in_sync(("slow", 0), 3))
    await world.kill_broker(1)
    await world.kill_broker(2)
    await eventually(lambda: world.led_by(("slow", 0), 3))

    await world.cancel_all()

    found = await world.batch()
    assert found is not None
    assert set(found) == {("slow", 0)}
    assert found["slow", 0]["cancel_skipped"].startswith(
        "not cancelled: none of the original replicas [1, 2] is in the ISR"
    )
    assert (await state_json(world.zk, ("slow", 0)))["leader"] == 3
    await world.start_broker(1)
    await eventually(lambda: world.in_sync(("slow", 0), 1))
    await world.cancel_all()
    assert await world.batch_gone()
    await eventually(lambda: world.has(("slow", 0, (1, 2))))


async def test_236_4_a_partition_whose_replicas_are_all_offline_is_rolled_back(world: Cluster) -> None:
    await world.create_topic("slow", {0: (1, 2)}, held=True)
    await world.submit({("slow", 0): (3, 4)})
    await eventually(lambda: world.started(("slow", 0)))
    for broker in (3, 4, 2, 1):
        await world.kill_broker(broker)
    await eventually(lambda: world.led_by(("slow", 0), -1))

    await world.cancel_all()

    assert await world.batch_gone()
    await eventually(lambda: world.has(("slow", 0, (1, 2))))
    await world.start_broker(1)
    await eventually(lambda: world.led_by(("slow", 0), 1))


async def test_236_3_in_zookeeper_the_entry_leaves_after_the_rollback_and_the_cancel_znode_last(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (1, 2), 1: (2, 1)})
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (3, 4), ("t", 1): (4, 3)}))
    async with elected_controller(zk_connect) as controller:
        await controller.isr(("t", 0), (1, 2, 3))
        controller.zk.transactions.clear()
        await zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await controller.read_admin_znodes()

        (transaction,) = controller.zk.transactions
        assert [(type(op), op.path) for op in transaction] == [
            (SetData, znode_paths.topic("t")),
            (SetData, znode_paths.partition_state("t", 0)),
            (Delete, znode_paths.reassignment("t", 0)),
            (SetData, znode_paths.partition_state("t", 1)),
            (Delete, znode_paths.reassignment("t", 1)),
            (Delete, znode_paths.REASSIGN_PARTITIONS),
            (Delete, znode_paths.CANCEL_IN_PROGRESS),
        ]
        await controller.check()


def has_heard(world: Cluster, broker: int, name: Name, replicas: Replicas) -> bool:
    """Whether the broker has all requests about the partition since it has these replicas."""
    one = world.fleets[broker].brokers[broker]
    hosted = one._table.online[TopicPartition(*name)].replicas if broker in replicas else replicas
    return hosted == replicas == one._cache.topics[name[0]].partitions[name[1]].replicas


async def test_236_3_leaders_get_the_original_assignment_adding_replicas_get_stop_replica_all_brokers_get_metadata(
    world: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.submit({("held", 0): (3, 4)})
    await eventually(lambda: world.started(("held", 0)))
    await eventually(lambda: all(has_heard(world, broker, ("held", 0), (3, 4, 2, 1)) for broker in BROKERS))
    sent: dict[int, list[tuple[str, object]]] = {}

    def note(method: str, about: Callable[[Any], object]) -> None:
        real = getattr(ControllerRequests, method)

        def noting(self: ControllerRequests, request: Any, version: int) -> Any:
            found = [
                about(one)
                for topic in request.topic_states
                for one in topic.partition_states
                if (topic.topic_name, one.partition_index) == ("held", 0)
            ]
            if found:
                sent.setdefault(self.broker_id, []).append((method, found))
            return real(self, request, version)

        monkeypatch.setattr(ControllerRequests, method, noting)

    note("leader_and_isr", lambda state: state.replicas)
    note("stop_replica", lambda state: state.delete_partition)
    note("update_metadata", lambda state: state.replicas)
    await world.cancel_all()
    await eventually(lambda: world.has(("held", 0, (2, 1))))

    original = [[2, 1]]
    both = [("leader_and_isr", original), ("update_metadata", original)]
    assert await world.led_by(("held", 0), 2)
    counts = {1: 2, 2: 2, 3: 2, 4: 2, 5: 1}
    await eventually(lambda: all(len(sent.get(broker, ())) >= count for broker, count in counts.items()))
    assert sent[2][:2] == both
    assert sorted(sent[1][:2]) == both, "a follower learns of it once its leader knows"
    for broker in (3, 4):
        assert sent[broker][:2] == [("update_metadata", original), ("stop_replica", [True])]
    assert sent[5][:1] == [("update_metadata", original)]


@pytest.mark.parametrize("data", [b"", b"anything", json.dumps({"version": 1}).encode()])
async def test_236_2_the_content_of_the_cancel_znode_does_not_matter(world: Cluster, data: bytes) -> None:
    await submit(world)
    await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, data)
    await eventually(world.cancel_gone)
    assert await world.batch_gone()


async def test_236_2_a_cancel_deletes_an_invalid_batch(world: Cluster) -> None:
    await world.zk.create(znode_paths.REASSIGN_PARTITIONS, b"{")
    await world.cancel_all()
    assert await world.batch_gone()


async def test_236_2_a_cancel_znode_that_cannot_be_deleted_is_carried_out_once(world: Cluster) -> None:
    await world.stop_server()
    await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
    await world.zk.create(f"{znode_paths.CANCEL_IN_PROGRESS}/somebodys", b"")
    await world.start_server()
    await submit(world)
    await delete_tree(world.zk, znode_paths.CANCEL_IN_PROGRESS)
    await world.cancel_all()
    assert await world.batch_gone()


async def test_236_2_a_batch_that_comes_just_before_the_cancel_is_rolled_back_with_it(
    world: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are created after the controller has looked for a batch, and before it looks for a cancel."""
    read_admin = load_cluster.read_admin
    begun, both_created = asyncio.Event(), asyncio.Event()

    async def read(zk: ZooKeeper, *, batch: bool = True, watch: bool = False) -> AdminZnodes:
        if not batch and not begun.is_set():
            begun.set()
            await world.submit({("held", 0): (3, 4)})
            await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
            both_created.set()
        return await read_admin(zk, batch=batch, watch=watch)

    monkeypatch.setattr(load_cluster, "read_admin", read)
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")  # so that it looks, and starts nothing
    await both_created.wait()
    await eventually(world.cancel_gone)
    assert await world.batch_gone()


async def test_236_2_a_cancel_znode_that_cannot_be_deleted_does_not_cancel_later_batches_when_the_cluster_is_read_again(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    await zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
    await zk.create(f"{znode_paths.CANCEL_IN_PROGRESS}/somebodys", b"")
    async with elected_controller(zk_connect) as controller:
        assert controller.cluster.soft.cancelled is not None
        await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (1, 3)}))
        await controller.read_admin_znodes()
        assert await records(zk) == {("t", 0)}
        data, _ = await zk.get(znode_paths.topic("t"))
        await zk.set(znode_paths.topic("t"), data)  # so that the next write of the controller is refused
        assert await controller.alter({("t", 1): (2, 3)}) == {("t", 1): None}
        assert await records(zk) == {("t", 0), ("t", 1)}
        await controller.check()
        await delete_tree(zk, znode_paths.CANCEL_IN_PROGRESS)
        await zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await controller.read_admin_znodes()
        assert await records(zk) == {("t", 1)}, "another cancel is carried out"
