"""What a broker is told, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.controller_channel.pending_requests import (
    Brokers,
    LeaderAndIsr,
    PendingRequests,
    ReplicaStop,
    StopReplica,
    UpdateMetadata,
)
from kafka_reassign_rpc.core.state.cluster import TopicPartition


def drain(outbox: PendingRequests, limit: int = 1000) -> list[object]:
    told = []
    while (task := outbox.take(limit)) is not None:
        told.append(task)
    return told


def test_455_4_live_brokers_come_first_then_leaders_then_metadata_then_stops() -> None:
    outbox = PendingRequests()
    outbox.stop("t", 1, ReplicaStop(4, delete=True))
    outbox.metadata("t", [0, 1])
    outbox.leader_and_isr("t", 0, is_new=True)
    outbox.live_brokers_changed()

    assert drain(outbox) == [
        Brokers(),
        LeaderAndIsr({"t": {0: True}}),
        UpdateMetadata({"t": {0, 1}}, {}),
        StopReplica({TopicPartition("t", 1): ReplicaStop(4, delete=True)}),
    ]
    assert not outbox


def test_455_5_a_stop_drops_the_start_that_it_overtakes() -> None:
    outbox = PendingRequests()
    outbox.leader_and_isr("t", 0, is_new=True)
    outbox.stop("t", 0, ReplicaStop(3, delete=True))

    assert drain(outbox) == [StopReplica({TopicPartition("t", 0): ReplicaStop(3, delete=True)})]


def test_455_5_a_replica_given_back_is_stopped_before_it_is_started_again() -> None:
    outbox = PendingRequests()
    outbox.stop("t", 0, ReplicaStop(3, delete=True))
    outbox.leader_and_isr("t", 0, is_new=True)

    assert drain(outbox) == [
        StopReplica({TopicPartition("t", 0): ReplicaStop(3, delete=True)}),
        LeaderAndIsr({"t": {0: True}}),
    ]


def test_455_5_a_stop_without_answer_is_repeated_before_the_start_that_came_after_it() -> None:
    outbox = PendingRequests()
    outbox.stop("t", 0, ReplicaStop(3, delete=True))
    lost = outbox.take(10)
    assert lost is not None
    outbox.leader_and_isr("t", 0, is_new=True)
    outbox.restore(lost)

    assert [type(task) for task in drain(outbox)] == [StopReplica, LeaderAndIsr]


def test_455_5_a_start_without_answer_does_not_undo_a_later_stop() -> None:
    outbox = PendingRequests()
    outbox.leader_and_isr("t", 0, is_new=False)
    lost = outbox.take(10)
    assert lost is not None
    outbox.stop("t", 0, ReplicaStop(5, delete=True))
    outbox.restore(lost)

    assert drain(outbox) == [StopReplica({TopicPartition("t", 0): ReplicaStop(5, delete=True)})]


def test_455_4_a_deleted_topic_is_forgotten_and_nothing_else_is_told_of_it() -> None:
    outbox = PendingRequests()
    outbox.metadata("gone", [0, 1])
    outbox.leader_and_isr("gone", 0, is_new=True)
    outbox.topic_deleted("gone", [0, 1])

    assert drain(outbox) == [UpdateMetadata({}, {"gone": {0, 1}})]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=80), st.integers(1, 7))
def test_236_14_every_mark_is_told_once_whatever_the_size_of_a_request(
    marks: list[tuple[str, int]], limit: int
) -> None:
    outbox = PendingRequests()
    for topic, index in marks:
        outbox.leader_and_isr(topic, index, is_new=False)
        outbox.metadata(topic, [index])

    told = drain(outbox, limit)

    assert all(sum(map(len, task.partitions.values())) <= limit for task in told)
    for kind in (LeaderAndIsr, UpdateMetadata):
        names = [
            (topic, index)
            for task in told
            if isinstance(task, kind)
            for topic, indexes in task.partitions.items()
            for index in indexes
        ]
        assert sorted(names) == sorted(set(marks))


def test_sv_4_a_topic_that_is_made_again_is_not_forgotten_by_a_broker_that_was_slow() -> None:
    outbox = PendingRequests()
    outbox.topic_deleted("t", [0, 1, 2])
    outbox.metadata("t", [0, 1])

    assert drain(outbox) == [UpdateMetadata({"t": {0, 1}}, {"t": {2}})]


def test_sv_4_an_end_without_answer_does_not_undo_a_topic_that_was_made_again_since() -> None:
    outbox = PendingRequests()
    outbox.topic_deleted("t", [0, 1])
    lost = outbox.take(10)
    assert lost is not None
    outbox.metadata("t", [0])
    outbox.leader_and_isr("t", 0, is_new=True)
    outbox.restore(lost)

    assert drain(outbox) == [LeaderAndIsr({"t": {0: True}}), UpdateMetadata({"t": {0}}, {"t": {1}})]


def test_sv_4_news_without_answer_do_not_undo_the_end_of_a_topic() -> None:
    outbox = PendingRequests()
    outbox.metadata("t", [0, 1])
    lost = outbox.take(10)
    assert lost is not None
    outbox.topic_deleted("t", [0, 1])
    outbox.restore(lost)

    assert drain(outbox) == [UpdateMetadata({}, {"t": {0, 1}})]


def test_455_5_a_stop_that_was_refused_is_told_again_unless_something_else_holds_since() -> None:
    outbox = PendingRequests()
    names = [TopicPartition("t", index) for index in range(5)]
    old, new = ReplicaStop(3, delete=True), ReplicaStop(5, delete=True)
    for name in names:
        outbox.stop(*name, old)
    taken = outbox.take(10)
    assert isinstance(taken, StopReplica)
    outbox.stop(*names[1], new)
    outbox.leader_and_isr(*names[2], is_new=True)
    outbox.refused(taken.stops)
    outbox.stop(*names[3], new)
    outbox.leader_and_isr(*names[4], is_new=True)
    assert drain(outbox) == [
        LeaderAndIsr({"t": {2: True, 4: True}}),
        StopReplica({names[1]: new, names[3]: new}),
    ]

    assert not outbox
    outbox.tell_refused_again()
    assert drain(outbox) == [StopReplica({names[0]: old})]
    outbox.tell_refused_again()
    assert not outbox
