"""Brokers fail for good or for a while: their replicas are moved to others, or are not (KIP-46)."""

import asyncio
import re
import time
from collections.abc import Awaitable
from typing import Any

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import batch
from tests.faults.cluster import Cluster, alter, ask, closed_windows, metadata, only_lost_replicas_moved
from tests.vendor_requests import order, told, wanted
from tests.waiting import eventually

pytestmark = pytest.mark.gate

PARTITIONS = 60
TOPIC = f"t:{PARTITIONS}:3:20000"
HUGE = f"t:{PARTITIONS}:3:2000000000"
LARGE = tuple(f"t{number}:1000:3:2000" for number in range(6))
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
SIZES = "/simulated_fleet"
"""The znode from which the fleet reads the size of each partition of a topic."""
SOON = ("--failure-interval-ms", "1000")


async def six_brokers(
    cluster: Cluster,
    *settings: str,
    topics: tuple[str, ...] = (TOPIC,),
    bandwidth: int = 50_000_000,
    brokers_apart: tuple[str, ...] = ("3",),
) -> None:
    """Brokers 1 to 6 on three racks; `brokers_apart` in processes of their own, to be killed."""
    apart = ",".join(brokers_apart).split(",")
    others = ",".join(str(broker) for broker in range(1, 7) if str(broker) not in apart)
    fleets = [cluster.fleet(brokers, bandwidth=bandwidth, racks=RACKS) for brokers in brokers_apart]
    await asyncio.gather(cluster.server("a", *settings), *fleets)
    await cluster.fleet(others, *topics, bandwidth=bandwidth, racks=RACKS)
    assert await holds(cluster, 3) > 10
    await eventually(lambda: everybody_has_everything(cluster))  # what a broker has confirmed outlives it


async def holds(cluster: Cluster, broker: int) -> int:
    return sum(broker in found for found in (await cluster.replicas()).values())


async def heal_events(cluster: Cluster, server: str = "a") -> list[str]:
    """Recorded events about self-healing of a server."""
    return [event["event"] for event in await cluster.events(server) if event["event"].startswith("heal.")]


async def everybody_has_everything(cluster: Cluster) -> bool:
    """Whether every replica has all bytes of its partition."""
    held = await cluster.held()
    for topic in await cluster.zk.children(znode_paths.TOPICS):
        size = int((await cluster.zk.get(f"{SIZES}/{topic}"))[0])
        for index, found in (await cluster.topic(topic))["partitions"].items():
            for broker in found:
                assert held[broker, (topic, int(index))] >= size, f"{topic}-{index} on broker {broker}"
    return True


async def is_whole(cluster: Cluster, *lost: int, racks: str = "abc") -> bool:
    """Whether every partition has its replication factor on live brokers and a replica on every present rack, every
    replica has all bytes, and no replica is left elsewhere."""
    current = await cluster.replicas()
    live = await cluster.live()
    assert not live & set(lost)
    for name, found in current.items():
        assert len(set(found)) == 3, (name, found)
        assert set(found) <= live, (name, found)
        assert {RACKS[broker] for broker in found} == set(racks), (name, found)
    assert await cluster.rested_at(current)
    assert await cluster.failed() == {}
    await eventually(lambda: _is(cluster.throttles(), {}))
    assert await cluster.zk.exists(znode_paths.REASSIGN_QUEUE) is None
    assert await everybody_has_everything(cluster)
    return True


async def test_46_2_and_46_3_the_3000_replicas_of_a_killed_broker_are_moved_elsewhere_after_the_interval(
    cluster: Cluster,
) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-throttle", "40%", topics=LARGE)
    before = await cluster.replicas()
    assert await holds(cluster, 3) > 2990
    await cluster.fleets["3"].kill()
    await eventually(lambda: _is(holds(cluster, 3), 0), within=120)
    await eventually(lambda: is_whole(cluster, 3), within=60)
    assert only_lost_replicas_moved(before, await cluster.replicas(), 3)

    async def done() -> bool:
        return (await heal_events(cluster))[-1] == "heal.done"

    await eventually(done)
    assert await heal_events(cluster) == ["heal.noticed", "heal.alert", "heal.scheduled", "heal.done"]
    (scheduled,) = [event for event in await cluster.events("a") if event["event"] == "heal.scheduled"]
    share = "at 50000000 B/s for each broker, 40%: no broker's link was seen, 125000000 B/s are assumed"
    assert scheduled["reason"].endswith(f" moves joined the queue, {share}")
    rates = {event["bytes"] for event in await cluster.events("a") if event["event"] == "throttle.set"}
    assert rates == {50_000_000}


async def test_dh_1_a_broker_that_dies_while_moves_wait_that_would_empty_it_is_lost_at_once_and_they_are_its_repair(
    cluster: Cluster,
) -> None:
    await six_brokers(cluster, *SOON, brokers_apart=("3",))
    await cluster.configure("a", {"reassignment.windows": closed_windows()})
    before = await cluster.replicas()
    waiting = {name: [6, *(one for one in found if one != 3)] for name, found in before.items() if 3 in found}
    await cluster.zk.create(znode_paths.REASSIGN_QUEUE, batch({name: tuple(found) for name, found in waiting.items()}))
    await cluster.fleets["3"].kill()
    await eventually(lambda: _is(holds(cluster, 3), 0), within=120)
    await eventually(lambda: is_whole(cluster, 3), within=60)
    assert await cluster.replicas() == {**before, **waiting}, "a repair of its own keeps the order of replicas"

    async def are_told() -> bool:
        return await heal_events(cluster) == ["heal.noticed", "heal.alert", "heal.scheduled", "heal.done"]

    await eventually(are_told)
    (noticed,) = [event for event in await cluster.events("a") if event["event"] == "heal.noticed"]
    assert noticed["reason"] == f"it is gone, with {len(waiting)} replicas"


async def test_46_5_a_repair_may_take_a_share_of_the_observed_throughput_of_a_broker(cluster: Cluster) -> None:
    link, share = 1_000_000, ("--self-healing-throttle", "50%", "--reassignment-progress-interval-ms", "200")
    await six_brokers(cluster, *SOON, *share, topics=(TOPIC, "large:1:3:3000000"), bandwidth=link)
    (found,) = [tuple(one) for (topic, _), one in (await cluster.replicas()).items() if topic == "large"]
    target = [{1: 4, 4: 1}.get(broker, broker) for broker in found]
    assert await alter(cluster.address("a"), {("large", 0): target}) == {("large", 0): 0}
    await cluster.rests_at({("large", 0): target})
    await cluster.fleets["3"].kill()

    async def events(name: str) -> list[dict[str, Any]]:
        return [event for event in await cluster.events("a") if event["event"] == name]

    (scheduled,) = await eventually(lambda: events("heal.scheduled"))
    reported = re.search(
        r"at (\d+) B/s for each broker, 50%: a broker was seen to receive (\d+) B/s$", scheduled["reason"]
    )
    assert reported is not None, scheduled["reason"]
    rate, seen = map(int, reported.groups())
    assert rate == seen // 2
    assert seen < 3 * link, "brokers answer sooner or later, so that it is not exact"
    assert {event["bytes"] for event in await eventually(lambda: events("throttle.set"))} == {rate}


async def test_46_2_a_flapping_broker_is_healed_only_on_an_operators_order(cluster: Cluster) -> None:
    await six_brokers(cluster, "--failure-interval-ms", "600000", "--failure-alert-interval-ms", "600000")
    before = await cluster.replicas()
    live = await ask(cluster.address("a"), order("heal", broker=3, dry_run=False), 0)
    assert (live.error_code, live.error_message) == (42, "Broker 3 is registered: there is nothing to heal.")
    noticed = []
    for _ in range(2):
        await cluster.fleets["3"].kill()
        noticed.append((await eventually(cluster.failed))[3])
        await cluster.fleet("3", racks=RACKS)
        await eventually(lambda: _is(cluster.failed(), {}))
    assert noticed[0] < noticed[1], "the second time counts from its own beginning"
    await cluster.rests_at(before)
    await eventually(lambda: _is(heal_events(cluster), ["heal.noticed", "heal.over"] * 2))

    await cluster.fleets["3"].kill()
    await eventually(cluster.failed)
    shown = told(await ask(cluster.address("a"), order("heal", broker=3), 0))["moves"]
    assert await cluster.replicas() == before
    assert {one["partition"] for one in shown} == {index for (_, index), found in before.items() if 3 in found}
    done = told(await ask(cluster.address("a"), order("heal", broker=3, dry_run=False), 0))
    assert done["moves"] == shown
    await eventually(lambda: is_whole(cluster, 3), within=60)
    after = await cluster.replicas()
    assert only_lost_replicas_moved(before, after, 3)
    await cluster.fleet("3", racks=RACKS)
    await eventually(lambda: _knows(cluster, 3))
    await cluster.rests_at(after)
    assert await holds(cluster, 3) == 0, "what is healed stays where it is when the broker is back"


async def test_46_4_a_repair_completes_although_controllers_are_killed_at_every_step(cluster: Cluster) -> None:
    """One controller after the other continues the repair, and dies at its next step."""
    settings = ("--failure-interval-ms", "5000", "--self-healing-throttle", "300000", "--self-healing-max-moves", "5")
    await six_brokers(cluster, *settings, topics=(f"t:{PARTITIONS}:3:100000",))
    await asyncio.gather(*[cluster.server(f"standby {n}", *settings, broker_id=1000 + n) for n in range(1, 6)])
    before = await cluster.replicas()
    lost = await holds(cluster, 3)
    controller = "a"

    async def elected() -> str | None:
        return next(iter([name for name in cluster.servers if await cluster.is_controller(name)]), None)

    async def is_alerted() -> bool:
        return "heal.alert" in await heal_events(cluster, controller)

    async def is_queued() -> bool:
        return await cluster.zk.exists(znode_paths.REASSIGN_QUEUE) is not None

    async def is_half_done() -> bool:
        return 0 < await holds(cluster, 3) <= lost / 2

    await cluster.fleets["3"].kill()
    noticed = await eventually(cluster.failed)
    for reached in (cluster.failed, is_alerted, is_queued, is_half_done, lambda: is_whole(cluster, 3)):
        await eventually(reached, within=90)
        await cluster.servers.pop(controller).kill()
        controller = await eventually(elected)
        if reached in (cluster.failed, is_alerted):
            assert await cluster.failed() == noticed, "the time of first notice outlives who has noticed it"
    await eventually(lambda: is_whole(cluster, 3))
    assert only_lost_replicas_moved(before, await cluster.replicas(), 3), "nothing was repaired twice"
    assert await heal_events(cluster, controller) == [], "what is done is done"


async def test_46_3_a_second_broker_lost_during_a_repair_is_healed_as_well(cluster: Cluster) -> None:
    """The second broker fails with replicas that the first repair has just put on it."""
    settings = (*SOON, "--self-healing-throttle", "1000000")
    await six_brokers(cluster, *settings, topics=(f"t:{PARTITIONS}:3:100000",), brokers_apart=("3", "5"))
    before = await cluster.replicas()
    await cluster.fleets["3"].kill()
    await eventually(cluster.records)
    await cluster.fleets["5"].kill()
    await eventually(lambda: is_whole(cluster, 3, 5), within=90)
    assert only_lost_replicas_moved(before, await cluster.replicas(), 3, 5)


async def test_46_7_when_the_broker_returns_waiting_moves_are_withdrawn_and_moving_ones_if_configured(
    cluster: Cluster,
) -> None:
    """No move ends by itself: that would take months."""
    await six_brokers(
        cluster, *SOON, "--self-healing-throttle", "100", "--self-healing-max-moves", "3",
        "--self-healing-cancel-on-return", "true", topics=(HUGE,),
    )  # fmt: skip
    before = await cluster.replicas()
    await cluster.fleets["3"].kill()
    started = await eventually(cluster.records)
    assert 0 < len(started) <= 3, "a chunk at a time"
    await cluster.fleet("3", racks=RACKS)
    await cluster.rests_at(before)
    assert await cluster.zk.exists(znode_paths.REASSIGN_QUEUE) is None
    assert await cluster.failed() == {}
    await eventually(lambda: _is(cluster.throttles(), {}))
    assert "heal.dropped" in await heal_events(cluster)


async def test_46_7_a_broker_that_returns_during_its_repair_keeps_the_replicas_not_yet_moved(cluster: Cluster) -> None:
    settings = (*SOON, "--self-healing-throttle", "400000", "--self-healing-max-moves", "2")
    await six_brokers(cluster, *settings, topics=(f"t:{PARTITIONS}:3:400000",))
    before = await cluster.replicas()
    lost = await holds(cluster, 3)
    await cluster.fleets["3"].kill()

    async def has_begun() -> bool:
        return await holds(cluster, 3) < lost

    await eventually(has_begun, within=60)
    await cluster.fleet("3", racks=RACKS)
    await eventually(lambda: is_whole(cluster), within=60)
    assert 0 < await holds(cluster, 3) < lost
    assert only_lost_replicas_moved(before, await cluster.replicas(), 3)
    assert "heal.dropped" in await heal_events(cluster)


async def test_46_6_a_lost_rack_is_healed_only_on_an_operators_order_and_as_far_as_possible(
    cluster: Cluster,
) -> None:
    """Of two topics one has more replicas than there are brokers left."""
    settings = (*SOON, "--self-healing-max-failed-percentage", "20")
    await six_brokers(cluster, *settings, topics=(TOPIC, "wide:2:5:20000"), brokers_apart=("3,6",))
    before = await cluster.replicas()
    await cluster.fleets["3,6"].kill()

    async def held_back() -> bool:
        status = told(await ask(cluster.address("a"), wanted("healing"), 0))
        assert {one["broker"] for one in status["failed"]} == {3, 6}
        assert status["held_back"] == "2 of 6 brokers are gone, more than self.healing.max.failed.percentage=20: 3, 6"
        return all((one["heal_at"] or 0) < time.time() * 1000 for one in status["failed"])  # one repair heals both

    await eventually(held_back)
    assert await cluster.replicas() == before
    refused = await ask(cluster.address("a"), order("heal", broker=3, dry_run=False), 0)
    assert refused.error_code == 44, refused.error_message

    await cluster.configure("a", {"self.healing.max.failed.percentage": "40"})

    async def healed_as_far_as_it_goes() -> bool:
        current = {name: found for name, found in (await cluster.replicas()).items() if name[0] == "t"}
        for name, found in current.items():
            assert len(set(found)) == 3, (name, found)
            assert set(found) <= {1, 2, 4, 5}, (name, found)
            assert {RACKS[broker] for broker in found} == {"a", "b"}, (name, found)
        return await cluster.rested_at(current)

    await eventually(healed_as_far_as_it_goes, within=60)
    shown = told(await ask(cluster.address("a"), wanted("healing"), 0))
    assert shown["problems"] == [
        "2 partitions stay as they are (wide-0, wide-1): "
        "replication factor 5 is larger than the 4 brokers that can hold a replica"
    ]
    assert "heal.impossible" in await heal_events(cluster)
    assert (await cluster.failed()).keys() == {3, 6}, "it is not over"
    await cluster.configure("a", {"failure.interval.ms": "600000"})  # they come one after the other
    await cluster.fleet("3,6", racks=RACKS)
    await eventually(lambda: _is(cluster.failed(), {}))
    current = await cluster.replicas()
    await cluster.rests_at(current)
    assert only_lost_replicas_moved(before, current, 3, 6)
    assert {name: found for name, found in current.items() if name[0] == "wide"}.items() <= before.items()

    async def nothing_is_wrong() -> bool:
        shown = told(await ask(cluster.address("a"), wanted("healing"), 0))
        return (shown["problems"], shown["failed"]) == ([], [])

    await eventually(nothing_is_wrong)


async def test_dh_8_and_46_4_a_repair_waits_for_approval_although_its_controller_is_killed(cluster: Cluster) -> None:
    settings = (*SOON, "--self-healing-approval", "required")
    await six_brokers(cluster, *settings)
    await cluster.server("b", *settings, broker_id=1001)
    before = await cluster.replicas()
    lost = await holds(cluster, 3)
    await cluster.fleets["3"].kill()

    async def unapproved(server: str) -> int:
        answer = await ask(cluster.address(server), wanted("healing"), 0)
        if answer.error_code:
            return 0
        status = told(answer)
        assert status["approval"]
        return int(status["unapproved"])

    await eventually(lambda: _is(unapproved("a"), lost))
    await cluster.servers.pop("a").kill()
    await cluster.controlled_by("b")
    await eventually(lambda: _is(unapproved("b"), lost))
    assert await cluster.replicas() == before
    approved = told(await ask(cluster.address("b"), order("approve", brokers=[3]), 0))
    assert (approved["approved"], approved["brokers"]) == (lost, [3])
    await eventually(lambda: is_whole(cluster, 3), within=60)
    assert only_lost_replicas_moved(before, await cluster.replicas(), 3)


async def _knows(cluster: Cluster, broker: int) -> bool:
    return broker in {one.node_id for one in (await metadata(cluster.address("a"))).brokers}


async def _is(found: Awaitable[object], wanted: object) -> bool:
    return bool(await found == wanted)
