"""kr-6: looks wait while an Alter has no answer."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import cluster_poller
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.upstream import Heard, Outcome
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.memory_term import NAME, Here
from tests.tables import for_each
from tests.waiting import eventually


class Slow(MemoryCluster):
    """It takes an Alter once it `goes_on`."""

    goes_on: asyncio.Event

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> dict[TopicPartition, Outcome]:
        await self.goes_on.wait()
        return await super().alter(targets, heard)


async def _looks_later(cluster: MemoryCluster) -> int:
    for _ in range(300):
        await asyncio.sleep(0)
    return cluster.looks


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


@for_each("pace, waits", [(LookPace(60.0, 60.0, 0), True), (LookPace(0.0, 60.0, 0), False)])
async def test_kr_6_a_look_waits_while_the_cluster_is_told_for_as_long_as_between_two_looks_at_what_moves(
    pace: LookPace, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However seldom looks are at rest: acts may overlap, and others wait for looks."""
    monkeypatch.setattr(cluster_poller, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _at_once}))
    here = Here()
    cluster = here.cluster = Slow(here.cluster.partitions, here.cluster.brokers)
    cluster.goes_on = asyncio.Event()
    async with here.term(pace=pace):
        await here.ask(NAME, (3, 2))
        before = await _looks_later(cluster)  # the one that was under way is over by then
        assert (await _looks_later(cluster) > before) is not waits
        cluster.goes_on.set()
        before = cluster.looks
        await eventually(lambda: cluster.looks > before)
