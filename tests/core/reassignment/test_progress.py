"""240-6: progress of moves and reasons of stalls, from brokers' answers, with a simulated clock."""

import gc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, moving, not_moving
from tests.tables import for_each

STALL_S = 60.0
NAME = TopicPartition(TOPIC, 0)
MOVE = moving((1, 2), (3, 4))
Answers = dict[int, list[SampledLogDir] | None]


def says(**sizes: int | None) -> Answers:
    """The brokers' answers. b1=10: broker 1 has 10 bytes of the partition; None: it has no replica of it."""
    return {
        int(broker[1:]): [SampledLogDir("/d", sizes={} if size is None else {TOPIC: {0: size}})]
        for broker, size in sizes.items()
    }


UNREPORTED: Answers = {1: [SampledLogDir("/d", sizes={TOPIC: {0: None}})]}
"""Broker 1 has a replica, and does not report its size."""


class Followed:
    """A tracker of one move, with the events and sizes that it has given."""

    def __init__(self, value: Partition = MOVE, **options: Any) -> None:
        self.cluster = cluster(value, **options)
        self.tracker = ProgressTracker(STALL_S)
        self.events: list[Event] = []
        self.sizes: dict[TopicPartition, int | None] = {}

    def look(self, now: float, answers: Answers) -> MoveProgress:
        for _ in self.tracker.update(now, self.cluster, answers, self.events, self.sizes):
            pass
        found = self.tracker.figures(*NAME)
        assert found is not None
        return found

    def stalled(self, answers: Answers, before: Answers | None = None) -> str | None:
        """The reason of the stall when nothing has changed for long."""
        self.look(0, before or answers)
        self.look(STALL_S - 5, before or answers)
        return self.look(STALL_S, answers).stalled

    def put(self, value: Partition) -> None:
        self.cluster.topics[TOPIC].partitions[0] = value


def test_sv_7_the_bytes_that_moves_copy_are_counted_for_both_brokers_and_the_slowest_move_ends_last() -> None:
    followed = Followed()
    followed.look(0, says(b1=100, b3=40, b4=None))
    assert (followed.tracker.copied_in, followed.tracker.copied_out) == ({}, {}), "what was there was not seen copied"
    followed.look(10, says(b1=100, b3=60, b4=20))
    assert followed.tracker.copied_in == {3: 20, 4: 20}
    assert followed.tracker.copied_out == {1: 40}
    assert followed.tracker.remaining_ms == 40_000, "broker 4 lacks 80 bytes at 2 a second"
    followed.look(20, says(b1=100, b3=10))
    assert followed.tracker.copied_in == {3: 20, 4: 20}, "a replica that begins anew counts nothing"


def test_sv_7_all_that_a_move_copies_is_counted_also_before_its_first_sample_and_after_its_last() -> None:
    """100 bytes to broker 3 and to 4: 20 are there at the first sample, 5 lack at the last one."""
    followed = Followed(replace(MOVE, move=MoveRecord(MoveTerms((3, 4)), (1, 2), 7)))
    tell(followed, Event(catalogue.MOVE_STARTED, *NAME, id=7))
    followed.look(0, says(b1=100, b3=20, b4=20))
    assert (followed.tracker.copied_in, followed.tracker.copied_out) == ({3: 20, 4: 20}, {1: 40})
    followed.look(5, says(b1=100, b3=95, b4=100))
    assert followed.tracker.copied_in == {3: 95, 4: 100}
    tell(followed, Event(catalogue.MOVE_COMPLETED, *NAME, id=7))
    assert (followed.tracker.copied_in, followed.tracker.copied_out) == ({3: 100, 4: 100}, {1: 200})


def test_sv_7_a_broker_whose_answer_is_late_loses_no_byte_of_what_a_move_copies() -> None:
    """Broker 4 misses the first and the last sample of the move, broker 3 the third one."""
    followed = Followed(replace(MOVE, move=MoveRecord(MoveTerms((3, 4)), (1, 2), 7)))
    tell(followed, Event(catalogue.MOVE_STARTED, *NAME, id=7))
    followed.look(0, says(b1=100, b3=20))
    followed.look(5, says(b1=100, b3=40, b4=30))
    assert followed.tracker.copied_in == {3: 40, 4: 30}
    followed.look(10, says(b1=100, b4=60))
    followed.look(15, says(b1=100, b3=80, b4=70))
    assert (followed.tracker.copied_in, followed.tracker.copied_out) == ({3: 80, 4: 70}, {1: 150})
    followed.look(20, says(b1=100, b3=90))
    tell(followed, Event(catalogue.MOVE_COMPLETED, *NAME, id=7))
    assert followed.tracker.copied_in == {3: 100, 4: 100}


def test_sv_7_a_move_that_no_sample_saw_counts_where_its_size_is_known_and_a_cancelled_one_as_far_as_seen() -> None:
    followed = Followed(replace(MOVE, move=MoveRecord(MoveTerms((3, 4)), (1, 2), 7)))
    end = Event(catalogue.MOVE_COMPLETED, *NAME, id=7, target=(3, 4), original=(1, 2), copied=200)
    for event in (Event(catalogue.MOVE_STARTED, *NAME, id=7), end, replace(end, id=8)):
        tell(followed, event)
    assert (followed.tracker.copied_in, followed.tracker.copied_out) == ({3: 100, 4: 100}, {1: 200})
    tell(followed, Event(catalogue.MOVE_STARTED, *NAME, id=9), replace(end, id=9, copied=None))
    followed.look(0, says(b1=100, b3=40, b4=40))
    tell(followed, Event(catalogue.MOVE_CANCELLED, *NAME, id=7))
    assert followed.tracker.copied_in == {3: 100, 4: 100}, "nothing is known of the size, and the rest never came"


def test_kr_1_a_leader_that_no_longer_has_a_replica_does_not_make_the_move_one_of_no_bytes() -> None:
    """Sizes may be newer than what was read of the partition: a move that has ended takes its leader away."""
    followed = Followed(replace(moving((1,), (3,)), move=MoveRecord(MoveTerms((3,)), (1,), 7)))
    followed.look(0, says(b1=100, b3=40))
    assert followed.look(10, says(b1=None, b3=100)).bytes_total == 100
    [end] = followed.tracker.ended([Event(catalogue.MOVE_COMPLETED, *NAME, id=7)], followed.cluster)
    assert (end.copied, followed.tracker.copied_in) == (100, {3: 60})


def test_kr_1_the_bytes_of_a_move_whose_leader_shows_no_replica_are_unknown_and_not_0() -> None:
    found = Followed().look(0, says(b1=None, b3=40, b4=0))
    assert (found.bytes_total, found.bytes_copied, found.bytes_left) == (None, None, None)


def tell(followed: Followed, *events: Event) -> None:
    assert len(list(followed.tracker.ended(events, followed.cluster))) == len(events)


def test_240_6_progress_shows_the_bytes_of_the_leader_and_of_each_adding_replica() -> None:
    followed = Followed()
    assert followed.look(0, says(b1=100, b3=40, b4=None)) == MoveProgress(100, {3: 40, 4: 0}, adding=(3, 4))
    sums = followed.tracker.sums.all
    assert (sums.moves, sums.total, sums.copied, sums.stalled) == (1, 200, 40, 0)
    assert followed.sizes == {NAME: 100}


def test_240_6_the_remaining_time_is_that_of_the_slowest_replica_at_the_rate_at_which_its_gap_closes() -> None:
    followed = Followed()
    followed.look(0, says(b1=1000, b3=0, b4=0))
    found = followed.look(10, says(b1=1100, b3=600, b4=300))
    assert found.rate == 90
    # broker 4 has 800 to go, and 200 less than ten seconds ago; broker 3 is faster
    assert found.remaining_ms == 40_000
    assert followed.look(20, says(b1=1100, b3=1100, b4=1100)).remaining_ms == 0


class Shared:
    """Two moves of leader 1, which lack 26.6 and 33.4 MB: to broker 3, and to another one."""

    def __init__(self, *, other: int, quotas: Mapping[str, Mapping[str, str]]) -> None:
        self.cluster = cluster(moving((1,), (3,)), moving((1,), (other,)))
        self.cluster.broker_configs.update(quotas)
        self.tracker = ProgressTracker(STALL_S)
        self._other = other

    def look(self, now: float, first: int, second: int) -> tuple[int | None, int | None, int | None]:
        """The remaining times, of both moves and in all. `first`, `second`: what has been copied."""
        held = {self._other: {1: 116_600_000 + second}}
        held.setdefault(3, {})[0] = 123_400_000 + first
        sizes = {1: dict.fromkeys((0, 1), 150_000_000), **held}
        answers: Answers = {one: [SampledLogDir("/d", sizes={TOPIC: of})] for one, of in sizes.items()}
        for _ in self.tracker.update(now, self.cluster, answers, [], {}):
            pass
        one, other = (self.tracker.figures(TOPIC, index) for index in (0, 1))
        assert one is not None
        assert other is not None
        return one.remaining_ms, other.remaining_ms, self.tracker.remaining_ms


MEGABYTE = {"leader.replication.throttled.rate": "1000000", "follower.replication.throttled.rate": "1000000"}


@pytest.mark.parametrize("starved_copies", [4_000, 0])
@pytest.mark.parametrize(
    ("other", "quotas"),
    [
        (3, {}),
        (4, {"<default>": MEGABYTE}),
        (3, {"3": {"follower.replication.throttled.rate": "1000000"}}),
    ],
)
def test_240_6_a_move_that_a_shared_throttle_leaves_out_is_done_when_all_moves_of_its_link_are(
    other: int, quotas: Mapping[str, Mapping[str, str]], starved_copies: int
) -> None:
    """15 s at 1 MB/s for one of them: at its own rate, the other one would take 18 hours, or forever."""
    shared = Shared(other=other, quotas=quotas)
    for now in (0, 5, 10):
        shared.look(now, 1_000_000 * now, starved_copies * now // 15)
    first, second, total = shared.look(15, 15_000_000, starved_copies)
    assert first is not None
    assert second is not None
    assert abs(first - 11_600) < 10, "11.6 MB at 1 MB/s"
    assert abs(second - 45_000) < 30, "both lack 45 MB at 1 MB/s"
    assert total == second


def test_240_6_a_receiver_that_is_slow_by_itself_is_not_expected_to_catch_up() -> None:
    """No throttle holds the leader: that it serves broker 3 says nothing about broker 4."""
    for quotas in ({}, {"1": {"leader.replication.throttled.rate": "100000000"}}):
        shared = Shared(other=4, quotas=quotas)
        for now in (0, 5, 10):
            shared.look(now, 1_000_000 * now, 10_000 * now)
        assert shared.look(15, 15_000_000, 150_000)[1] == 3_325_000, "33.25 MB at 10 kB/s"


@pytest.mark.parametrize(("share", "small"), [(0.5, 18_000_000), (0.7, 10_000_000), (0.79, 1_000_000)])
def test_240_6_where_shares_are_uneven_the_remaining_time_is_within_a_quarter_of_the_true_one(
    share: float, small: int
) -> None:
    """--throttle 1MB limits both ends. Leader 1 copies 1 MB/s, and `share` of it to broker 3, which lacks 100 MB. When
    broker 4 has its few, all of the 1 MB/s is broker 3's: all is done when 1 MB/s has copied both.
    """
    here = cluster(moving((1,), (3,)), moving((1,), (4,)))
    here.broker_configs["<default>"] = MEGABYTE
    tracker = ProgressTracker(STALL_S)
    for now in (0, 5, 10, 15):
        lacks = {3: 100_000_000 + share * 1e6 * (15 - now), 4: small + (1 - share) * 1e6 * (15 - now)}
        answers: Answers = {1: [SampledLogDir("/d", sizes={TOPIC: dict.fromkeys((0, 1), 10**9)})]}
        for index, (broker, left) in enumerate(lacks.items()):
            answers[broker] = [SampledLogDir("/d", sizes={TOPIC: {index: 10**9 - int(left)}})]
        for _ in tracker.update(now, here, answers, [], {}):
            pass
    true_ms = (100_000_000 + small) / 1000
    for told in (tracker.remaining_ms, tracker.all_done_s and 1000 * tracker.all_done_s):
        assert told is not None
        assert abs(told - true_ms) <= true_ms / 4


def test_240_6_the_quota_of_a_receiver_counts_where_its_leader_is_at_the_quota_too() -> None:
    half = {"follower.replication.throttled.rate": "500000"}
    shared = Shared(other=4, quotas={"<default>": MEGABYTE, "4": half})
    for now in (0, 5, 10):
        shared.look(now, 1_000_000 * now, 0)
    assert shared.look(15, 15_000_000, 0)[1] == 66_800, "33.4 MB at 500 kB/s: later than 45 MB at 1 MB/s"


def test_240_6_what_a_move_copied_that_has_ended_belongs_to_the_rate_of_its_link() -> None:
    """The other move ends at 15 s, with the last 5 MB: its leader has copied 15 MB in 15 s."""
    shared = Shared(other=4, quotas={"<default>": MEGABYTE})
    shared.cluster.topics[TOPIC].partitions[0] = replace(moving((1,), (3,)), move=MoveRecord(MoveTerms((3,)), (1,), 7))
    for now in (0, 5, 10):
        shared.look(now, 11_600_000 + 1_000_000 * now, 20_000_000)
    list(shared.tracker.ended([Event(catalogue.MOVE_COMPLETED, TOPIC, 0, id=7)], shared.cluster))
    shared.cluster.moving[TOPIC].discard(0)
    for _ in shared.tracker.update(15, shared.cluster, at_15_s(), [], {}):
        pass
    found = shared.tracker.figures(TOPIC, 1)
    assert found is not None
    assert found.remaining_ms is not None
    assert abs(found.remaining_ms - 13_400) < 10, "13.4 MB at 1 MB/s"


def at_15_s() -> Answers:
    sizes = {1: 150_000_000, 4: 136_600_000}
    return {one: [SampledLogDir("/d", sizes={TOPIC: {1: size}})] for one, size in sizes.items()}


def test_240_6_the_remaining_time_is_unknown_while_the_gap_grows_and_before_two_samples() -> None:
    followed = Followed()
    assert followed.look(0, says(b1=1000, b3=0, b4=0)).remaining_ms is None
    found = followed.look(5, says(b1=2000, b3=500, b4=500))
    assert (found.rate, found.remaining_ms) == (200, None)


def test_240_6_rates_cover_the_last_seconds() -> None:
    followed = Followed()
    for second in range(0, 60, 5):
        copied = second if second < 30 else 30 + 4 * (second - 30)
        found = followed.look(second, says(b1=10_000, b3=copied, b4=copied))
    assert found.rate == 8


@given(
    total=st.integers(0, 2**50),
    steps=st.lists(st.tuples(st.floats(0.001, 100), st.integers(0, 2**50), st.integers(0, 2**50)), max_size=12),
)
def test_240_6_figures_are_sound_whatever_brokers_say(total: int, steps: Sequence[tuple[float, int, int]]) -> None:
    followed, now = Followed(), 0.0
    for wait, three, four in [(0.0, 0, 0), *steps]:
        now += wait
        found = followed.look(now, says(b1=total, b3=three, b4=four))
        for broker, size in ((3, three), (4, four)):
            assert found.copied.get(broker, 0) <= total == found.total
            assert found.copied.get(broker) == size or size > total, "of what holds more than its leader it is not"
            " known"
        assert (found.bytes_left is None) == (len(found.copied) < 2)
        assert found.rate is None or found.rate >= 0
        assert found.remaining_ms is None or (found.remaining_ms >= 0 and found.bytes_left is not None)
        assert found.remaining_ms == 0 or found.bytes_left != 0


@given(size=st.integers(1_000_000, 2**45), seconds=st.integers(10, 1000), samples=st.integers(2, 8))
def test_240_6_a_steady_copy_has_the_right_remaining_time(size: int, seconds: int, samples: int) -> None:
    followed = Followed(moving((1, 2), (1, 3)))
    for at in range(samples):
        copied = min(size, size * at // seconds)
        found = followed.look(at, says(b1=size, b3=copied))
    left = max(0, seconds - (samples - 1))
    assert found.remaining_ms is not None
    assert abs(found.remaining_ms - 1000 * left) <= 1000 + left * 1000 * 0.02


def test_240_6_a_broker_without_an_answer_keeps_its_last_sizes() -> None:
    followed = Followed()
    followed.look(0, says(b1=100, b3=40, b4=10))
    found = followed.look(5, {**says(b3=50), 4: None})
    assert (found.total, found.copied, found.remaining_ms) == (100, {3: 50, 4: 10}, None)
    assert Followed().look(0, {}) == MoveProgress(adding=(3, 4))
    assert (MoveProgress(adding=(3, 4)).bytes_total, MoveProgress().bytes_total) == (None, 0)


def test_240_6_a_change_of_target_starts_progress_anew_and_a_partition_at_rest_has_none() -> None:
    followed = Followed()
    followed.look(0, says(b1=100, b3=40, b4=40))
    followed.cluster.soft.sizes[NAME] = 100
    followed.put(moving((1, 2), (4, 5)))
    assert followed.look(50, says(b1=100, b4=40, b5=None)).copied == {4: 40, 5: 0}
    assert followed.look(50 + STALL_S - 1, says(b1=100, b4=40, b5=None)).stalled is None
    followed.put(not_moving(4, 5))
    followed.cluster.moving.clear()
    followed.sizes.clear()
    list(followed.tracker.update(200, followed.cluster, {}, followed.events, followed.sizes))
    assert followed.tracker.figures(*NAME) is None
    assert followed.tracker.is_idle
    assert followed.sizes == {NAME: None}
    assert followed.events == []


# ------------------------------------------------------------------------------------------------------ stalls

FULL = says(b1=100, b2=100, b3=100, b4=100)
PART = says(b1=100, b2=100, b3=100, b4=10)
THROTTLED = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "0:4"}


def broken(answers: Answers, broker: int, *dirs: SampledLogDir) -> Answers:
    return {**answers, broker: list(dirs)}


def grown(answers: Mapping[int, Any], by: int) -> Answers:
    return {**answers, **says(b1=100 + by, b2=100 + by)}


OFFLINE = SampledLogDir("/bad", error=56)


@for_each(
    ("options", "value", "answers", "reason"),
    [
        ({"live": (1, 2, 3)}, MOVE, PART, "broker 4 is dead"),
        ({"live": (1, 2)}, MOVE, PART, "brokers 3, 4 are dead"),
        (
            {},
            MOVE,
            broken(PART, 4, SampledLogDir("/ok"), OFFLINE),
            "log dir /bad of broker 4 has failed (KAFKA_STORAGE_ERROR: offline, or out of disk)",
        ),
        ({}, MOVE, broken(PART, 4, SampledLogDir("/bad", error=-1)), "log dir /bad of broker 4 has failed (error -1)"),
        (
            {},
            MOVE,
            broken(
                PART,
                4,
                SampledLogDir("/d", usable=20, total=500, sizes={TOPIC: {0: 10}}),
                SampledLogDir("/e", usable=9999),
            ),
            "broker 4 is out of disk: 20 bytes are free where 90 are to come",
        ),
        ({}, moving((1, 2), (3, 4), leader=-1), PART, "there is no leader to copy from"),
        ({}, MOVE, {**PART, 4: None}, "no answer from broker 4"),
        ({}, MOVE, {**PART, 1: None, 4: None}, "no answer from brokers 1, 4"),
        ({}, MOVE, FULL, "full ISR never reached: brokers 3, 4 have everything, out of sync all the same"),
        (
            {},
            moving((1, 2), (3, 4), isr=(1, 2, 3)),
            FULL,
            "full ISR never reached: broker 4 has everything, out of sync all the same",
        ),
        ({}, MOVE, PART, "broker 4 fetches nothing from broker 1"),
        ({}, MOVE, says(b2=100, b3=100, b4=10) | UNREPORTED, "no progress, and no reason for it can be seen"),
        ({"live": (1, 2, 3), "configs": THROTTLED}, MOVE, broken(PART, 3, OFFLINE), "broker 4 is dead"),
    ],
)
def test_240_6_a_stalled_move_has_the_most_specific_reason(
    options: dict[str, Any], value: Partition, answers: Answers, reason: str
) -> None:
    followed = Followed(value, **options)
    assert followed.stalled(answers) == reason
    assert followed.tracker.sums.all.stalled == 1


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        (
            {"1": {"leader.replication.throttled.rate": "5"}},
            "throttled to 5 B/s (leader 1) while 16 B/s are produced",
        ),
        (
            {"<default>": {"follower.replication.throttled.rate": "7"}},
            "broker 3 fetches nothing from broker 1; throttled to 7 B/s (follower 4) while 16 B/s are produced",
        ),
        ({}, "broker 3 fetches nothing from broker 1; broker 4 copies 0 B/s while 16 B/s are produced"),
    ],
)
def test_240_6_a_throttle_below_the_produce_rate_is_named(rates: Mapping[str, Mapping[str, str]], reason: str) -> None:
    followed = Followed(configs=THROTTLED)
    followed.cluster.broker_configs.update(rates)
    assert followed.stalled({**grown(PART, 1000), **says(b4=60)}, before=PART) == reason


def of_two(first: int, second: int) -> Answers:
    """Two moves from broker 1, to broker 3 and to broker 4, hold this much."""
    sizes = {1: dict.fromkeys((0, 1), 10**9), 3: {0: first}, 4: {1: second}}
    return {one: [SampledLogDir("/d", sizes={TOPIC: of})] for one, of in sizes.items()}


@for_each(
    ("listed", "rate", "other_gets", "reason"),
    [
        ("*", 1_000_000, 1_000_000, None),
        ("*", 1_000_000, 4_000_000, None),
        ("0:1", 1_000_000, 1_000_000, "broker 4 fetches nothing from broker 1"),
        ("*", 1_000_000, 20_000, "broker 4 fetches nothing from broker 1"),
        ("*", 100_000_000, 1_000_000, "broker 4 fetches nothing from broker 1"),
        ("*", 0, 0, "throttled to 0 B/s (leader 1) while 0 B/s are produced"),
    ],
)
def test_240_6_a_move_is_not_stalled_while_others_use_up_the_throttle_that_it_shares_with_them(
    listed: str, rate: int, other_gets: int, reason: str | None
) -> None:
    """It has got nothing for 100 seconds: its turn comes. Kafka lets through bursts above the throttle."""
    followed = Followed(moving((1,), (3,)), configs={"leader.replication.throttled.replicas": listed})
    followed.cluster.topics[TOPIC].partitions[1] = moving((1,), (4,))
    followed.cluster.moving[TOPIC].add(1)
    followed.cluster.broker_configs["1"] = {"leader.replication.throttled.rate": str(rate)}
    for now in range(0, 101, 5):
        followed.look(now, of_two(other_gets * now, 500))
    found = followed.tracker.figures(TOPIC, 1)
    assert found is not None
    assert found.stalled == reason
    share = f"its share of {rate} B/s (leader 1), which other moves use up"
    assert found.waits_for == (share if reason is None else None)
    assert [event.partition for event in followed.events if event.partition == 1] == ([] if reason is None else [1])
    if reason is None:
        for now in range(105, 201, 5):
            followed.look(now, of_two(10**9, 500))
        assert [event.reason for event in followed.events if event.partition == 1] == [
            "broker 4 fetches nothing from broker 1"
        ], "nobody uses the throttle up any more"
        assert (found := followed.tracker.figures(TOPIC, 1)) is not None
        assert found.waits_for is None


def test_240_6_two_causes_are_named_in_the_order_of_their_effect() -> None:
    """The throttle lets through less than is produced; the link, a hundredth of that."""
    followed = Followed(moving((1,), (4,)), configs={"leader.replication.throttled.replicas": "*"})
    followed.cluster.broker_configs["1"] = {"leader.replication.throttled.rate": "5000000"}
    for now in range(0, 61, 5):
        found = followed.look(now, says(b1=10**9 + 6_000_000 * now, b4=50_000 * now))
    throttled = "throttled to 5000000 B/s (leader 1) while 6000000 B/s are produced"
    assert found.stalled == f"broker 4 copies 50000 B/s while 6000000 B/s are produced; {throttled}"
    for now in range(65, 131, 5):
        found = followed.look(now, says(b1=10**9 + 6_000_000 * now, b4=50_000 * 60))
    assert found.stalled == f"broker 4 fetches nothing from broker 1; {throttled}"


def test_240_6_a_copy_that_never_closes_the_gap_stalls_although_bytes_arrive() -> None:
    followed = Followed(configs=THROTTLED)
    followed.cluster.broker_configs["4"] = {"follower.replication.throttled.rate": "5"}
    for second in range(0, 61, 5):
        assert (
            followed.look(second, {**grown(FULL, 10 * second), **says(b4=5 * second)}).stalled is None or second == 60
        )
    assert followed.tracker.sums.all.stalled == 1
    assert [event.event for event in followed.events] == ["move.stalled"]


def test_240_6_a_stall_and_its_end_are_reported_once() -> None:
    followed = Followed(live=(1, 2, 3))
    assert followed.stalled(PART) == "broker 4 is dead"
    assert followed.look(70, PART).stalled == "broker 4 is dead"
    followed.cluster.brokers.update(cluster(live=(4,)).brokers)
    assert followed.look(80, PART).stalled == "broker 4 fetches nothing from broker 1"
    assert followed.look(90, {**PART, **says(b4=11)}).stalled is None
    stalled, resumed = followed.events
    assert (stalled.event, stalled.topic, stalled.partition, stalled.id) == ("move.stalled", TOPIC, 0, 400)
    assert (stalled.reason, stalled.target) == ("broker 4 is dead", (3, 4))
    assert (resumed.event, resumed.reason) == ("move.resumed", None)


def test_240_6_a_replica_that_joins_the_isr_is_progress() -> None:
    followed = Followed()
    followed.look(0, FULL)
    followed.put(replace(MOVE, isr=(1, 2, 3)))
    followed.look(50, FULL)
    assert followed.look(STALL_S + 40, FULL).stalled is None
    assert followed.look(STALL_S + 50, FULL).stalled is not None


def of_many(count: int) -> tuple[Cluster, Answers]:
    here = cluster(*[MOVE] * count)
    sizes: Iterable[tuple[int, int]] = ((1, 100), (3, 50), (4, 0))
    return here, {
        broker: [SampledLogDir("/d", sizes={TOPIC: dict.fromkeys(range(count), size)})] for broker, size in sizes
    }


def test_240_6_many_moves_are_sampled_in_slices_and_may_end_meanwhile() -> None:
    here, answers = of_many(1000)
    tracker = ProgressTracker(STALL_S)
    steps = tracker.update(0, here, answers, [], {})
    next(steps)
    here.topics.clear()
    here.moving.clear()
    assert len(list(steps)) == 1, "the remaining times of those that were seen"
    assert tracker.sums.all.moves == 1
    here, answers = of_many(1000)
    assert len(list(tracker.update(5, here, answers, [], {}))) == 2 * 1000, "sizes, then remaining times"
    assert (tracker.sums.all.moves, tracker.sums.all.total - tracker.sums.all.copied) == (1000, 150_000)


@pytest.mark.long
def test_240_6_the_garbage_collector_does_not_track_samples() -> None:
    """Otherwise, with a hundred thousand moves, a pass over young objects takes tens of milliseconds.

    The thresholds would not help: as many objects go as come.
    """
    here, answers = of_many(1000)
    tracker = ProgressTracker(STALL_S)
    sizes: dict[TopicPartition, int | None] = {}
    for now in (0, 10, 20):
        for _ in tracker.update(now, here, answers, [], sizes):
            pass
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects(0))
        for _ in tracker.update(30, here, answers, [], sizes):
            pass
        assert len(gc.get_objects(0)) - before < 100
    finally:
        gc.enable()


def ended(followed: Followed, name: str, id_: int = 7) -> int | None:
    """`copied` of the event that ends the move; a move of another partition stays without."""
    events = [Event(name, *NAME, id=id_), Event(name, TOPIC, 1, id=id_), Event(catalogue.MOVE_STARTED, *NAME, id=id_)]
    found, *others = followed.tracker.ended(events, followed.cluster)
    assert others == events[1:]
    return found.copied


def test_240_6_the_end_of_a_move_has_what_was_copied_as_far_as_samples_of_that_very_move_have_it() -> None:
    record = MoveRecord(MoveTerms((3, 4)), (1, 2), 7)
    followed = Followed(replace(MOVE, move=record))
    assert ended(followed, catalogue.MOVE_CANCELLED) is None, "there was no sample"
    followed.look(0, says(b1=100, b3=40, b4=120))
    assert ended(followed, catalogue.MOVE_CANCELLED) == 140, "a replica that seems ahead has what its leader has"
    assert ended(followed, catalogue.MOVE_COMPLETED) == 200, "all of it, whatever the last sample saw"
    assert ended(followed, catalogue.MOVE_CANCELLED, id_=8) is None, "that is another move"
    silent = Followed(replace(MOVE, move=record))
    silent.look(0, {1: says(b1=100)[1], 3: says(b3=40)[3], 4: None})
    assert ended(silent, catalogue.MOVE_CANCELLED) is None, "broker 4 did not say what it has"
    assert ended(silent, catalogue.MOVE_COMPLETED) == 200
