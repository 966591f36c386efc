"""Moves of the queue that are held: durable, in ZooKeeper, over failovers and over deaths between any two writes."""

import json

import pytest

from kafka_reassign_rpc.controller.commands.queue_commands import HoldMoves
from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.queue.holding import HoldOutcome, Selection
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, client
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    batch,
    batch_json,
    elected_controller,
    put_request,
    put_topic,
    queue_json,
    register,
    topic_json,
    waiting_moves,
)
from tests.controller.crash_points import FIRST, NAMES, ORIGIN, put_cluster

ALICE = client("User:alice", "ops", "10.0.0.7")
HELD = Held(1_790_000_000_000, ALICE.who, "disks are replaced")
ALL = Selection()


async def hold(controller: BareController, selection: Selection = ALL) -> HoldOutcome:
    return await controller.loop.submit(HoldMoves(selection, HELD, ALICE))


async def release(controller: BareController, selection: Selection = ALL) -> HoldOutcome:
    return await controller.loop.submit(HoldMoves(selection, None, ALICE))


async def test_dh_5_a_hold_outlives_the_controller_and_ends_with_the_release(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    await zk.create(znode_paths.REASSIGN_CANCEL, b"")
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3), ("t", 1): (1, 3)}, queue=True, by=ALICE)
        assert await hold(controller, Selection(topics=frozenset({"t"}))) == HoldOutcome(2, 0, 0)
        assert await hold(controller) == HoldOutcome(0, 2, 0)
        held = [event for event in controller.events if event.event == "move.held"]
        assert [(one.partition, one.who, one.reason) for one in held] == [(n, ALICE.who, HELD.reason) for n in (0, 1)]
        await controller.check()
    stored = (await queue_json(zk) or {})["t", 0]
    assert stored["held"] == {"since": HELD.since, "who": ALICE.who, "reason": HELD.reason}
    assert stored["expected_replicas"] == [1, 2]
    await zk.delete(znode_paths.REASSIGN_CANCEL)
    async with elected_controller(zk_connect) as successor:
        await successor.read_admin_znodes()
        await successor.start_queued_moves()
        assert {move.held for move in waiting_moves(successor.cluster.queue).values()} == {HELD}
        assert not successor.cluster.moving
        assert await release(successor) == HoldOutcome(2, 0, 0)
        assert await release(successor) == HoldOutcome(0, 2, 0)
        await successor.start_queued_moves()
        assert await hold(successor) == HoldOutcome(0, 0, 2), "what is in flight goes on"
        await successor.finish_moves()
        await successor.check()
        assert {successor.partition("t", index).replicas for index in (0, 1)} == {(1, 3)}
    assert await queue_json(zk) is None


async def test_dh_7_after_a_release_the_partition_must_have_the_replicas_of_the_hold(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """A stock controller has controlled the cluster in between, and has moved the partition."""
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.create(znode_paths.REASSIGN_CANCEL, b"")
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3)}, queue=True)
        await hold(controller)
    await zk.delete(znode_paths.REASSIGN_CANCEL)
    await zk.delete(f"{znode_paths.topic('t')}/partitions/0/state")
    await zk.delete(f"{znode_paths.topic('t')}/partitions/0")
    await zk.delete(f"{znode_paths.topic('t')}/partitions")
    await zk.delete(znode_paths.topic("t"))
    await put_topic(zk, "t", {0: (2, 4)})
    async with elected_controller(zk_connect) as successor:
        await successor.read_admin_znodes()
        await release(successor)
        await successor.start_queued_moves()
        assert successor.partition("t").replicas == (2, 4)
        refused = [event.reason for event in successor.events if event.event == "entry.refused"]
        assert refused == ["The move was held at the replicas [1, 2], and is not made from [2, 4]: ask for it again."]
    assert await queue_json(zk) is None


async def test_dh_5_a_controller_that_dies_between_any_two_writes_of_a_hold_leaves_each_move_whole(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next controller starts what is not held, and a hold that is sent again holds the rest."""
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(znode_writes, "PART_BYTES", 1)
    counts = []
    for lives in range(len(NAMES) + 1):
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as world:
            await put_cluster(world)
            await world.ensure_path(znode_paths.REASSIGN_CANCEL)
            async with elected_controller(connect) as controller:
                await controller.read_admin_znodes()
                await controller.alter(FIRST, queue=True)
                controller.zk.lives = lives
                try:
                    await hold(controller)
                except NotController:
                    assert lives < len(NAMES)
            async with elected_controller(connect) as successor:
                await successor.check()
                moves = waiting_moves(successor.cluster.queue)
                assert moves.keys() == set(NAMES)
                counts.append(successor.cluster.queue.held)
                assert (await hold(successor)) == HoldOutcome(len(NAMES) - counts[-1], counts[-1], 0)
                await world.delete(znode_paths.REASSIGN_CANCEL)
                await successor.read_admin_znodes()
                await successor.start_queued_moves()
                assert [successor.partition(*name).replicas for name in NAMES] == [ORIGIN[name] for name in NAMES]
                await release(successor)
                await successor.start_queued_moves()
                await successor.finish_moves()
                await successor.check()
                assert [successor.partition(*name).replicas for name in NAMES] == [FIRST[name] for name in NAMES]
    assert counts == list(range(len(NAMES) + 1))


AFTER_ABSENCE = Held(1_790_000_000_000, CONTROLLER.who, "others have controlled this cluster")


async def test_dh_7_a_controller_that_dies_between_any_two_writes_of_its_failover_starts_nothing_that_waited(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one finds the same mark of the last control, and holds the rest."""
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(znode_writes, "PART_BYTES", 1)
    counts = []
    for lives in range(len(NAMES) + 1):
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as world:
            await put_cluster(world)
            await world.ensure_path(znode_paths.REASSIGN_CANCEL)
            async with elected_controller(connect) as controller:
                await controller.read_admin_znodes()
                await controller.alter(FIRST, queue=True)
            await world.delete(znode_paths.REASSIGN_CANCEL)
            try:
                async with elected_controller(connect, lives=lives, held=AFTER_ABSENCE):
                    pass
            except NotController:
                assert lives < len(NAMES)
            async with elected_controller(connect, held=AFTER_ABSENCE) as successor:
                await successor.check()
                moves = waiting_moves(successor.cluster.queue)
                assert {name: move.held for name, move in moves.items()} == dict.fromkeys(NAMES, AFTER_ABSENCE)
                held = [event for event in successor.events if event.event == "move.held"]
                assert {(one.who, one.reason) for one in held} <= {(CONTROLLER.who, AFTER_ABSENCE.reason)}
                counts.append(len(held))
                await successor.start_queued_moves()
                assert [successor.partition(*name).replicas for name in NAMES] == [ORIGIN[name] for name in NAMES]
                await release(successor)
                await successor.start_queued_moves()
                await successor.finish_moves()
                assert [successor.partition(*name).replicas for name in NAMES] == [FIRST[name] for name in NAMES]
    assert counts == list(range(len(NAMES), -1, -1))


async def test_dh_7_a_controller_that_dies_between_any_two_writes_starts_no_entry_and_no_request_of_before(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They join the queue as held, although reassignments are disabled."""
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(znode_writes, "PART_BYTES", 1)
    entry, *requests = NAMES
    lives, died = 0, True
    while died:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as world:
            await put_cluster(world)
            await world.ensure_path(znode_paths.REASSIGN_CANCEL)
            await world.create(znode_paths.REASSIGN_PARTITIONS, batch({entry: FIRST[entry]}))
            for index, name in enumerate(requests):
                await put_request(world, {name: FIRST[name]}, legacy=bool(index))
            died = False
            try:
                async with elected_controller(connect, lives=lives, held=AFTER_ABSENCE) as controller:
                    await controller.requests.hold_all(AFTER_ABSENCE)
            except NotController:
                died = True
            await world.delete(znode_paths.REASSIGN_CANCEL)
            async with elected_controller(connect, held=AFTER_ABSENCE) as successor:
                await successor.requests.hold_all(AFTER_ABSENCE)
                await successor.read_admin_znodes()
                await successor.start_requests()
                await successor.check()
                assert await batch_json(world) is None
                assert await world.children(znode_paths.REASSIGNMENT_REQUESTS) == []
                moves = waiting_moves(successor.cluster.queue)
                assert {name: move.held for name, move in moves.items()} == dict.fromkeys(NAMES, AFTER_ABSENCE)
                assert [move.terms.expected for move in moves.values()] == [ORIGIN[name] for name in moves]
                assert [successor.partition(*name).replicas for name in NAMES] == [ORIGIN[name] for name in NAMES]
                await release(successor)
                await successor.start_queued_moves()
                await successor.finish_moves()
                assert [successor.partition(*name).replicas for name in NAMES] == [FIRST[name] for name in NAMES]
        lives += 1
    assert lives > 4


async def test_dh_7_a_request_of_before_joins_as_held_and_only_what_cannot_wait_is_refused(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_admission, "MAX_MOVE_CHARACTERS", 30)
    longer = "a-longer-name"
    await register(zk, 1, 2, 3)
    for topic in ("t", longer):
        await put_topic(zk, topic, {0: (1, 2)})
    await put_request(zk, {("t", 0): (1, 3), (longer, 0): (1, 3)})
    async with elected_controller(zk_connect, held=AFTER_ABSENCE) as controller:
        await controller.requests.hold_all(AFTER_ABSENCE)
        assert {name: move.held for name, move in waiting_moves(controller.cluster.queue).items()} == {
            ("t", 0): AFTER_ABSENCE
        }
        refused = [(event.topic, event.reason) for event in controller.events if event.event == "entry.refused"]
        assert refused == [(longer, "The target is too long to wait in the queue.")]
        await controller.check()


async def test_dh_7_the_cancel_znode_withdraws_held_entries(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (1, 3)}))
    await put_request(zk, {("t", 1): (1, 3)})
    async with elected_controller(zk_connect, held=AFTER_ABSENCE) as controller:
        await controller.requests.hold_all(AFTER_ABSENCE)
        assert controller.cluster.queue.held == 2
        await zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await controller.read_admin_znodes()
        assert waiting_moves(controller.cluster.queue).keys() == {("t", 1)}
        await controller.check()


async def test_dh_7_an_entry_that_comes_later_starts_in_place_of_the_one_that_is_held(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """A held one starts only from the original replicas that its entry names."""
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    before = json.loads(batch({("t", 0): (1, 3), ("t", 1): (1, 3)}))
    before["partitions"][1]["original_replicas"] = [1, 4]
    await zk.create(znode_paths.REASSIGN_PARTITIONS, json.dumps(before).encode())
    async with elected_controller(zk_connect, held=AFTER_ABSENCE) as controller:
        assert {name: move.terms.expected for name, move in waiting_moves(controller.cluster.queue).items()} == {
            ("t", 0): (1, 2),
            ("t", 1): (1, 4),
        }
        await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (2, 4)}))
        await controller.read_admin_znodes()
        assert controller.partition("t", 0).target == (2, 4)
        assert waiting_moves(controller.cluster.queue).keys() == {("t", 1)}
        await controller.check()
        await release(controller)
        await controller.start_queued_moves()
        assert controller.partition("t", 1).target == (1, 2)
        refused = [event.reason for event in controller.events if event.event == "entry.refused"]
        assert refused == ["The move was held at the replicas [1, 4], and is not made from [1, 2]: ask for it again."]


async def test_dh_7_what_is_held_after_an_absence_starts_only_from_the_replicas_that_it_was_queued_at(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Others have moved one partition, and nothing was held before."""
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    await zk.create(znode_paths.REASSIGN_CANCEL, b"")
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3), ("t", 1): (1, 3)}, queue=True)
    assert (await queue_json(zk) or {})["t", 0]["original_replicas"] == [1, 2]
    await zk.delete(znode_paths.REASSIGN_CANCEL)
    topic = await topic_json(zk, "t")
    topic["partitions"]["0"] = [2, 4]
    await zk.set(znode_paths.topic("t"), json.dumps(topic).encode())
    async with elected_controller(zk_connect, held=AFTER_ABSENCE) as successor:
        await release(successor)
        await successor.start_queued_moves()
        assert successor.partition("t", 0).target == (2, 4)
        assert successor.partition("t", 1).target == (1, 3)
        refused = [event.reason for event in successor.events if event.event == "entry.refused"]
        assert refused == ["The move was held at the replicas [1, 2], and is not made from [2, 4]: ask for it again."]
