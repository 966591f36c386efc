"""Runs the same calls of a client on stock Kafka and on our cluster, and compares the results."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference, compare, unexpected
from tests.stock.live import Recordings, Transcript

RECORDED = Recordings(Path(__file__).with_name("recorded"))

Drive = Callable[[str, str, ComparedCluster], Awaitable[Transcript]]
"""(bootstrap, topic, cluster) -> what the client returned at each step."""


async def the_same_on_both(drive: Drive, clusters: list[ComparedCluster], topic: str, *wanted: Difference) -> None:
    """Run `drive` on each cluster, by way of a broker, and compare. `wanted` lists the differences that we intend."""
    transcripts = {}
    for cluster in clusters:
        await cluster.set_rates()  # --verify of the Java tools takes them away
        host, port = await cluster.address(2)
        transcripts[cluster.name] = await drive(f"{host}:{port}", topic, cluster)
    assert not (problems := problems_with(topic, transcripts, list(wanted))), "\n".join(problems)


def problems_with(name: str, transcripts: dict[str, Transcript], wanted: list[Difference]) -> list[str]:
    """What our cluster did differently from stock Kafka, whose recording has this name."""
    if live := transcripts.get("stock"):
        RECORDED.check(name, live)
    return unexpected(compare(RECORDED.get(name), transcripts["ours"]), wanted)
