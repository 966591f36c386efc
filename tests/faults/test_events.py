"""The event log of a server that is killed."""

import pytest

from tests.faults.cluster import Cluster
from tests.faults.test_servers import TOPIC, two_servers
from tests.waiting import eventually

pytestmark = pytest.mark.gate

SLOW = 300_000


async def recorded(cluster: Cluster, server: str, what: str) -> int:
    return sum(event["event"] == what for event in await cluster.events(server))


async def has_recorded(cluster: Cluster, server: str, what: str, count: int) -> bool:
    return await recorded(cluster, server, what) == count


async def test_sv_7_a_kill_loses_no_event_and_the_numbers_continue(cluster: Cluster) -> None:
    targets = await two_servers(cluster)
    await cluster.alter("a", targets)
    await eventually(lambda: recorded(cluster, "a", "move.started"))
    before = await cluster.events("a")
    assert sum(event["event"] == "move.started" for event in before) == len(targets), TOPIC

    await cluster.servers["a"].kill()
    await cluster.controlled_by("b")
    await cluster.rests_at(targets)
    await eventually(lambda: has_recorded(cluster, "b", "move.completed", len(targets)))
    by_id = {(event["partition"], event["id"]) for event in before if event["event"] == "move.started"}
    ended = [event for event in await cluster.events("b") if event["event"] == "move.completed"]
    assert {(event["partition"], event["id"]) for event in ended} == by_id, "what one began the other has finished"

    await cluster.server("a", broker_id=1000)
    await cluster.servers["b"].kill()
    await cluster.controlled_by("a")
    await eventually(lambda: recorded(cluster, "a", "controller.elected"))
    after = await cluster.events("a")
    assert after[: len(before)] == before
    assert [event["seq"] for event in after] == list(range(len(after)))
