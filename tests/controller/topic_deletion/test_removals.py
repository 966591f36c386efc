"""The removal of a topic whose replicas are deleted: it runs once, and never meets another topic of the same name."""

import asyncio
from collections.abc import Sequence
from random import Random
from uuid import UUID, uuid4

import pytest

from kafka_reassign_rpc.api.ports import CreatedTopic, NewTopic
from kafka_reassign_rpc.controller.commands.topic_commands import (
    CreateTopicsCommand,
    DeleteTopicsCommand,
    TopicsRead,
    TopicsVanished,
)
from kafka_reassign_rpc.controller.duties import topic_deletion
from kafka_reassign_rpc.controller.duties.propagation import Propagation
from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions
from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.controller.loading.load_topics import read_topics
from kafka_reassign_rpc.controller_channel import ChannelManager, Sender
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, StopReplicaState
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError, TopicAlreadyExists
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster as Known
from kafka_reassign_rpc.core.state.cluster import SoftState
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_facts import TopicsFound
from kafka_reassign_rpc.core.writers.topic_writes import put_topic as put_known_topic
from kafka_reassign_rpc.core.writers.topic_writes import remove_topic
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Delete, Op, Result
from kafka_reassign_rpc.zookeeper.topic_znodes import encode_state
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register, topic_json
from tests.controller.cluster import cluster
from tests.controller_channel.scripted_broker import ChannelReports
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree


def in_deletion(known: Known, created: int, *replicas: int, name: str = "t") -> Topic:
    return put_known_topic(
        known, name, None, {0: Partition(replicas=replicas)}, version=0, deleting=True, created=created
    )


def stop_of(created: int, name: str = "t") -> dict[TopicPartition, StopReplicaState]:
    return {TopicPartition(name, 0): StopReplicaState(DELETED_EPOCH, delete=True, created=created)}


@pytest.fixture
def due() -> list[int]:
    return []


@pytest.fixture
def deletions(due: list[int]) -> tuple[Known, TopicDeletions]:
    known = Known(soft=SoftState(broker_settings=KAFKA_DEFAULTS))
    return known, TopicDeletions(known, lambda topic: due.append(topic.created))


def test_sv_10_the_logs_that_may_be_left_on_other_brokers_are_bounded_over_all_topics_in_deletion(
    deletions: tuple[Known, TopicDeletions], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broker 1 has been registered since before the topics were created, 2 to 4 have not."""
    monkeypatch.setattr(topic_deletion, "MOST_STRAYS", 6)
    known, counted = deletions
    known.brokers = {broker: Broker(broker, epoch, ()) for broker, epoch in ((1, 4), (2, 11), (3, 12), (4, 13))}
    first, second, third = (in_deletion(known, 5, 1, 2, name=name) for name in ("first", "second", "third"))
    for _ in range(2):  # marked once more where brokers have changed
        assert list(counted.strays(first, {})) == [(0, 3), (0, 4)]
    assert list(counted.strays(second, {})) == [(0, 3), (0, 4)]
    assert list(counted.strays(third, {})) == []
    counted.confirm(3, stop_of(5, "first"))
    assert list(counted.strays(first, {})) == [(0, 4)]
    counted.forget(first)
    assert list(counted.strays(third, {})) == [(0, 3), (0, 4)], "the first one is gone"
    second.deleting = False
    counted.read_again()
    fourth = in_deletion(known, 5, 1, 2, name="fourth")
    assert list(counted.strays(fourth, {})) == [(0, 3), (0, 4)]
    assert list(counted.strays(second, {})) == []


def test_sv_10_brokers_that_were_not_asked_yet_take_no_room_from_those_that_have_returned(
    deletions: tuple[Known, TopicDeletions], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new controller has asked nobody, so each broker may have each partition of a large topic."""
    monkeypatch.setattr(topic_deletion, "MOST_STRAYS", 3)
    known, counted = deletions
    known.brokers = {broker: Broker(broker, epoch, ()) for broker, epoch in ((1, 4), (2, 4), (3, 4), (4, 13))}
    topic = in_deletion(known, 5, 1, 2)
    assert list(counted.strays(topic, {3: [0]})) == [(0, 3), (0, 4)]
    assert list(counted.strays(topic, {broker: [0] for broker in (1, 2, 3, 4)})) == [(0, 4)]


def test_sv_10_each_of_the_topics_that_one_transaction_created_waits_for_its_own_replicas() -> None:
    """They have one czxid: what brokers confirm for one says nothing about the others, nor does its removal."""
    known, removed = Known(soft=SoftState(broker_settings=KAFKA_DEFAULTS)), list[str]()
    counted = TopicDeletions(known, lambda topic: removed.append(topic.name))
    first, second = (in_deletion(known, 5, 1, 2, name=name) for name in ("first", "second"))
    counted.confirm(1, stop_of(5, "first"))
    assert list(counted.remaining(second)) == [(0, 1), (0, 2)]
    counted.confirm(2, stop_of(5, "first"))
    assert removed == ["first"]
    assert counted.is_waiting(second), "it is not in removal because the other one is"

    counted.confirm(1, stop_of(5, "second"))
    remove_topic(known, "first")
    counted.forget(first)
    assert list(counted.remaining(second)) == [(0, 2)], "nor are its confirmations forgotten with the other one"
    counted.confirm(2, stop_of(5, "second"))
    assert removed == ["first", "second"]


def test_sv_10_a_removal_begins_once_however_often_brokers_confirm_and_come_back(
    deletions: tuple[Known, TopicDeletions], due: list[int]
) -> None:
    known, counted = deletions
    topic = in_deletion(known, 5, 1, 2)
    counted.confirm(1, stop_of(5))
    assert list(counted.remaining(topic)) == [(0, 2)], "only the others are asked again"
    counted.confirm(2, stop_of(5))
    assert due == [5]

    counted.confirm(1, stop_of(5))
    counted.confirm(2, stop_of(5))
    counted.check(topic)
    assert list(counted.remaining(topic)) == []
    assert due == [5]


def test_sv_10_a_confirmation_counts_for_the_topic_that_was_stopped_and_not_for_a_later_one(
    deletions: tuple[Known, TopicDeletions], due: list[int]
) -> None:
    known, counted = deletions
    counted.confirm(1, stop_of(5))
    put_known_topic(known, "t", None, {0: Partition(replicas=(1,))}, version=0, created=9)
    counted.confirm(1, stop_of(5))
    counted.confirm(1, stop_of(9))  # it is not in deletion
    topic = in_deletion(known, 9, 1)
    counted.confirm(1, stop_of(5))
    assert (list(counted.remaining(topic)), due) == ([(0, 1)], [])
    counted.confirm(1, stop_of(9))
    assert due == [9]


def test_sv_10_nothing_is_kept_of_topics_that_are_gone(deletions: tuple[Known, TopicDeletions], due: list[int]) -> None:
    known, counted = deletions
    for created in range(100):
        topic = in_deletion(known, created, 1, 2)
        assert list(counted.strays(topic, {})) == []
        counted.confirm(1, stop_of(created))
        if created % 2:
            counted.confirm(2, stop_of(created))
        remove_topic(known, "t")
        counted.forget(topic)
        counted.confirm(1, stop_of(created))
    assert len(due) == 50
    assert [len(kept) for kept in vars(counted).values() if isinstance(kept, dict | set)] == [0, 0, 0]


def test_sv_10_a_deletion_that_begins_anew_waits_for_new_confirmations(
    deletions: tuple[Known, TopicDeletions], due: list[int]
) -> None:
    """Its mark was removed by hand, and brokers have got their replicas back."""
    known, counted = deletions
    in_deletion(known, 5, 1, 2)
    counted.confirm(1, stop_of(5))
    put_known_topic(known, "t", None, {0: Partition(replicas=(1, 2))}, version=0, created=5)
    counted.read_again()
    assert list(counted.remaining(in_deletion(known, 5, 1, 2))) == [(0, 1), (0, 2)]
    assert due == []


def test_sv_10_the_replicas_of_a_large_topic_are_stopped_in_slices(due: list[int]) -> None:
    known = Known(soft=SoftState(broker_settings=KAFKA_DEFAULTS))
    counted = TopicDeletions(known, lambda topic: due.append(topic.created))
    channels = ChannelManager(lambda: known, Sender(1000, 1, ()), ChannelReports())
    propagation = Propagation(known, channels, counted)
    partitions = dict.fromkeys(range(1_000), Partition(replicas=(1, 2)))
    put_known_topic(known, "t", None, partitions, version=0, deleting=True, created=5)
    assert len(list(propagation.topics_deleted(["t"]))) >= 2_000
    assert due == []


async def create(controller: BareController, name: str) -> CreatedTopic | KafkaError:
    command = CreateTopicsCommand(
        [NewTopic(name, assignments={0: (1, 2)})], validate_only=False, new_id=uuid4, random=Random(1)
    )
    return (await controller.loop.submit(command))[name]


async def test_sv_10_with_its_mark_a_topic_that_moves_gets_an_assignment_without_a_move(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """A stock controller that takes over would continue the move, and start replicas that are deleted already."""
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (1, 2), 1: (2, 1), 2: (1, 2)})
    await put_topic(zk, "u", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (3, 4), ("t", 1): (2, 3)})

        async def delete() -> object:
            return await controller.loop.submit(DeleteTopicsCommand(["t", "u"]))

        in_one_round = asyncio.gather(controller.alter({("t", 2): (2, 4)}), delete())
        assert tuple(await in_one_round) == ({("t", 2): None}, {"t": None, "u": None})

        written = await topic_json(zk, "t")
        assert {index: sorted(replicas) for index, replicas in written["partitions"].items()} == {
            "0": [1, 2, 3, 4],
            "1": [1, 2, 3],
            "2": [1, 2, 4],
        }, "each of them has a log to delete"
        assert (written["adding_replicas"], written["removing_replicas"]) == ({}, {})
        _, topic = await zk.get(znode_paths.topic("t"))
        mark = await zk.exists(znode_paths.delete_topic("t"))
        assert mark is not None
        assert topic.mzxid == mark.czxid, "one transaction"
        assert not (await read_cluster(zk)).cluster.moving
        assert controller.cluster.moving == {"t": {0, 1, 2}}, (
            "it is listed until it is deleted, as by a stock controller"
        )


async def test_sv_10_a_notice_that_a_topic_has_vanished_does_not_touch_a_later_topic_of_its_name(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        old = controller.cluster.topics["t"]
        await delete_tree(zk, znode_paths.topic("t"))
        vanished = controller.loop.submit(TopicsVanished({"t": old.created}))
        refused = await create(controller, "t")
        assert isinstance(refused, TopicAlreadyExists), "brokers have to forget the old one first"
        await vanished
        assert [topic.created for applied in controller.applied for topic in applied.deleted] == [old.created]

        made = await create(controller, "t")
        assert isinstance(made, CreatedTopic)
        controller.applied.clear()
        await controller.loop.submit(TopicsVanished({"t": old.created}))
        assert controller.cluster.topics["t"].id == made.id
        assert [applied.deleted for applied in controller.applied] == [[]]
        stat = await zk.exists(znode_paths.topic("t"))
        assert stat is not None
        assert controller.cluster.topics["t"].created == stat.czxid
        await controller.check()


async def test_sv_10_a_late_reading_of_a_topic_does_not_replace_a_newer_one(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (2, 1)}, topic_id=UUID(int=5))
    async with elected_controller(zk_connect) as controller:
        late = await read_topics(zk, ["t"])
        await delete_tree(zk, znode_paths.topic("t"))
        await controller.loop.submit(TopicsVanished({"t": controller.cluster.topics["t"].created}))
        made = await create(controller, "t")
        await controller.loop.submit(TopicsRead(TopicsFound(late.found, {}, {}), 1000, appeared=lambda _: None))
        assert isinstance(made, CreatedTopic)
        assert controller.cluster.topics["t"].id == made.id
        await controller.check()


async def test_sv_10_a_topic_that_a_reload_finds_gone_is_propagated_as_such_though_another_has_its_name(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Otherwise brokers would delete the replicas of the new topic."""
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=UUID(int=5))
    await put_topic(zk, "u", {0: (1, 2)}, topic_id=UUID(int=6))
    async with elected_controller(zk_connect) as controller:
        old = controller.cluster.topics["t"].created
        await delete_tree(zk, znode_paths.topic("t"))
        await put_topic(zk, "t", {0: (2, 1)}, topic_id=UUID(int=7))
        await zk.set(znode_paths.topic("u"), (await zk.get(znode_paths.topic("u")))[0])
        controller.applied.clear()
        await controller.alter({("u", 0): (2, 1)})
        assert [topic.created for topic in controller.vanished] == [old]
        assert not any(applied.deleted for applied in controller.applied)


class HeldRemovals:
    """Holds transactions that delete the znode of topic `x`, until each is let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held: list[asyncio.Event] = []
        self.holds = True
        submit = ZooKeeper.submit_multi

        def submit_multi(
            zk: ZooKeeper, ops: Sequence[Op], session: int | None = None
        ) -> "asyncio.Future[list[Result]]":
            if not self.holds or not any(isinstance(op, Delete) and op.path == znode_paths.topic("x") for op in ops):
                return submit(zk, ops, session)
            turn = asyncio.Event()
            self.held.append(turn)

            async def in_turn() -> list[Result]:
                await turn.wait()
                return await submit(zk, ops, session)

            return asyncio.ensure_future(in_turn())

        monkeypatch.setattr(ZooKeeper, "submit_multi", submit_multi)


async def test_sv_10_a_broker_that_joins_during_a_removal_does_not_start_a_second_one_that_destroys_the_next_topic(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = HeldRemovals(monkeypatch)
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await world.create_topic("x", {0: [1, 2]})
        await world.create_topic("other", {0: [1, 2]})
        await eventually(lambda: world.has_all(("x", 0), 1, 2))
        await world.delete_topic("x")
        await eventually(lambda: removals.held)

        await world.start_broker(3)
        await world.fleets[3].ready()
        assert set((await world.alter({("other", 0): (1, 2, 3)})).values()) == {(0, None)}
        await eventually(lambda: world.has_all(("other", 0), 1, 2, 3))
        removals.held[0].set()
        await eventually(lambda: world.has_no(("x", 0), 1, 2))

        async def made_again() -> bool:
            await world.create_topic("x", {0: [1, 2]})
            return True

        await eventually(made_again)
        removals.holds = False
        made = (await topic_json(world.zk, "x"))["topic_id"]
        for turn in removals.held:
            turn.set()
        await eventually(lambda: world.has_all(("x", 0), 1, 2))
        assert set((await world.alter({("other", 0): (3,)})).values()) == {(0, None)}
        await eventually(lambda: world.has(("other", 0, (3,))))
        assert (await topic_json(world.zk, "x"))["topic_id"] == made
        assert await world.has_all(("x", 0), 1, 2)
        assert len(removals.held) == 1


async def test_sv_10_a_topic_that_others_change_during_its_removal_is_removed_anyway(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = HeldRemovals(monkeypatch)
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await world.create_topic("x", {0: [1, 2]})
        await world.delete_topic("x")
        await eventually(lambda: removals.held)
        data, stat = await world.zk.get(znode_paths.topic("x"))
        await world.zk.set(znode_paths.topic("x"), data.replace(b'"0":', b'"1":[2,1],"0":'), stat.version)
        removals.holds = False
        removals.held[0].set()

        async def gone() -> bool:
            return not await world.zk.children(znode_paths.DELETE_TOPICS)

        await eventually(gone)
        assert await world.zk.exists(znode_paths.topic("x")) is None
        await world.create_topic("x", {0: [1, 2]})


async def test_sv_10_a_deletion_waits_for_a_dead_broker_over_broker_starts_and_a_failover(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3)) as world:
        await world.create_topic("x", {0: [1, 3], 1: [2, 1]})
        await eventually(lambda: world.has_all(("x", 1), 1, 2))
        await world.kill_broker(2)
        await world.delete_topic("x")
        await eventually(lambda: world.has_no(("x", 0), 1))

        await world.start_broker(4)
        await world.fleets[4].ready()
        await world.stop_server()
        await world.start_server()
        await world.create_topic("later", {0: [1, 4]})
        await eventually(lambda: world.has_all(("later", 0), 1, 4))
        assert set(await world.zk.children(znode_paths.DELETE_TOPICS)) == {"x"}
        assert (await topic_json(world.zk, "x"))["partitions"] == {"0": [1, 3], "1": [2, 1]}

        await world.start_broker(2)

        async def gone() -> bool:
            return set(await world.zk.children(znode_paths.TOPICS)) == {"later"}

        await eventually(gone)
        assert await world.zk.children(znode_paths.DELETE_TOPICS) == []


async def test_sv_10_a_deletion_does_not_wait_for_a_replica_on_this_server(zk_connect: str) -> None:
    """Others have placed it there. A topic whose deletion has begun gets no other replica in its place."""
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        refused = CreateTopicsRequest.CreatableTopic(
            name="y",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 1000])
            ],
            configs=[],
        )
        answer = await world.ask(CreateTopicsRequest(topics=[refused], timeout_ms=10_000, validate_only=False), 5)
        assert [one.error_code for one in answer.topics] == [InvalidReplicaAssignment.code]

        await world.stop_server()
        await put_topic(world.zk, "x", {0: (1, 1000), 1: (1000,)})
        await world.zk.set(znode_paths.partition_state("x", 0), encode_state(1, 3, (1,), 1))
        await world.zk.delete(znode_paths.partition_state("x", 1))
        await world.zk.create(znode_paths.delete_topic("x"))
        await world.start_server()

        async def gone() -> bool:
            return not await world.zk.children(znode_paths.DELETE_TOPICS)

        await eventually(gone)
        assert await world.zk.exists(znode_paths.topic("x")) is None
