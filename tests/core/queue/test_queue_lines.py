"""The lines in which queued moves wait for brokers: their order, and that they hold nothing but what waits."""

from heapq import heappop
from typing import Any

import pytest

from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    InFlightCaps,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import Queue, QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP, receiving, sending
from tests.core.build import TOPIC, cluster, not_moving
from tests.core.queue.queue_rounds import (
    ROOT,
    admitted,
    complete,
    durable,
    queued,
    scheduled,
    through,
    waiting_for,
)


def test_236_13_moves_start_in_their_order_and_a_full_broker_delays_only_moves_that_need_it() -> None:
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(3)], *[not_moving(2, 1) for _ in range(3)])
    queued(in_cluster, {0: (1, 3), 1: (1, 3), 2: (1, 4), 3: (2, 5), 4: (2, 5), 5: (2, 6)})
    view = admitted(in_cluster, ReassignmentSettings(caps=InFlightCaps(per_broker=1)))
    assert set(view.partitions) == {TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 3)}
    places = (receiving(3), sending(1), receiving(5), sending(2))
    assert waiting_for(view) == {(place, NO_CAP): 1 for place in places}


def test_236_13_moves_of_a_full_broker_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(500)])
    queued(in_cluster, dict.fromkeys(range(500), (1, 3)))
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
    durable(in_cluster, admitted(in_cluster, settings))
    seen = []
    decide = queue_admission.decide_waiting_move

    def recorded(*given: Any) -> Any:
        seen.append(given[1])
        return decide(*given)

    monkeypatch.setattr(queue_admission, "decide_waiting_move", recorded)
    admitted(in_cluster, settings)
    assert seen == []
    complete(in_cluster, TopicPartition(TOPIC, 0))
    view = admitted(in_cluster, settings)
    assert set(view.partitions) == {TopicPartition(TOPIC, 1)}
    assert len(seen) == 1, "the one that starts: then its broker is full again"


def test_236_13_a_line_ends_with_its_last_move() -> None:
    """A client may give each move another cap: lines of caps that no move has any longer would stay forever."""
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(20)])
    queued(in_cluster, dict.fromkeys(range(20), (1, 3)), own={index: 100 + index for index in range(20)})
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
    for started in range(20):
        view = admitted(in_cluster, settings)
        durable(in_cluster, view)
        lines = waiting_for(view)
        assert list(lines.values()) == [1] * (19 - started)
        assert {cap for _, cap in lines} == {100 + index for index in range(started + 1, 20)}
        complete(in_cluster, TopicPartition(TOPIC, started))


def test_236_13_moves_that_clients_replace_while_they_wait_leave_the_lines() -> None:
    """A full broker's line is not looked at: numbers of moves that left would gather in it."""
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(9)])
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
    held = []
    for turn in range(200):
        entries = {
            (TOPIC, index): WaitingMove(MoveTerms((1, 3), QUEUE, f"as asked in turn {turn}")) for index in range(9)
        }
        through(in_cluster.queue.put(QueuePart(ROOT, ROOT, entries)))
        durable(in_cluster, admitted(in_cluster, settings))
        lines = in_cluster.queue.waiting.lines()
        held.append(sum(len(in_cluster.queue.waiting.blocked[cap][place]) for place, cap in lines))
    assert set(in_cluster.moving[TOPIC]) == {0}
    assert len(in_cluster.queue) == 8
    assert 200 < max(held) < 300
    complete(in_cluster, TopicPartition(TOPIC, 0))
    durable(in_cluster, admitted(in_cluster, settings))
    assert set(in_cluster.moving[TOPIC]) == {1}


@pytest.mark.parametrize("after", range(4))
def test_236_13_lines_lose_no_move_where_it_is_given_up_to_take_out_those_that_left(after: int) -> None:
    queue = Queue()
    through(
        queue.put(
            QueuePart(ROOT, ROOT, {(TOPIC, index): WaitingMove(MoveTerms((1, 3), QUEUE)) for index in range(1000)})
        )
    )
    serials = sorted(queue.waiting.fresh)
    queue.waiting.fresh = []
    for serial in (*serials, *range(5000, 8000)):
        queue.waiting.wait(serial, receiving(3))
    steps = queue.waiting.forget_moves_that_left(queue.names, len(queue))
    for _ in range(after):
        next(steps)
    steps.close()
    ((line, _),) = queue.waiting.lines()
    found = [heappop(queue.waiting.blocked[-1][line]) for _ in range(len(queue.waiting.blocked[-1][line]))]
    assert found == sorted(found)
    assert found[:1000] == serials


def test_236_13_room_is_claimed_by_moves_without_a_cap_of_their_own_only() -> None:
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(4)])
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
    queued(in_cluster, dict.fromkeys(range(3), (1, 3)), own={1: 1, 2: 1})
    for _ in range(2):
        durable(in_cluster, admitted(in_cluster, settings))
    assert not queue_admission.is_room_claimed(RoundView(in_cluster))
    queued(in_cluster, {3: (1, 3)}, path=f"{ROOT}/part_0000000000")
    assert queue_admission.is_room_claimed(RoundView(in_cluster)), "it was not looked at"
    durable(in_cluster, admitted(in_cluster, settings))
    assert queue_admission.is_room_claimed(RoundView(in_cluster)), "it waits for a live broker"


def test_236_13_lines_are_opened_in_slices_of_the_loop() -> None:
    """A client may give each move another cap."""
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(2500)])
    queued(in_cluster, dict.fromkeys(range(2500), (1, 3)), own={index: 1 + index for index in range(2500)})
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
    for _ in range(2):  # the part is split, too
        durable(in_cluster, admitted(in_cluster, settings))
    assert len(in_cluster.queue.waiting.lines()) == 2499
    view = RoundView(in_cluster)
    steps = queue_admission.start_waiting_moves(view, scheduled(view, settings), {})
    assert len(list(steps)) >= 2_499, "2,499 lines, of which no move may start"


def test_236_13_moves_with_a_cap_of_their_own_wait_and_hold_up_no_others() -> None:
    in_cluster = cluster(*[not_moving(1)] * 4)
    queued(in_cluster, {0: (1, 2), 1: (1, 3), 2: (1, 4), 3: (1, 5)}, own={0: 1, 1: 1, 2: 1})
    durable(in_cluster, admitted(in_cluster))
    assert in_cluster.moving[TOPIC] == {0, 3}, "one of the plan's moves copies from broker 1; 3 is of others"
    durable(in_cluster, admitted(in_cluster))
    assert not queue_admission.is_room_claimed(RoundView(in_cluster)), "new moves of others need not wait for them"
    complete(in_cluster, TopicPartition(TOPIC, 0))
    durable(in_cluster, admitted(in_cluster))
    assert in_cluster.moving[TOPIC] == {3}, "that one counts, whoever started it"
    complete(in_cluster, TopicPartition(TOPIC, 3))
    durable(in_cluster, admitted(in_cluster))
    assert in_cluster.moving[TOPIC] == {1}
    assert in_cluster.queue.capped == 1


def test_236_13_by_a_moves_own_cap_what_a_broker_sends_takes_nothing_from_what_it_receives() -> None:
    """Sending and receiving count each for itself. Broker 2 receives from 1, and sends to 3."""
    in_cluster = cluster(not_moving(1), not_moving(2), not_moving(4), not_moving(2))
    targets = {0: (1, 2), 1: (2, 3), 2: (4, 2), 3: (2, 5)}
    queued(in_cluster, targets, own=dict.fromkeys(targets, 1))
    view = admitted(in_cluster)
    durable(in_cluster, view)
    assert in_cluster.moving[TOPIC] == {0, 1}
    assert waiting_for(view) == {(receiving(2), 1): 1, (sending(2), 1): 1}
    complete(in_cluster, TopicPartition(TOPIC, 1))
    durable(in_cluster, admitted(in_cluster))
    assert in_cluster.moving[TOPIC] == {0, 3}, "broker 2 sends again, while 2 waits for what it receives"
    complete(in_cluster, TopicPartition(TOPIC, 0))
    durable(in_cluster, admitted(in_cluster))
    assert in_cluster.moving[TOPIC] == {2, 3}


def test_236_13_a_move_with_a_cap_of_its_own_counts_for_the_caps_of_the_cluster_however_it_copies() -> None:
    in_cluster = cluster(not_moving(1), not_moving(2))
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=1))
    queued(in_cluster, {0: (1, 2), 1: (2, 3)}, own={0: 1, 1: 1})
    durable(in_cluster, admitted(in_cluster, settings))
    assert in_cluster.moving[TOPIC] == {0}
    complete(in_cluster, TopicPartition(TOPIC, 0))
    durable(in_cluster, admitted(in_cluster, settings))
    assert in_cluster.moving[TOPIC] == {1}
