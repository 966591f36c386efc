"""The moves that wait, in the queue and in the batch, and what keeps one from starting."""

from kafka_reassign_rpc.core.reassignment.move_sums import (
    FOR_APPROVAL,
    added_by,
    bytes_to_copy,
    waiting_moves,
    why_not_started,
)
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, Held, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, moving, not_moving
from tests.core.queue.queue_rounds import queued

AT = 1_764_194_400_000
SINCE = "2025-11-26 22:00:00 UTC"


def test_dh_5_the_queue_comes_first_and_then_what_waits_in_the_batch_and_not_in_the_queue() -> None:
    here = cluster(not_moving(1, 2), not_moving(1, 2), moving((1, 2), (3, 4)), not_moving(1, 2))
    queued(here, {1: (5, 6), 2: (5, 6), 7: (5, 6)})
    batch = {TopicPartition(TOPIC, index): BatchEntry((3, 4)) for index in (0, 1, 2)}
    here.batch = BatchZnode(batch, version=2, changed=450, waiting=2)
    found = [None if one is None else (one[0].partition, one[2].terms.target) for one in waiting_moves(here)]
    assert found == [(1, (5, 6)), (2, (5, 6)), None, (0, (3, 4))], "there is no partition 7"
    here.batch = BatchZnode(batch, version=2, changed=450, waiting=0)
    assert len([*waiting_moves(here)]) == 3, "all entries of the batch move"


def test_dh_5_a_waiting_move_says_who_holds_it_or_that_it_waits_for_approval() -> None:
    terms = MoveTerms((3, 4))
    assert why_not_started(WaitingMove(terms)) is None
    held = why_not_started(WaitingMove(terms, Held(AT, "User:a", "disks")))
    assert held == f"by User:a since {SINCE}: disks"
    assert why_not_started(WaitingMove(terms, Held())) == "since an unknown time"
    assert why_not_started(WaitingMove(terms, unapproved=AT)) == f"{FOR_APPROVAL} since {SINCE}"
    assert why_not_started(WaitingMove(terms, unapproved=0)) == FOR_APPROVAL


def test_fg_2_what_a_waiting_move_copies_counts_each_replica_that_it_adds_to_where_the_one_in_flight_ends() -> None:
    assert added_by(moving((1, 2), (3, 2)), WaitingMove(MoveTerms((3, 4)))) == (4,)
    assert added_by(not_moving(1, 2), WaitingMove(MoveTerms((3, 4)))) == (3, 4)
    assert [bytes_to_copy((), None), bytes_to_copy((3, 4), None), bytes_to_copy((3, 4), 50)] == [0, None, 100]
