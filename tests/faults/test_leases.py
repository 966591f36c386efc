"""Throttle leases when the controller that set them is killed (236-11)."""

from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from tests.faults.cluster import Cluster, Name, Replicas
from tests.waiting import eventually

pytestmark = pytest.mark.gate

STOOD = {LEADER_RATE: "7000000"}
TARGETS: Mapping[Name, Replicas] = {("t", 0): [3, 4], ("t", 1): [3, 4]}
BYTES = 4_000_000
"""Of each partition: some seconds' worth, so that brokers have read their configs long before."""
BANDWIDTH = 2_000_000


async def test_236_11_the_next_controller_removes_throttles_that_no_move_needs_and_keeps_the_others(
    cluster: Cluster,
) -> None:
    await cluster.server("a", broker_id=1000)
    await cluster.fleet("1,2", f"t:2:2:{BYTES}", bandwidth=BANDWIDTH)
    await cluster.fleet("3,4", bandwidth=BANDWIDTH)
    await cluster.server("b", broker_id=1001)
    configs = ConfigStore(cluster.zk)
    await configs.alter("brokers", "3", lambda _: STOOD)
    origin = {name: (await cluster.topic("t"))["partitions"][str(name[1])] for name in TARGETS}
    assert set((await cluster.alter("a", TARGETS, throttle=1)).values()) == {0}
    assert (await configs.get("brokers", "3")) == {LEADER_RATE: "1", FOLLOWER_RATE: "1"}

    assert set((await cluster.alter("a", {("t", 0): None})).values()) == {0}
    await cluster.servers["a"].kill()

    await cluster.controlled_by("b")
    await eventually(lambda: names_only(configs, 1))
    assert (await configs.get("brokers", "3")) == {LEADER_RATE: "1", FOLLOWER_RATE: "1"}
    assert set((await cluster.alter("b", {("t", 1): TARGETS["t", 1]}, throttle=0)).values()) == {0}
    await cluster.rests_at({("t", 0): origin["t", 0], ("t", 1): TARGETS["t", 1]})
    await eventually(lambda: as_before(configs))


async def names_only(configs: ConfigStore, partition: int) -> bool:
    found = await configs.get("topics", "t")
    entries = [entry for text in found.values() for entry in text.split(",")]
    assert {entry.partition(":")[0] for entry in entries} == {str(partition)}
    assert len(entries) == 4
    return True


async def as_before(configs: ConfigStore) -> bool:
    assert await configs.get("topics", "t") == {}
    for broker in (1, 2, 3, 4):
        assert await configs.get("brokers", str(broker)) == (STOOD if broker == 3 else {})
    return True
