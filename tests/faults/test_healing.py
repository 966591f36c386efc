"""Brokers are lost for good, or for a while: what they held is moved elsewhere, or is not (KIP-46)."""

import asyncio

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
HUGE = f"t:{PARTITIONS}:3:2000000000"
LARGE = tuple(f"t{number}:1000:3:2000" for number in range(6))
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
SOON = ("--failure-interval-ms", "1000")


async def six_brokers(
    cluster: Cluster,
    *settings: str,
    topics: tuple[str, ...] = (TOPIC,),
    bandwidth: int = 50_000_000,
    brokers_apart: str = "3",
) -> None:
    """Brokers 1 to 6 on three racks; those of `brokers_apart` in a process of their own, to be killed."""
    others = ",".join(str(broker) for broker in range(1, 7) if str(broker) not in brokers_apart.split(","))
    await asyncio.gather(cluster.server("a", *settings), cluster.fleet(brokers_apart, bandwidth=bandwidth, racks=RACKS))
    await cluster.fleet(others, *topics, bandwidth=bandwidth, racks=RACKS)
    assert await holds(cluster, 3) > 10


async def replicas(cluster: Cluster) -> dict[Name, Replicas]:
    topics = await cluster.zk.children(paths.TOPICS)
    return {
        (topic, int(index)): found
        for topic in topics
        for index, found in (await cluster.topic(topic))["partitions"].items()
    }


async def holds(cluster: Cluster, broker: int) -> int:
    return sum(broker in found for found in (await replicas(cluster)).values())


async def said(cluster: Cluster) -> list[str]:
    """Events about healing that the server has recorded."""
    return [event["event"] for event in await cluster.events("a") if event["event"].startswith("heal.")]


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


async def test_46_2_and_46_3_the_3000_replicas_of_a_killed_broker_are_moved_elsewhere_after_the_interval(
    cluster: Cluster,
) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-throttle", "50000000", topics=LARGE)
    before = await replicas(cluster)
    assert await holds(cluster, 3) > 2990
    await cluster.fleets["3"].kill()
    await eventually(lambda: _is(holds(cluster, 3), 0), within=120)
    await eventually(lambda: is_whole(cluster, 3), within=60)
    after = await replicas(cluster)
    for name, found in before.items():
        kept = [broker for broker in found if broker != 3]
        assert [broker for broker in after[name] if broker in kept] == kept, "least data moved: only that replica"

    async def done() -> bool:
        return (await said(cluster))[-1] == "heal.done"

    await eventually(done)
    assert await said(cluster) == ["heal.noticed", "heal.alert", "heal.scheduled", "heal.done"]


async def test_46_2_a_broker_that_comes_and_goes_is_not_healed_unless_an_operator_wants_it(cluster: Cluster) -> None:
    await six_brokers(cluster, "--failure-interval-ms", "600000", "--failure-alert-interval-ms", "600000")
    before = await replicas(cluster)
    live = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=False), 0)
    assert (live.error_code, live.error_message) == (42, "Broker 3 is registered: there is nothing to heal.")
    for _ in range(2):
        await cluster.fleets["3"].kill()
        await eventually(lambda: _is(failed(cluster), {3}))
        await cluster.fleet("3", racks=RACKS)
        await eventually(lambda: _is(failed(cluster), set()))
    await cluster.rests_at(before)
    assert await said(cluster) == ["heal.noticed", "heal.over"] * 2, "it always says so"

    await cluster.fleets["3"].kill()
    await eventually(lambda: _is(failed(cluster), {3}))
    shown = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=True), 0)
    assert await replicas(cluster) == before
    assert {one.partition_index for topic in shown.topics for one in topic.partitions} == {
        index for (_, index), found in before.items() if 3 in found
    }
    done = await ask(cluster.address("a"), HealBrokerRequest(broker_id=3, dry_run=False), 0)
    assert done.topics == shown.topics
    await eventually(lambda: is_whole(cluster, 3), within=60)


async def test_46_4_a_controller_killed_in_the_middle_of_a_repair_is_made_good(cluster: Cluster) -> None:
    await six_brokers(cluster, *SOON, "--self-healing-throttle", "150000", "--self-healing-max-moves", "5")
    await cluster.server("b", *SOON, "--self-healing-max-moves", "500", broker_id=1001)
    await cluster.fleets["3"].kill()
    await eventually(cluster.records)
    await cluster.servers["a"].kill()
    await cluster.controlled_by("b")
    await eventually(lambda: is_whole(cluster, 3), within=90)


async def test_46_7_what_has_not_started_is_dropped_when_the_broker_comes_back_and_the_rest_if_so_wanted(
    cluster: Cluster,
) -> None:
    """No move ends by itself: that would take months."""
    await six_brokers(
        cluster, *SOON, "--self-healing-throttle", "100", "--self-healing-max-moves", "3",
        "--self-healing-cancel-on-return", "true", topics=(HUGE,),
    )  # fmt: skip
    before = await replicas(cluster)
    await cluster.fleets["3"].kill()
    started = await eventually(cluster.records)
    assert 0 < len(started) <= 3, "a chunk at a time"
    await cluster.fleet("3", racks=RACKS)
    await cluster.rests_at(before)
    assert await cluster.zk.exists(paths.REASSIGN_QUEUE) is None
    assert await failed(cluster) == set()
    assert await cluster.throttles() == {}
    assert "heal.dropped" in await said(cluster)


async def test_46_6_two_lost_brokers_a_whole_rack_are_too_much_and_an_operator_sees_why(cluster: Cluster) -> None:
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
