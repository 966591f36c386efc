"""Another rate for the lease of a move."""

import pytest

from kafka_reassign_rpc.core.queue import lease_rates, queue_admission
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import client
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, not_moving
from tests.core.queue.queue_rounds import durable

MOVING, WAITING = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


def with_leases_that_lift() -> Cluster:
    made = cluster(not_moving(1, 2), not_moving(1, 2))
    view = RoundView(made)
    error, changes = alter(view, MOVING, MoveTerms((1, 3), throttle=40, lifts=True))
    assert error is None
    for change in changes:
        view.add(change)
    assert queue_admission.append(view, WAITING, WaitingMove(MoveTerms((1, 3), QUEUE, throttle=40, lifts=True))) is None
    durable(made, view)
    return made


def leases(made: Cluster, *rates: int) -> list[tuple[int | None, bool]]:
    """Of the move in flight and of the one that waits."""
    for rate in rates:
        view = RoundView(made)
        for _ in lease_rates.change_rates(view, None, rate):
            pass
        durable(made, view)
    moving, waiting = made.get(*MOVING), made.queue.place(*WAITING)
    assert moving is not None
    assert moving.move is not None
    assert waiting is not None
    return [(one.terms.throttle, one.terms.lifts) for one in (moving.move, waiting.move)]


def test_fg_4_a_lease_that_lifts_stricter_rates_lifts_them_at_another_rate_too() -> None:
    assert leases(with_leases_that_lift(), 30) == [(30, True)] * 2


@pytest.mark.parametrize(
    ("rates", "after"), [((0,), [(None, False), (0, False)]), ((0, 20), [(20, False)] * 2)], ids=["ended", "another"]
)
def test_fg_4_a_lease_that_has_ended_lifts_no_more_and_the_next_one_only_if_it_is_asked_to(
    rates: tuple[int, ...], after: list[tuple[int | None, bool]]
) -> None:
    made = with_leases_that_lift()
    place = made.queue.place(*WAITING)
    assert place is not None
    assert leases(made, *rates) == after
    now = made.queue.place(*WAITING)
    assert now is not None
    assert now.serial == place.serial, "it waits at its place"


@pytest.mark.parametrize(("throttle", "lifts"), [(30, True), (40, False), (None, False)])
def test_fg_4_a_waiting_move_that_is_asked_for_again_with_another_lease_keeps_its_place(
    throttle: int | None, lifts: bool
) -> None:
    made = with_leases_that_lift()
    place = made.queue.place(*WAITING)
    assert place is not None
    view = RoundView(made)
    view.by = client("User:bob", "", "10.0.0.8")
    again = WaitingMove(MoveTerms((1, 3), QUEUE, throttle=throttle, lifts=lifts))
    assert queue_admission.append(view, WAITING, again) is None
    assert not view.queue.appended
    assert not view.queue.withdrawn
    durable(made, view)
    now = made.queue.place(*WAITING)
    assert now is not None
    assert (now.serial, now.move.terms.throttle, now.move.terms.lifts, now.move.terms.by) == (
        place.serial,
        throttle,
        lifts,
        place.move.terms.by,
    )
