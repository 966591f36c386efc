"""Stock brokers of 2.8.2 become brokers of 3.9.1 under our server, one after the other and under load.

They begin with the inter-broker protocol 2.6: leaders write ISRs to ZooKeeper, and brokers know no topic ids.
At the end they speak that of 3.9: leaders send AlterPartition, and brokers know topics by their ids.
Their ZooKeeper is of 3.5, which came with the first of them, and stays.
"""

from functools import partial
from pathlib import Path

import pytest

from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import Address, address_of, ask, metadata
from tests.stock.jars import BROKER_VERSION
from tests.waiting import eventually

from .mixed_cluster import BROKERS, MixedCluster, Name, Replicas, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(900)]

OLD_VERSION, OLD_PROTOCOL = "2.8.2", {"inter.broker.protocol.version": "2.6"}
HOME: dict[Name, Replicas] = {("rolled", 0): (1, 2), ("rolled", 1): (2, 3), ("rolled", 2): (3, 1)}
MOVES_TO: dict[int, tuple[Name, Replicas]] = {
    1: (("rolled", 1), (2, 1)),
    2: (("rolled", 2), (3, 2)),
    3: (("rolled", 0), (1, 3)),
}
"""A move to each broker, which begins right before the broker ends."""


async def test_sv_10_brokers_are_upgraded_one_after_the_other_under_load_and_while_partitions_move_to_them(
    tmp_path: Path,
) -> None:
    versions = dict.fromkeys(BROKERS, OLD_VERSION)
    async with behind_our_server(
        tmp_path, overrides=OLD_PROTOCOL, versions=versions, zookeeper_of=OLD_VERSION
    ) as mixed:
        await mixed.create("rolled", {index: replicas for (_, index), replicas in HOME.items()})
        async with mixed.load("rolled", len(HOME)) as load:
            oldest, topic_id = await _of_a_broker(mixed, 1), await _topic_id(mixed)
            moved = dict(HOME)
            for broker in BROKERS:
                assert await _is_announced(mixed, oldest), "a client sends the same versions to every node"
                mixed.stock.brokers[broker].version = BROKER_VERSION
                name, target = MOVES_TO[broker]
                moved[name] = target
                await _restart_during(mixed, broker, {name: target}, moved)
            for broker in BROKERS:
                for setting in OLD_PROTOCOL:
                    del mixed.stock.brokers[broker].properties[setting]
                name, _ = MOVES_TO[broker]
                moved[name] = HOME[name]
                await _restart_during(mixed, broker, {name: HOME[name]}, moved)
            acked = load.acked
            await eventually(lambda: load.acked > acked + 50)

        newest = await _of_a_broker(mixed, 1)
        assert newest > oldest
        await eventually(lambda: _is_announced(mixed, newest), within=60)
        assert await _topic_id(mixed) == topic_id
        for broker in BROKERS:
            await eventually(partial(_shows, mixed, broker, topic_id), within=60)
        assert await mixed.zk.children(znode_paths.ISR_CHANGES) == []
        assert mixed.cluster.servers[mixed.server].log.count("ZooKeeper connection lost") <= 1
        assert not await mixed.stock_controls()


async def _restart_during(
    mixed: MixedCluster, broker: int, moves: dict[Name, Replicas], all_at: dict[Name, Replicas]
) -> None:
    await mixed.start(moves)
    await mixed.stock.brokers[broker].stop()
    await mixed.stock.brokers[broker].start()
    await mixed.rest_at(all_at)
    assert not await mixed.stock_controls()


async def _announced(address: Address) -> int:
    """The highest version of Metadata that this node says it serves."""
    answer = await ask(address, ApiVersionsRequest(version=0), 0)
    (found,) = [one.max_version for one in answer.api_keys if one.api_key == ApiKey.METADATA]
    return int(found)


async def _of_a_broker(mixed: MixedCluster, broker: int) -> int:
    return await _announced(address_of(mixed.stock.brokers[broker].address))


async def _is_announced(mixed: MixedCluster, version: int) -> bool:
    return await _announced(mixed.cluster.address(mixed.server)) == version


async def _topic_id(mixed: MixedCluster) -> str:
    """The topic's id in ZooKeeper: brokers of this protocol give topics none, but our controller does."""
    return str((await mixed.cluster.topic("rolled"))["topic_id"])


async def _shows(mixed: MixedCluster, broker: int, topic_id: str) -> bool:
    """Whether a broker shows the topic at home, with all replicas in sync and under this id."""
    address = address_of(mixed.stock.brokers[broker].address)
    (topic,) = (await metadata(address, "rolled", version=12)).topics
    shown = {("rolled", one.partition_index): (one.replica_nodes, {*one.isr_nodes}) for one in topic.partitions}
    return topic_id_text(topic.topic_id) == topic_id and shown == {n: ([*r], {*r}) for n, r in HOME.items()}
