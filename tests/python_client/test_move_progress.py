"""240-6: bytes, rates and remaining time, from the server's documents or from the brokers' log dirs."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client import (
    LogDirProgressTracker,
    LogDirs,
    PartitionReassignment,
    Progress,
    ReplicaLogDir,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.move_progress import brokers_to_ask, read_progress, read_waiting_beside
from kafka_reassign_rpc.client.text_format import amounts
from kafka_reassign_rpc.core.status.documents import Move, Status
from tests.python_client.move_documents import move_document

A = TopicPartition("t", 0)
B = TopicPartition("t", 1)
MOVE = PartitionReassignment((3, 4, 1, 2), (3, 4), (1, 2))


def dirs(**sizes: int) -> list[LogDirs]:
    """Log dirs of brokers. b1=10: broker 1 holds 10 bytes of A."""
    return [LogDirs(int(broker[1:]), {A: ReplicaLogDir("/d", size=size)}) for broker, size in sizes.items()]


def test_240_6_each_new_replica_has_to_copy_what_the_largest_old_one_has() -> None:
    [found] = LogDirProgressTracker().update(0, {A: MOVE}, dirs(b1=100, b2=90, b3=40, b4=0)).moves.values()
    assert (found.done, found.total, found.share, found.copied) == (40, 200, 0.2, {3: 40, 4: 0})
    assert (found.rate, found.remaining_seconds) == (None, None)


def test_240_6_the_rate_is_that_of_the_last_seconds() -> None:
    tracker = LogDirProgressTracker()
    for second in range(60):
        copied = second if second < 30 else 30 + 3 * (second - 30)
        snapshot = tracker.update(second, {A: MOVE}, dirs(b1=1000, b3=copied, b4=copied))
    [found] = snapshot.moves.values()
    assert found.rate == 6
    assert found.remaining_seconds == snapshot.total.remaining_seconds == 294.333


def test_240_6_all_moves_together_take_as_long_as_the_slowest() -> None:
    described = {
        A: move_document(A, bytes_total=200, bytes_copied=0, rate=99, remaining_ms=2_000),
        B: move_document(B, bytes_total=200, bytes_copied=180, rate=1, remaining_ms=11_000),
    }
    snapshot = LogDirProgressTracker().update(0, {A: MOVE, B: MOVE}, [], described)
    assert (snapshot.total.rate, snapshot.total.remaining_seconds) == (100, 11)
    fast = LogDirProgressTracker().update(0, {A: MOVE}, [], {A: described[A]})
    assert fast.total.remaining_seconds == 2, "the server's own figure: nothing is divided here"


def test_240_6_a_move_that_has_left_the_list_is_done() -> None:
    tracker = LogDirProgressTracker()
    tracker.update(0, {A: MOVE, B: MOVE}, dirs(b1=100, b3=50, b4=0))
    snapshot = tracker.update(1, {B: MOVE}, [])
    assert (snapshot.finished, snapshot.total.done) == (1, None), "nobody has told the sizes of the other one"
    assert list(snapshot.moves) == [B]
    assert (tracker.update(2, {}, []).finished, tracker.update(2, {}, []).total.done) == (2, None), "nor will anybody"
    tracker = LogDirProgressTracker()
    tracker.update(0, {A: MOVE}, dirs(b1=100, b3=50, b4=0))
    assert (tracker.update(1, {}, []).finished, tracker.update(1, {}, []).total.done) == (1, 200)


def test_240_6_a_partition_that_moves_again_is_not_done() -> None:
    tracker = LogDirProgressTracker()
    tracker.update(0, {A: MOVE}, dirs(b1=100, b3=50, b4=0))
    tracker.update(1, {}, [])
    snapshot = tracker.update(2, {A: MOVE}, dirs(b1=100, b3=10, b4=0))
    assert (snapshot.finished, snapshot.total.done) == (0, 10)


def test_240_6_nothing_is_said_of_the_total_where_no_old_replica_can_be_seen() -> None:
    gone = [LogDirs(1, error="gone"), LogDirs(2, error="gone")]
    snapshot = LogDirProgressTracker().update(0, {A: MOVE}, [*dirs(b3=40), *gone])
    [found] = snapshot.moves.values()
    assert (found.done, found.total, found.share, found.remaining_seconds) == (None, None, None, None)
    assert snapshot.unknown_brokers == {1: "gone", 2: "gone"}


def test_sv_11_what_a_silent_broker_has_copied_is_unknown_and_not_0() -> None:
    silent = LogDirs(4, error="gone")
    [found] = LogDirProgressTracker().update(0, {A: MOVE}, [*dirs(b1=100, b3=56), silent]).moves.values()
    assert (found.done, found.total, found.share) == (None, 200, None)
    told = {A: move_document(A, bytes_total=200, copied={3: 56})}
    [found] = LogDirProgressTracker().update(0, {A: MOVE}, [], told).moves.values()
    assert (found.done, found.total, found.share) == (None, 200, None)
    assert amounts(found) == "unknown of 200 B"


def test_sv_11_a_move_that_has_copied_all_says_for_which_replica_it_waits() -> None:
    waits_for = "replica 4 to join the ISR"
    told = {A: move_document(A, bytes_total=200, bytes_copied=200, waits_for=waits_for)}
    [found] = LogDirProgressTracker().update(0, {A: MOVE}, [], told).moves.values()
    assert amounts(found) == "200 B of 200 B (100 %), waits for replica 4 to join the ISR"


def test_kr_1_a_move_that_waits_for_its_share_of_a_throttle_says_so_with_its_remaining_time() -> None:
    share = "its share of 5 B/s (leader 1), which other moves use up"
    told = {A: move_document(A, bytes_total=200, bytes_copied=90, remaining_ms=40_000, waits_for=share)}
    [found] = LogDirProgressTracker().update(0, {A: MOVE}, [], told).moves.values()
    assert amounts(found) == f"90 B of 200 B (45 %), waits for {share}, 40 s left"


def test_240_6_a_new_replica_that_seems_ahead_may_lack_bytes_and_an_empty_partition_is_done() -> None:
    """What of it is old is not reported."""
    [found] = LogDirProgressTracker().update(0, {A: MOVE}, dirs(b1=100, b3=103, b4=100)).moves.values()
    assert (found.done, found.total, found.share) == (None, 200, None)
    assert amounts(found) == "unknown of 200 B"
    [empty] = LogDirProgressTracker().update(0, {A: MOVE}, dirs(b1=0, b3=0, b4=0)).moves.values()
    assert (empty.share, empty.remaining_seconds) == (1.0, 0.0)


def test_240_6_every_broker_that_holds_or_gets_a_replica_is_asked() -> None:
    assert brokers_to_ask({A: MOVE, B: PartitionReassignment((1, 5), (5,), ())}) == {
        3: [A],
        4: [A],
        1: [A, B],
        2: [A],
        5: [B],
    }


def test_240_5_a_moving_partition_has_its_target_and_its_sources() -> None:
    assert MOVE.target == (3, 4)
    assert MOVE.sources == {1, 2}


class Cluster:
    """A client of a cluster with two moves. `told`: the server's documents; None: stock Kafka."""

    def __init__(self, told: list[Move] | None) -> None:
        self.told = told
        self.asked: list[Mapping[int, Iterable[tuple[str, int]]]] = []

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        wanted = {A, B} if partitions is None else set(partitions)
        waiting = {TopicPartition("t", 2): PartitionReassignment((1,), (2,), state="waiting")}
        return {
            name: PartitionReassignment((3, 4, 1, 2), (3, 4), (1, 2), id=7) for name in (A, B) if name in wanted
        } | (waiting if partitions is None else {})

    def moves_in_flight(self, partitions: Iterable[tuple[str, int]] | None = None) -> list[Move]:
        if self.told is None:
            raise UnsupportedHere("not here")
        wanted = None if partitions is None else set(partitions)
        return [one for one in self.told if wanted is None or (one.topic, one.partition) in wanted]

    def describe_log_dirs(self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> list[LogDirs]:
        self.asked.append(partitions_by_broker)
        return dirs(b1=100, b3=50, b4=0)

    def status(self) -> Status:
        raise UnsupportedHere("not here")


def test_240_6_what_the_server_says_is_taken_and_brokers_are_asked_about_the_rest_only() -> None:
    figures = {"bytes_total": 1000, "bytes_copied": 600, "copied": {3: 100, 4: 500}, "rate": 9, "remaining_ms": 4000}
    cluster = Cluster([move_document(B, **figures), move_document(A, stalled="there is no leader to copy from")])
    listed, snapshot = read_progress(cluster, LogDirProgressTracker(), 0.0)
    assert snapshot.moves[B] == Progress(600, 1000, 9, 4.0, {3: 100, 4: 500})
    assert snapshot.moves[A] == Progress(50, 200, None, None, {3: 50, 4: 0}, "there is no leader to copy from")
    assert cluster.asked == [{3: [A], 4: [A], 1: [A], 2: [A]}]
    assert (len(listed), snapshot.waiting, snapshot.stalled) == (3, 1, 1)
    assert (snapshot.total.done, snapshot.total.total) == (650, 1200)


def test_236_13_a_move_that_waits_while_its_partition_moves_is_counted_and_shown_as_well() -> None:
    waiting = {"state": "waiting", "id": None, "original": (3, 4), "adding": (5,), "removing": (3,), "target": (4, 5)}
    beside = move_document(A, **waiting, route="queue", reason="why")
    of_another = move_document(TopicPartition("t", 9), **waiting)
    cluster = Cluster([move_document(A), move_document(B), beside, of_another])
    listed, snapshot = read_progress(cluster, LogDirProgressTracker(), 0.0)
    assert (listed[A].state, snapshot.waiting) == ("moving", 2)
    [(name, found)] = snapshot.waiting_beside.items()
    assert (name, found.state, found.replicas, found.target) == (A, "waiting", (3, 4), (4, 5))
    assert (found.adding_replicas, found.removing_replicas) == ((5,), (3,))
    assert (found.route, found.reason, found.id) == ("queue", "why", None)
    assert read_waiting_beside(cluster, listed) == {A: found}
    assert read_waiting_beside(Cluster(None), listed) == {}


def test_240_6_stock_kafka_says_nothing_so_the_brokers_are_asked_about_everything() -> None:
    cluster = Cluster(None)
    _, snapshot = read_progress(cluster, LogDirProgressTracker(), 0.0, [A])
    assert cluster.asked == [{3: [A], 4: [A], 1: [A], 2: [A]}]
    assert snapshot.moves == {A: Progress(50, 200, None, None, {3: 50, 4: 0})}


def test_240_6_only_the_moves_that_are_followed_are_described() -> None:
    told = [move_document(A, bytes_total=1), move_document(B, bytes_total=2)]
    _, snapshot = read_progress(Cluster(told), LogDirProgressTracker(), 0.0, [B])
    assert list(snapshot.moves) == [B]


def test_240_6_the_rate_of_all_moves_is_the_sum_of_theirs_however_seldom_the_server_samples() -> None:
    """The server samples every five seconds: in between, the bytes copied do not change."""
    tracker = LogDirProgressTracker()
    in_flight = {A: MOVE, B: MOVE}
    for second in range(12):
        figures = {"bytes_total": 2000, "bytes_copied": 50 * (second // 5), "rate": 10}
        told = {name: move_document(name, **figures) for name in in_flight}
        snapshot = tracker.update(second, in_flight, [], told)
        assert snapshot.total.rate == 20
    assert (snapshot.total.done, snapshot.total.remaining_seconds) == (200, None)


def test_240_6_the_rate_of_all_moves_does_not_jump_while_the_server_knows_none_of_one_move() -> None:
    """What the others copied in 5 s comes at once: by the clock of the client that is any rate at all."""
    tracker, rates = LogDirProgressTracker(), []
    for second in range(12):
        copied = {"bytes_total": 20_000_000, "bytes_copied": 2_000_000 * (second // 5)}
        described = {A: move_document(A, **copied, rate=400_000), B: move_document(B, **copied)}
        rates.append(tracker.update(second, {A: MOVE, B: MOVE}, [], described).total.rate)
    assert set(rates) == {400_000}
    sampled_once = {A: move_document(A, **copied, remaining_ms=7000), B: move_document(B, **copied)}
    total = tracker.update(12, {A: MOVE, B: MOVE}, [], sampled_once).total
    assert (total.rate, total.remaining_seconds) == (None, None), "of the other one nothing is known"
    nothing_known = {A: move_document(A, **copied), B: move_document(B, **copied)}
    assert tracker.update(12, {A: MOVE, B: MOVE}, [], nothing_known).total.rate is None
