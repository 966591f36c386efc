"""kr-5, kr-6: thousands of moves hold up no other client of the server."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pytest

from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.round_records import RoundRecord, Waiting
from kafka_reassign_rpc.kraft.upstream.outcomes import Outcome
from kafka_reassign_rpc.support.slices import pieces
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import NOW, MemoryCluster
from tests.kraft.test_term import SELDOM, Here, looked
from tests.longest_turn import longest_turn

MANY, HELD_S = 9_000, 0.03
NOBODY_WAITS = "no call takes 20 ms; a busy machine adds to CPU time, too"


class Afar(MemoryCluster):
    """Its own work is done elsewhere, as that of brokers is."""

    async def look(self, topics: Collection[str] | None = None) -> Look:
        return await asyncio.to_thread(asyncio.run, super().look(topics))

    async def altered(self, targets: Mapping[TopicPartition, tuple[int, ...] | None]) -> dict[TopicPartition, Outcome]:
        return await asyncio.to_thread(asyncio.run, super().altered(targets))


@pytest.mark.long
async def test_kr_5_a_take_over_with_a_hundred_thousand_moves_that_wait_holds_nobody_up() -> None:
    names = [TopicPartition(f"t-{index % 100}", index // 100) for index in range(100_000)]
    here = Here()
    here.cluster = Afar({name: KRaftPartition(1, 2) for name in names}, (1, 2, 3, 4))
    move, intents = WaitingMove(MoveTerms((3, 2), route=QUEUE)), Intents()
    for number, some in enumerate(pieces(names, 1_000)):
        list(intents.apply(RoundRecord(at=NOW, waiting=[Waiting(-1, *name, move) for name in some]), number))
    here.log.replayed = lambda: intents  # type: ignore[method-assign]
    with longest_turn() as longest:
        async with here.term(InFlightCaps(per_cluster=1), pace=LookPace(0.1, 0.1)) as loop:
            await looked(here, 3)
            assert len(loop.cluster.queue) == len(names) - 1
    assert longest.seconds < HELD_S, NOBODY_WAITS


@pytest.mark.long
async def test_kr_6_thousands_of_moves_in_one_round_hold_nobody_up() -> None:
    names = [TopicPartition("many", index) for index in range(MANY)]
    here = Here()
    here.cluster = Afar({name: KRaftPartition(1, 2) for name in names}, (1, 2, 3, 4))
    recorder = EventRecorder(lambda: NOW, None, 1)
    here.record = partial(recorder.record, 1)
    asked = AlterReassignments([("many", [(index, MoveTerms((3, 2))) for index in range(MANY)])])
    async with here.term(pace=LookPace(0.1, 0.1)) as loop:

        async def moves() -> Sequence[ItemResult]:
            return await here.begun.told(loop.submit(AlterReassignmentsCommand(asked)), 60_000)

        with longest_turn() as longest:
            told = asyncio.create_task(moves())
            await asyncio.wait([told])
            began = here.cluster.looks
            while here.cluster.looks < began + 3:
                await asyncio.sleep(0.05)
        assert not any(error for *_, error in told.result())
        assert longest.seconds < HELD_S, NOBODY_WAITS
    await recorder.close()


async def test_kr_6_to_find_out_whether_a_hundred_thousand_partitions_of_a_request_are_known_holds_nobody_up() -> None:
    topics, partitions, here = [f"t-{index}" for index in range(100)], range(1_000), Here()
    async with here.term(pace=SELDOM) as loop:
        for topic in topics:
            put_topic(loop.cluster, topic, None, {index: Partition((1, 2)) for index in partitions}, version=0)
        asked = AlterReassignments([(topic, [(index, MoveTerms((3, 2))) for index in partitions]) for topic in topics])
        before = here.cluster.looks
        with longest_turn() as longest:
            await asyncio.sleep(0)  # this turn is measured from here on
            await here.begun.looked_for(asked)
        assert here.cluster.looks == before, "all are known"
    assert longest.seconds < HELD_S, NOBODY_WAITS
