"""The writes of a round: which znodes, in which order, in how many transactions."""

import json

import pytest

from kafka_reassign_rpc.controller.commands import cluster_commands
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import SizesReported
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    batch,
    batch_json,
    elected_controller,
    put_topic,
    records,
    register,
    state_json,
    topic_json,
)


def place(op: Op) -> tuple[type, str]:
    return type(op), op.path


@pytest.fixture
async def brokers(zk: ZooKeeper) -> None:
    await register(zk, 1, 2, 3, 4, 5, 6)


@pytest.mark.usefixtures("brokers")
async def test_455_2_a_move_starts_in_one_transaction_that_writes_record_then_topic_then_state(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)}, future={"kept": [1, None]})

    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("t", 0): (3, 4), ("t", 1): (4, 5)}) == {("t", 0): None, ("t", 1): None}

        (transaction,) = controller.zk.transactions
        assert list(map(place, transaction)) == [
            (Create, "/admin/reassignments/t"),
            (Create, "/admin/reassignments/t/0"),
            (Create, "/admin/reassignments/t/1"),
            (SetData, "/brokers/topics/t"),
            (SetData, "/brokers/topics/t/partitions/0/state"),
            (SetData, "/brokers/topics/t/partitions/1/state"),
        ]
        written = await topic_json(zk, "t")
        assert written == {
            "version": 3,
            "topic_id": "ERERESIiMzNERFVVVVVVVQ",
            "partitions": {"0": [3, 4, 1, 2], "1": [4, 5, 2, 3]},
            "adding_replicas": {"0": [3, 4], "1": [4, 5]},
            "removing_replicas": {"0": [1, 2], "1": [2, 3]},
            "future": {"kept": [1, None]},
        }
        assert (await state_json(zk, ("t", 0)))["leader_epoch"] == 4
        assert (await state_json(zk, ("t", 0)))["controller_epoch"] == controller.epoch
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_236_1_the_record_contains_target_and_original_order_and_its_czxid_identifies_the_move(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "t", {0: (2, 1)})

    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (3, 4)})

        data, stat = await zk.get(znode_paths.reassignment("t", 0))
        assert json.loads(data) == {"version": 1, "target": [3, 4], "original_replicas": [2, 1]}
        move = controller.partition("t").move
        assert move is not None
        assert (move.id, move.started) == (stat.czxid, stat.ctime)

        await controller.alter({("t", 0): (4, 5)})
        data, again = await zk.get(znode_paths.reassignment("t", 0))
        assert json.loads(data) == {"version": 1, "target": [4, 5], "original_replicas": [2, 1]}
        move = controller.partition("t").move
        assert move is not None
        assert (move.id, again.czxid) == (stat.czxid, stat.czxid), "a new target is the same move"


@pytest.mark.usefixtures("brokers")
async def test_236_8_the_record_exists_exactly_while_the_partition_moves(zk: ZooKeeper, zk_connect: str) -> None:
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2), 2: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        assert await records(zk) == set()
        await controller.alter({("t", 0): (1, 3), ("t", 1): (1, 3), ("t", 2): (2, 1)})
        assert await records(zk) == {("t", 0), ("t", 1)}, "an order that changes is no move"
        await controller.alter({("t", 0): None})
        assert await records(zk) == {("t", 1)}
        await controller.caught_up(("t", 1))
        assert await records(zk) == set()

        await controller.finish_moves()
        written = await topic_json(zk, "t")
        assert written["partitions"] == {"0": [1, 2], "1": [1, 3], "2": [2, 1]}
        assert (written["adding_replicas"], written["removing_replicas"]) == ({}, {})
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_455_6_a_cancel_writes_the_original_order_and_ends_the_record_in_one_transaction(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "t", {0: (2, 1)})

    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3, 2)})
        controller.zk.transactions.clear()
        assert await controller.alter({("t", 0): None}) == {("t", 0): None}

        (transaction,) = controller.zk.transactions
        assert list(map(place, transaction)) == [
            (SetData, "/brokers/topics/t"),
            (SetData, "/brokers/topics/t/partitions/0/state"),
            (Delete, "/admin/reassignments/t/0"),
        ]
        await controller.finish_moves()
        assert (await topic_json(zk, "t"))["partitions"] == {"0": [2, 1]}


@pytest.mark.usefixtures("brokers")
async def test_455_1_one_transaction_carries_all_queued_changes_and_writes_each_topic_znode_once(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "a", dict.fromkeys(range(100), (1, 2)))
    await put_topic(zk, "b", dict.fromkeys(range(100), (1, 2)))

    async with elected_controller(zk_connect) as controller:
        await controller.alter({(topic, index): (3, 4) for topic in "ab" for index in range(100)})

        (transaction,) = controller.zk.transactions
        topics = [op.path for op in transaction if op.path.count("/") == 3 and op.path.startswith(znode_paths.TOPICS)]
        assert topics == ["/brokers/topics/a", "/brokers/topics/b"]
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_236_14_a_large_round_is_split_and_each_phase_waits_for_the_one_before(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_topic(zk, "a", dict.fromkeys(range(8), (1, 2)))
    await put_topic(zk, "b", dict.fromkeys(range(8), (1, 2)))

    async with elected_controller(zk_connect) as controller:
        monkeypatch.setattr(transactions, "MAX_OPERATIONS", 5)
        await controller.alter({(topic, index): (3, 4) for topic in "ab" for index in range(8)})

        sizes = [len(transaction) for transaction in controller.zk.transactions]
        assert sizes == [5, 5, 5, 3, 2, 5, 5, 5, 1]
        kinds = [
            "record"
            if op.path.startswith(znode_paths.REASSIGNMENTS)
            else "state"
            if op.path.endswith("state")
            else "topic"
            for transaction in controller.zk.transactions
            for op in transaction
        ]
        assert kinds == ["record"] * 18 + ["topic"] * 2 + ["state"] * 16
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_236_14_a_large_round_is_split_by_bytes_as_well(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_topic(zk, "a", dict.fromkeys(range(20), (1, 2)))

    async with elected_controller(zk_connect) as controller:
        monkeypatch.setattr(transactions, "MAX_MULTI_BYTES", 2000)
        await controller.alter({("a", index): (3, 4) for index in range(20)})

        assert len(controller.zk.transactions) > 3
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_236_14_moves_that_make_a_topic_znode_too_large_are_refused_and_all_others_start(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_topic(zk, "large", dict.fromkeys(range(40), (1, 2)))
    await put_topic(zk, "small", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 1500)
        before = await topic_json(zk, "large")
        answers = await controller.alter(
            {("large", index): (3, 4) for index in range(40)} | {("small", 0): (3, 4), ("nowhere", 0): (1,)}
        )

        for index in range(40):
            error = answers["large", index]
            assert isinstance(error, PolicyViolation)
            assert "'large'" in str(error)
        assert answers["small", 0] is None
        assert answers["nowhere", 0] is not None
        assert await topic_json(zk, "large") == before
        assert await records(zk) == {("small", 0)}

        assert await controller.alter({("large", 0): (3, 4)}) == {("large", 0): None}, "fewer at a time do fit"
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_236_14_entries_that_make_a_topic_znode_too_large_leave_the_batch_with_the_reason(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_topic(zk, "large", dict.fromkeys(range(200), (1, 2)))
    await put_topic(zk, "small", {0: (1, 2)})
    entries = {("large", index): (3, 4) for index in range(5)} | {("small", 0): (3, 4)}

    async with elected_controller(zk_connect) as controller:
        monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 1500)
        await zk.create(znode_paths.REASSIGN_PARTITIONS, batch(entries))
        await controller.read_admin_znodes()

        assert await records(zk) == {("small", 0)}
        assert {*(await batch_json(zk) or {})} == {("small", 0)}
        refused = [one for one in controller.events if one.event == "entry.refused"]
        assert {one.topic for one in refused} == {"large"}
        assert all("ZooKeeper takes in one znode" in (one.reason or "") for one in refused)
        await controller.check()


@pytest.mark.usefixtures("brokers")
async def test_236_14_a_topic_near_zookeepers_packet_limit_accepts_one_move_and_refuses_all_at_once(
    zk: ZooKeeper, zk_connect: str
) -> None:
    partitions = dict.fromkeys(range(25_000), (1, 2, 3))
    await put_topic(zk, "huge", {0: (1, 2, 3)})
    await zk.set(znode_paths.topic("huge"), json.dumps({"version": 3, "partitions": partitions}).encode())

    async with elected_controller(zk_connect) as controller:
        answers = await controller.alter({("huge", index): (4, 5, 6) for index in range(25_000)})

        assert {type(error) for error in answers.values()} == {PolicyViolation}
        assert await controller.alter({("huge", 0): (4, 5, 6)}) == {("huge", 0): None}


async def test_455_2_a_topic_of_version_1_is_understood_and_written_as_version_3(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "old", {0: (1, 2)})
    await zk.set(znode_paths.topic("old"), b'{"version":1,"partitions":{"0":[1,2]}}')

    async with elected_controller(zk_connect) as controller:
        await controller.alter({("old", 0): (1, 3)})

        written = await topic_json(zk, "old")
        assert written["version"] == 3
        assert written["topic_id"]
        assert written["adding_replicas"] == {"0": [3]}


async def test_455_2_the_controller_reads_the_field_names_of_the_proposal(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.set(
        znode_paths.topic("t"),
        b'{"version":2,"partitions":{"0":[3,1,2]},"addingReplicas":{"0":[3]},"removingReplicas":{"0":[2]}}',
    )

    async with elected_controller(zk_connect) as controller:
        value = controller.partition("t")
        assert (value.adding, value.removing, value.target) == ((3,), (2,), (3, 1))
        assert await records(zk) == {("t", 0)}, "a controller that takes over records the origin"
        await controller.finish_moves()
        assert (await topic_json(zk, "t"))["partitions"] == {"0": [3, 1]}


@pytest.mark.usefixtures("brokers")
async def test_236_13_sizes_cause_no_writes_and_survive_a_reload_of_the_cluster(zk: ZooKeeper, zk_connect: str) -> None:
    await put_topic(zk, "t", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        seen = {TopicPartition("t", 0): 10, TopicPartition("gone", 0): 7}
        await controller.loop.submit(cluster_commands.Reported(SizesReported(seen)))
        assert controller.cluster.soft.sizes == {("t", 0): 10}
        assert controller.zk.transactions == []

        await zk.set(znode_paths.topic("t"), (await zk.get(znode_paths.topic("t")))[0])
        assert await controller.alter({("t", 0): (3, 4)}) == {("t", 0): None}
        assert controller.cluster.soft.sizes == {("t", 0): 10}
