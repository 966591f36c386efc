"""When waiting moves are decided again: what has made room, and which window holds."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from kafka_reassign_rpc.controller.commands.queue_commands import StartQueuedMoves, TimePassed
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import ProcessBatchAndQueue
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.waiting_moves import WaitingMoves, WindowChanges
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, UnknownServerError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import TimeTold
from kafka_reassign_rpc.core.writers.replay import PartitionTransition, ReplayedChanges
from tests.core.build import TOPIC, cluster, moving, not_moving, write
from tests.core.queue.queue_rounds import queued, through
from tests.tables import for_each
from tests.waiting import eventually

NOON_MS = 12 * 3_600_000
AT_NIGHT = {"reassignment.windows": "daily 22:00-06:00 UTC"}


class Loop:
    """Takes commands, and learns what `TimePassed` tells. Each error of `fails` is the answer to one of them."""

    def __init__(self, here: Cluster, fails: Sequence[KafkaError] = ()) -> None:
        self.cluster = here
        self.asked: list[type] = []
        self._fails = [*fails]

    def submit(self, command: Any) -> asyncio.Future[None]:
        self.asked.append(type(command))
        answer = asyncio.get_running_loop().create_future()
        if self._fails:
            answer.set_exception(self._fails.pop(0))
            return answer
        if isinstance(command, TimePassed):
            through(TimeTold(NOON_MS).apply(self.cluster))
        answer.set_result(None)
        return answer

    @property
    def as_loop(self) -> ControllerLoop:
        return cast(ControllerLoop, self)


async def some_turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def batch(entries: int = 1, *, waiting: int = 0, lacks_room: bool = False) -> BatchZnode:
    found = {TopicPartition(TOPIC, index): BatchEntry((3, 4)) for index in range(entries)}
    return BatchZnode(found, waiting=waiting, lacks_room=lacks_room)


@for_each(
    ("known", "command"),
    [
        (None, StartQueuedMoves),
        (batch(), StartQueuedMoves),
        (batch(waiting=1), ProcessBatchAndQueue),
    ],
)
async def test_236_13_where_a_batch_waits_too_it_is_decided_with_the_queue(
    known: BatchZnode | None, command: type
) -> None:
    here = cluster(not_moving(1, 2))
    write(here, batch=known)
    loop = Loop(here)
    duty = WaitingMoves(loop.as_loop)
    running = asyncio.create_task(duty.run())
    await some_turns()
    assert loop.asked == [], "before there may be room"
    duty.may_start()
    await some_turns()
    assert loop.asked == [command]
    running.cancel()


async def test_236_13_a_refusal_is_tried_again_when_there_is_room_and_the_end_of_the_term_ends_the_duty() -> None:
    loop = Loop(cluster(not_moving(1, 2)), [UnknownServerError("why"), NotController("moved")])
    duty = WaitingMoves(loop.as_loop)
    running = asyncio.create_task(duty.run())
    for _ in range(2):
        duty.may_start()
        await some_turns()
    assert loop.asked == [StartQueuedMoves] * 2
    await running


MOVING, AT_REST = moving((1, 2), (1, 3)), not_moving(1, 3)


@for_each(
    ("waits", "known", "changes", "starts"),
    [
        (True, None, [(MOVING, AT_REST)], True),
        (False, batch(waiting=1), [(MOVING, AT_REST)], True),
        (False, batch(), [(MOVING, AT_REST)], False),
        (False, None, [(MOVING, AT_REST)], False),
        (True, None, [(AT_REST, MOVING)], False),
        (True, None, [(None, AT_REST)], False),
        (True, None, [(None, AT_REST), (AT_REST, MOVING), (MOVING, AT_REST)], True),
        (True, None, [], False),
    ],
)
async def test_236_13_a_round_that_makes_room_lets_what_waits_try_again(
    waits: bool, known: BatchZnode | None, changes: list[tuple[Partition | None, Partition]], starts: bool
) -> None:
    here = cluster(AT_REST)
    if waits:
        queued(here, {0: (1, 4)})
    here.queue.waiting.more = False
    write(here, batch=known)
    loop, applied = Loop(here), ReplayedChanges()
    applied.partitions = [PartitionTransition(TOPIC, 0, before, after) for before, after in changes]
    duty = WaitingMoves(loop.as_loop)
    through(duty.round_replayed(applied))
    running = asyncio.create_task(duty.run())
    await some_turns()
    assert bool(loop.asked) is starts
    running.cancel()


@for_each(
    ("first", "then", "asked"),
    [
        (batch(2, lacks_room=True), batch(1, lacks_room=True), [ProcessBatchAndQueue]),
        (batch(2, lacks_room=True), batch(2, lacks_room=True), []),
        (batch(1, lacks_room=True), batch(2, lacks_room=True), []),
        (batch(2), batch(1), []),
        (batch(2, lacks_room=True), None, []),
        (None, batch(1, lacks_room=True), []),
    ],
)
async def test_236_4_a_batch_that_lacked_room_for_original_replicas_is_decided_when_it_has_become_shorter(
    first: BatchZnode | None, then: BatchZnode | None, asked: list[type]
) -> None:
    loop = Loop(cluster(AT_REST))
    duty = WaitingMoves(loop.as_loop)
    for known in (first, then):
        write(loop.cluster, batch=known)
        through(duty.round_replayed(ReplayedChanges()))
    assert loop.asked == asked


@for_each(
    ("settings", "is_due", "asked", "changes"),
    [({}, False, 0, 0), ({}, True, 1, 0), (AT_NIGHT, False, 1, 1), (AT_NIGHT, True, 1, 1)],
)
async def test_dh_5_the_time_is_told_where_there_are_windows_or_where_settings_have_changed(
    settings: dict[str, str], is_due: bool, asked: int, changes: int
) -> None:
    loop, seen = Loop(cluster(AT_REST)), list[None]()
    write(loop.cluster, settings=settings)
    duty = WindowChanges(loop.as_loop, lambda: NOON_MS, lambda: seen.append(None))
    if is_due:
        duty.settings_changed()
    running = asyncio.create_task(duty.run())
    await some_turns()
    assert (len(loop.asked), len(seen)) == (asked, changes)
    running.cancel()


async def test_dh_5_a_window_that_no_setting_has_any_more_is_forgotten() -> None:
    loop, seen = Loop(cluster(AT_REST)), list[None]()
    write(loop.cluster, settings=AT_NIGHT)
    through(TimeTold(NOON_MS).apply(loop.cluster))
    assert loop.cluster.soft.window is not None
    write(loop.cluster, settings={})
    duty = WindowChanges(loop.as_loop, lambda: NOON_MS, lambda: seen.append(None))
    running = asyncio.create_task(duty.run())
    await eventually(lambda: loop.cluster.soft.window is None)
    assert (loop.asked, len(seen)) == ([TimePassed], 1)
    running.cancel()


async def test_dh_5_a_lost_commit_is_tried_again_and_the_end_of_the_term_ends_the_duty() -> None:
    loop = Loop(cluster(AT_REST), [UnknownServerError("why"), NotController("moved")])
    duty = WindowChanges(loop.as_loop, lambda: NOON_MS, lambda: None)
    running = asyncio.create_task(duty.run())
    for _ in range(2):
        duty.settings_changed()
        await some_turns()
    assert loop.asked == [TimePassed] * 2
    await running
