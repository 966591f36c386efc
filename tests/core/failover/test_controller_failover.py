"""A new controller completes the half-written work of the former one, its own kind or stock.

What brokers prove about edits while no controller ran, and what they do not.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import (
    MOST_PARTITIONS,
    MOST_WRITTEN,
    Edits,
    Told,
    fail_over,
    is_as_stored,
    keep_ids,
    reassigned_by_others,
)
from kafka_reassign_rpc.core.failover import proven as steps_of_proven
from kafka_reassign_rpc.core.failover import to_ask_about as steps_of_to_ask_about
from kafka_reassign_rpc.core.leadership.broker_changes import adapt
from kafka_reassign_rpc.core.reassignment_algebra import LoadedAssignment, LoadedState, partition_of
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.missing_replicas import replace_missing
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.support.turns import Steps
from tests.core.build import TOPIC, TOPIC_ID, cluster, made, moving, not_moving, sets, view


def failed_over(here: RoundView, own_id: int = -1) -> Partition:
    return made(fail_over(here, TOPIC, 0, own_id=own_id))


def read(assigned: LoadedAssignment, state: LoadedState, move: MoveRecord | None = None) -> RoundView:
    return view(partition_of(assigned, state, move))


def test_sv_3_a_healthy_partition_does_not_change() -> None:
    assert fail_over(view(not_moving(1, 2)), TOPIC, 0) == []
    assert fail_over(view(replace(not_moving(1, 2), pending_deletion=(3,))), TOPIC, 0) == []
    assert fail_over(view(), TOPIC, 0) == []


def test_sv_4_a_partition_without_a_state_gets_its_first_one_unless_a_deletion_mark_of_its_topic_waits() -> None:
    here = view(Partition((1, 9)), not_moving(1, 9), live=(1, 2))
    assert failed_over(here, own_id=9) == Partition((1, 2), leader=1, isr=(1, 2))

    here.cluster.waiting_marks = frozenset({TOPIC})
    for decisions in (
        fail_over(here, TOPIC, 0, own_id=9),
        adapt(here, TOPIC, 0),
        adapt(here, TOPIC, 0, down=(1,)),
        replace_missing(here, TOPIC, 0, own_id=9),
    ):
        assert decisions == []
    assert here.get(TOPIC, 1) is not None

    here.cluster.waiting_marks = frozenset({"another topic"})
    assert failed_over(here, own_id=9).isr == (1, 2)


def test_455_9_a_move_of_a_stock_controller_continues_with_a_record() -> None:
    before = moving((1, 2, 3), (3, 4, 2), recorded=False)
    assert failed_over(view(before)) == replace(
        before, leader_epoch=7, move=MoveRecord(MoveTerms((3, 4, 2)), (3, 2, 1))
    )


def test_455_9_a_move_continues_with_a_higher_leader_epoch() -> None:
    before = moving((1, 2, 3), (3, 4, 2))
    assert failed_over(view(before)) == replace(before, leader_epoch=7)


def test_455_9_a_complete_move_is_completed_again() -> None:
    value = failed_over(view(moving((1, 2), (2, 3), isr=(2, 3), leader=2)))
    assert (value.replicas, value.pending_deletion, value.leader_epoch, value.move) == ((2, 3), (1,), 7, None)


def test_sv_3_a_record_of_a_target_that_was_never_written_is_corrected() -> None:
    here = read(
        LoadedAssignment((1, 4, 2), (4,), (2,)),
        LoadedState(1, 6, (1, 2), 1, 12),
        MoveRecord(MoveTerms((1, 5)), (1, 2), 400, 9),
    )
    assert failed_over(here).move == MoveRecord(MoveTerms((1, 4)), (1, 2), 400, 9)


def test_sv_3_a_record_of_a_move_that_another_controller_ended_is_corrected() -> None:
    here = read(
        LoadedAssignment((5, 4), (5,), (4,)), LoadedState(4, 6, (4,), 1, 12), MoveRecord(MoveTerms((4,)), (1,), 400, 9)
    )
    assert failed_over(here).move == MoveRecord(MoveTerms((5,)), (4,), 400, 9)


def test_236_8_an_orphan_record_is_removed() -> None:
    here = read(
        LoadedAssignment((1, 2)), LoadedState(1, 6, (1, 2), 1, 12), MoveRecord(MoveTerms((1, 3)), (1, 2), 400, 9)
    )
    value = failed_over(here)
    assert (value.move, value.leader_epoch, value.replicas) == (None, 7, (1, 2))


def test_455_6_a_half_written_cancel_is_completed() -> None:
    # The topic znode has the original replicas again, with 4 pending deletion; the state is old. 3 is out of sync.
    state = LoadedState(4, 6, (1, 2, 4), 1, 12)
    value = failed_over(
        read(LoadedAssignment((1, 2, 3, 4), (), (4,)), state, MoveRecord(MoveTerms((1, 2, 4)), (1, 2, 3), 400, 9))
    )
    assert sets(value) == ((1, 2, 3), (), ())
    assert (value.pending_deletion, value.isr, value.leader, value.leader_epoch, value.move) == (
        (4,),
        (1, 2),
        1,
        7,
        None,
    )


@pytest.mark.parametrize(
    ("record", "assigned", "isr"),
    [
        # Our [1] -> [2], which a stock controller completed. It grew the partition to [2, 1].
        (MoveRecord(MoveTerms((2,)), (1,)), LoadedAssignment((1, 3, 2), (3,), (2,)), (2,)),
        (MoveRecord(MoveTerms((2,)), (1,)), LoadedAssignment((1, 3, 2), (3,), (2,)), (2, 1)),
        (MoveRecord(MoveTerms((2,)), (1,)), LoadedAssignment((1, 2), (), (2,)), (2,)),  # as a cancel of ours would look
        # Our [1, 2] -> [1, 3], which a stock controller completed. It grew the partition to [1, 3, 2].
        (MoveRecord(MoveTerms((1, 3)), (1, 2)), LoadedAssignment((1, 2, 4, 3), (4,), (3,)), (3, 1)),
        (MoveRecord(MoveTerms((1, 3)), (1, 2)), LoadedAssignment((1, 2, 4, 3), (4,), (3,)), (3,)),
    ],
)
def test_sv_10_a_record_that_a_stock_controller_left_behind_takes_no_replica_out_of_a_later_move_of_its_own(
    record: MoveRecord, assigned: LoadedAssignment, isr: tuple[int, ...]
) -> None:
    move = replace(record, id=50, started=1)
    value = failed_over(read(assigned, LoadedState(isr[0], 9, isr, 4, 20), move))
    assert sets(value) == assigned
    assert (value.pending_deletion, value.isr, value.leader, value.leader_epoch) == ((), isr, isr[0], 10)
    assert value.move is not None
    assert value.move.terms.target == value.target


def test_sv_10_in_sync_replicas_that_a_half_written_cancel_removes_stay_where_no_other_is_in_sync() -> None:
    # [1, 2] -> [3] was cancelled while 3, the only replica in sync, was dead. It is back.
    assigned, state = LoadedAssignment((1, 2, 3), (), (3,)), LoadedState(NO_LEADER, 6, (3,), 1, 12)
    here = read(assigned, state, MoveRecord(MoveTerms((3,)), (1, 2), 400, 9))
    value = failed_over(here)
    assert (sets(value), value.leader, value.isr) == (((1, 2, 3), (), (3,)), 3, (3,))
    assert value.origin == (1, 2), "a cancel gives the original replicas"
    # Where the topic allows unclean elections the cancel is completed.
    here.cluster.topic_configs[TOPIC] = {"unclean.leader.election.enable": "true"}
    value = failed_over(here)
    assert (value.replicas, value.leader, value.isr, value.pending_deletion) == ((1, 2), 1, (1,), (3,))


def test_455_6_after_a_stock_controllers_unclean_cancel_only_an_unclean_election_helps() -> None:
    assigned, state = LoadedAssignment((2,)), LoadedState(NO_LEADER, 6, (4,), 1, 12)
    assert fail_over(read(assigned, state), TOPIC, 0) == []
    allowed = read(assigned, state)
    allowed.cluster.topic_configs[TOPIC] = {"unclean.leader.election.enable": "true"}
    value = failed_over(allowed)
    assert (value.leader, value.isr, value.leader_recovery_state) == (2, (2,), 1)
    allowed = read(assigned, state)
    allowed.cluster.topic_configs[TOPIC] = {"unclean.leader.election.enable": "true"}
    allowed.cluster.brokers.pop(2)
    assert failed_over(allowed).isr == (2,), "2 will lead when it comes back"
    begun = read(assigned, LoadedState(4, 6, (4,), 1, 12))
    begun.cluster.brokers.pop(2)
    value = failed_over(begun)
    assert (sets(value), value.leader, value.isr) == (((2, 4), (2,), (4,)), 4, (4,)), "4 has not been sent a stop yet"


def test_sv_4_a_leader_that_died_during_the_failover_is_replaced() -> None:
    value = failed_over(view(not_moving(1, 2), live=(2,)))
    assert (value.leader, value.isr, value.leader_epoch) == (2, (2,), 6)


def test_sv_4_the_servers_own_id_as_a_replica_is_replaced_and_the_znode_written() -> None:
    (change,) = fail_over(view(Partition((1000, 1)), live=(1, 2)), TOPIC, 0, own_id=1000)
    assert (change.value.replicas, change.value.leader) == ((2, 1), 2)  # type: ignore[union-attr]
    assert change.assignment is AssignmentWrite.NOW  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("known", "read", "reassigned"),
    [
        (not_moving(1, 2, 3), not_moving(1, 2), True),
        (not_moving(1, 2), not_moving(1, 2, 3, isr=(1, 2)), True),
        (not_moving(1, 2), replace(not_moving(1, 2), replicas=(2, 1)), False),  # brokers do not look at the order
        (not_moving(1, 2), replace(not_moving(1, 2), leader=2), True),
        (not_moving(1, 2), replace(not_moving(1, 2), leader=2, leader_epoch=6), False),
        (Partition((1, 2)), not_moving(1, 2, epoch=0), False),  # its first state
        (not_moving(1, 2), not_moving(1, 3, epoch=6), False),  # a controller has raised the epoch itself
        (None, not_moving(1, 2), False),
    ],
)
def test_455_9_replicas_or_leaders_that_others_have_changed_need_a_higher_leader_epoch_if_the_state_has_none(
    known: Partition | None, read: Partition, reassigned: bool
) -> None:
    assert reassigned_by_others(known, read) is reassigned


def test_455_9_a_partition_with_replicas_of_others_gets_exactly_one_higher_leader_epoch() -> None:
    def again(partition: Partition) -> Partition:
        return made(fail_over(view(partition), TOPIC, 0, is_as_known=True, is_reassigned=True))

    assert again(not_moving(1, 2)) == replace(not_moving(1, 2), leader_epoch=6)
    assert again(not_moving(1, 2, isr=(1, 3))) == replace(not_moving(1, 2, isr=(1,)), leader_epoch=6)
    assert again(moving((1, 2), (1, 3), recorded=False)).leader_epoch == 7
    assert again(Partition((1, 2))).leader_epoch == 0, "brokers know nothing of it yet"


T = TypeVar("T")
OTHER = UUID(int=8)
SINCE = 50
NAME = TopicPartition(TOPIC, 0)


def done(steps: Steps[T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def to_ask_about(here: Cluster, written: Mapping[str, int], since: int) -> list[str]:
    return done(steps_of_to_ask_about(here, written, since))


def proven(here: Cluster, said: Sequence[Told], since: int) -> Edits:
    return done(steps_of_proven(here, said, since))


def told(
    broker: int = 1, id_: UUID | None = TOPIC_ID, leader: int = 1, epoch: int = 5, name: TopicPartition = NAME
) -> Told:
    return Told(broker, {} if id_ is None else {TOPIC: id_}, {name: (leader, epoch)})


def test_hm_2_brokers_are_asked_only_about_topics_without_an_id_and_those_written_since_the_last_mark() -> None:
    here = cluster(not_moving(1, 2))
    for number, name in enumerate(("old", "late", "later", "deleted")):
        put_topic(here, name, UUID(int=100 + number), {0: not_moving(1)}, version=0, deleting=name == "deleted")
    put_topic(here, "none", None, {0: not_moving(1)}, version=0)
    written = {TOPIC: 7, "old": SINCE, "late": SINCE + 1, "later": SINCE + 2, "deleted": 90, "none": 3}
    assert to_ask_about(here, written, SINCE) == ["none", "later", "late"]


def test_hm_2_brokers_are_asked_about_few_of_the_partitions_that_were_written_the_last_first() -> None:
    """A controller that dies with thousands of moves has written all of them; no edit is older."""
    here = cluster(not_moving(1, 2))
    for number in range(MOST_WRITTEN):
        put_topic(here, f"{number}", UUID(int=1000 + number), {0: not_moving(1), 1: not_moving(1)}, version=0)
    written = {f"{number}": 100 + number for number in range(MOST_WRITTEN)}
    assert to_ask_about(here, written, SINCE) == [f"{MOST_WRITTEN - 1 - late}" for late in range(MOST_WRITTEN // 2)]
    put_topic(here, "large", OTHER, dict.fromkeys(range(MOST_WRITTEN + 1), not_moving(1)), version=0)
    assert to_ask_about(here, {"large": 90_000, "0": 60}, SINCE) == ["0"]


def test_hm_2_topics_without_an_id_have_more_room_and_the_first_of_them_any() -> None:
    here = cluster(not_moving(1, 2))
    put_topic(here, "none", None, dict.fromkeys(range(MOST_PARTITIONS), not_moving(1)), version=0)
    put_topic(here, "late", OTHER, {0: not_moving(1)}, version=0)
    assert to_ask_about(here, {"none": 3, "late": 60}, SINCE) == ["none"]
    put_topic(here, "larger", None, dict.fromkeys(range(MOST_PARTITIONS + 1), not_moving(1)), version=0)
    assert to_ask_about(here, {"none": 3, "larger": 4}, SINCE) == ["larger"]
    assert to_ask_about(here, {"none": 4, "larger": 3}, SINCE) == ["none"]


def test_hm_2_one_broker_is_enough_that_knows_all_topics_by_the_ids_that_they_have() -> None:
    here = cluster(not_moving(1, 2))
    put_topic(here, "none", None, {0: not_moving(1)}, version=0)
    assert is_as_stored(here, [TOPIC], told())
    assert not is_as_stored(here, [TOPIC], told(id_=OTHER))
    assert not is_as_stored(here, [TOPIC], told(id_=None)), "it has started since"
    assert not is_as_stored(here, [TOPIC, "none"], told()), "an id is to be found on which all agree"


def test_hm_2_a_topic_gets_back_an_id_on_which_all_brokers_agree_and_that_no_other_topic_has() -> None:
    here = cluster(not_moving(1, 2))
    put_topic(here, TOPIC, None, {0: not_moving(1, 2)}, version=3)
    assert proven(here, [], SINCE).lost == {}
    assert proven(here, [told(id_=None)], SINCE).lost == {}
    assert proven(here, [told(1), told(2, OTHER)], SINCE).lost == {}
    found = proven(here, [told(1), told(2, None)], SINCE)
    assert found.lost == {TOPIC: TOPIC_ID}
    for _ in keep_ids(here, found.lost):
        pass
    assert here.soft.former.id_of(TOPIC) == TOPIC_ID
    put_topic(here, "u", TOPIC_ID, {0: not_moving(1)}, version=0)
    assert proven(here, [told(1)], SINCE).lost == {}


def test_hm_2_a_topic_that_no_controller_has_had_gets_no_id_of_another_that_had_its_name() -> None:
    """Under that its leader epochs would fall: brokers would go on with what they have, and clients too."""
    here = cluster(not_moving(1, 2))
    new = replace(not_moving(1, 2), partition_epoch=-1)
    put_topic(here, TOPIC, None, {0: new, 1: new}, version=0)
    assert proven(here, [told()], SINCE).lost == {}
    put_topic(here, TOPIC, None, {0: new, 1: not_moving(1, 2)}, version=0)
    assert proven(here, [told()], SINCE).lost == {TOPIC: TOPIC_ID}


def test_hm_2_an_id_was_edited_only_where_the_znode_is_as_old_as_what_brokers_know() -> None:
    here = cluster(not_moving(1, 2))
    here.topics[TOPIC].created = SINCE
    here.topics[TOPIC].id_since = SINCE + 1
    (edited,) = proven(here, [told(1, OTHER), told(2, OTHER)], SINCE).edited
    assert (edited.topic, edited.now, edited.known, edited.brokers) == (TOPIC, TOPIC_ID, OTHER, [1, 2])
    assert proven(here, [told(1, OTHER), told(2)], SINCE).edited == [], "one of them has not heard of this topic"
    assert proven(here, [told()], SINCE).edited == []
    here.topics[TOPIC].id_since = SINCE
    assert proven(here, [told(1, OTHER)], SINCE).edited == [], "a state was written: the broker knows an earlier topic"
    here.topics[TOPIC].created = here.topics[TOPIC].id_since = SINCE + 1
    assert proven(here, [told(1, OTHER)], SINCE).edited == [], "a topic that was created again"


def test_hm_2_a_leader_was_edited_where_a_broker_knows_another_in_the_same_epoch_of_the_same_topic() -> None:
    here = cluster(not_moving(1, 2, leader=2))
    assert proven(here, [told(leader=2), told(2, leader=1)], SINCE).leaders == {NAME}
    assert proven(here, [told(leader=2)], SINCE).leaders == set()
    assert proven(here, [told(epoch=4)], SINCE).leaders == set(), "it has missed the election"
    assert proven(here, [told(leader=NO_LEADER)], SINCE).leaders == set(), "it knows that the leader is away"
    assert proven(here, [told(id_=OTHER)], SINCE).leaders == set()
    assert proven(here, [told(name=TopicPartition(TOPIC, 9))], SINCE).leaders == set()
    put_topic(here, TOPIC, TOPIC_ID, {0: replace(not_moving(1, 2, leader=2), partition_epoch=-1)}, version=3)
    assert proven(here, [told()], SINCE).leaders == set(), "it gets its first state"
