"""A stock broker 3.9.1 whose ZooKeeper session runs out while it works on what our server has told it."""

import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.waiting import eventually

from .mixed_cluster import behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.stock_live]

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
