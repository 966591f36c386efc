"""Brokers are killed, frozen, bounced and shut down while their partitions move."""

import pytest

from tests.faults.cluster import Cluster, Name, Replicas
from tests.waiting import eventually

pytestmark = pytest.mark.gate

SLOW = 300_000
TOPIC = "t:4:2:600000"


async def cluster_of_two_fleets(cluster: Cluster, *, bandwidth: int = SLOW) -> None:
    """Brokers 1 to 3 hold TOPIC; 4 to 6 run in a process of their own."""
    await cluster.server("a")
    await cluster.fleet("1,2,3", TOPIC, bandwidth=bandwidth)
    await cluster.fleet("4,5,6", bandwidth=bandwidth)


def everything_to(*brokers: int) -> dict[Name, Replicas]:
    return {("t", index): list(brokers) for index in range(4)}


async def in_sync(cluster: Cluster, name: Name) -> set[int]:
    return set((await cluster.state(name))["isr"])


async def is_live(cluster: Cluster, *brokers: int) -> bool:
    return set(brokers) <= await cluster.live()


async def is_gone(cluster: Cluster, *brokers: int) -> bool:
    return not set(brokers) & await cluster.live()


async def test_sv_4_a_fleet_killed_during_moves_continues_where_it_was_after_its_restart(
    cluster: Cluster,
) -> None:
    await cluster_of_two_fleets(cluster)
    targets = everything_to(4, 5)
    assert set((await cluster.alter("a", targets)).values()) == {0}

    await cluster.fleets["4,5,6"].kill()
    await eventually(lambda: is_gone(cluster, 4, 5, 6))
    assert await cluster.records() == set(targets), "nothing ends without its replicas"
    assert await cluster.moving("a") == set(targets)
    await cluster.fleet("4,5,6", bandwidth=SLOW)

    await cluster.rests_at(targets)
    await eventually(lambda: cluster.moves_nothing("a"))


async def test_sv_4_a_fleet_frozen_during_moves_counts_as_dead_and_returns(cluster: Cluster) -> None:
    await cluster_of_two_fleets(cluster)
    targets = everything_to(5, 6)
    assert set((await cluster.alter("a", targets)).values()) == {0}

    cluster.fleets["4,5,6"].freeze()
    await eventually(lambda: is_gone(cluster, 4, 5, 6))
    cluster.fleets["4,5,6"].thaw()

    await cluster.rests_at(targets)


async def nothing_moves(cluster: Cluster) -> bool:
    return await cluster.moves_nothing("a") and not await cluster.records()


async def test_455_8_in_sync_replicas_replace_leaders_that_die_during_moves(
    cluster: Cluster,
) -> None:
    await cluster.server("a")
    await cluster.fleet("1", bandwidth=SLOW)
    await cluster.fleet("2,3", bandwidth=SLOW)
    await cluster.fleet("4,5,6", "t:4:3:400000", bandwidth=SLOW)
    targets = everything_to(4, 5, 6)
    led_by_1 = [("t", index) for index in range(4) if (await cluster.state(("t", index)))["leader"] == 1]
    before = {name: (await cluster.state(name))["leader_epoch"] for name in led_by_1}
    await cluster.alter("a", targets)

    await cluster.fleets["1"].kill()
    await eventually(lambda: is_gone(cluster, 1))

    await eventually(lambda: nothing_moves(cluster), within=40)
    for name in led_by_1:
        state = await cluster.state(name)
        assert state["leader_epoch"] > before[name] + 1
        assert state["leader"] in (4, 5, 6)
    await cluster.fleet("1", bandwidth=SLOW)  # whose logs are still to be deleted
    await cluster.rests_at(targets)


async def test_455_8_a_partition_without_a_live_in_sync_replica_waits_for_one(cluster: Cluster) -> None:
    await cluster_of_two_fleets(cluster)
    targets = everything_to(4, 5)
    assert set((await cluster.alter("a", targets)).values()) == {0}

    await cluster.fleets["1,2,3"].kill()
    await eventually(lambda: is_gone(cluster, 1, 2, 3))
    await eventually(lambda: leaderless(cluster, targets))
    for name in targets:
        assert await in_sync(cluster, name) & {1, 2, 3}, "the last that were in sync stay in the ISR"
    await cluster.fleet("1,2,3", bandwidth=SLOW)

    await cluster.rests_at(targets)


async def leaderless(cluster: Cluster, names: dict[Name, Replicas]) -> bool:
    return all([(await cluster.state(name))["leader"] == -1 for name in names])


async def test_sv_4_a_fleet_moves_its_leaderships_away_before_it_stops(cluster: Cluster) -> None:
    await cluster.server("a")
    await cluster.fleet("1,2,3")
    fleet = await cluster.fleet("4,5,6", "t:12:3:1000")
    led = [("t", index) for index in range(12) if (await cluster.state(("t", index)))["leader"] in (4, 5, 6)]
    assert led

    assert await fleet.stop() == 0

    assert await is_gone(cluster, 4, 5, 6), "its registrations go with it"
    for name in led:
        state = await cluster.state(name)
        written = (await cluster.topic("t"))["partitions"][str(name[1])]
        if set(written) & {1, 2, 3}:
            assert state["leader"] in {1, 2, 3}
    assert "Traceback" not in fleet.log
    assert "Traceback" not in cluster.servers["a"].log


async def test_sv_4_a_broker_that_registers_again_gets_its_whole_state(cluster: Cluster) -> None:
    await cluster_of_two_fleets(cluster, bandwidth=100_000_000)
    await cluster.rests_at(everything_as_is := await as_is(cluster))

    await cluster.fleets["1,2,3"].kill()
    await cluster.fleet("1,2,3", bandwidth=100_000_000)

    assert await is_live(cluster, 1, 2, 3)
    await cluster.rests_at(everything_as_is)


async def as_is(cluster: Cluster) -> dict[Name, Replicas]:
    return {("t", int(index)): found for index, found in (await cluster.topic("t"))["partitions"].items()}


@pytest.mark.parametrize("which", ["source", "target"])
async def test_455_6_a_cancel_while_a_fleet_is_down_restores_the_original_order(cluster: Cluster, which: str) -> None:
    await cluster_of_two_fleets(cluster)
    origin = await as_is(cluster)
    targets = {name: [4, *replicas[:1]] for name, replicas in origin.items()}
    assert set((await cluster.alter("a", targets)).values()) == {0}
    ids, brokers = ("1,2,3", (1, 2, 3)) if which == "source" else ("4,5,6", (4, 5, 6))
    await cluster.fleets[ids].kill()
    await eventually(lambda: is_gone(cluster, *brokers))

    assert set((await cluster.alter("a", dict.fromkeys(targets))).values()) == {0}
    await cluster.fleet(ids, bandwidth=SLOW)

    await cluster.rests_at(origin)


async def test_240_6_a_frozen_broker_and_a_killed_one_are_named_as_the_reason_of_a_stall(cluster: Cluster) -> None:
    slow = 20_000
    options = ("--reassignment-progress-interval-ms", "200", "--reassignment-stall-timeout-ms", "1000")
    await cluster.server("a", *options)
    await cluster.fleet("1,2,3", "t:2:2:6000000", bandwidth=slow)
    await cluster.fleet("4", bandwidth=slow, session_ms=30_000)
    await cluster.fleet("5", bandwidth=slow)
    frozen, killed = ("t", 0), ("t", 1)
    await cluster.alter("a", {frozen: [4], killed: [5]})

    cluster.fleets["4"].freeze()
    await cluster.fleets["5"].kill()

    async def reasons() -> bool:
        return await cluster.stalled("a") == {frozen: "no answer from broker 4", killed: "broker 5 is dead"}

    await eventually(reasons)
    cluster.fleets["4"].thaw()
    await cluster.fleet("5", bandwidth=slow)

    async def resumed() -> bool:
        events = await cluster.events("a")
        found = {(one.get("topic"), one.get("partition"), one["event"]) for one in events}
        return found >= {(*name, event) for name in (frozen, killed) for event in ("move.stalled", "move.resumed")}

    await eventually(resumed)
