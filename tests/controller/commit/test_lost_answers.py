"""ZooKeeper's answer to a write is lost, or the write is refused since others have written. What the controller
has done is answered as done: after a refusal it reads the cluster again, and finds a part of its work there.

Every write is a transaction of its own, and each is lost or refused once.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from uuid import uuid4

import pytest

from kafka_reassign_rpc.api.ports import CreatedTopic, NewPartitions, NewTopic
from kafka_reassign_rpc.controller.commands.leadership_commands import ElectLeadersCommand
from kafka_reassign_rpc.controller.commands.topic_commands import (
    CreatePartitionsCommand,
    CreateTopicsCommand,
    DeleteTopicsCommand,
)
from kafka_reassign_rpc.core.kafka_errors import (
    ElectionNotNeeded,
    InvalidPartitions,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.quotas.mutation_quotas import UNLIMITED, MutationQuota
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import topic_znodes, transactions, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register, topic_json


@pytest.fixture(autouse=True)
def _every_write_is_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)


@pytest.fixture(params=["loses", "refuses"])
def fault(request: pytest.FixtureRequest) -> str:
    """The field of `DyingZooKeeper` that says when the fault comes."""
    name: str = request.param
    return name


def every_answer(controller: BareController, fault: str) -> Iterator[int]:
    """Numbers of transactions before the fault, until all have been answered."""
    for number in count():
        controller.events.clear()
        setattr(controller.zk, fault, number)
        yield number
        if getattr(controller.zk, fault) is not None:
            setattr(controller.zk, fault, None)
            assert number > 0, "there was a fault"
            return


def events(controller: BareController, topic: str) -> list[str]:
    return [event.event for event in controller.events if event.topic == topic]


def new_topics(names: Sequence[str], quota: MutationQuota = UNLIMITED) -> CreateTopicsCommand:
    wanted = [NewTopic(name, 2, 2, {}, {"retention.ms": "1000"}) for name in names]
    return CreateTopicsCommand(wanted, validate_only=False, new_id=uuid4, random=Random(1), quota=quota)


class Counted:
    """A quota that no client reaches. `partitions`: what was recorded."""

    def __init__(self) -> None:
        self.partitions: list[int] = []

    def record(self, partitions: int) -> None:
        self.partitions.append(partitions)

    def throttle_time_ms(self) -> int:
        return 0


async def test_sv_3_a_topic_is_answered_as_created_whichever_answer_of_zookeeper_was_lost(
    zk: ZooKeeper, zk_connect: str, fault: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "there", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        for number in every_answer(controller, fault):
            names = [f"a{number}", f"b{number}"]
            used = Counted()
            answers = await controller.loop.submit(new_topics([*names, "there"], used))

            assert used.partitions == [2, 2], "each once, and none for what was refused"
            for name in names:
                created = answers[name]
                assert isinstance(created, CreatedTopic), created
                assert created == CreatedTopic(controller.cluster.topics[name].id, 2, 2)  # type: ignore[arg-type]
                assert events(controller, name) == ["topic.created"]
            assert isinstance(answers["there"], TopicAlreadyExists)
            await controller.check()


async def test_sv_3_a_topic_of_others_is_not_taken_for_the_one_that_a_lost_answer_was_about(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "there", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        await put_topic(zk, "t", {0: (1, 2)})  # not read yet: the commit fails, and the cluster is read again

        answers = await controller.loop.submit(new_topics(["t"]))
        assert isinstance(answers["t"], TopicAlreadyExists)
        assert events(controller, "t") == []


async def test_sv_3_partitions_are_answered_as_added_whichever_answer_of_zookeeper_was_lost(
    zk: ZooKeeper, zk_connect: str, fault: str
) -> None:
    await register(zk, 1, 2, 3)
    for name in ("a", "b"):
        await put_topic(zk, name, {0: (1, 2)}, topic_id=uuid4())

    async with elected_controller(zk_connect) as controller:
        for number in every_answer(controller, fault):
            size = 1 + 2 * (number + 1)
            wanted = [
                NewPartitions("a", size, None),
                NewPartitions("b", size, ((2, 3), (3, 1))),
                NewPartitions("c", size, None),
            ]
            used = Counted()
            answers = await controller.loop.submit(CreatePartitionsCommand(wanted, validate_only=False, quota=used))

            assert used.partitions == [2, 2]
            assert (answers["a"], answers["b"]) == (None, None)
            assert isinstance(answers["c"], UnknownTopicOrPartition)
            for name in ("a", "b"):
                assert len((await topic_json(zk, name))["partitions"]) == size
                assert events(controller, name) == ["topic.partitions_added"]
            await controller.check()


async def test_sv_3_partitions_that_others_have_added_elsewhere_are_not_answered_as_added(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        await put_topic_again(zk, "t")
        wanted = [NewPartitions("t", 2, ((3, 2),))]
        answers = await controller.loop.submit(CreatePartitionsCommand(wanted, validate_only=False))
        assert isinstance(answers["t"], InvalidPartitions)


async def put_topic_again(zk: ZooKeeper, name: str) -> None:
    """Others give the topic a second partition, on brokers 1 and 3."""
    data, _ = await zk.get(znode_paths.topic(name))
    await zk.set(znode_paths.topic(name), data.replace(b'"0": [1, 2]', b'"0": [1, 2], "1": [1, 3]'))


async def test_sv_3_a_deletion_is_answered_as_begun_whichever_answer_of_zookeeper_was_lost(
    zk: ZooKeeper, zk_connect: str, fault: str
) -> None:
    await register(zk, 1, 2, 3)
    for number in range(8):
        for kind in ("a", "b"):
            await put_topic(zk, f"{kind}{number}", {0: (1, 2)}, topic_id=uuid4())

    async with elected_controller(zk_connect) as controller:
        for number in every_answer(controller, fault):
            names = [f"a{number}", f"b{number}"]
            used = Counted()
            answers = await controller.loop.submit(DeleteTopicsCommand([*names, "nowhere"], used))

            assert used.partitions == [1] * len(names)

            assert [answers[name] for name in names] == [None, None]
            assert isinstance(answers["nowhere"], UnknownTopicOrPartition)
            for name in names:
                assert events(controller, name) == ["topic.deleted"]
                assert controller.cluster.topics[name].deleting
            again = await controller.loop.submit(DeleteTopicsCommand(names))
            assert {type(answer) for answer in again.values()} == {UnknownTopicOrPartition}


async def test_sv_3_leaders_are_answered_as_elected_whichever_answer_of_zookeeper_was_lost(
    zk: ZooKeeper, zk_connect: str, fault: str
) -> None:
    await register(zk, 1, 2)
    for number in range(8):
        await put_topic(zk, f"t{number}", {0: (1, 2), 1: (1, 2), 2: (1, 2)}, topic_id=uuid4())
        for index in (0, 1):  # as after a restart of broker 1
            await zk.set(znode_paths.partition_state(f"t{number}", index), topic_znodes.encode_state(2, 4, (2, 1), 1))

    async with elected_controller(zk_connect) as controller:
        for number in every_answer(controller, fault):
            wanted = [TopicPartition(f"t{number}", index) for index in range(3)]
            answers = await controller.loop.submit(ElectLeadersCommand(wanted, unclean=False))

            assert [error for _, _, error in answers[:2]] == [None, None]
            assert isinstance(answers[2][2], ElectionNotNeeded)
            assert [controller.partition(*name).leader for name in wanted] == [1, 1, 1]
            await controller.check()
