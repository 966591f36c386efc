"""kr-6: how a large request is divided."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments, AskedItem
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms
from kafka_reassign_rpc.kraft import request_parts
from kafka_reassign_rpc.kraft.request_parts import parts_of
from tests.tables import for_each

TO = MoveTerms((3, 2))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_parts, "MOST_MOVES", 2)


def _asked(*topics: tuple[str, int]) -> AlterReassignments:
    named: list[tuple[str, list[AskedItem]]] = [
        (name, [(index, TO) for index in range(count)]) for name, count in topics
    ]
    return AlterReassignments(named, allow_replication_factor_change=False, timeout_ms=7)


def test_kr_6_each_part_of_a_large_request_has_as_many_partitions_as_one_record() -> None:
    first, second, third = parts_of(_asked(("a", 3), ("b", 2)))
    assert first.topics == [("a", [(0, TO), (1, TO)])]
    assert second.topics == [("a", [(2, TO)]), ("b", [(0, TO)])]
    assert third == AlterReassignments([("b", [(1, TO)])], allow_replication_factor_change=False, timeout_ms=7)


def _for_the_queue(request: AlterReassignments) -> AlterReassignments:
    return replace(request, queue=True)


def _last_is(asked: MoveTerms | CancelMove) -> Callable[[AlterReassignments], AlterReassignments]:
    return lambda request: replace(request, topics=[*request.topics, ("z", [(0, asked)])])


@for_each(
    "change",
    [_for_the_queue, _last_is(CancelMove()), _last_is(MoveTerms((3, 2), throttle=1_000))],
    ids=["for the queue", "a cancel", "a lease"],
)
def test_kr_6_what_is_better_decided_at_once_stays_whole(
    change: Callable[[AlterReassignments], AlterReassignments],
) -> None:
    request = change(_asked(("a", 5)))
    assert parts_of(request) == [request]


def test_kr_6_a_request_that_is_not_large_is_its_only_part() -> None:
    request = _asked(("a", 1), ("b", 1))
    assert parts_of(request) == [request]
    nothing = _asked()
    assert parts_of(nothing) == [nothing]
