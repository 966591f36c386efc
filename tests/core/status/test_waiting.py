"""Why a waiting move waits, and its place: a case for each reason."""

from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, InFlightCaps
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP, REPAIRS, Place, receiving, sending
from kafka_reassign_rpc.core.status.moves import WaitingReasons
from tests.core.build import write
from tests.status_page.views import at_rest, cluster_of, move, run, term_of

NAME = TopicPartition("t", 0)
HEALING = HealingStatus(60_000, False, None, [], 0, 0)


def queued(target: tuple[int, ...] = (2,), route: str = QUEUE, *, moves: bool = False) -> Cluster:
    """t-0 is on broker 1 and waits to move; t-1 moves. Brokers 1 to 4 are live."""
    made = cluster_of({"t": {0: move((1,), (3,)) if moves else at_rest(1), 1: move((1,), (4,))}})
    run(made.queue.put(QueuePart("/q", "/q", {NAME: WaitingMove(MoveTerms(target, route))})))
    return made


def why(cluster: Cluster, caps: InFlightCaps = DEFAULT_SETTINGS.caps, **changes: Any) -> str:
    write(cluster, started_with=replace(DEFAULT_SETTINGS, caps=caps))
    term = term_of(cluster)._replace(**changes)
    place, partition = cluster.queue.place(*NAME), cluster.get(*NAME)
    assert place is not None
    assert partition is not None
    return WaitingReasons(term, [NAME]).waits_for(NAME, partition, place.move)


def in_line(cluster: Cluster, place: Place, cap: int = NO_CAP) -> Cluster:
    """The last admission has put the move into this line."""
    waiting = cluster.queue.place(*NAME)
    assert waiting is not None
    cluster.queue.waiting.wait(waiting.serial, place, cap)
    return cluster


def test_fg_5_a_move_that_nothing_holds_back_waits_for_its_turn() -> None:
    assert why(queued()) == "its turn"


def test_fg_5_a_move_waits_while_reassignments_are_disabled_whatever_else_holds_it_back() -> None:
    cluster = queued((9,))
    write(cluster, disabled_by_znode=True)
    assert why(cluster) == "reassignments to be enabled: /admin/reassign_cancel exists"


def test_fg_5_a_move_waits_while_a_cluster_takes_nothing_or_shows_not_its_topic() -> None:
    cluster = queued()
    cluster.soft.takes_nothing = "the cluster takes nothing"
    assert why(cluster) == "reassignments to be enabled: the cluster takes nothing"
    cluster.soft.takes_nothing, cluster.soft.unseen = "", frozenset({"t"})
    assert why(cluster) == "a broker to show its topic"


@pytest.mark.parametrize(
    ("healing", "text"),
    [
        (HealingStatus(60_000, True, None, [], 0, 0), "self-healing to be resumed"),
        (HealingStatus(60_000, False, "two are gone", [], 0, 0), "self-healing, which is held back: two are gone"),
        (HEALING, "its turn"),
    ],
)
def test_fg_5_a_repair_waits_for_self_healing(healing: HealingStatus, text: str) -> None:
    assert why(queued(route=HEAL), healing=healing) == text
    assert why(queued(), healing=healing) == "its turn", "other moves do not"


def test_fg_5_a_move_waits_for_a_dead_broker_that_it_adds_or_that_sends() -> None:
    assert why(queued((1, 9))) == "broker 9, which is dead"
    assert why(in_line(queued(), sending(9))) == "broker 9, which is dead"


@pytest.mark.parametrize(
    ("place", "cap", "text"),
    [
        (receiving(2), NO_CAP, "room on broker 2: at most 3 moves in flight there"),
        (receiving(2), 1, "room on broker 2: at most 1 move in flight there"),
        (sending(1), 2, "room on broker 1: at most 2 moves in flight there"),
        (REPAIRS, NO_CAP, "other repairs: at most 500 moves of repairs in flight"),
    ],
)
def test_fg_5_a_move_waits_for_room_under_the_cap_of_its_line(place: Place, cap: int, text: str) -> None:
    assert why(in_line(queued(), place, cap), InFlightCaps(per_broker=3, repairs=500)) == text


def test_fg_5_a_move_waits_for_a_broker_without_a_cap_until_it_reports_sizes() -> None:
    assert why(in_line(queued(), sending(2))) == "broker 2 to report sizes"


def test_fg_5_a_move_waits_for_the_other_move_of_its_partition() -> None:
    assert why(queued(moves=True)) == "the end of the move of its partition that is in flight"


def test_fg_5_a_move_waits_for_room_in_the_cluster() -> None:
    assert why(queued(), InFlightCaps(per_cluster=1)) == "room in the cluster: at most 1 move in flight"
    assert why(queued(), InFlightCaps(per_cluster=2)) == "its turn"
    assert why(queued(), InFlightCaps(bytes_in_flight=10)) == "room in the cluster: at most 10 bytes in flight"


def test_fg_5_the_place_is_that_in_the_order_of_submission() -> None:
    cluster = queued()
    second = TopicPartition("t", 1)
    run(cluster.queue.put(QueuePart("/q", "/q/1", {second: WaitingMove(MoveTerms((3,), QUEUE))})))
    reasons = WaitingReasons(term_of(cluster), [second, NAME, TopicPartition("t", 7)])
    assert [reasons.place(name) for name in (NAME, second, TopicPartition("t", 7))] == [1, 2, None]
