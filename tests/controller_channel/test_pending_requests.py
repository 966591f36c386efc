"""Which requests a broker gets, and in which order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.controller_channel.pending_requests import (
    AllMetadata,
    LeaderAndIsr,
    LiveBrokers,
    PendingRequests,
    Review,
    StopReplica,
    StopReplicaState,
    UpdateMetadata,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def drain(pending: PendingRequests, limit: int = 1000) -> list[Any]:
    taken_requests: list[Any] = []
    while (request := pending.take(limit)) is not None:
        taken_requests.append(request)
    return taken_requests


def up_to_date() -> PendingRequests:
    """The pending requests of a broker that has learned everything."""
    pending = PendingRequests()
    assert drain(pending) == [AllMetadata(), LeaderAndIsr({}, is_complete=True), Review(None)]
    return pending


def test_455_4_live_brokers_come_first_then_leaders_then_metadata_then_stops() -> None:
    pending = up_to_date()
    pending.stop("t", 1, StopReplicaState(4, delete=True))
    pending.metadata("t", [0, 1])
    pending.leader_and_isr("t", 0, is_new=True)
    pending.live_brokers_changed()

    assert drain(pending) == [
        LiveBrokers(),
        LeaderAndIsr({"t": {0: True}}),
        UpdateMetadata({"t": {0, 1}}, {}),
        StopReplica({TopicPartition("t", 1): StopReplicaState(4, delete=True)}),
    ]
    assert not pending


def test_455_5_a_stop_drops_the_earlier_leader_and_isr() -> None:
    pending = up_to_date()
    pending.leader_and_isr("t", 0, is_new=True)
    pending.stop("t", 0, StopReplicaState(3, delete=True))

    assert drain(pending) == [StopReplica({TopicPartition("t", 0): StopReplicaState(3, delete=True)})]


def test_455_5_a_replica_that_is_assigned_again_is_stopped_before_its_leader_and_isr() -> None:
    pending = up_to_date()
    pending.stop("t", 0, StopReplicaState(3, delete=True))
    pending.leader_and_isr("t", 0, is_new=True)

    assert drain(pending) == [
        StopReplica({TopicPartition("t", 0): StopReplicaState(3, delete=True)}),
        LeaderAndIsr({"t": {0: True}}),
    ]


def test_sv_4_a_stop_that_keeps_the_log_does_not_undo_a_pending_one_that_deletes_it() -> None:
    """A topic is deleted and created again, then the broker shuts down: the log is still that of the old topic."""
    pending = up_to_date()
    for index, epoch in enumerate((-2, 3)):
        pending.stop("t", index, StopReplicaState(epoch, delete=True))
        pending.leader_and_isr("t", index, is_new=True)
        pending.stop("t", index, StopReplicaState(5, delete=False))

    stops = {TopicPartition("t", index): StopReplicaState(epoch, delete=True) for index, epoch in ((0, -2), (1, 5))}
    assert drain(pending) == [StopReplica(stops)]


def test_455_5_a_stop_without_answer_is_repeated_before_the_later_leader_and_isr() -> None:
    pending = up_to_date()
    pending.stop("t", 0, StopReplicaState(3, delete=True))
    lost = pending.take(10)
    assert lost is not None
    pending.leader_and_isr("t", 0, is_new=True)
    pending.restore(lost)

    assert [type(request) for request in drain(pending)] == [StopReplica, LeaderAndIsr]


def test_455_5_a_stop_without_answer_is_repeated_before_all_replicas_of_the_broker() -> None:
    """One of them may be of a new topic of that name."""
    pending = up_to_date()
    pending.stop("t", 0, StopReplicaState(-2, delete=True, created=5))
    lost = pending.take(10)
    assert lost is not None
    pending.everything()
    pending.restore(lost)

    assert drain(pending) == [AllMetadata(), lost, LeaderAndIsr({}, is_complete=True), Review(None)]


@pytest.mark.parametrize("assigned_again", [False, True])
def test_455_5_a_stop_without_answer_does_not_replace_a_newer_one_but_deletes_the_log_with_it(
    assigned_again: bool,
) -> None:
    pending = up_to_date()
    old, new = StopReplicaState(3, delete=True), StopReplicaState(5, delete=False)
    pending.stop("t", 0, old)
    pending.stop("t", 1, StopReplicaState(-2, delete=True))
    pending.stop("t", 2, old)
    lost = pending.take(10)
    assert lost is not None
    for index in range(3):
        pending.stop("t", index, new if index < 2 else new._replace(delete=True))
        if assigned_again:
            pending.leader_and_isr("t", index, is_new=True)
    pending.restore(lost)

    first, *rest = drain(pending)
    assert first == StopReplica(
        {
            TopicPartition("t", 0): new._replace(delete=True),
            TopicPartition("t", 1): StopReplicaState(-2, delete=True),
            TopicPartition("t", 2): new._replace(delete=True),
        }
    )
    assert rest == ([LeaderAndIsr({"t": {0: True, 1: True, 2: True}})] if assigned_again else [])


def test_455_5_a_leader_and_isr_without_answer_does_not_undo_a_later_stop() -> None:
    pending = up_to_date()
    pending.leader_and_isr("t", 0, is_new=False)
    lost = pending.take(10)
    assert lost is not None
    pending.stop("t", 0, StopReplicaState(5, delete=True))
    pending.restore(lost)

    assert drain(pending) == [StopReplica({TopicPartition("t", 0): StopReplicaState(5, delete=True)})]


def test_455_4_a_deleted_topic_leaves_the_metadata_and_all_other_requests() -> None:
    pending = up_to_date()
    pending.metadata("gone", [0, 1])
    pending.leader_and_isr("gone", 0, is_new=True)
    pending.topic_deleted("gone", [0, 1])

    assert drain(pending) == [UpdateMetadata({}, {"gone": {0, 1}})]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=80), st.integers(1, 7))
def test_236_14_every_partition_is_sent_once_whatever_the_size_of_a_request(
    marks: list[tuple[str, int]], limit: int
) -> None:
    pending = up_to_date()
    for topic, index in marks:
        pending.leader_and_isr(topic, index, is_new=False)
        pending.metadata(topic, [index])

    taken_requests = drain(pending, limit)

    assert all(sum(map(len, request.partitions.values())) <= limit for request in taken_requests)
    for kind in (LeaderAndIsr, UpdateMetadata):
        names = [
            (topic, index)
            for request in taken_requests
            if isinstance(request, kind)
            for topic, indexes in request.partitions.items()
            for index in indexes
        ]
        assert sorted(names) == sorted(set(marks))


def test_sv_4_a_slow_broker_keeps_a_topic_that_was_created_again() -> None:
    pending = up_to_date()
    pending.topic_deleted("t", [0, 1, 2])
    pending.metadata("t", [0, 1])

    assert drain(pending) == [UpdateMetadata({"t": {0, 1}}, {"t": {2}})]


def test_sv_4_a_deletion_without_answer_does_not_undo_a_topic_that_was_created_again() -> None:
    pending = up_to_date()
    pending.topic_deleted("t", [0, 1])
    lost = pending.take(10)
    assert lost is not None
    pending.metadata("t", [0])
    pending.leader_and_isr("t", 0, is_new=True)
    pending.restore(lost)

    assert drain(pending) == [LeaderAndIsr({"t": {0: True}}), UpdateMetadata({"t": {0}}, {"t": {1}})]


def test_sv_10_a_deletion_without_answer_does_not_undo_a_topic_that_was_created_again_after_a_reload() -> None:
    pending = up_to_date()
    pending.topic_deleted("t", [0, 1])
    lost = pending.take(10)
    assert lost is not None
    pending.everything()
    pending.metadata("t", [0, 1])
    pending.restore(lost)

    assert drain(pending) == [AllMetadata(), LeaderAndIsr({}, is_complete=True), Review(None)]


def test_sv_4_update_metadata_without_answer_does_not_undo_the_deletion_of_a_topic() -> None:
    pending = up_to_date()
    pending.metadata("t", [0, 1])
    lost = pending.take(10)
    assert lost is not None
    pending.topic_deleted("t", [0, 1])
    pending.restore(lost)

    assert drain(pending) == [UpdateMetadata({}, {"t": {0, 1}})]


def test_455_5_a_refused_stop_is_repeated_unless_a_newer_request_replaces_it() -> None:
    pending = up_to_date()
    names = [TopicPartition("t", index) for index in range(5)]
    old, new = StopReplicaState(3, delete=True), StopReplicaState(5, delete=True)
    for name in names:
        pending.stop(*name, old)
    taken = pending.take(10)
    assert isinstance(taken, StopReplica)
    pending.stop(*names[1], new)
    pending.leader_and_isr(*names[2], is_new=True)
    pending.stops_refused(taken.stops)
    pending.stop(*names[3], new)
    pending.leader_and_isr(*names[4], is_new=True)
    assert drain(pending) == [
        LeaderAndIsr({"t": {2: True, 4: True}}),
        StopReplica({names[1]: new, names[3]: new}),
    ]

    assert not pending
    pending.retry_refused()
    assert drain(pending) == [StopReplica({names[0]: old})]
    pending.retry_refused()
    assert not pending


def test_sv_4_a_registered_broker_learns_all_metadata_then_all_its_replicas_in_one_request() -> None:
    pending = PendingRequests()
    for index in range(9):
        pending.leader_and_isr("t", index, is_new=index == 8)
        pending.metadata("t", [index])
    pending.live_brokers_changed()
    pending.stop("gone", 0, StopReplicaState(3, delete=True))

    assert drain(pending, 4) == [
        AllMetadata(),
        LeaderAndIsr({"t": {index: index == 8 for index in range(9)}}, is_complete=True),
        StopReplica({TopicPartition("gone", 0): StopReplicaState(3, delete=True)}),
        Review(None),
    ]


def test_sv_4_the_first_leader_and_isr_is_complete_until_the_broker_has_taken_it() -> None:
    pending = PendingRequests()
    pending.take()
    lost = pending.take()
    assert lost == LeaderAndIsr({}, is_complete=True)
    pending.leader_and_isr("t", 0, is_new=True)
    pending.restore(lost)
    again = pending.take()
    assert again == LeaderAndIsr({"t": {0: True}}, is_complete=True)
    pending.refused(again)
    assert pending.take() is None, "a refused request is not repeated as it is"
    pending.leader_and_isr("t", 1, is_new=False)
    assert drain(pending) == [LeaderAndIsr({"t": {0: True, 1: False}}, is_complete=True), Review(None)]
    pending.leader_and_isr("t", 2, is_new=False)
    assert drain(pending) == [LeaderAndIsr({"t": {2: False}})]


def test_sv_4_a_broker_that_learns_everything_again_learns_stops_before_its_replicas() -> None:
    """A replica that was to be stopped may be assigned to it again: the stop must not come last."""
    pending = up_to_date()
    stop, name = StopReplicaState(3, delete=True), TopicPartition("t", 0)
    pending.stop(*name, stop)
    pending.stops_refused({TopicPartition("t", 1): stop})
    pending.everything()

    assert drain(pending) == [
        AllMetadata(),
        StopReplica({name: stop}),
        LeaderAndIsr({}, is_complete=True),
        Review(None),
    ]
    pending.retry_refused()
    assert not pending


def test_sv_4_many_leader_and_isrs_do_not_hold_up_metadata_and_stops() -> None:
    pending = up_to_date()
    stop = StopReplicaState(3, delete=True)
    for index in range(6):
        pending.leader_and_isr("t", index, is_new=False)
        pending.metadata("t", [index])
        pending.stop("u", index, stop)

    kinds = [type(request) for request in drain(pending, 2)]
    assert kinds == [LeaderAndIsr, UpdateMetadata, StopReplica] * 3


def test_455_4_followers_whose_leader_knows_go_before_leaders_so_that_they_wait_for_a_short_time() -> None:
    pending = up_to_date()
    for index in range(6):
        pending.leader_and_isr("t", index, is_new=index == 5)
    pending.leader_and_isr("u", 7, is_new=False, leader_knows=True)
    pending.leader_and_isr("t", 5, is_new=False, leader_knows=True)
    pending.leader_and_isr("t", 5, is_new=False)

    assert drain(pending, 4) == [
        LeaderAndIsr({"u": {7: False}, "t": {5: True, 0: False, 1: False}}),
        LeaderAndIsr({"t": {2: False, 3: False, 4: False}}),
    ]
