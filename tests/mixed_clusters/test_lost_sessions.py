"""A stock broker 3.9.1 whose ZooKeeper session runs out while its process lives on: it keeps what it believes."""

import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import address_of, metadata
from tests.waiting import eventually

from .mixed_cluster import behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]

TOLD = re.compile(rb"Received LeaderAndIsr request .*topicName='half', partitionIndex=0")
HALF_MADE = re.compile(rb"NotLeaderOrFollowerException: Log for partition half-0 is not available")


async def test_sv_4_a_replica_that_a_broker_has_half_made_is_begun_anew_and_holds_up_no_other(tmp_path: Path) -> None:
    """The broker needs the configs of a topic for its first replica of it, waits for ZooKeeper, and gives up when it
    learns that its session is over. From then on it refuses what names the replica."""
    async with behind_our_server(tmp_path, links=[3]) as mixed:
        broker, link = mixed.stock.brokers[3], mixed.links[3]
        await mixed.create("half", {0: (1, 2)})
        await mixed.create("other", {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)})
        await mixed.logs_state_changes(3)
        async with mixed.load("half", 1), mixed.load("other", 3):
            link.silence()
            await mixed.start({("half", 0): (1, 3)})
            await broker.wait_for_line(TOLD, 60)
            await mixed.gone(znode_paths.broker(3))
            await mixed.start({("other", 2): (1, 2)})
            link.heal()
            await eventually(lambda: mixed.lives(3), within=60)
            await mixed.rest_at({("half", 0): (1, 3), ("other", 1): (2, 3, 1), ("other", 2): (1, 2)})
        await broker.wait_for_line(HALF_MADE, 1)


async def test_sv_4_a_broker_that_has_lost_its_session_gives_up_what_was_dropped_and_deleted_since(
    tmp_path: Path,
) -> None:
    """It goes on as the leader of a replica that it has lost: producers that do not ask for metadata go on writing to
    it. And it shows each partition that it was ever told of."""
    async with behind_our_server(tmp_path, links=[3]) as mixed:
        broker, link = mixed.stock.brokers[3], mixed.links[3]
        await mixed.create("led", {0: (3, 1, 2)})
        await mixed.create("shown", {0: (1, 2), 1: (1, 2), 2: (1, 2)})
        await mixed.create("gone", {0: (1, 2)})
        async with mixed.load("led", 1):
            link.silence()
            await mixed.gone(znode_paths.broker(3))
            await mixed.start({("led", 0): (1, 2)})
            await mixed.delete("shown", "gone")
            await mixed.create("shown", {0: (2, 1)})
            link.heal()
            await eventually(lambda: mixed.lives(3), within=60)
            await eventually(lambda: not broker.has("led", 0))
        found = await metadata(address_of(broker.address), "led", "shown", "gone")
        partitions = {
            topic.name: {one.partition_index: one.leader_id for one in topic.partitions} for topic in found.topics
        }
        assert partitions == {"led": {0: 1}, "shown": {0: 2}, "gone": {}}
