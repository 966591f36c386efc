"""A leader learns of a leader epoch before its followers, and every replica learns of it in the end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import ChannelManager, Sender
from kafka_reassign_rpc.controller_channel.pending_requests import (
    BrokerRequest,
    LeaderAndIsr,
    StopReplica,
    StopReplicaState,
)
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import topic_writes
from kafka_reassign_rpc.protocol.messages import RESPONSES, LeaderAndIsrRequest
from tests.controller_channel.scripted_broker import NEWEST, ChannelReports, ScriptedBroker
from tests.core.build import broker, cluster, moving, not_moving
from tests.waiting import eventually

BROKERS = (1, 2, 3)
NAME = TopicPartition("t", 0)


class Request(NamedTuple):
    body: BrokerRequest
    epochs: dict[TopicPartition, int]
    """The leader epochs in a LeaderAndIsr, of the replicas that the broker hosts."""


class Brokers:
    """Brokers that take their requests when the test says so, and know the leader epochs that these had."""

    def __init__(self, *partitions: Partition) -> None:
        self.cluster = cluster(*partitions, live=BROKERS)
        self.channels = ChannelManager(lambda: self.cluster, Sender(1000, 9, ()), ChannelReports())
        self.channels.set_brokers(self.cluster.brokers)
        self.epochs: dict[tuple[int, TopicPartition], int] = {}
        """By replica: the leader epoch that its broker knows."""
        self.settle()

    def changed(self, after: Partition, index: int = 0) -> None:
        topic = self.cluster.topics["t"]
        before = topic.partitions[index]
        topic_writes.put_partition(self.cluster, topic, index, after)
        self.channels.partition_changed("t", index, before, after)

    def take(self, broker_id: int) -> Request | None:
        """The next request to a broker, which is on its way now; None where there is none."""
        body = self.channels._channels[broker_id].pending.take()
        if body is None:
            return None
        named: Iterable[TopicPartition] = ()
        if isinstance(body, LeaderAndIsr):
            told = [TopicPartition(topic, index) for topic, indexes in body.partitions.items() for index in indexes]
            named = self.all_names() if body.is_complete else told
        values = {name: self.cluster.get(*name) for name in named}
        return Request(
            body, {name: value.leader_epoch for name, value in values.items() if value and broker_id in value.replicas}
        )

    def answer(self, broker_id: int, request: Request) -> None:
        """The broker has done what it was sent."""
        for name in request.body.stops if isinstance(request.body, StopReplica) else ():
            self.epochs.pop((broker_id, name), None)
        for name, epoch in request.epochs.items():
            self.epochs[broker_id, name] = epoch
        if isinstance(request.body, LeaderAndIsr):
            partitions = None if request.body.is_complete else request.body.partitions
            for _ in self.channels.leader_and_isr_answered(broker_id, partitions):
                pass

    def all_names(self) -> list[TopicPartition]:
        return [TopicPartition("t", index) for index in self.cluster.topics["t"].partitions]

    def told(self, broker_id: int) -> dict[TopicPartition, bool]:
        """Takes and answers all requests to a broker; the partitions of its LeaderAndIsr, and whether they are new."""
        found: dict[TopicPartition, bool] = {}
        while (request := self.take(broker_id)) is not None:
            if isinstance(request.body, LeaderAndIsr):
                for topic, indexes in request.body.partitions.items():
                    found |= {TopicPartition(topic, index): is_new for index, is_new in indexes.items()}
            self.answer(broker_id, request)
        return found

    def settle(self) -> None:
        while any(channel.pending for channel in self.channels._channels.values()):
            for broker_id in BROKERS:
                self.told(broker_id)


@pytest_asyncio.fixture
async def brokers() -> AsyncIterator[Brokers]:
    made = Brokers(not_moving(1, 2, 3))
    yield made
    await made.channels.close()


async def test_455_4_followers_and_new_replicas_are_sent_theirs_once_the_leader_has_answered(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, epoch=6))
    brokers.settle()
    for epoch in (7, 8):
        brokers.changed(replace(moving((1, 2), (1, 3)), leader_epoch=epoch))

    assert [brokers.told(follower) for follower in (2, 3)] == [{}, {}]
    request = brokers.take(1)
    assert request is not None
    assert [brokers.told(follower) for follower in (2, 3)] == [{}, {}], "the leader has not answered yet"
    brokers.answer(1, request)
    assert [brokers.told(follower) for follower in (2, 3)] == [{NAME: False}, {NAME: True}]


async def test_455_4_a_broker_that_led_until_now_learns_it_at_once(brokers: Brokers) -> None:
    """It accepts records until then, which the new leader does not have."""
    brokers.changed(not_moving(1, 2, 3, leader=2, epoch=6))
    assert [brokers.told(one) for one in (3, 1)] == [{}, {NAME: False}]
    brokers.told(2)
    assert brokers.told(3) == {NAME: False}


@pytest.mark.parametrize("then", [NO_LEADER, 2])
async def test_sv_10_a_broker_that_has_led_learns_it_at_once_however_many_lead_before_that(
    brokers: Brokers, then: int
) -> None:
    brokers.changed(not_moving(1, 2, 3, leader=then, epoch=6))
    brokers.changed(not_moving(1, 2, 3, isr=(1, 3), leader=3, epoch=7))
    brokers.changed(not_moving(1, 2, 3, isr=(1, 3), leader=3, epoch=8))
    assert brokers.told(1) == {NAME: False}, "3 has not answered"
    assert brokers.epochs[1, NAME] == 8
    brokers.changed(not_moving(1, 2, 3, isr=(1, 3), leader=3, epoch=9))
    assert brokers.told(1) == {}, "it knows that it does not lead any more"


async def test_sv_10_a_broker_that_has_led_learns_it_at_once_also_if_its_request_is_lost(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, 3, leader=2, epoch=6))
    request = brokers.take(1)
    assert request is not None
    brokers.channels._channels[1].pending.restore(request.body)
    brokers.changed(not_moving(1, 2, 3, isr=(1, 3), leader=3, epoch=7))
    assert brokers.told(1) == {NAME: False}
    assert brokers.epochs[1, NAME] == 7


async def test_455_4_followers_do_not_wait_where_there_is_no_leader(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, 3, leader=2, epoch=6))
    brokers.changed(not_moving(1, 2, 3, leader=NO_LEADER, epoch=7))
    assert [brokers.told(one) for one in BROKERS] == [{NAME: False}] * 3


async def test_455_4_followers_wait_for_the_latest_epoch_of_their_leader(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, 3, epoch=6))
    request = brokers.take(1)
    assert request is not None
    brokers.changed(not_moving(1, 2, 3, epoch=7))
    brokers.answer(1, request)
    assert brokers.told(2) == {}
    brokers.told(1)
    assert brokers.told(2) == {NAME: False}


async def test_455_4_followers_that_might_go_wait_once_more_when_the_leader_epoch_rises_again(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, epoch=6))
    brokers.settle()
    brokers.changed(not_moving(1, 2, 3, epoch=7))
    brokers.told(1)
    brokers.changed(not_moving(1, 2, 3, epoch=8))
    assert [brokers.told(follower) for follower in (2, 3)] == [{}, {}]
    brokers.told(1)
    assert [brokers.told(follower) for follower in (2, 3)] == [{NAME: False}, {NAME: True}]


async def test_455_5_a_replica_that_stops_while_it_waits_is_not_started_again(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, 3, epoch=6))
    brokers.channels.stop(3, *NAME, StopReplicaState(6, delete=False))
    brokers.told(1)
    assert (brokers.told(2), brokers.told(3)) == ({NAME: False}, {})


async def test_sv_10_followers_of_a_deleted_topic_do_not_wait(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, 3, epoch=6))
    request = brokers.take(1)
    assert request is not None
    brokers.channels.topic_deleted(brokers.cluster.topics["t"])
    brokers.answer(1, request)
    assert brokers.told(2) == {}


async def test_sv_4_followers_go_on_when_their_leader_registers_anew_instead_of_answering(brokers: Brokers) -> None:
    brokers.changed(not_moving(1, 2, 3, epoch=6))
    brokers.take(1)
    brokers.cluster.brokers[1] = broker(1, epoch=999)
    brokers.channels.set_brokers(brokers.cluster.brokers)
    assert brokers.told(2) == {}
    brokers.told(1)
    assert brokers.told(2) == {NAME: False}


async def test_455_4_a_follower_gets_its_leader_and_isr_when_the_leader_has_answered_and_not_before() -> None:
    scripted = {broker_id: ScriptedBroker(NEWEST) for broker_id in (1, 2)}
    found = cluster(not_moving(1, 2), live=())
    for broker_id, one in scripted.items():
        await one.start()
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", one.port)
        found.brokers[broker_id] = Broker(broker_id, 100 + broker_id, (endpoint,))
    channels = ChannelManager(lambda: found, Sender(1000, 1, ()), ChannelReports())
    leader, follower = scripted[1], scripted[2]
    seen: list[list[type]] = []
    """What the follower had got whenever the leader got a LeaderAndIsr."""

    def no_answer_at_first(body: Any) -> Any:
        if isinstance(body, LeaderAndIsrRequest):
            seen.append(follower.kinds())
            if len(seen) == 1:
                return None
        return RESPONSES[body.API_KEY]

    try:
        channels.set_brokers(found.brokers)
        channels.flush()
        await eventually(lambda: all(one.kinds()[-1:] == [LeaderAndIsrRequest] for one in scripted.values()))
        follower.received.clear()
        leader.answer = no_answer_at_first
        before, after = not_moving(1, 2), not_moving(1, 2, epoch=6)
        topic_writes.put_partition(found, found.topics["t"], 0, after)
        channels.partition_changed("t", 0, before, after)
        channels.metadata("t", [0])
        channels.flush()

        await eventually(lambda: LeaderAndIsrRequest in follower.kinds())
        assert leader.connections == 2, "it has learned on its second connection"
        assert len(seen) == 2
        assert all(LeaderAndIsrRequest not in kinds for kinds in seen)
        told = follower.received[follower.kinds().index(LeaderAndIsrRequest)]
        assert told.topic_states[0].partition_states[0].leader_epoch == 6
    finally:
        await channels.close()
        for one in scripted.values():
            await one.stop()


CHANGES = st.tuples(
    st.just("change"), st.integers(0, 1), st.permutations(BROKERS), st.integers(2, 3), st.sampled_from(["stays", "new"])
)
TAKES = st.tuples(st.just("take"), st.sampled_from(BROKERS))
ANSWERS = st.tuples(st.just("answer"), st.sampled_from(BROKERS))
ACCIDENTS = st.one_of(
    st.tuples(st.sampled_from(["lose", "restart"]), st.sampled_from(BROKERS)),
    st.tuples(st.just("change"), st.integers(0, 1), st.permutations(BROKERS), st.integers(2, 3), st.just("none")),
)


class History:
    """What happens to two partitions. One request is on its way to each broker at a time."""

    def __init__(self) -> None:
        self.brokers = Brokers(not_moving(1, 2, 3), not_moving(1, 2, 3))
        self.under_way: dict[int, Request] = {}
        self.have_led = {name: {1} for name in self.brokers.all_names()}
        self.leaders = {(name, 5): 1 for name in self.have_led}
        """By leader epoch."""

    def change(self, index: int, order: Sequence[int], count: int, leader_is: str) -> None:
        """Other replicas; the leader stays one where it can, or none leads."""
        name, before = TopicPartition("t", index), self.brokers.cluster.topics["t"].partitions[index]
        replicas, epoch = tuple(order[:count]), before.leader_epoch + 1
        leader = before.leader if leader_is == "stays" and before.leader in replicas else replicas[0]
        leader = NO_LEADER if leader_is == "none" else leader
        self.have_led[name].add(leader)
        self.leaders[name, epoch] = leader
        self.brokers.changed(not_moving(*replicas, leader=leader, epoch=epoch), index)
        for gone in set(before.replicas).difference(replicas):
            self.brokers.channels.stop(gone, *name, StopReplicaState(epoch, delete=True))

    def take(self, own: int) -> None:
        if own not in self.under_way and (request := self.brokers.take(own)) is not None:
            self.under_way[own] = request

    def answer(self, own: int) -> None:
        if (request := self.under_way.pop(own, None)) is not None:
            self.brokers.answer(own, request)

    def lose(self, own: int) -> None:
        if (request := self.under_way.pop(own, None)) is not None:
            self.brokers.channels._channels[own].pending.restore(request.body)

    def restart(self, own: int) -> None:
        self.under_way.pop(own, None)
        found = self.brokers.cluster.brokers
        found[own] = broker(own, epoch=found[own].epoch + 1)
        self.brokers.channels.set_brokers(found)


async def replayed(steps: Iterable[tuple[str, ...]], check: Callable[[History], None]) -> None:
    """Let these steps happen, with a check after each of them, then all that is pending; then no broker lags behind."""
    history = History()
    try:
        for kind, *given_ in steps:
            getattr(history, kind)(*given_)
            check(history)
        for own in BROKERS:
            history.answer(own)
        history.brokers.settle()
        for name in history.brokers.all_names():
            value = history.brokers.cluster.topics["t"].partitions[name.partition]
            assert {history.brokers.epochs.get((one, name)) for one in value.replicas} == {value.leader_epoch}
    finally:
        await history.brokers.channels.close()


def check_leaders_know(history: History) -> None:
    """No request tells a follower of a leader epoch that the leader does not know, unless the broker has led itself."""
    for own, request in history.under_way.items():
        for name, epoch in request.epochs.items():
            value = history.brokers.cluster.topics["t"].partitions[name.partition]
            if epoch == value.leader_epoch and own not in history.have_led[name]:
                assert history.brokers.epochs[value.leader, name] == epoch


def check_nobody_believes_for_long_that_it_leads(history: History) -> None:
    """A broker that leads by what it knows, and no longer leads, learns of it without waiting for another."""
    for (own, name), epoch in history.brokers.epochs.items():
        value = history.brokers.cluster.topics["t"].partitions[name.partition]
        if history.leaders[name, epoch] == own != value.leader:
            pending = history.brokers.channels._channels[own].pending
            under_way = history.under_way.get(own)
            assert (
                pending.lists_all_replicas
                or pending.has_leader_and_isr(name)
                or pending.has_stop(name)
                or (under_way is not None and (name in under_way.epochs or isinstance(under_way.body, StopReplica)))
            )


@given(st.lists(st.one_of(CHANGES, TAKES, ANSWERS, ACCIDENTS), max_size=40))
def test_sv_10_a_broker_that_believes_that_it_leads_does_not_wait(steps: list[Any]) -> None:
    asyncio.run(replayed(steps, check_nobody_believes_for_long_that_it_leads))


@given(st.lists(st.one_of(CHANGES, TAKES, ANSWERS), max_size=40))
def test_455_4_no_follower_learns_before_its_leader(steps: list[Any]) -> None:
    asyncio.run(replayed(steps, check_leaders_know))


@given(st.lists(st.one_of(CHANGES, TAKES, ANSWERS, ACCIDENTS), max_size=40))
def test_sv_4_all_replicas_learn_the_latest_epoch_whatever_is_lost_and_whichever_broker_starts_anew(
    steps: list[Any],
) -> None:
    asyncio.run(replayed(steps, lambda _: None))
