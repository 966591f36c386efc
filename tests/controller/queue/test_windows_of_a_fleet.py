"""Windows on simulated brokers, over a failover and with their metrics. The test moves the clock of the servers."""

import pytest

from kafka_reassign_rpc.controller.lifecycle import term_duties
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.controller.telemetry.test_metrics import shows
from tests.waiting import eventually

HOUR = 3_600_000
NIGHT = "daily 22:00-06:00 UTC rate=40kB; otherwise max.per.cluster=0 rate=3kB"


async def receives_at(world: Cluster, rate: int | None) -> bool:
    """Broker 3."""
    path = znode_paths.config_broker("3")
    found = b"" if await world.zk.exists(path) is None else (await world.zk.get(path))[0]
    return (
        (f'"{FOLLOWER_RATE}":"{rate}"'.encode() in found) if rate is not None else FOLLOWER_RATE.encode() not in found
    )


async def test_dh_5_the_night_begins_and_ends_on_a_fleet_and_a_server_that_comes_by_day_keeps_to_it(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [12 * HOUR]
    monkeypatch.setattr(term_duties, "now_ms", lambda: clock[0])
    async with cluster(zk_connect, brokers=(1, 2, 3), metrics=True) as world:
        await world.configure("brokers", "<default>", {})  # no rate that is stricter than those of windows
        await world.create_topic("t", {0: (1, 2)}, held=True, size=50_000_000)

        async def turn_to(hour: int) -> None:
            """A changed text has the duty look at its clock at once; the same text again is no change."""
            clock[0] = hour * HOUR
            await world.settings({WINDOWS: NIGHT + " " * hour})

        await turn_to(12)
        await eventually(lambda: shows(world.metrics_address, window_open=0, window_rate_bytes_per_second=3_000))
        assert (await world.alter({("t", 0): (1, 3)}, throttle=9_000)) == {("t", 0): (0, None)}
        assert await world.waits(("t", 0))
        await world.stop_server()
        await world.start_server()
        await eventually(lambda: shows(world.metrics_address, window_rate_bytes_per_second=3_000))
        assert await world.waits(("t", 0))
        await turn_to(22)
        await eventually(lambda: world.moves_to(("t", 0), (1, 3)))
        await eventually(lambda: receives_at(world, 40_000))
        await eventually(lambda: shows(world.metrics_address, window_changes_timestamp_seconds=30 * 3600))
        await turn_to(30)
        await eventually(lambda: receives_at(world, 3_000))
        await world.settings({})
        await eventually(lambda: receives_at(world, 9_000))
        assert await world.moving() == {("t", 0)}
        assert (await world.alter({("t", 0): None})) == {("t", 0): (0, None)}
        await eventually(lambda: receives_at(world, None))
