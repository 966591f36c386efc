"""Which leader, ISR and epochs hold where others have edited, restored or removed znodes of a topic."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.round.changed_by_others import (
    EDITED,
    UNKNOWN_CHANGES,
    is_put_back,
    put_back,
    with_former_state,
    with_live_in_sync,
)
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition
from tests.core.build import cluster, moving, not_moving, sets
from tests.tables import for_each

FORMER = replace(not_moving(1, 2), partition_epoch=5, leader_epoch=3, created=40, controller_epoch=8, offline=(2,))
OTHERS = replace(FORMER, partition_epoch=6, leader=2, isr=(2,), controller_epoch=9, offline=())
"""What was read: a later version of the state, with another leader."""


def epochs(value: Partition) -> tuple[int, int]:
    return value.leader_epoch, value.partition_epoch


@for_each(
    "read, former",
    [
        (OTHERS, FORMER),
        (replace(OTHERS, leader_epoch=4), FORMER),
        (replace(OTHERS, partition_epoch=5), FORMER),
        (replace(OTHERS, isr=(9,)), replace(FORMER, partition_epoch=-1)),
        (replace(OTHERS, isr=(9,)), replace(FORMER, isr=())),
        (replace(OTHERS, isr=(9,), pending_deletion=(9,)), FORMER),
    ],
)
def test_hm_2_a_newer_state_holds_as_it_is_and_so_does_one_of_a_partition_that_had_none(
    read: Partition, former: Partition
) -> None:
    assert with_former_state(read, former) is read


@for_each(
    "read, after",
    [
        (replace(OTHERS, partition_epoch=4), (5, 6)),
        (replace(OTHERS, leader_epoch=2), (5, 7)),
        (Partition((1, 2), created=40), (5, 6)),  # the state is gone
        (replace(OTHERS, isr=(), leader=NO_LEADER), (5, 7)),
        (replace(OTHERS, isr=(9,), leader=9), (5, 7)),
        (replace(OTHERS, created=41), (5, 7)),
        (replace(OTHERS, created=41, leader_epoch=7, isr=(9,), leader=9), (8, 7)),
    ],
)
def test_hm_2_in_place_of_an_older_or_impossible_state_the_former_leader_and_isr_hold_with_epochs_that_are_new(
    read: Partition, after: tuple[int, int]
) -> None:
    value = with_former_state(read, FORMER)
    assert (value.leader, value.isr, value.controller_epoch, value.offline) == (1, (1, 2), 8, (2,))
    assert epochs(value) == after


def test_hm_2_the_first_version_of_a_state_counts_as_one() -> None:
    first = replace(FORMER, partition_epoch=0)
    assert with_former_state(replace(OTHERS, isr=(9,)), first).isr == first.isr


def test_hm_2_the_state_of_a_topic_that_was_made_again_holds_if_its_leader_epoch_is_higher() -> None:
    read = replace(OTHERS, created=41, partition_epoch=0, leader_epoch=4)
    value = with_former_state(read, FORMER)
    assert (value.leader, value.isr, value.controller_epoch, value.offline) == (2, (2,), 9, (2,))
    assert epochs(value) == (5, 6)


@for_each("leader_epoch, leader, after", [(3, 1, (5, 7)), (4, 2, (4, 6))])
def test_hm_2_a_state_that_was_written_by_hand_where_none_could_be_read_has_to_have_a_higher_leader_epoch(
    leader_epoch: int, leader: int, after: tuple[int, int]
) -> None:
    read = replace(OTHERS, leader_epoch=leader_epoch)
    value = with_former_state(read, FORMER, is_repaired=True)
    assert (value.leader, epochs(value)) == (leader, after)


def test_hm_2_a_partition_epoch_rises_by_a_bounded_number_of_writes_and_a_leader_epoch_stays_an_int32() -> None:
    read = replace(OTHERS, partition_epoch=4, leader_epoch=INT32)
    assert epochs(with_former_state(read, replace(FORMER, partition_epoch=5_000))) == (INT32, 4 + 1_000 + 1)


@for_each("leader_epoch, partition_epoch, was", [(1, 0, True), (1, 1, False), (0, 0, False), (1, -1, False)])
def test_hm_2_a_state_with_more_leader_epochs_than_versions_was_put_back(
    leader_epoch: int, partition_epoch: int, *, was: bool
) -> None:
    assert is_put_back(replace(OTHERS, leader_epoch=leader_epoch, partition_epoch=partition_epoch)) is was


def test_hm_2_a_state_that_was_put_back_gets_epochs_beyond_those_that_brokers_may_have_seen_and_shows_so_once() -> None:
    value = put_back(replace(OTHERS, leader_epoch=30, partition_epoch=2))
    assert epochs(value) == (30 + UNKNOWN_CHANGES // 2 + 1, 30 + UNKNOWN_CHANGES + 1)
    assert not is_put_back(value)
    assert is_put_back(replace(value, partition_epoch=0)), "restored under another controller"
    assert epochs(put_back(replace(OTHERS, leader_epoch=3, partition_epoch=9))) == (60, 110)


# ------------------------------------------------------------------------------- replicas of which none is in sync


@for_each(
    "partition, live",
    [
        (not_moving(1, 2), (1, 2)),
        (not_moving(1, 2), ()),
        (not_moving(3, 4, isr=(3, 1)), (1, 3)),
        (not_moving(3, 4, isr=(3, 1)), ()),
        (replace(not_moving(3, 4, isr=(1, 2)), pending_deletion=(1,)), (1, 2)),
        (not_moving(3, 4, isr=(1, 2), leader=NO_LEADER), (1, 2)),  # a stock controller has stopped them
    ],
)
def test_hm_2_edited_replicas_hold_where_one_in_sync_is_among_them_or_none_is_left_that_is_better(
    partition: Partition, live: tuple[int, ...]
) -> None:
    assert with_live_in_sync(cluster(live=live), partition, None) is partition


@for_each(
    "live, kept",
    [((1, 2, 3, 4), (1, 2)), ((2, 3, 4), (2,)), ((3, 4), (1, 2))],
)
def test_hm_2_of_edited_replicas_without_one_in_sync_the_former_live_ones_stay_until_the_others_have_caught_up(
    live: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    value = with_live_in_sync(cluster(live=live), not_moving(3, 4, isr=(1, 2)), None)
    assert sets(value) == ((3, 4, *kept), (3, 4), kept)
    assert value.move == MoveRecord(MoveTerms((3, 4), reason=EDITED), kept)


def test_hm_2_in_sync_replicas_without_a_leader_stay_if_they_were_replicas_before_the_edit() -> None:
    edited = not_moving(3, 4, isr=(1, 2), leader=NO_LEADER)
    assert sets(with_live_in_sync(cluster(), edited, not_moving(1, 5))) == ((3, 4, 1), (3, 4), (1,))


def test_hm_2_a_dead_one_in_sync_among_edited_replicas_does_not_lead_so_a_live_one_stays() -> None:
    edited = not_moving(3, 4, isr=(3, 1))
    assert sets(with_live_in_sync(cluster(live=(1, 4)), edited, None)) == ((3, 4, 1), (4,), (1,))


def test_hm_2_a_replica_that_was_one_before_the_edit_is_not_added_by_it_and_a_move_keeps_its_terms() -> None:
    edited = not_moving(3, 2, isr=(1,))
    assert sets(with_live_in_sync(cluster(), edited, not_moving(1, 2, isr=(1,)))) == ((3, 2, 1), (3,), (1,))
    record = moving((5, 6), (3, 4)).move
    assert with_live_in_sync(cluster(), replace(edited, move=record), None).move == record


def test_hm_2_a_replica_that_an_edit_leaves_among_the_removing_ones_alone_is_kept_once() -> None:
    """Nobody can read a topic's znode that names a replica twice."""
    edited = replace(not_moving(3, isr=(1, 2)), removing=(1, 2))
    assert sets(with_live_in_sync(cluster(), edited, moving((1, 2), (3,)))) == ((3, 1, 2), (), (1, 2))


def test_hm_2_a_partition_whose_replicas_were_all_taken_away_keeps_the_former_ones_or_those_in_sync() -> None:
    edited = replace(not_moving(3, isr=(1, 2)), replicas=())
    former = moving((1, 2), (4, 2))
    assert sets(with_live_in_sync(cluster(), edited, former)) == sets(former)
    assert sets(with_live_in_sync(cluster(live=(2, 3)), edited, None)) == ((2,), (), ())
    assert sets(with_live_in_sync(cluster(), replace(edited, removing=(3,), replicas=(3,), isr=(3,)), None)) == (
        (3,),
        (),
        (),
    )
