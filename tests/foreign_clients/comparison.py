"""Runs the same calls of a client on stock Kafka and on our cluster, and compares the results. In front of KRaft these
are the same brokers.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from kafka.protocol.admin import ListPartitionReassignmentsRequest

from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference, compare, unexpected
from tests.interop.kraft_clusters import InFront
from tests.stock.live import Recordings, Transcript

RECORDED = Recordings(Path(__file__).with_name("recorded"))

Drive = Callable[[str, str, ComparedCluster], Awaitable[Transcript]]
"""(bootstrap, topic, cluster) -> what the client returned at each step."""


async def the_same_on_both(
    drive: Drive,
    clusters: list[ComparedCluster],
    topic: str,
    *wanted: Difference,
    in_front: Sequence[Difference] = (),
    by_chance: Collection[str] = (),
) -> None:
    """Run `drive` on each cluster, by way of a broker, and compare. `wanted` lists the differences that we intend,
    `in_front` those of our service in front of KRaft. There, what a step of `by_chance` returns depends on whether a
    look has seen the end of a move.
    """
    transcripts = {}
    for cluster in clusters:
        await nothing_moves(cluster)  # in front of KRaft, our next look sees that the move of another test has ended
        await cluster.set_rates()  # --verify of the Java tools takes them away
        host, port = await cluster.address(2)
        name = topic + cluster.suffix
        found = json.loads(json.dumps(await drive(f"{host}:{port}", name, cluster)).replace(name, topic))
        left_out = by_chance if is_in_front(clusters) else ()
        transcripts[cluster.name] = [(label, value) for label, value in found if label not in left_out]
    expected = in_front if is_in_front(clusters) else wanted
    assert not (problems := problems_with(topic, clusters, transcripts, expected)), "\n".join(problems)


async def nothing_moves(cluster: ComparedCluster) -> None:
    while (await cluster.ask(ListPartitionReassignmentsRequest(timeout_ms=9_000, topics=None), 0))["topics"]:
        await asyncio.sleep(0.05)


def is_in_front(clusters: list[ComparedCluster]) -> bool:
    return isinstance(clusters[0], InFront)


def problems_with(
    name: str, clusters: list[ComparedCluster], transcripts: dict[str, Transcript], wanted: Sequence[Difference]
) -> list[str]:
    """What our cluster did differently from stock Kafka, of which there is a recording with this name."""
    if is_in_front(clusters):
        return unexpected(compare(transcripts["stock"], transcripts["ours"]), [*wanted])
    if live := transcripts.get("stock"):
        RECORDED.check(name, live)
    return unexpected(compare(RECORDED.get(name), transcripts["ours"]), [*wanted])
