"""kr-6: a large request, decided in parts while the cluster takes those before."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, RequestTimedOut
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import request_parts
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.upstream.outcomes import Heard, Outcome
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.test_term import SELDOM, Here
from tests.tables import for_each
from tests.waiting import eventually

NAMES = [TopicPartition("many", index) for index in range(5)]
ASKED = AlterReassignments([("many", [(one.partition, MoveTerms((3, 2))) for one in NAMES])])


class Slow(MemoryCluster):
    """It takes an Alter once it `goes_on`."""

    def __init__(self) -> None:
        super().__init__({name: KRaftPartition(1, 2) for name in NAMES}, (1, 2, 3, 4))
        self.checks = 0
        self.sent: list[list[TopicPartition]] = []
        self.goes_on = asyncio.Event()

    async def assignments(self, topics: Collection[str]) -> Look:
        self.checks += 1
        return await super().assignments(topics)

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> dict[TopicPartition, Outcome]:
        self.sent.append(list(targets))
        await self.goes_on.wait()
        return await super().alter(targets, heard)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_parts, "MOST_MOVES", 2)


async def _answers(here: Here) -> Sequence[ItemResult]:
    service = MovesService()
    service.begin(here.begun, lambda: 1.0)
    return await service.alter_reassignments(ASKED, RequestContext(45, 0, 1, "test"))


async def test_kr_6_while_the_cluster_takes_a_part_of_a_large_request_the_others_are_decided() -> None:
    here, cluster = Here(), Slow()
    here.cluster = cluster
    async with here.term(pace=SELDOM):
        answering = asyncio.create_task(_answers(here))
        await eventually(lambda: len(here.log.replayed().moves) == len(NAMES))
        assert (cluster.sent, answering.done()) == ([NAMES[:2]], False), "all are durable, and one part is told"
        cluster.goes_on.set()
        assert await answering == [(*name, None) for name in NAMES]
        assert cluster.sent == [NAMES[:2], NAMES[2:]]
        assert cluster.checks == 1, "one look for all parts"


async def _looks_later(cluster: MemoryCluster) -> int:
    for _ in range(300):
        await asyncio.sleep(0)
    return cluster.looks


@for_each("at_rest_s", [60.0, 0.0])
async def test_kr_6_the_cluster_is_not_looked_at_while_it_is_told_unless_it_takes_too_long(at_rest_s: float) -> None:
    here, cluster = Here(), Slow()
    here.cluster = cluster
    async with here.term(pace=LookPace(0.0, at_rest_s)):
        answering = asyncio.create_task(_answers(here))
        await eventually(lambda: len(here.log.replayed().moves) == len(NAMES))
        before = await _looks_later(cluster)  # the one that was under way is over by then
        assert (await _looks_later(cluster) > before) is (at_rest_s == 0.0)
        cluster.goes_on.set()
        await answering
        before = cluster.looks
        await eventually(lambda: cluster.looks > before)


@contextmanager
def _second_part_fails(here: Here, error: KafkaError) -> Iterator[None]:
    submit, parts = here.loop.submit, []

    def fails(command: Command[Any]) -> asyncio.Future[Any]:
        if isinstance(command, AlterReassignmentsCommand):
            parts.append(command)
            if len(parts) == 2:
                command.failed(error)
                return command.future
        return submit(command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(here.loop, "submit", fails)
        yield


async def test_kr_6_the_error_of_a_part_is_the_answer_of_its_partitions_alone() -> None:
    here, cluster, error = Here(), Slow(), RequestTimedOut("others change it")
    here.cluster = cluster
    cluster.goes_on.set()
    async with here.term(pace=SELDOM):
        with _second_part_fails(here, error):
            answers = await _answers(here)
    assert answers == [(*name, error if name in NAMES[2:4] else None) for name in NAMES]


async def test_kr_6_who_has_asked_is_told_at_once_that_another_server_leads_by_now() -> None:
    """Also while the cluster has not taken the parts before."""
    here, cluster = Here(), Slow()
    here.cluster = cluster
    async with here.term(pace=SELDOM):
        with _second_part_fails(here, NotController()), pytest.raises(NotController):
            async with asyncio.timeout(5):
                await _answers(here)
    assert cluster.sent == [NAMES[:2]]
