"""The table of phases, row by row: a move [1,2] -> [3,2], or one that replaced another target of the same partition."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, NoReassignmentInProgress
from kafka_reassign_rpc.core.phases.phases import (
    DELETED,
    FORMER_REACHED,
    LOOKS,
    LOOKS_AT_OTHERS,
    OTHER_REPLICAS,
    OTHER_TARGET,
    OTHERS_MOVED,
    TABLE,
    Act,
    Outcome,
    Step,
    after_done,
    after_refusal,
    first_act,
    next_step,
    would_go_astray,
)
from kafka_reassign_rpc.core.phases.sightings import SeenPartition, Sighting, former_moves
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition, Phase
from tests.tables import for_each

ALONE = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.START)
FORMER = MoveRecord(MoveTerms((4, 2)), (1, 2), 6, phase=Phase.MOVING)
REPLACING = replace(ALONE, replaces=FORMER, retained=(4,))
REORDERED = replace(ALONE, replaces=replace(FORMER, terms=MoveTerms((2, 1))))

OURS = SeenPartition((3, 2, 1), (3,), (1,))
THEIRS = SeenPartition((9, 2, 1), (9,), (1,))
TO_FORMER = SeenPartition((4, 2, 1), (4,), (1,))
BACK = SeenPartition((1, 2, 4), (), (4,))
NOTHING, SEND, CANCEL, RESTORE = Act.NOTHING, Act.SEND, Act.CANCEL, Act.RESTORE


def at(*replicas: int) -> SeenPartition:
    return SeenPartition(replicas)


def step(
    record: MoveRecord, phase: Phase, seen: SeenPartition | None, looks: int = LOOKS_AT_OTHERS, *, why: str = ""
) -> Step:
    return next_step(replace(record, phase=phase), seen, looks, no_restore=why)


@for_each(
    "phase, record, seen, act, then",
    [
        (Phase.START, ALONE, OURS, NOTHING, Phase.MOVING),
        (Phase.START, ALONE, THEIRS, NOTHING, Outcome.SUPERSEDED),
        (Phase.START, ALONE, at(1, 2), SEND, Phase.START),
        (Phase.START, ALONE, at(3, 2), NOTHING, Outcome.DONE),
        (Phase.START, ALONE, at(2, 1), NOTHING, Outcome.SUPERSEDED),
        (Phase.START, ALONE, at(1, 9), NOTHING, Outcome.SUPERSEDED),
        (Phase.START, REPLACING, TO_FORMER, SEND, Phase.START),
        (Phase.START, REPLACING, at(4, 2), SEND, Phase.START),
        (Phase.START, REPLACING, at(2, 1), SEND, Phase.START),
        (Phase.START, REPLACING, BACK, NOTHING, Outcome.SUPERSEDED),
        (Phase.MOVING, ALONE, OURS, NOTHING, Phase.MOVING),
        (Phase.MOVING, ALONE, THEIRS, NOTHING, Outcome.SUPERSEDED),
        (Phase.MOVING, ALONE, at(3, 2), NOTHING, Outcome.DONE),
        (Phase.MOVING, ALONE, at(1, 2), NOTHING, Outcome.CANCELLED_BY_OTHERS),
        (Phase.MOVING, ALONE, at(2, 1), NOTHING, Outcome.CANCELLED_BY_OTHERS),
        (Phase.MOVING, REPLACING, at(2, 4, 1), NOTHING, Outcome.CANCELLED_BY_OTHERS),
        (Phase.MOVING, ALONE, at(1, 9), NOTHING, Outcome.SUPERSEDED),
        (Phase.MOVING, REPLACING, TO_FORMER, NOTHING, Outcome.SUPERSEDED),
        (Phase.CANCEL, ALONE, OURS, CANCEL, Phase.CANCEL),
        (Phase.CANCEL, REPLACING, TO_FORMER, CANCEL, Phase.CANCEL),
        (Phase.CANCEL, ALONE, THEIRS, NOTHING, Outcome.SUPERSEDED),
        (Phase.CANCEL, ALONE, at(2, 1), RESTORE, Phase.RESTORE),
        (Phase.CANCEL, REPLACING, at(2, 4, 1), RESTORE, Phase.RESTORE),
        (Phase.CANCEL, ALONE, at(1, 2), NOTHING, Outcome.CANCELLED),
        (Phase.CANCEL, ALONE, at(3, 2), NOTHING, Outcome.DONE),
        (Phase.CANCEL, REPLACING, at(4, 2), NOTHING, Outcome.CANCELLED),
        (Phase.CANCEL, REORDERED, at(2, 1), RESTORE, Phase.RESTORE),
        (Phase.CANCEL, ALONE, at(1, 9), NOTHING, Outcome.SUPERSEDED),
        (Phase.RESTORE, ALONE, at(2, 1), RESTORE, Phase.RESTORE),
        (Phase.RESTORE, REPLACING, BACK, NOTHING, Phase.RESTORE),
        (Phase.RESTORE, ALONE, at(1, 2), NOTHING, Outcome.CANCELLED),
        (Phase.RESTORE, ALONE, THEIRS, NOTHING, Outcome.CANCELLED),
        (Phase.RESTORE, ALONE, at(1, 9), NOTHING, Outcome.CANCELLED),
        (Phase.START, ALONE, None, NOTHING, Outcome.GONE),
        (Phase.MOVING, ALONE, None, NOTHING, Outcome.GONE),
        (Phase.CANCEL, ALONE, None, NOTHING, Outcome.GONE),
        (Phase.RESTORE, ALONE, None, NOTHING, Outcome.GONE),
    ],
)
def test_kr_6_a_look_means_the_next_act_the_next_phase_or_the_outcome(
    phase: Phase, record: MoveRecord, seen: SeenPartition | None, act: Act, then: Phase | Outcome
) -> None:
    found = step(record, phase, seen)
    assert found.act is act
    assert (found.outcome or (found.record and found.record.phase)) is then
    assert (found.record is None) == (found.outcome is not None)


def test_kr_6_each_phase_says_what_each_sighting_means() -> None:
    assert set(TABLE) == set(Phase)
    for rows in TABLE.values():
        assert set(rows) == set(Sighting) - {Sighting.GONE}


@for_each("phase", list(Phase))
def test_kr_6_nothing_is_concluded_from_one_look_that_finds_a_partition_at_rest_or_no_partition(phase: Phase) -> None:
    for record in (ALONE, REPLACING):
        was = replace(record, phase=phase)
        for seen in (None, at(1, 2), at(2, 1), at(4, 2), at(1, 9), at(3, 2)):
            assert step(record, phase, seen, looks=1) == Step(was)
    assert step(ALONE, phase, THEIRS, looks=1).outcome is not None, "what moves is as the controller has committed it"


def test_kr_6_a_move_that_was_in_flight_has_ended_with_the_first_look_that_finds_its_target() -> None:
    moving = replace(ALONE, phase=Phase.MOVING)
    assert next_step(moving, at(3, 2), 1, before=OURS).outcome is Outcome.DONE
    assert next_step(moving, at(3, 2), 1, before=TO_FORMER) == Step(moving)
    assert next_step(moving, at(1, 2), 1, before=OURS) == Step(moving)


@pytest.mark.parametrize(
    ("lags", "outcome"),
    [(at(1, 2), Outcome.CANCELLED_BY_OTHERS), (at(3, 2, 1), Outcome.SUPERSEDED)],
    ids=["the start", "the end"],
)
def test_kr_6_a_broker_that_hears_late_of_the_start_or_of_the_end_does_not_speak_for_others(
    lags: SeenPartition, outcome: Outcome
) -> None:
    moving = replace(ALONE, phase=Phase.MOVING)
    for looks in range(1, LOOKS_AT_OTHERS):
        assert next_step(moving, lags, looks, before=OURS) == Step(moving)
    assert next_step(moving, lags, LOOKS_AT_OTHERS).outcome is outcome


def test_kr_6_a_move_that_only_adds_has_ended_once_two_looks_find_its_target() -> None:
    """In flight it has the same replicas: a broker that has not heard of a cancel yet shows these."""
    adds = MoveRecord(MoveTerms((1, 2, 3)), (1, 2), phase=Phase.MOVING)
    assert next_step(adds, at(1, 2, 3), 1, before=SeenPartition((1, 2, 3), (3,))) == Step(adds)
    assert next_step(adds, at(1, 2, 3), LOOKS).outcome is Outcome.DONE


@for_each(
    "phase, record, seen, is_sure",
    [
        (Phase.START, ALONE, OURS, True),
        (Phase.START, ALONE, THEIRS, False),
        (Phase.START, ALONE, at(1, 2), True),
        (Phase.START, ALONE, at(3, 2), True),
        (Phase.START, ALONE, at(1, 9), False),
        (Phase.START, REPLACING, at(1, 2), False),
        (Phase.START, REPLACING, at(3, 2), False),
        (Phase.MOVING, ALONE, at(3, 2), True),
        (Phase.MOVING, ALONE, THEIRS, False),
        (Phase.MOVING, ALONE, at(1, 2), False),
        (Phase.MOVING, ALONE, at(1, 9), False),
        (Phase.CANCEL, ALONE, OURS, True),
        (Phase.CANCEL, ALONE, THEIRS, False),
        (Phase.CANCEL, ALONE, at(3, 2), True),
        (Phase.CANCEL, ALONE, at(1, 2), False),
        (Phase.CANCEL, ALONE, at(2, 1), False),
        (Phase.RESTORE, ALONE, THEIRS, False),
        (Phase.RESTORE, REPLACING, BACK, True),
        (Phase.RESTORE, ALONE, at(1, 2), False),
        (Phase.RESTORE, ALONE, at(2, 1), False),
    ],
)
def test_kr_6_while_an_alter_may_still_arrive_only_what_it_would_leave_as_it_is_counts(
    phase: Phase, record: MoveRecord, seen: SeenPartition, is_sure: bool
) -> None:
    was = replace(record, phase=phase)
    found = next_step(was, seen, LOOKS_AT_OTHERS, is_settled=False)
    assert found == (next_step(was, seen, LOOKS_AT_OTHERS) if is_sure else Step(was))


def test_kr_6_a_move_without_an_end_that_met_another_is_taken_back_and_sent_again() -> None:
    met = SeenPartition((2, 1, 9), (9,), (9,))
    reorder = MoveRecord(MoveTerms((2, 1)), (1, 2), phase=Phase.MOVING)
    taken_back = next_step(reorder, met, 1)
    assert taken_back.act is CANCEL
    assert taken_back.record is not None
    assert next_step(taken_back.record, at(2, 1), LOOKS).outcome is Outcome.DONE
    restoring = replace(ALONE, phase=Phase.RESTORE)
    assert next_step(restoring, SeenPartition((1, 2, 9), (9,), (9,)), 1) == Step(restoring, CANCEL)


def test_kr_6_an_outcome_that_others_have_caused_says_so() -> None:
    assert step(ALONE, Phase.MOVING, THEIRS).reason == OTHER_TARGET
    assert step(ALONE, Phase.MOVING, at(1, 9)).reason == OTHER_REPLICAS
    assert step(ALONE, Phase.RESTORE, at(1, 9)).reason == OTHERS_MOVED
    assert step(REPLACING, Phase.CANCEL, at(4, 2)).reason == FORMER_REACHED
    assert step(ALONE, Phase.START, None).reason == DELETED
    assert step(ALONE, Phase.RESTORE, at(1, 2)).reason == step(ALONE, Phase.MOVING, at(3, 2)).reason == ""


def test_kr_6_the_original_order_that_the_cluster_would_refuse_is_not_asked_for_and_the_outcome_says_why() -> None:
    for phase in (Phase.CANCEL, Phase.RESTORE):
        found = step(ALONE, phase, at(2, 1), why="broker 1 is cordoned")
        assert found == Step(None, outcome=Outcome.CANCELLED, reason="the replicas stay [2, 1]: broker 1 is cordoned")
    assert step(ALONE, Phase.CANCEL, at(1, 2), why="broker 1 is cordoned").reason == "", "it is there already"


def test_kr_6_what_a_move_replaces_is_forgotten_once_the_new_target_is_in_flight_but_not_what_it_has_added() -> None:
    moving = step(REPLACING, Phase.START, OURS).record
    assert moving == replace(ALONE, phase=Phase.MOVING, retained=(4,))


def test_kr_6_a_move_that_is_cancelled_leads_back_to_the_target_that_was_reached_before_it() -> None:
    reached = replace(ALONE, replaces=replace(FORMER, terms=MoveTerms((1,))))
    moving = step(reached, Phase.START, SeenPartition((3, 2, 1), (2, 3), (1,))).record
    assert moving == replace(ALONE, phase=Phase.MOVING, original=(1,))
    assert moving is not None
    assert step(moving, Phase.CANCEL, at(1)).outcome is Outcome.CANCELLED


def test_kr_6_so_does_one_that_is_cancelled_before_a_look_has_shown_its_own_target() -> None:
    before = replace(ALONE, replaces=replace(FORMER, terms=MoveTerms((1, 4))), original=(2, 4), terms=MoveTerms((2, 3)))
    in_flight = SeenPartition((2, 3, 1, 4), (2, 3), (1, 4))
    cancelling = step(before, Phase.CANCEL, in_flight).record
    assert cancelling is not None
    assert cancelling.original == (1, 4)
    assert step(cancelling, Phase.CANCEL, at(4, 1)).act is Act.RESTORE, "a cancel leaves an order of its own"
    assert step(cancelling, Phase.CANCEL, at(1, 4)).outcome is Outcome.CANCELLED


def test_kr_6_what_a_former_target_adds_after_another_was_reached_is_still_known_to_stay() -> None:
    reached = replace(FORMER, terms=MoveTerms((2, 4)), original=(2, 1))
    in_flight = replace(reached, terms=MoveTerms((3, 2)), replaces=reached)
    record = replace(in_flight, terms=MoveTerms((1,)), phase=Phase.START, retained=(4, 3), replaces=in_flight)
    sent = step(record, Phase.START, SeenPartition((3, 2, 4), (3,), (4,)))
    assert (sent.act, sent.record and (sent.record.original, sent.record.retained)) == (SEND, ((2, 4), (3,)))
    assert sent.record is not None
    moving = step(sent.record, Phase.START, SeenPartition((1, 2, 3, 4), (1,), (2, 3, 4))).record
    assert moving is not None
    assert step(moving, Phase.CANCEL, at(2, 3, 4)).act is Act.RESTORE


def test_kr_6_while_what_a_move_replaces_may_still_arrive_it_is_not_forgotten() -> None:
    for seen in (OURS, TO_FORMER):
        found = next_step(REPLACING, seen, 1, is_settled=False)
        assert found.record == REPLACING


def test_kr_6_a_target_that_the_former_one_has_outrun_leads_back_to_what_that_has_left() -> None:
    found = step(REPLACING, Phase.START, at(4, 2))
    assert found == Step(replace(ALONE, original=(4, 2)), SEND)


@for_each(
    "seen, target, astray",
    [
        (OURS, (1, 2), True),
        (OURS, (2, 1), True),
        (OURS, (4, 2), False),
        (OURS, (3, 2), False),
        (OURS, (3, 1), False),
        (SeenPartition((3, 4, 1, 2), (3, 4), (1, 2)), (3, 2), True),
        (SeenPartition((3, 4, 1, 2), (3, 4), (1, 2)), (3, 5), False),
        (OURS, (1, 2, 3), True),
        (OURS, (2, 1, 3, 4), True),
        (SeenPartition((1, 2, 3), (3,)), (1, 2, 3, 4), False),
    ],
)
def test_kr_6_a_target_that_kraft_would_not_reach_is_told_after_a_cancel(
    seen: SeenPartition, target: tuple[int, ...], astray: bool
) -> None:
    assert would_go_astray(seen, target) == astray
    record = MoveRecord(
        MoveTerms(target), (1, 2), phase=Phase.START, replaces=replace(ALONE, terms=MoveTerms(seen.target))
    )
    if target != seen.target:
        assert next_step(record, seen, LOOKS).act is (CANCEL if astray else SEND)


def test_kr_3_a_replica_that_is_both_added_and_removed_is_known_as_a_move_without_an_end() -> None:
    assert SeenPartition((1, 2, 3), (3,), (3,)).never_ends
    assert not OURS.never_ends


def test_kr_6_a_refused_act_changes_nothing_but_what_it_was_for() -> None:
    error = InvalidReplicaAssignment("no")
    reason = "INVALID_REPLICA_ASSIGNMENT: no"
    assert after_refusal(ALONE, SEND, error) == Step(None, outcome=Outcome.REFUSED, reason=reason)
    assert after_refusal(REPLACING, SEND, error) == Step(FORMER, outcome=Outcome.REFUSED, reason=reason)
    cancel = replace(ALONE, phase=Phase.CANCEL)
    assert after_refusal(cancel, CANCEL, error) == Step(
        replace(ALONE, phase=Phase.MOVING), outcome=Outcome.REFUSED, reason=reason
    )
    untold = replace(REPLACING, phase=Phase.CANCEL)
    assert after_refusal(untold, CANCEL, error).record == REPLACING, "its target has yet to be sent"
    assert after_refusal(replace(ALONE, phase=Phase.RESTORE), RESTORE, error).outcome is Outcome.CANCELLED


def test_kr_8_a_refused_act_over_a_move_of_others_leaves_that_alone() -> None:
    error = InvalidReplicaAssignment("no")
    theirs = replace(ALONE, id=None, phase=Phase.MOVING, adopted=True)
    cancel = replace(theirs, id=7, phase=Phase.CANCEL)
    assert after_refusal(cancel, CANCEL, error).record is None
    for act in (SEND, CANCEL):
        assert after_refusal(replace(REPLACING, id=8, replaces=theirs), act, error).record is None
    assert after_refusal(replace(REPLACING, id=8, replaces=cancel), SEND, error).record == cancel


def test_kr_6_a_cancel_that_nobody_has_asked_for_is_tried_again_without_another_outcome() -> None:
    own = replace(ALONE, id=7, phase=Phase.MOVING)
    step = next_step(own, SeenPartition((3, 2, 4), (3, 4), (4,)), 1)
    assert step.record is not None
    assert (step.act, after_refusal(step.record, CANCEL, InvalidReplicaAssignment("no"))) == (CANCEL, Step(step.record))


def test_kr_6_a_cancel_that_finds_nothing_in_flight_may_have_had_its_effect_before() -> None:
    cancel = replace(ALONE, phase=Phase.CANCEL)
    assert after_refusal(cancel, CANCEL, NoReassignmentInProgress()) == Step(cancel)


def test_kr_6_an_act_is_sent_at_once_only_where_the_decision_was_made_on_what_is_sure() -> None:
    rest = Partition((1, 2))
    flying = Partition((3, 2, 1), (3,), (1,), move=replace(ALONE, phase=Phase.MOVING))
    assert first_act(rest, ALONE) is SEND
    assert first_act(flying, replace(REPLACING, terms=MoveTerms((4, 2)))) is SEND
    assert first_act(flying, replace(REPLACING, terms=MoveTerms((2, 1)))) is CANCEL, "KRaft would never end it"
    assert first_act(flying, replace(ALONE, phase=Phase.CANCEL)) is CANCEL
    assert first_act(replace(flying, move=ALONE), REPLACING) is NOTHING, "a look says first what is in flight"
    assert first_act(Partition((2, 1), move=replace(ALONE, phase=Phase.RESTORE)), REPLACING) is NOTHING
    assert first_act(replace(flying, move=None), replace(REPLACING, terms=MoveTerms((4, 2)))) is SEND, "adopted"


def test_kr_6_a_target_that_the_cluster_has_taken_needs_no_look_unless_it_replaces_another() -> None:
    assert after_done(ALONE, SEND) == replace(ALONE, phase=Phase.MOVING)
    assert after_done(REPLACING, SEND) == REPLACING, "a look says what the other one has left"
    unsent = replace(REPLACING, id=8, terms=MoveTerms((2, 1)), replaces=replace(ALONE, id=7, replaces=FORMER))
    cancelled_first = after_done(unsent, CANCEL)
    assert [one.phase for one in former_moves(cancelled_first)] == [Phase.START, Phase.CANCEL], "not in flight any more"
    cancel = replace(ALONE, phase=Phase.CANCEL)
    assert after_done(cancel, CANCEL) == cancel, "a look says what has become of it"


def test_kr_6_a_former_target_that_was_never_sent_has_yet_to_be_sent_where_the_later_one_is_refused() -> None:
    cancelled = replace(FORMER, phase=Phase.CANCEL)
    unsent = replace(ALONE, id=7, replaces=cancelled)
    later = replace(ALONE, id=8, terms=MoveTerms((2,)), replaces=unsent)
    step = next_step(later, SeenPartition((2, 1)), LOOKS)
    assert (step.act, step.record) == (SEND, later)
    assert after_refusal(later, SEND, InvalidReplicaAssignment("no")).record == unsent
    assert next_step(unsent, SeenPartition((2, 1)), LOOKS) == Step(unsent, SEND)
