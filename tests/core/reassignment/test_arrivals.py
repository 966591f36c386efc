"""240-6: progress is bytes that arrive, whatever makes logs shrink; and what sizes do not show is unknown."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import ToldSizes
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms
from kafka_reassign_rpc.core.status.documents import share
from kafka_reassign_rpc.support.slices import run_through
from tests.core.build import moving, not_moving
from tests.core.reassignment.test_progress import NAME, STALL_S, Followed, says

MOVE = moving((1,), (4,))
COMPACTED = {"cleanup.policy": "compact,delete"}
EVERY = 5


def test_240_6_after_a_log_has_shrunk_a_move_at_full_speed_is_not_stalled_before_it_passes_its_old_low() -> None:
    followed = Followed(MOVE)
    followed.look(0, says(b1=10_000, b4=9_000))
    followed.look(5, says(b1=10_000, b4=None))
    for second in range(10, 200, EVERY):
        found = followed.look(second, says(b1=10_000, b4=20 * second))
        assert found.stalled is None
    assert (found.rate, found.bytes_copied) == (20, 20 * 195)
    assert followed.events == []


def test_240_6_retention_at_the_leader_is_no_progress_of_a_move_that_stalls_and_none_is_lost() -> None:
    """What is cut goes from the replica a little later, as far as it has been copied."""
    followed = Followed(MOVE)
    for second in range(0, 400, EVERY):
        cut, trimmed = 10 * (second // 20), 10 * max(0, (second - 10) // 20)
        found = followed.look(second, says(b1=1_000 - cut, b4=max(0, 100 - trimmed)))
        assert found.bytes_copied == 100, "and neither a jump forth nor one back"
        assert found.bytes_left == (900 if cut <= 100 else 1_000 - cut)
    assert [event.event for event in followed.events] == ["move.stalled"]


def test_240_6_a_leader_that_was_cut_to_the_size_of_a_replica_does_not_make_that_one_complete() -> None:
    followed = Followed(MOVE)
    followed.look(0, says(b1=100, b4=50))
    found = followed.look(5, says(b1=50, b4=50))
    assert (found.bytes_total, found.bytes_copied, found.bytes_left) == (100, 50, 50)
    assert found.waits_to_join((1,)) == []


@pytest.mark.parametrize("where", ["topic", "brokers"])
@pytest.mark.parametrize("size", [10, 100, 250])
def test_240_6_of_a_compacted_topic_the_rate_is_known_and_the_rest_is_not(where: str, size: int) -> None:
    followed = Followed(MOVE, configs=COMPACTED if where == "topic" else {})
    if where == "brokers":
        followed.cluster.broker_configs[DEFAULT] = {"log.cleanup.policy": "compact"}
    followed.look(0, says(b1=100, b4=size))
    found = followed.look(10, says(b1=100, b4=size + 20))
    assert (found.rate, found.bytes_total) == (2, 100)
    assert (found.bytes_copied, found.bytes_left, found.remaining_ms, found.copied) == (None, None, None, {})
    assert found.waits_to_join((1,)) == []
    assert followed.tracker.sums.all.unknown == 1
    followed.put(moving((1,), (4,), isr=(1, 4)))
    found = followed.look(15, says(b1=100, b4=size))
    assert (found.bytes_copied, found.bytes_left) == (100, 0), "what is in sync has everything"


def test_240_6_a_topic_that_says_itself_that_it_is_not_compacted_is_not() -> None:
    followed = Followed(MOVE, configs={"cleanup.policy": "delete"})
    followed.cluster.broker_configs[DEFAULT] = {"log.cleanup.policy": "compact"}
    assert followed.look(0, says(b1=100, b4=10)).bytes_left == 90


def test_240_6_a_replica_that_holds_more_than_its_leader_and_copies_has_not_everything() -> None:
    """It is throttled to 1 B/s. What it holds beyond its leader is old, and it is not known how much that is."""
    throttles = {"leader.replication.throttled.replicas": "*"}
    followed = Followed(MOVE, configs=throttles)
    followed.cluster.broker_configs["1"] = {"leader.replication.throttled.rate": "1"}
    for second in range(0, 100, EVERY):
        found = followed.look(second, says(b1=100 + 2 * second, b4=5_000 + second))
        assert (found.bytes_copied, found.bytes_left, found.remaining_ms) == (None, None, None)
        assert share(found.bytes_copied, found.bytes_total) is None
        assert found.waits_to_join((1,)) == []
    assert found.rate == 1
    assert found.stalled == "throttled to 1 B/s (leader 1) while 2 B/s are produced"


def test_240_6_a_replica_that_is_asked_later_than_its_leader_stays_at_what_it_had_for_a_sample() -> None:
    followed = Followed(MOVE)
    followed.look(0, says(b1=100, b4=90))
    assert followed.look(5, says(b1=200, b4=201)).bytes_copied == 90
    assert followed.look(10, says(b1=300, b4=301)).bytes_copied is None, "it is out of sync for another reason"


def test_240_6_what_has_everything_and_follows_its_leader_gains_nothing_whichever_is_asked_first() -> None:
    followed = Followed(MOVE)
    followed.look(0, says(b1=1_000, b4=1_000))
    for second in range(EVERY, 200, EVERY):
        early = second % 3 - 1
        found = followed.look(second, says(b1=1_000 + 20 * second, b4=1_000 + 20 * second + early))
        assert found.bytes_left in (0, 1)
    assert found.stalled == "full ISR never reached: broker 4 has everything, out of sync all the same"
    assert [event.event for event in followed.events] == ["move.stalled"]


def test_kr_2_sizes_that_were_asked_before_a_move_began_are_no_sample_of_it() -> None:
    """Its partition moved before. The copy has grown since, and what arrived then does not make a rate now."""
    followed = Followed(replace(MOVE, move=MoveRecord(MoveTerms((4,)), (1,), id=1)))

    def look(now: float, size: int, asked: float) -> MoveProgress:
        told = dict.fromkeys((1, 4), ToldSizes(asked + 0.5, asked=asked))
        run_through(followed.tracker.update(now, followed.cluster, says(b1=9_000, b4=size), [], {}, told=told))
        found = followed.tracker.figures(*NAME)
        assert found is not None
        return found

    assert look(1, 100, asked=0).copied == {4: 100}
    assert look(11, 100, asked=0).rate is None, "no news"
    followed.put(replace(MOVE, move=MoveRecord(MoveTerms((4,)), (1,), id=2)))
    assert look(12, 100, asked=0) == MoveProgress(adding=(4,)), "long before"
    assert look(12, 100, asked=10.9) == MoveProgress(adding=(4,)), "before it was listed, and answered since"
    assert look(13, 4_800, asked=12.5).rate is None
    assert look(14, 4_810, asked=13.5).rate == 10


def test_kr_2_what_the_first_sample_after_a_rest_finds_copied_makes_no_rate() -> None:
    """The move began before the look that saw it, and its brokers reported their sizes one look later."""
    followed = Followed(replace(MOVE, move=MoveRecord(MoveTerms((4,)), (1,), id=7)))
    list(followed.tracker.ended([Event(catalogue.MOVE_STARTED, *NAME, id=7)], followed.cluster))
    for now, asked, rate in ((1, -1, None), (2, 1.5, None), (3, 2.5, 10)):
        told = dict.fromkeys((1, 4), ToldSizes(asked)) if asked >= 0 else {}
        answers = says(b1=9_000, b4=4_800 + 10 * (now - 2)) if told else {}
        run_through(followed.tracker.update(now, followed.cluster, answers, [], {}, told=told))
        assert followed.tracker.rates.of_all(moves=True) == rate, now


def test_kr_2_a_move_that_has_just_begun_has_not_the_rate_of_those_before_it() -> None:
    """It is shown from the look on that has listed it: before it has a sample."""
    followed = Followed(MOVE)
    followed.look(0, says(b1=9_000, b4=0))
    followed.look(10, says(b1=9_000, b4=4_700))
    assert followed.tracker.rates.of_all(moves=True) == 470
    followed.put(not_moving(4))
    followed.cluster.moving.clear()
    run_through(followed.tracker.update(11, followed.cluster, {}, [], {}))
    assert followed.tracker.rates.of_all(moves=True) is None
    assert followed.tracker.rates.of_all(moves=False) == 0


class Log:
    """From `start` to `end`, bytes."""

    def __init__(self) -> None:
        self.start = self.end = 0

    @property
    def size(self) -> int:
        return self.end - self.start


STEPS = st.tuples(
    st.just(0) | st.integers(1, 50), st.integers(0, 80), st.integers(0, 60), st.integers(0, 60), st.booleans()
)


@given(begins_with=st.integers(0, 200), steps=st.lists(STEPS, min_size=2, max_size=40))
@example(begins_with=100, steps=[(0, 50, 0, 0, False), (0, 0, 50, 0, False)])
def test_240_6_only_what_has_all_bytes_has_nothing_left_whatever_is_produced_copied_cut_and_lost(
    begins_with: int, steps: Sequence[tuple[int, int, int, int, bool]]
) -> None:
    """The replica begins where its leader begins. Between two samples the leader's log grows, or is cut, or the replica
    loses all (`is_lost`): after several of these, sizes show less.
    """
    followed, leader, replica = Followed(MOVE), Log(), Log()
    leader.end = begins_with
    followed.look(0, says(b1=leader.size, b4=0))
    for at, (produced, copied, cut, trimmed, is_lost) in enumerate(steps, start=1):
        if is_lost:
            replica.start = replica.end = leader.start
        else:
            leader.end += produced
            replica.end = min(leader.end, replica.end + copied)
            leader.start = min(leader.end, leader.start + (0 if produced else cut))
            replica.start = min(leader.start, replica.end, replica.start + trimmed)
        if replica.end < leader.start:  # its next fetch is out of range
            replica.start = replica.end = leader.start
        found = followed.look(EVERY * at, says(b1=leader.size, b4=replica.size))
        lacks = leader.end - replica.end
        assert found.bytes_left is None or found.bytes_left >= lacks
        assert found.bytes_left != 0 or lacks == 0


@given(
    production=st.lists(st.integers(0, 100), min_size=20, max_size=40),
    shrinks=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=40, max_size=40),
)
def test_240_6_a_move_that_gets_more_than_is_produced_is_never_stalled_however_logs_shrink(
    production: Sequence[int], shrinks: Sequence[tuple[int, int]]
) -> None:
    """Each second sample sees logs shrink; a shrinking log does not show what has arrived."""
    followed, total, held = Followed(MOVE), 10**6, 0
    for at, (produced, (cut, lost)) in enumerate(zip(production, shrinks, strict=False)):
        if at % 2:
            total, held = total - cut, max(0, held - lost)
        else:
            total, held = total + produced, held + 200
        found = followed.look(STALL_S / 4 * at, says(b1=total, b4=held))
        assert found.stalled is None
