"""kr-5 and kr-6: each request is answered in time, and by what has become of its own move."""

import asyncio
from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, RequestTimedOut
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import term_duties
from kafka_reassign_rpc.kraft.cluster_poller import _seen_of
from kafka_reassign_rpc.kraft.kraft_commands import LookSeen, Sighted
from kafka_reassign_rpc.kraft.ports import Look, LookFailed
from kafka_reassign_rpc.kraft.upstream import Heard, Outcome, Told
from tests.kraft.memory_term import NAME, OTHER, SELDOM, Here
from tests.tables import for_each
from tests.waiting import eventually

NEVER = 20


async def _moves(here: Here) -> None:
    """To [3, 2], and the loop knows that the cluster has taken it."""
    assert await here.told(NAME, (3, 2)) is None
    await eventually(lambda: _move(here).phase is Phase.MOVING)


def _move(here: Here) -> MoveRecord:
    shown = here.loop.cluster.get(*NAME)
    assert shown is not None
    assert shown.move is not None
    return shown.move


async def _seen_to_end(here: Here) -> LookSeen:
    record = _move(here)
    look = await here.cluster.look({NAME.topic})
    seen = await _seen_of(look, {NAME}, here.loop.cluster, here.log.replayed())
    return LookSeen([seen], {NAME: Sighted(record, here.cluster.partitions[NAME].at, NEVER)})


@for_each("ended_by, ends", [(None, catalogue.MOVE_COMPLETED), ((4, 2), catalogue.MOVE_GONE)])
async def test_kr_6_the_end_of_a_move_in_the_round_of_the_next_one_does_not_answer_who_asked_for_that(
    ended_by: tuple[int, ...] | None, ends: str
) -> None:
    here, goes = Here(), asyncio.Event()
    async with here.term(pace=SELDOM) as loop:
        await _moves(here)
        if ended_by is None:
            here.cluster.partitions[NAME].catch_up()
        else:
            assert here.cluster.partitions[NAME].alter(ended_by) is None

        async def refused(
            targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
        ) -> Mapping[TopicPartition, Outcome]:
            await goes.wait()
            outcomes = {name: Outcome(Told.REFUSED, InvalidReplicaAssignment("no")) for name in targets}
            heard(outcomes)
            return outcomes

        here.cluster.alter = refused  # type: ignore[method-assign, assignment]
        looked = loop.submit(await _seen_to_end(here))
        told = asyncio.create_task(here.begun.told(here.submitted([NAME], (1, 3)), 60_000))
        await looked
        await eventually(lambda: here.named(ends) == [NAME])
        await asyncio.sleep(0)  # who waits has heard of it by now
        assert not told.done()
        goes.set()
        [(*_, error)] = await told
        assert isinstance(error, InvalidReplicaAssignment)


async def test_kr_5_while_the_cluster_answers_no_look_a_request_that_is_under_way_may_still_be_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As without a majority of its controllers. One that no round has taken yet is withdrawn."""
    monkeypatch.setattr(term_duties, "LEAST_S", 0.05)
    here = Here()
    async with here.term(pace=SELDOM) as loop:
        look = here.cluster.look

        async def unanswered(_topics: object = None) -> Look:
            raise LookFailed("no controller is active")

        here.cluster.look = unanswered  # type: ignore[method-assign, assignment]
        with pytest.raises(RequestTimedOut, match="may still be carried out"):
            await here.told(NAME, (3, 2), timeout_ms=1_000)
        with pytest.raises(RequestTimedOut, match=r"Nothing was decided within 0\.08 s, nor will be"):
            await here.told(OTHER, (3, 1), timeout_ms=100)
        assert here.named(catalogue.MOVE_STARTED) == []
        here.cluster.look = look  # type: ignore[method-assign]
        await eventually(lambda: here.named(catalogue.MOVE_STARTED) == [NAME])
        assert await here.told(OTHER, (3, 1)) is None
        assert loop.is_open
