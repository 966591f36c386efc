"""kr-6: who waits for what the cluster makes of a move. The whole way is in `test_term`."""

import asyncio
from collections.abc import Coroutine, Mapping

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    KafkaError,
    NoReassignmentInProgress,
    NotController,
    RequestTimedOut,
)
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.alter_sender import Asked, CallersWaiting

NAME = TopicPartition("t", 0)
START = MoveRecord(MoveTerms((3, 2)), (1, 2), 7, phase=Phase.START)
CANCEL = replace(START, phase=Phase.CANCEL)


def _answers(
    callers: CallersWaiting, moves: dict[TopicPartition, MoveRecord], seconds: float
) -> Coroutine[None, None, Mapping[TopicPartition, KafkaError | None]]:
    asked = Asked()
    for name, record in moves.items():
        callers.begin(asked, name, record)
    return callers.answers(asked, seconds)


async def test_kr_6_a_cancel_that_the_cluster_took_before_its_sender_asked_is_answered_at_once() -> None:
    callers = CallersWaiting()
    callers.taken(NAME, CANCEL)
    assert await _answers(callers, {NAME: CANCEL}, 60) == {}
    callers.moved_on(NAME, None)
    assert isinstance((await _answers(callers, {NAME: replace(CANCEL, id=8)}, 0))[NAME], RequestTimedOut)


async def test_kr_6_a_move_that_the_cluster_took_while_its_round_went_on_is_answered_at_once() -> None:
    callers = CallersWaiting()
    callers.taken(NAME, START)
    callers.moved_on(NAME, START)
    assert await _answers(callers, {NAME: START}, 60) == {}
    callers.moved_on(NAME, replace(START, phase=Phase.MOVING))
    assert isinstance((await _answers(callers, {NAME: replace(START, id=8)}, 0))[NAME], RequestTimedOut)


async def test_kr_6_all_who_ask_for_the_same_get_one_answer_and_who_is_replaced_gets_none() -> None:
    callers = CallersWaiting()
    first, second = (asyncio.create_task(_answers(callers, {NAME: START}, 60)) for _ in range(2))
    await asyncio.sleep(0)
    callers.refused({NAME: (START, NoReassignmentInProgress())})  # of a cancel before it
    refusal = InvalidReplicaAssignment("cordoned")
    callers.refused({NAME: (START, refusal)})
    assert await first == await second == {NAME: refusal}
    replaced = asyncio.create_task(_answers(callers, {NAME: START}, 60))
    await asyncio.sleep(0)
    cancels = asyncio.create_task(_answers(callers, {NAME: CANCEL}, 60))
    assert await replaced == {NAME: None}
    callers.moved_on(NAME, replace(START, phase=Phase.RESTORE))
    assert await cancels == {NAME: None}


async def test_kr_6_what_the_cluster_says_of_a_former_target_answers_nobody_who_asks_for_another_one() -> None:
    """Nor whoever cancels: the cluster has yet to be asked for that."""
    for later in (replace(START, terms=MoveTerms((4, 2))), CANCEL):
        callers = CallersWaiting()
        asked = asyncio.create_task(_answers(callers, {NAME: later}, 60))
        await asyncio.sleep(0)
        callers.refused({NAME: (START, InvalidReplicaAssignment("of the former target"))})
        callers.taken(NAME, START)
        await asyncio.sleep(0)
        assert not asked.done()
        callers.taken(NAME, later)
        assert await asked == {NAME: None}


async def test_kr_6_a_former_move_that_goes_on_answers_nobody_who_asks_for_what_was_to_replace_it() -> None:
    """The answer is the refusal that has given the former move back."""
    callers, former = CallersWaiting(), replace(START, phase=Phase.MOVING)
    later = MoveRecord(MoveTerms((4, 2)), (1, 2), 8, phase=Phase.START, replaces=former)
    asked = asyncio.create_task(_answers(callers, {NAME: later}, 60))
    await asyncio.sleep(0)
    callers.moved_on(NAME, former)
    refusal = InvalidReplicaAssignment("cordoned")
    callers.refused({NAME: (later, refusal)})
    assert await asked == {NAME: refusal}


async def test_kr_6_an_answer_about_a_record_that_a_look_has_changed_is_one_about_what_was_asked_for() -> None:
    later = MoveRecord(MoveTerms((4, 2)), (1, 2), 8, phase=Phase.START, replaces=replace(START, phase=Phase.MOVING))
    for refusal in (None, InvalidReplicaAssignment("cordoned")):
        callers = CallersWaiting()
        asked = asyncio.create_task(_answers(callers, {NAME: later}, 60))
        await asyncio.sleep(0)
        sent = replace(later, replaces=None)
        if refusal is None:
            callers.taken(NAME, sent)
        else:
            callers.refused({NAME: (sent, refusal)})
        assert await asked == {NAME: refusal}
    callers = CallersWaiting()
    callers.taken(NAME, later)
    assert await _answers(callers, {NAME: replace(later, replaces=replace(START, phase=Phase.CANCEL))}, 0) == {}


async def test_kr_6_at_the_end_of_a_term_the_whole_request_fails_also_one_whose_sender_comes_late() -> None:
    """Clients ask the next server only then: NOT_CONTROLLER of a partition ends their request."""
    callers, other = CallersWaiting(), TopicPartition("t", 1)
    asked = asyncio.create_task(_answers(callers, {NAME: START, other: START}, 60))
    told = asyncio.create_task(_answers(callers, {other: START}, 60))
    await asyncio.sleep(0)
    callers.taken(other, START)
    callers.term_is_over()
    with pytest.raises(NotController):
        await asked
    assert await told == {other: None}
    with pytest.raises(NotController):
        await _answers(callers, {NAME: START}, 60)
    assert await _answers(callers, {NAME: replace(START, phase=Phase.MOVING)}, 60) == {}


async def test_kr_6_a_request_that_begins_to_wait_in_steps_is_answered_once_all_of_it_is() -> None:
    """The cluster has taken its first partition before its second one waits."""
    callers, asked, other = CallersWaiting(), Asked(), TopicPartition("t", 1)
    callers.begin(asked, NAME, START)
    callers.taken(NAME, START)
    callers.begin(asked, other, START)
    answers = asyncio.create_task(callers.answers(asked, 60))
    await asyncio.sleep(0)
    refusal = InvalidReplicaAssignment("no")
    callers.refused({other: (START, refusal)})
    assert await answers == {NAME: None, other: refusal}
