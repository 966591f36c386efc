"""240-6: bytes, rates and the time left, from what brokers say of their log dirs."""

from kafka_reassign_rpc.client import LogDirs, PartitionReassignment, ReplicaLogDir, TopicPartition, Tracker
from kafka_reassign_rpc.client.progress import concerned

A = TopicPartition("t", 0)
B = TopicPartition("t", 1)
MOVE = PartitionReassignment((3, 4, 1, 2), (3, 4), (1, 2))


def dirs(**sizes: int) -> list[LogDirs]:
    """b1=10: broker 1 has 10 bytes of A."""
    return [LogDirs(int(broker[1:]), {A: ReplicaLogDir("/d", size=size)}) for broker, size in sizes.items()]


def test_240_6_each_new_replica_has_to_copy_what_the_largest_old_one_has() -> None:
    [found] = Tracker().update(0, {A: MOVE}, dirs(b1=100, b2=90, b3=40, b4=0)).moves.values()
    assert (found.done, found.total, found.share, found.copied) == (40, 200, 0.2, {3: 40, 4: 0})
    assert (found.rate, found.eta_s) == (None, None)


def test_240_6_the_rate_is_that_of_the_last_seconds() -> None:
    tracker = Tracker()
    for second in range(60):
        copied = second if second < 30 else 30 + 3 * (second - 30)
        snapshot = tracker.update(second, {A: MOVE}, dirs(b1=1000, b3=copied))
    [found] = snapshot.moves.values()
    assert found.rate == 3
    assert found.eta_s == (2000 - 117) / 3


def test_240_6_a_move_that_has_left_the_list_is_done() -> None:
    tracker = Tracker()
    tracker.update(0, {A: MOVE, B: MOVE}, dirs(b1=100, b3=50))
    snapshot = tracker.update(1, {B: MOVE}, [])
    assert (snapshot.finished, snapshot.total.done) == (1, 200)
    assert list(snapshot.moves) == [B]
    assert tracker.update(2, {}, []).finished == 2


def test_240_6_a_partition_that_moves_again_is_not_done() -> None:
    tracker = Tracker()
    tracker.update(0, {A: MOVE}, dirs(b1=100, b3=50))
    tracker.update(1, {}, [])
    snapshot = tracker.update(2, {A: MOVE}, dirs(b1=100, b3=10))
    assert (snapshot.finished, snapshot.total.done) == (0, 10)


def test_240_6_nothing_is_said_of_the_total_where_no_old_replica_can_be_seen() -> None:
    snapshot = Tracker().update(0, {A: MOVE}, [*dirs(b3=40), LogDirs(1, error="gone"), LogDirs(2, error="gone")])
    [found] = snapshot.moves.values()
    assert (found.done, found.total, found.share, found.eta_s) == (40, None, None, None)
    assert snapshot.unknown_brokers == {1: "gone", 2: "gone"}


def test_240_6_a_new_replica_that_seems_ahead_counts_as_full_and_an_empty_partition_is_done() -> None:
    [found] = Tracker().update(0, {A: MOVE}, dirs(b1=100, b3=103, b4=100)).moves.values()
    assert (found.done, found.share, found.eta_s) == (200, 1.0, 0.0)
    [empty] = Tracker().update(0, {A: MOVE}, dirs(b1=0)).moves.values()
    assert (empty.share, empty.eta_s) == (1.0, 0.0)


def test_240_6_every_broker_that_holds_or_gets_a_replica_is_asked() -> None:
    assert concerned({A: MOVE, B: PartitionReassignment((1, 5), (5,), ())}) == {
        3: [A],
        4: [A],
        1: [A, B],
        2: [A],
        5: [B],
    }


def test_240_5_a_moving_partition_has_its_target_and_its_sources() -> None:
    assert MOVE.target == (3, 4)
    assert MOVE.sources == {1, 2}
