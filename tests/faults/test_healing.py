"""Brokers are lost for good, or for a while: what they held is moved elsewhere, or is not (KIP-46)."""

import json

from kafka_reassign_rpc.protocol.messages import (
    DescribeSelfHealingRequest,
    HealBrokerRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_reassign_rpc.zookeeper import paths
from tests.faults.cluster import Cluster, Name, Replicas, ask
from tests.waiting import eventually

PARTITIONS = 60
TOPIC = f"t:{PARTITIONS}:3:20000"
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
SOON = ("--failure-interval-ms", "1500")
NEVER_SOON = ("--failure-interval-ms", "3600000")
NAMES = [("t", index) for index in range(PARTITIONS)]


async def six_brokers(cluster: Cluster, *settings: str, bandwidth: int = 50_000_000, brokers_apart: str = "3") -> None:
    """Brokers 1 to 6 on three racks; those of `brokers_apart` in a process of their own, to be killed."""
    await cluster.server("a", *settings)
    others = ",".join(str(broker) for broker in range(1, 7) if str(broker) not in brokers_apart.split(","))
    await cluster.fleet(brokers_apart, bandwidth=bandwidth, racks=RACKS)
    await cluster.fleet(others, TOPIC, bandwidth=bandwidth, racks=RACKS)
    assert await holds(cluster, 3) > 10


async def replicas(cluster: Cluster) -> dict[Name, Replicas]:
    found = (await cluster.topic("t"))["partitions"]
    return {("t", int(index)): replicas for index, replicas in found.items()}


async def holds(cluster: Cluster, broker: int) -> int:
    return sum(broker in found for found in (await replicas(cluster)).values())


async def failed(cluster: Cluster) -> set[int]:
    return {int(name) for name in await cluster.zk.children(paths.FAILED_BROKERS)}


async def is_whole(cluster: Cluster, *lost: int) -> bool:
    """Every partition is back at its replication factor on live brokers, on every rack, and nothing is left behind."""
    standing = await replicas(cluster)
    live = await cluster.live()
    assert not live & set(lost)
    for name, found in standing.items():
        assert len(set(found)) == 3, (name, found)
        assert set(found) <= live, (name, found)
        assert {RACKS[broker] for broker in found} == {"a", "b", "c"}, (name, found)
    assert await cluster.rested_at(standing)
    assert await failed(cluster) == set()
    assert await cluster.throttles() == {}
    return True


async def test_46_2_and_46_3_what_a_killed_broker_held_is_moved_elsewhere_after_the_interval(cluster: Cluster) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-throttle", "5000000")
    before = await replicas(cluster)
    await cluster.fleets["3"].kill()
    await eventually(lambda: is_whole(cluster, 3), within=60)
    after = await replicas(cluster)
    moved = [name for name in NAMES if before[name] != after[name]]
    assert all(3 in before[name] for name in moved), "least data moved: nothing else is touched"
    for name in moved:
        kept = [broker for broker in before[name] if broker != 3]
        assert set(kept) < set(after[name]), "and only that replica is replaced"
    seen = [event["event"] for event in await cluster.events("a") if event["event"].startswith("heal.")]
    assert seen[:3] == ["heal.noticed", "heal.alert", "heal.scheduled"], seen


async def test_46_2_a_broker_that_bounces_twice_within_the_interval_is_not_healed(cluster: Cluster) -> None:
    await six_brokers(cluster, "--failure-interval-ms", "30000")
    before = await replicas(cluster)
    for _ in range(2):
        await cluster.fleets["3"].kill()
        await eventually(lambda: _is(failed(cluster), {3}))
        await cluster.fleet("3", racks=RACKS)
        await eventually(lambda: _is(failed(cluster), set()))
    await cluster.rests_at(before)
    assert "heal.scheduled" not in {event["event"] for event in await cluster.events("a")}


async def test_46_1_and_46_4_a_controller_that_takes_over_heals_what_the_one_before_it_noticed(
    cluster: Cluster,
) -> None:
    await six_brokers(cluster, *NEVER_SOON)
    await cluster.server("b", *SOON, broker_id=1001)
    await cluster.fleets["3"].kill()
    await eventually(lambda: _is(failed(cluster), {3}))
    noticed = await cluster.zk.get(paths.failed_broker(3))
    await cluster.servers["a"].kill()
    await cluster.controlled_by("b")
    assert json.loads(noticed[0])["timestamp"] > 0
    await eventually(lambda: is_whole(cluster, 3), within=60)


async def test_46_4_a_controller_killed_in_the_middle_of_a_repair_is_made_good(cluster: Cluster) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-throttle", "40000", "--self-healing-max-moves", "5")
    await cluster.server("b", *SOON, "--self-healing-max-moves", "500", broker_id=1001)
    await cluster.fleets["3"].kill()
    await eventually(cluster.records)
    await cluster.servers["a"].kill()
    await cluster.controlled_by("b")
    await eventually(lambda: is_whole(cluster, 3), within=90)


async def test_46_7_what_has_not_started_is_dropped_when_the_broker_comes_back(cluster: Cluster) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-throttle", "20000", "--self-healing-max-moves", "3")
    await cluster.fleets["3"].kill()
    started = await eventually(cluster.records)
    assert 0 < len(started) <= 3, "a chunk at a time"
    held = await holds(cluster, 3)
    await cluster.fleet("3", racks=RACKS)

    async def over() -> bool:
        return not await cluster.records() and await cluster.zk.exists(paths.REASSIGN_QUEUE) is None

    await eventually(over, within=60)
    assert await holds(cluster, 3) >= held - 6, "what was finished stays, the rest never starts"
    assert "heal.dropped" in {event["event"] for event in await cluster.events("a")}


async def test_46_6_a_lost_rack_is_too_much_and_an_operator_sees_why(cluster: Cluster) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-max-failed-percentage", "20", brokers_apart="3,6")
    before = await replicas(cluster)
    await cluster.fleets["3,6"].kill()

    async def held_back() -> bool:
        answer = await ask(cluster.address("a"), DescribeSelfHealingRequest(), 0)
        assert {one.broker_id for one in answer.failed_brokers} == {3, 6}
        return answer.held_back == ("2 of 6 brokers are gone, more than self.healing.max.failed.percentage=20: 3, 6")

    await eventually(held_back)
    assert await replicas(cluster) == before
    refused = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=False), 0)
    assert refused.error_code == 44, refused.error_message

    await configure(cluster, "self.healing.max.failed.percentage", "40")
    await eventually(lambda: spread_over_two_racks(cluster), within=60)


async def spread_over_two_racks(cluster: Cluster) -> bool:
    standing = await replicas(cluster)
    for name, found in standing.items():
        assert len(set(found)) == 3, (name, found)
        assert set(found) <= {1, 2, 4, 5}, (name, found)
        assert {RACKS[broker] for broker in found} == {"a", "b"}, (name, found)
    assert await cluster.rested_at(standing)
    return await failed(cluster) == set()


async def test_46_an_operator_may_have_a_lost_broker_healed_at_once_and_see_before_what_that_is(
    cluster: Cluster,
) -> None:
    await six_brokers(cluster)
    live = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=False), 0)
    assert (live.error_code, live.error_message) == (42, "Broker 3 is registered: there is nothing to heal.")
    unknown = await ask(cluster.address("a"), HealBrokerRequest(broker_id=77, dry_run=False), 0)
    assert unknown.error_code == 42, unknown.error_message
    await cluster.fleets["3"].kill()
    await eventually(lambda: _is(failed(cluster), {3}))
    before = await replicas(cluster)
    shown = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=True), 0)
    assert await replicas(cluster) == before
    assert {one.partition_index for topic in shown.topics for one in topic.partitions} == {
        index for (_, index), found in before.items() if 3 in found
    }
    done = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=False), 0)
    assert done.topics == shown.topics
    await eventually(lambda: is_whole(cluster, 3), within=60)


async def configure(cluster: Cluster, name: str, value: str) -> None:
    """Set a dynamic config of the whole cluster."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig(name=name, config_operation=0, value=value)
    request = IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=4, resource_name="", configs=[config])], validate_only=False
    )
    answer = await ask(cluster.address("a"), request, 0)
    assert [one.error_code for one in answer.responses] == [0]


async def _is(found: object, wanted: object) -> bool:
    return (await found) == wanted  # type: ignore[misc]
