"""What the service of moves answers while what stores the cluster does not, and to whom it answers at all."""

import asyncio
from collections.abc import Mapping
from unittest.mock import AsyncMock, Mock

import pytest

from kafka_reassign_rpc.controller.lifecycle import moves_service
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService, MovesTerm
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, NotController
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.cluster import Cluster
from tests.core.build import TOPIC, cluster, moving, not_moving, write
from tests.tables import for_each

NOW, LAST = Mock(name="as diagnosed now"), Mock(name="as last diagnosed")


class World:
    def __init__(self, *, connected: bool = True, last: object = LAST, of: Cluster | None = None) -> None:
        self.here = cluster(not_moving(1, 2)) if of is None else of
        self.up_to_date = AsyncMock()
        self.loop = Mock(cluster=self.here, is_open=True)
        healer = Mock(status=AsyncMock(return_value=NOW), last_status=last)
        term = MovesTerm(self.loop, self.up_to_date, Mock(), healer, Mock(), Mock(), lambda: connected, AsyncMock())
        self.left_s = 1.0
        self.service = MovesService()
        self.service.begin(term, lambda: self.left_s)


async def test_46_6_self_healing_is_shown_as_diagnosed_now_or_as_last_where_the_store_is_away() -> None:
    assert await World().service.healing() is NOW
    away = World(connected=False)
    assert await away.service.healing() is LAST
    assert away.up_to_date.await_count == 0
    assert await World(last=None).service.healing() is NOW
    with pytest.raises(BrokerNotAvailable, match="was not diagnosed before"):
        await World(connected=False, last=None).service.healing()


async def test_46_6_a_store_that_answers_late_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves_service, "READ_S", 0)
    late = World()
    late.up_to_date.side_effect = asyncio.Event().wait
    assert await late.service.healing() is LAST


@pytest.mark.parametrize("connected", [True, False])
async def test_236_8_whether_reassignments_are_disabled_is_known_while_the_store_is_away_too(
    *, connected: bool
) -> None:
    world = World(connected=connected)
    assert await world.service.reassignments_disabled() is None
    write(world.here, settings={ENABLED: "false"})
    assert await world.service.reassignments_disabled() is not None
    assert world.up_to_date.await_count == (2 if connected else 0)


@for_each(
    "wanted, found",
    [
        (None, {TOPIC: {0, 2, 3}}),
        ({TOPIC: [3, 1, 0]}, {TOPIC: {0, 3}}),
        ({TOPIC: [1]}, {}),
        ({"other": [0]}, {}),
    ],
)
def test_455_1_moves_are_listed_of_all_topics_or_of_the_partitions_that_are_asked_for(
    wanted: Mapping[str, list[int]] | None, found: Mapping[str, set[int]]
) -> None:
    move = moving((1, 2), (3, 4))
    listed = World(of=cluster(move, not_moving(1, 2), move, move)).service.list_reassignments(wanted)
    assert {topic.name: set(indexes) for topic, indexes in listed} == found


@for_each("left_s, is_open, answers", [(1.0, True, True), (0.0, True, False), (1.0, False, False)])
def test_sv_3_a_server_whose_term_is_over_or_whose_session_may_be_answers_for_no_cluster(
    left_s: float, *, is_open: bool, answers: bool
) -> None:
    world = World()
    world.left_s, world.loop.is_open = left_s, is_open
    assert world.service.is_active() is answers
    assert world.service.cluster is (world.here if answers else None)
    if not answers:
        with pytest.raises(NotController):
            [*world.service.list_reassignments(None)]


def test_sv_3_a_server_without_a_term_answers_for_no_cluster() -> None:
    world = World()
    world.service.end()
    assert not world.service.is_active()
    assert world.service.cluster is None
