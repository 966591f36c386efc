"""What a round has decided about a partition becomes a move with a phase, and is shown as KRaft will list it."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.core.phases.intent_view import IntentView, adopted, as_seen, decided
from kafka_reassign_rpc.core.phases.phases import LOOKS, Act, Outcome, Step, first_act, next_step
from kafka_reassign_rpc.core.phases.sightings import SeenPartition, former_moves
from kafka_reassign_rpc.core.reassignment.alter import alter, cancel
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, client
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, not_moving, view

NAME = TopicPartition(TOPIC, 0)
ALICE = client("User:alice", None, "10.0.0.1")


def carried_out(here: RoundView, target: tuple[int, ...] | None, throttle: int | None = None) -> Partition | None:
    """What core decides of this request, for KRaft."""
    here.by = ALICE
    error, changes = cancel(here, NAME) if target is None else alter(here, NAME, MoveTerms(target, throttle=throttle))
    assert error is None
    before = here.get(*NAME)
    assert before is not None
    return None if not changes else decided(before, changes[0].value, ALICE, changes[0].asked)


def started(partition: Partition, target: tuple[int, ...] | None, throttle: int | None = None) -> Partition:
    found = carried_out(view(partition), target, throttle)
    assert found is not None
    assert found.move is not None
    return found


def test_kr_6_a_move_starts_as_kraft_lists_it_and_leader_isr_and_epochs_stay_as_they_were_seen() -> None:
    before = not_moving(1, 2, 3)
    found = started(before, (6, 5, 2), throttle=7)
    assert (found.replicas, found.adding, found.removing) == ((6, 5, 2, 1, 3), (5, 6), (1, 3))
    assert replace(found, replicas=before.replicas, adding=(), removing=(), move=None) == before
    assert found.move == MoveRecord(MoveTerms((6, 5, 2), throttle=7, by=ALICE), (1, 2, 3), phase=Phase.START)
    assert found.lease is not None


def test_kr_6_a_cancel_leaves_the_move_in_flight_until_a_look_has_seen_its_end() -> None:
    moving = started(not_moving(1, 2), (3, 2))
    found = started(moving, None)
    assert moving.move is not None
    assert found == replace(moving, move=replace(moving.move, phase=Phase.CANCEL, cancelled_by=ALICE))
    assert carried_out(view(found), None) is None, "it is being cancelled"


def test_kr_6_the_original_replicas_as_a_target_are_told_as_a_cancel_and_asked_for_should_that_come_too_late() -> None:
    moving = started(not_moving(1, 2), (3, 2), throttle=7)
    assert moving.move is not None
    told = replace(moving, move=replace(moving.move, phase=Phase.MOVING))
    found = started(told, (1, 2))
    assert (found.replicas, found.is_moving) == ((1, 2), False)
    assert found.move is not None
    assert (found.move.phase, found.move.terms) == (Phase.START, MoveTerms((1, 2), throttle=7, by=ALICE))
    assert found.move.replaces == told.move
    assert first_act(told, found.move) is Act.CANCEL
    assert next_step(found.move, SeenPartition((1, 2)), LOOKS).outcome is Outcome.DONE
    again = next_step(found.move, SeenPartition((3, 2)), LOOKS)
    after = replace(found.move, original=(3, 2), retained=(), replaces=None)
    assert again == Step(after, Act.SEND), "the move had ended before"
    assert carried_out(view(found), (1, 2)) is None


def test_kr_6_the_original_replicas_as_a_target_that_has_yet_to_be_told_can_be_cancelled_like_any_other() -> None:
    theirs = Partition((1, 9, 2), (9,), (2,), leader=1, isr=(1, 2))
    back = started(started(theirs, (3, 2)), (1, 2))
    assert back.is_moving, "as long as looks have not seen what is in flight"
    found = started(back, None)
    assert found.move is not None
    assert (found.move.phase, found.move.cancelled_by) == (Phase.CANCEL, ALICE)
    assert next_step(found.move, SeenPartition((1, 9, 2), (9,), (2,)), 1).act is Act.CANCEL
    assert next_step(found.move, SeenPartition((1, 2)), LOOKS).outcome is Outcome.CANCELLED


def test_kr_6_another_order_that_has_yet_to_be_told_can_be_cancelled_and_one_that_was_told_cannot() -> None:
    order = started(not_moving(1, 2), (2, 1))
    assert order.move is not None
    found = started(order, None)
    assert found.move == replace(order.move, phase=Phase.CANCEL, cancelled_by=ALICE)
    assert found.move is not None
    assert first_act(order, found.move) is Act.NOTHING, "looks say whether the cluster has the order"
    told = replace(order, move=replace(order.move, phase=Phase.MOVING))
    for one in (told, found, not_moving(1, 2)):
        error, changes = cancel(view(one), NAME)
        assert isinstance(error, NoReassignmentInProgress)
        assert not changes


def test_kr_6_another_target_keeps_the_first_original_and_knows_what_was_added_before() -> None:
    found = started(started(not_moving(1, 2), (3, 2)), (4, 2))
    assert (found.replicas, found.adding, found.removing) == ((4, 2, 1, 3), (4,), (1, 3))
    assert found.move is not None
    assert (found.move.original, found.move.retained) == ((1, 2), (3,))
    assert found.original == (1, 2)
    assert [former.terms.target for former in former_moves(found.move)] == [(3, 2)]


def test_kr_6_of_many_targets_that_follow_one_another_the_last_two_and_the_first_two_are_kept() -> None:
    value, before = not_moving(1, 2), list[tuple[int, ...]]()
    for target in ((3, 2), (4, 2), (5, 2), (6, 2), (3, 4), (4, 5), (5, 6)):
        value = started(value, target)
        assert value.move is not None
        latest_first = before[::-1]
        kept = latest_first if len(before) <= 4 else [*latest_first[:2], *latest_first[-2:]]
        assert [former.terms.target for former in former_moves(value.move)] == kept
        before.append(target)


def test_kr_6_an_order_and_a_smaller_set_are_moves_too_although_core_ends_them_at_once() -> None:
    order = started(not_moving(1, 2), (2, 1), throttle=7)
    assert (order.replicas, order.is_moving) == ((2, 1), False)
    assert order.move is not None
    assert (order.move.phase, order.move.original) == (Phase.START, (1, 2))
    assert order.move.terms == MoveTerms((2, 1), throttle=7, by=ALICE), "all that it was asked for with"
    smaller = started(not_moving(1, 2, 3), (1, 2))
    assert (smaller.replicas, smaller.removing) == ((1, 2, 3), (3,))


def test_kr_6_another_lease_of_a_move_is_no_other_target() -> None:
    moving = started(not_moving(1, 2), (3, 2), throttle=7)
    assert moving.move is not None
    told = replace(moving, move=replace(moving.move, phase=Phase.MOVING))
    found = started(told, (3, 2), throttle=9)
    assert found.move is not None
    assert (found.move.phase, found.move.terms.throttle) == (Phase.MOVING, 9)


def test_kr_6_a_new_target_and_a_cancel_wait_for_a_look_and_have_a_first_act_and_another_lease_has_neither() -> None:
    moving = started(not_moving(1, 2), (3, 2), throttle=7)
    assert moving.move is not None
    told = replace(moving, move=replace(moving.move, phase=Phase.MOVING))
    for before, target, throttle, acts in (
        (not_moving(1, 2), (3, 2), 7, {NAME: Act.SEND}),
        (told, (4, 2), 7, {NAME: Act.SEND}),
        (told, None, None, {NAME: Act.CANCEL}),
        (told, (3, 2), 9, {}),
    ):
        here = IntentView(cluster(before))
        terms = None if target is None else MoveTerms(target, throttle=throttle)
        error, changes = cancel(here, NAME) if terms is None else alter(here, NAME, terms)
        assert error is None
        for change in changes:
            here.add(change)
        assert (here.acts, here.checked) == (acts, dict.fromkeys(acts)), (target, throttle)
        assert here.get(*NAME) != before, "it is decided in any case"


def test_kr_6_the_end_of_a_move_and_changes_of_leaders_alone_are_not_decided() -> None:
    moving = started(not_moving(1, 2), (3, 2))
    assert decided(moving, replace(moving, replicas=(3, 2), adding=(), removing=(), move=None), CONTROLLER) is None
    assert decided(moving, replace(moving, leader=2, isr=(2,), leader_epoch=9), CONTROLLER) is None


def test_kr_8_a_move_of_others_is_adopted_by_a_client_that_cancels_it_or_gives_it_another_target() -> None:
    theirs = Partition((3, 2, 1), (3,), (1,), leader=1, isr=(1, 2))
    cancelled = started(theirs, None)
    assert cancelled.move == replace(adopted(theirs), phase=Phase.CANCEL, cancelled_by=ALICE)
    other = started(theirs, (4, 2))
    assert other.move is not None
    assert (other.move.replaces, other.move.original) == (adopted(theirs), (2, 1))


def test_kr_8_a_move_of_others_that_never_ends_is_cancelled_and_its_target_is_what_the_cancel_leaves() -> None:
    """[1] was altered to [3, 2] and in flight to [1]: KRaft adds and removes both."""
    theirs = Partition((1, 2, 3), (2, 3), (2, 3), leader=1, isr=(1,))
    found = started(theirs, None)
    assert found.move is not None
    assert found.move == replace(adopted(theirs), phase=Phase.CANCEL, cancelled_by=ALICE)
    assert first_act(theirs, found.move) is Act.CANCEL
    assert next_step(found.move, SeenPartition((1,)), LOOKS).outcome is Outcome.CANCELLED
    there = started(theirs, (1,))
    assert there.move is not None
    assert (there.move.phase, first_act(theirs, there.move)) == (Phase.START, Act.CANCEL)
    assert next_step(there.move, SeenPartition((1,)), LOOKS).outcome is Outcome.DONE


def test_kr_6_a_move_that_has_yet_to_be_sent_is_shown_in_flight_and_any_other_as_it_was_seen() -> None:
    before = not_moving(1, 2)
    moving = started(before, (3, 2))
    assert moving.move is not None
    assert as_seen(before, SeenPartition((1, 2)), moving.move) == moving
    told = replace(moving.move, phase=Phase.MOVING)
    assert as_seen(before, SeenPartition((1, 2)), told) == replace(before, move=told)
    assert as_seen(moving, SeenPartition((3, 2)), None) == replace(before, replicas=(3, 2))
