"""kr-5, kr-6: thousands of moves hold up no other client of the server."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pytest

from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.round_records import Intents, RoundRecord, Waiting
from kafka_reassign_rpc.kraft.upstream import PARTITIONS_A_REQUEST, Heard, Outcome
from kafka_reassign_rpc.support.slices import pieces
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import NOW, MemoryCluster
from tests.kraft.memory_term import SELDOM, Here, looked
from tests.longest_turn import tries

MANY = 5_000


class Afar(MemoryCluster):
    """Its own work is done elsewhere, as that of brokers is."""

    async def look(self, topics: Collection[str] | None = None) -> Look:
        return await asyncio.to_thread(asyncio.run, super().look(topics))

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> dict[TopicPartition, Outcome]:
        outcomes: dict[TopicPartition, Outcome] = {}
        for some in pieces([*targets.items()], PARTITIONS_A_REQUEST):
            answered = await asyncio.to_thread(asyncio.run, super().altered(dict(some)))
            heard(answered)
            outcomes |= answered
        return outcomes


def with_moves_that_wait(names: Sequence[TopicPartition]) -> Here:
    here, intents = Here(), Intents()
    here.cluster = Afar({name: KRaftPartition(1, 2) for name in names}, (1, 2, 3, 4))
    move = WaitingMove(MoveTerms((3, 2), route=QUEUE))
    for number, some in enumerate(pieces(names, 1_000)):
        list(intents.apply(RoundRecord(at=NOW, waiting=[Waiting(-1, *name, move) for name in some]), number))
    here.log.replayed = lambda: intents  # type: ignore[method-assign]
    return here


@pytest.mark.gate
@pytest.mark.long
async def test_kr_5_a_take_over_with_a_hundred_thousand_moves_that_wait_holds_nobody_up() -> None:
    names = [TopicPartition(f"t-{index % 100}", index // 100) for index in range(100_000)]
    for measured in tries():
        here = with_moves_that_wait(names)
        async with measured, here.term(InFlightCaps(per_cluster=1), pace=LookPace(0.1, 0.1, 0)) as loop:
            await looked(here, 3)
            assert len(loop.cluster.queue) == len(names) - 1


@pytest.mark.long
async def test_kr_6_thousands_of_moves_in_one_round_hold_nobody_up() -> None:
    names = [TopicPartition("many", index) for index in range(MANY)]
    asked = AlterReassignments([("many", [(index, MoveTerms((3, 2))) for index in range(MANY)])])
    for measured in tries():
        here = Here()
        here.cluster = Afar({name: KRaftPartition(1, 2) for name in names}, (1, 2, 3, 4))
        recorder = EventRecorder(lambda: NOW, None, 1)
        here.record = partial(recorder.record, 1)
        async with here.term(pace=LookPace(0.1, 0.1, 0)) as loop:
            command = AlterReassignmentsCommand(asked)
            async with measured:
                loop.submit(command)
                told = await here.begun.told(command, 60_000)
                await looked(here, 3)
            assert not any(error for *_, error in told)
            del told
        await recorder.close()


async def test_kr_6_to_find_out_whether_a_hundred_thousand_partitions_of_a_request_are_known_holds_nobody_up() -> None:
    here, moves = Here(), [(index, MoveTerms((3, 2), route=QUEUE)) for index in range(1_000)]
    asked = AlterReassignments([(f"t-{number}", moves) for number in range(100)], queue=True)
    names = [TopicPartition(topic, index) for topic, some in asked.topics for index, _ in some]
    here.cluster = Afar({name: KRaftPartition(1, 2) for name in names}, (1, 2, 3))
    async with here.term(pace=SELDOM):
        for measured in tries():
            async with measured:
                await here.begun.looked_for(asked)
        assert here.cluster.looks == here.cluster.looks_at_all, "all are known"
