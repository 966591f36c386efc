"""Ways back in front of KRaft, on a cluster and a log in memory: cancels of orders of the same replicas that have not
been told yet, and the original replicas as a target."""

import asyncio
from collections.abc import Sequence

from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.queue_commands import HoldMoves
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.queue.holding import Selection
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from tests.kraft.memory_cluster import NOW
from tests.kraft.memory_term import NAME, OTHER, QUICK, SELDOM, THIRD, Here, looked
from tests.kraft.test_settings import change
from tests.tables import for_each
from tests.waiting import eventually

THERE, ORDER = (3, 2), (2, 1)


async def queued(here: Here, target: tuple[int, ...]) -> None:
    terms = MoveTerms(target, route=QUEUE, reason="why")
    request = AlterReassignments([(NAME.topic, [(NAME.partition, terms)])], queue=True)
    assert await here.loop.submit(AlterReassignmentsCommand(request)) == [(*NAME, None)]


@for_each("is_held", [False, True])
async def test_kr_7_another_order_that_waits_or_is_held_is_withdrawn_by_a_cancel(is_held: bool) -> None:
    here = Here()
    async with here.term() as loop:
        await change(here, {ENABLED: "false"})
        await queued(here, ORDER)
        if is_held:
            await loop.submit(HoldMoves(Selection(), Held(NOW, "alice", "later"), CONTROLLER))
            assert here.named(catalogue.MOVE_HELD) == [NAME]
        assert await here.told(NAME, None) is None
        assert here.named(catalogue.MOVE_WITHDRAWN) == [NAME]
        await change(here, {ENABLED: "true"})
        await looked(here)
    assert (here.cluster.told, here.log.replayed().queue) == ({}, {})


async def test_kr_6_another_order_that_the_cluster_does_not_take_for_now_is_cancelled_and_never_comes() -> None:
    here = Here()
    here.cluster.refuses = ClusterAuthorizationFailed()
    async with here.term():
        await here.ask(NAME, ORDER)
        await eventually(lambda: NAME in here.cluster.told)
        assert await here.told(NAME, None) is None
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [NAME])
        here.cluster.refuses = None
        await looked(here)
    async with here.term():
        await looked(here)
    assert here.cluster.partitions[NAME].at == SeenPartition((1, 2))
    assert here.named(catalogue.MOVE_COMPLETED) == []


async def test_kr_6_a_cancel_of_another_order_that_the_cluster_has_taken_comes_too_late() -> None:
    here = Here()
    async with here.term(pace=SELDOM):
        assert await here.told(NAME, ORDER) is None
        assert isinstance(await here.told(NAME, None), NoReassignmentInProgress)
    async with here.term():
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])


async def test_kr_6_a_cancel_of_another_order_whose_answer_is_lost_says_what_looks_have_seen() -> None:
    here = Here()
    here.cluster.silent = True
    async with here.term():
        await here.ask(NAME, ORDER)
        await eventually(lambda: NAME in here.cluster.told)
        here.cluster.partitions[NAME].alter(ORDER)  # it had its effect
        assert isinstance(await here.told(NAME, None), NoReassignmentInProgress)
    assert here.named(catalogue.MOVE_COMPLETED) == [NAME]


async def test_kr_6_the_original_replicas_as_a_target_are_there_at_once_where_the_move_goes_on() -> None:
    here = Here()
    async with here.term(pace=SELDOM) as loop:
        assert await here.told(NAME, THERE) is None
        assert await here.told(NAME, (1, 2)) is None
        assert here.cluster.told[NAME] is None, "a cancel: KRaft never ends an Alter to the original replicas"
        assert loop.cluster.moving == {}
    async with here.term():
        await eventually(lambda: here.log.replayed().moves == {})
    assert here.cluster.partitions[NAME].at == SeenPartition((1, 2))
    assert here.named(catalogue.MOVE_RETARGETED) == here.named(catalogue.MOVE_COMPLETED) == [NAME]


@for_each("is_queued", [False, True])
@for_each("by_another_server", [False, True])
async def test_kr_6_the_original_replicas_as_a_target_are_moved_to_where_the_move_has_ended_meanwhile(
    is_queued: bool, by_another_server: bool
) -> None:
    here = Here()
    partition = here.cluster.partitions[NAME]
    async with here.term(pace=SELDOM if by_another_server else QUICK):
        await (queued(here, THERE) if is_queued else here.ask(NAME, THERE))
        await eventually(lambda: partition.at.is_moving)
        here.cluster.before_alter = partition.catch_up
        await (queued(here, (1, 2)) if is_queued else here.ask(NAME, (1, 2)))
        if by_another_server:
            await eventually(lambda: partition.at == SeenPartition(THERE))
        else:
            await comes_back(here)
    if by_another_server:
        async with here.term():
            await comes_back(here)
    assert here.named(catalogue.MOVE_COMPLETED) == [NAME]
    assert here.named(catalogue.MOVE_CANCELLED) == []


async def comes_back(here: Here) -> None:
    partition = here.cluster.partitions[NAME]
    await eventually(lambda: partition.at == SeenPartition((1, 2, 3), (1,), (3,)))
    partition.catch_up()
    await eventually(lambda: here.log.replayed().moves == {})
    assert partition.at == SeenPartition((1, 2))


async def test_kr_6_replicas_that_are_there_for_now_as_a_target_stay_although_a_cancel_would_restore_others() -> None:
    here = Here()
    partition = here.cluster.partitions[NAME]
    async with here.term(pace=SELDOM):
        assert await here.told(NAME, THERE) is None
        assert await here.told(NAME, None) is None
        assert partition.at == SeenPartition(ORDER), "the order that KRaft's cancel leaves"
        await here.ask(NAME, ORDER)
        assert here.named(catalogue.MOVE_RETARGETED) == [NAME]
    async with here.term():
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
        assert partition.at == SeenPartition(ORDER)
    assert here.log.replayed().moves == {}


async def test_kr_6_the_present_replicas_of_a_topic_that_no_broker_shows_are_refused_at_once() -> None:
    """The loop is not kept by looks that cannot show it."""
    here = Here()
    async with here.term() as loop:
        here.cluster.secret.add("t")
        await eventually(lambda: loop.cluster.soft.unseen == {"t"})
        async with asyncio.timeout(60):
            assert isinstance(await here.asked_by_api(NAME, (1, 2)), UnknownTopicOrPartition)


async def test_kr_6_a_request_for_the_queue_is_not_decided_by_the_look_of_one_before_it() -> None:
    """Others move its partition after that look: it does not have what is asked for, and gets it."""
    here = Here()
    async with here.term(pace=SELDOM):
        # In the round of the first look, the first request would begin its own look too late.
        await eventually(lambda: here.begun.healer.last_status is not None)
        commits, goes_on, commit = asyncio.Event(), asyncio.Event(), here.writer.commit

        async def slow(payloads: Sequence[bytes]) -> int:
            commits.set()
            await goes_on.wait()
            return await commit(payloads)

        here.writer.commit = slow  # type: ignore[method-assign]
        first = asyncio.create_task(here.asked_by_api(OTHER, (3, 1)))
        await commits.wait()
        looks = here.cluster.looks
        second = asyncio.create_task(here.asked_by_api(THIRD, (4, 2)))
        await eventually(lambda: here.cluster.looks > looks)
        here.cluster.partitions[NAME].alter((3, 2))
        here.cluster.partitions[NAME].catch_up()
        third = asyncio.create_task(here.asked_by_api(NAME, (1, 2), queue=True))
        await asyncio.sleep(0)
        goes_on.set()
        assert [*await asyncio.gather(first, second, third)] == [None, None, None]
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
