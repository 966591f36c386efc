"""Held moves of the queue: they keep their place, start only when released, and only from the replicas of the hold."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.queue import holding, lease_rates, queue_admission
from kafka_reassign_rpc.core.queue.holding import Selection
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, not_moving
from tests.core.queue.queue_rounds import admitted, complete, durable, queued, through
from tests.tables import for_each

ONE_EACH = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
HELD = Held(1_790_000_000_000, "User:alice from 10.0.0.7", "disks are replaced")


def hold(in_cluster: Cluster, *indexes: int, release: bool = False) -> RoundView:
    view = RoundView(in_cluster)
    for index in indexes:
        name = TopicPartition(TOPIC, index)
        place = in_cluster.queue.place(*name)
        assert place is not None
        assert holding.release(view, name, place) if release else holding.hold(view, name, place, HELD)
    durable(in_cluster, view)
    return view


def started(in_cluster: Cluster) -> list[int]:
    """The partitions whose moves start now."""
    view = admitted(in_cluster, ONE_EACH)
    durable(in_cluster, view)
    return [name.partition for name in view.partitions]


def three_waiting() -> Cluster:
    """All of them need broker 3, which takes one move at a time."""
    made = cluster(*[not_moving(1, 2)] * 3)
    queued(made, dict.fromkeys(range(3), (1, 3)))
    return made


def test_dh_5_a_held_move_lets_others_pass_and_keeps_its_place() -> None:
    made = three_waiting()
    hold(made, 0)
    assert made.queue.held == 1
    assert started(made) == [1]
    (told,) = hold(made, 0, release=True).notes
    assert told == Event("move.released", TOPIC, 0, route=QUEUE, target=(1, 3), who=CONTROLLER.who)
    assert made.queue.held == 0
    complete(made, TopicPartition(TOPIC, 1))
    assert started(made) == [0], "it was before 2, and is there again"


def test_dh_5_held_moves_claim_no_room() -> None:
    made = three_waiting()
    hold(made, 0, 1, 2)
    assert started(made) == []
    assert not queue_admission.is_room_claimed(RoundView(made))


def test_dh_5_a_move_that_is_held_and_released_again_and_again_is_in_one_line_once() -> None:
    made = three_waiting()
    assert started(made) == [0]
    for _ in range(5):
        hold(made, 1, 2)
        assert started(made) == []
        hold(made, 1, 2, release=True)
        assert started(made) == []
    lines = made.queue.waiting
    assert len(lines.fresh) + sum(map(len, lines.blocked[-1].values())) == 2
    complete(made, TopicPartition(TOPIC, 0))
    assert started(made) == [1]


def test_dh_5_a_move_gets_another_rate_and_is_held_in_one_round() -> None:
    made = three_waiting()
    view, name = RoundView(made), TopicPartition(TOPIC, 0)
    place = made.queue.place(*name)
    assert place is not None
    assert holding.hold(view, name, place, HELD)
    assert lease_rates.change_waiting(view, name, 7)
    durable(made, view)
    assert started(made) == [1]
    hold(made, 0, release=True)
    complete(made, TopicPartition(TOPIC, 1))
    now = made.queue.place(*name)
    assert now is not None
    assert (now.move.terms.throttle, now.move.held, now.move.terms.expected, now.serial) == (
        7,
        None,
        (1, 2),
        place.serial,
    )
    assert started(made) == [0]


def test_dh_7_a_released_move_starts_from_no_other_replicas_than_those_of_the_hold() -> None:
    made = three_waiting()
    hold(made, 0, 1)
    moved = replace(not_moving(1, 2), replicas=(2, 4), isr=(2, 4), leader=2)
    made.topics[TOPIC].partitions[0] = moved
    hold(made, 0, 1, release=True)
    view = admitted(made)
    assert [name.partition for name in view.partitions] == [1, 2]
    refused = [note for note in view.notes if getattr(note, "event", "") == "entry.refused"]
    assert [(one.partition, one.reason) for one in refused] == [  # type: ignore[union-attr]
        (0, "The move was held at the replicas [1, 2], and is not made from [2, 4]: ask for it again.")
    ]


def test_dh_7_after_an_absence_all_moves_that_still_wait_are_held_at_the_replicas_that_they_were_queued_at() -> None:
    made = three_waiting()
    view = RoundView(made)
    assert queue_admission.withdraw(view, TopicPartition(TOPIC, 1))
    through(holding.hold_all(view, HELD))
    durable(made, view)
    assert made.queue.held == 2
    places = [made.queue.place(TOPIC, index) for index in range(3)]
    assert [place and place.move.terms.expected for place in places] == [(1, 2), None, (1, 2)]


def test_dh_5_a_move_that_is_held_already_stays_as_it_was_held() -> None:
    made = three_waiting()
    hold(made, 0)
    place = made.queue.place(TOPIC, 0)
    assert place is not None
    assert not holding.hold(RoundView(made), TopicPartition(TOPIC, 0), place, Held(5, "bob"))
    assert place.move.held == HELD
    assert place.move.terms.expected == (1, 2)


def test_dh_5_the_same_target_that_is_queued_once_more_stays_held() -> None:
    made = three_waiting()
    hold(made, 0)
    view = RoundView(made)
    assert queue_admission.append(view, TopicPartition(TOPIC, 0), WaitingMove(MoveTerms((1, 3), QUEUE))) is None
    assert view.queue.appended == {}
    assert queue_admission.append(view, TopicPartition(TOPIC, 0), WaitingMove(MoveTerms((1, 4), QUEUE))) is None
    assert [move.held for move in view.queue.appended.values()] == [None], "another target is another request"


@pytest.mark.parametrize(
    ("waiting", "target", "expected", "joins", "events"),
    [
        (None, (1, 3), None, (1, 2), ["move.waiting", "move.held"]),
        (None, (1, 3), (4, 2), (4, 2), ["move.waiting", "move.held"]),
        ((1, 3), (1, 3), (4, 2), None, []),
        ((1, 4), (1, 3), None, (1, 2), ["move.withdrawn", "move.waiting", "move.held"]),
    ],
    ids=["new", "with its original replicas", "it waits already", "in place of another target"],
)
def test_dh_7_a_target_that_has_not_waited_joins_the_queue_as_held(
    waiting: tuple[int, ...] | None,
    target: tuple[int, ...],
    expected: tuple[int, ...] | None,
    joins: tuple[int, ...] | None,
    events: list[str],
) -> None:
    made = cluster(not_moving(1, 2))
    if waiting is not None:
        queued(made, {0: waiting})
    view, name = RoundView(made), TopicPartition(TOPIC, 0)
    assert holding.join_held(view, name, MoveTerms(target, QUEUE, expected=expected), HELD) is None
    assert [(one.held, one.terms.expected) for one in view.queue.appended.values()] == (
        [(HELD, joins)] if joins else []
    )
    assert [getattr(note, "event", "") for note in view.notes] == events
    durable(made, view)
    assert (started(made) == []) is (joins is not None)


def test_dh_7_a_target_that_is_too_long_for_the_queue_does_not_join_it() -> None:
    view = RoundView(cluster(not_moving(1, 2)))
    assert holding.join_held(view, TopicPartition(TOPIC, 0), MoveTerms(tuple(range(600)), QUEUE), HELD) is not None
    assert not view.queue.appended
    assert not view.notes


@for_each(
    ("selection", "takes"),
    [
        (Selection(), True),
        (Selection(topics=frozenset({TOPIC})), True),
        (Selection(topics=frozenset({"u"})), False),
        (Selection(topics=frozenset()), False),
        (Selection(brokers=frozenset({2, 9})), True),
        (Selection(brokers=frozenset({3})), True),
        (Selection(brokers=frozenset({9})), False),
        (Selection(reasons=frozenset({"PLAN-8"})), True),
        (Selection(reasons=frozenset({"PLAN"})), False),
        (Selection(topics=frozenset({TOPIC}), brokers=frozenset({9})), False),
    ],
)
def test_dh_5_a_selection_takes_what_all_its_lists_name(selection: Selection, takes: bool) -> None:
    assert selection.takes(TopicPartition(TOPIC, 0), not_moving(1, 2), (1, 3), "PLAN-8") is takes


@for_each(
    ("chosen", "takes"),
    [
        (Selection(), True),
        (Selection(topics=frozenset({TOPIC})), True),
        (Selection(topics=frozenset({"other"})), False),
        (Selection(reasons=frozenset({"plan"})), True),
        (Selection(reasons=frozenset({""})), False),
        (Selection(brokers=frozenset({1})), True),
        (Selection(brokers=frozenset({3})), True),
        (Selection(brokers=frozenset({4})), False),
        (Selection(frozenset({TOPIC}), frozenset({4}), frozenset({"plan"})), False),
        (Selection(frozenset({TOPIC}), frozenset({3, 4}), frozenset({"plan"})), True),
    ],
)
def test_dh_5_a_selection_takes_what_each_of_its_parts_names(chosen: Selection, takes: bool) -> None:
    assert chosen.takes(TopicPartition(TOPIC, 0), not_moving(1, 2), (1, 3), "plan") == takes


def test_dh_5_of_a_partition_that_is_gone_only_the_target_is_known() -> None:
    name = TopicPartition(TOPIC, 0)
    assert Selection(brokers=frozenset({3})).takes(name, None, (3,), "")
    assert not Selection(brokers=frozenset({1})).takes(name, None, (3,), "")
