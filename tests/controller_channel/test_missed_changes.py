"""What brokers that return stop and forget."""

from typing import NamedTuple

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import channel_manager
from kafka_reassign_rpc.controller_channel.channel_manager import Dropped, MissedChanges
from kafka_reassign_rpc.controller_channel.pending_requests import (
    DELETED_EPOCH,
    PendingRequests,
    StopReplica,
    StopReplicaState,
    UpdateMetadata,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.tables import for_each

T0 = TopicPartition("t", 0)
CREATED = 7


class Away:
    """Broker 3 is away from a cluster with topic t, whose partition 0 it has lost."""

    def __init__(self, value: Partition | None = None, created: int = CREATED) -> None:
        self.cluster = Cluster()
        self.put(value or Partition((1, 2), leader=1, isr=(1, 2), leader_epoch=5), created)
        self.missed = MissedChanges(lambda: self.cluster)

    def put(self, value: Partition, created: int = CREATED) -> None:
        self.cluster.topics["t"] = Topic("t", None, {0: value}, created=created)

    def delete(self) -> None:
        """The topic is marked for deletion."""
        self.missed.topic_deleted("t", CREATED, self.cluster.topics["t"].partitions)

    def returns(self, broker: int = 3) -> "Told":
        pending = learnt()
        for _ in self.missed.returned({broker: pending}):
            pass
        return told(pending)


class Told(NamedTuple):
    """What a broker has to stop and to forget."""

    stops: dict[TopicPartition, StopReplicaState]
    deleted: dict[str, set[int]]


def told(pending: PendingRequests) -> Told:
    found = Told({}, {})
    while (request := pending.take()) is not None:
        match request:
            case StopReplica(stops):
                found.stops.update(stops)
            case UpdateMetadata(_, deleted):
                found.deleted.update({topic: set(indexes) for topic, indexes in deleted.items()})
    return found


def learnt() -> PendingRequests:
    """Of a broker that has learned everything."""
    pending = PendingRequests()
    while pending.take() is not None:
        pass
    return pending


def test_sv_4_a_returning_broker_deletes_a_replica_that_was_dropped_in_its_absence_once() -> None:
    away = Away()
    away.missed.replica_dropped(3, T0, Dropped(CREATED))

    assert not away.returns(2).stops
    assert away.returns().stops == {T0: StopReplicaState(5, delete=True, created=CREATED)}
    assert not away.returns().stops


@for_each(
    ("change", "epoch"),
    [
        (lambda away: away.put(Partition((1, 3), leader=1)), None),
        (lambda away: away.put(Partition((1, 3), leader=1), created=9), None),
        (lambda away: away.put(Partition((1, 2), leader=1, leader_epoch=8), created=9), None),
        (lambda away: away.delete() or away.put(Partition((1, 2), leader=1, leader_epoch=8), created=9), DELETED_EPOCH),
        (lambda away: away.cluster.topics.clear(), None),
        (lambda away: away.delete() or away.cluster.topics.clear(), DELETED_EPOCH),
        (lambda away: setattr(away.cluster.topics["t"], "deleting", True), None),
        (lambda away: setattr(away.cluster.topics["t"], "unreadable", {0: "why"}), None),
        (lambda away: away.cluster.unreadable.update(t="why"), None),
    ],
    ids=[
        "assigned again",
        "assigned by a new topic",
        "another one put in its place",
        "deleted, then a new topic",
        "vanished",
        "deleted",
        "in deletion",
        "no state",
        "no assignment",
    ],
)
def test_sv_4_a_dropped_replica_is_deleted_by_what_holds_when_its_broker_returns(
    change: object, epoch: int | None
) -> None:
    away = Away()
    away.missed.replica_dropped(3, T0, Dropped(CREATED))
    assert callable(change)
    change(away)

    stop = away.returns().stops.get(T0)
    assert (None if stop is None else (stop.leader_epoch, stop.delete)) == (None if epoch is None else (epoch, True))


def test_sv_4_the_log_of_a_partition_without_a_leader_stays_until_the_broker_returns_once_more() -> None:
    away = Away(Partition((1, 2), leader=NO_LEADER, isr=(1,), leader_epoch=5))
    away.missed.replica_dropped(3, T0, Dropped(CREATED))

    assert not away.returns().stops
    away.put(Partition((1, 2), leader=1, isr=(1,), leader_epoch=6))
    assert away.returns().stops[T0].leader_epoch == 6


def test_sv_4_a_broker_that_has_left_before_it_confirmed_is_sent_it_again() -> None:
    away, old = Away(), learnt()
    old.stop("t", 0, StopReplicaState(4, delete=True, created=CREATED))
    old.stop("u", 0, StopReplicaState(4, delete=False))
    old.topic_deleted("gone", [0, 1])
    refused = StopReplicaState(DELETED_EPOCH, delete=True)
    old.stops_refused({TopicPartition("v", 0): refused})

    away.missed.left(3, old)
    pending = away.returns()
    assert {name: stop.leader_epoch for name, stop in pending.stops.items()} == {
        T0: 5,
        TopicPartition("v", 0): DELETED_EPOCH,
    }
    assert pending.deleted == {"gone": {0, 1}}


def test_sv_4_a_returning_broker_forgets_the_partitions_that_a_new_topic_of_the_name_lacks() -> None:
    away = Away()
    away.missed.topic_deleted("before", CREATED, [0])
    away.missed.left(3, learnt())
    away.missed.topic_deleted("t", CREATED, [0, 1, 2])
    away.missed.topic_deleted("u", CREATED, [0])

    assert not away.returns(2).deleted
    assert away.returns().deleted == {"t": {1, 2}, "u": {0}}
    assert not away.returns().deleted


def test_sv_4_what_is_pending_of_a_new_topic_is_not_forgotten() -> None:
    away, pending = Away(), learnt()
    away.missed.left(3, learnt())
    away.missed.topic_deleted("t", CREATED, [0, 1])
    pending.metadata("t", [0, 1])
    for _ in away.missed.returned({3: pending}):
        pass
    assert not told(pending).deleted


def test_sv_4_a_bounded_number_of_changes_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_manager, "MOST_MISSED", 3)
    away = Away()
    away.missed.left(3, learnt())
    for index in range(5):
        away.missed.replica_dropped(3, TopicPartition("d", index), Dropped(CREATED, topic_deleted=True))
        away.missed.topic_deleted(f"u{index}", CREATED, [0])

    pending = away.returns()
    assert {name.partition for name in pending.stops} == {0, 1, 2}
    assert pending.deleted.keys() == {"u2", "u3", "u4"}


def test_sv_10_the_loop_goes_on_while_much_is_marked() -> None:
    away = Away()
    away.missed.left(3, learnt())
    for index in range(100):
        away.missed.replica_dropped(3, TopicPartition("d", index), Dropped(CREATED, topic_deleted=True))
    away.missed.topic_deleted("u", CREATED, range(30))
    assert len(list(away.missed.returned({3: PendingRequests()}))) >= 100


def test_sv_4_a_replica_keeps_its_stop_of_the_newest_leader_epoch() -> None:
    away = Away()
    away.missed.replica_dropped(3, T0, Dropped(CREATED))
    away.put(replace(away.cluster.topics["t"].partitions[0], leader_epoch=9))
    assert away.returns().stops[T0].leader_epoch == 9


def test_sv_4_a_topic_deleted_twice_is_forgotten_as_far_as_it_ever_went() -> None:
    """Once before the broker left, which it has not confirmed, and once while it was away."""
    away, old = Away(), learnt()
    old.topic_deleted("more", [0])
    old.topic_deleted("fewer", [0, 1])
    away.missed.left(3, old)
    away.missed.topic_deleted("more", CREATED, [0, 1])
    away.missed.topic_deleted("fewer", CREATED, [0])
    assert away.returns().deleted == {"more": {0, 1}, "fewer": {0, 1}}


@pytest.mark.parametrize("epoch", [4, DELETED_EPOCH], ids=["dropped", "deleted"])
def test_hm_2_a_stop_that_a_broker_has_not_confirmed_is_repeated_for_a_vanished_topic_only_if_it_was_deleted(
    epoch: int,
) -> None:
    away, old = Away(), learnt()
    old.stop("t", 0, StopReplicaState(epoch, delete=True, created=CREATED))
    away.missed.left(3, old)
    topic = away.cluster.topics.pop("t")
    assert bool(away.returns().stops) is (epoch == DELETED_EPOCH)

    away.cluster.topics["t"] = topic
    assert bool(away.returns().stops) is (epoch != DELETED_EPOCH), "it is dropped, and its topic is back"
