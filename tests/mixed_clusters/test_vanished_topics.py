"""Somebody deletes the znodes of a topic of stock brokers 3.9.1 by hand, and puts them back: no record is lost."""

import json
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from tests.faults.cluster import metadata
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

from .mixed_cluster import MixedCluster, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]

UNKNOWN_TOPIC_OR_PARTITION = 3


async def shows(mixed: MixedCluster, topic: str, error: int) -> bool:
    (shown,) = (await metadata(mixed.cluster.address(mixed.server), topic)).topics
    return bool(shown.error_code == error)


async def test_hm_2_a_topic_whose_znodes_vanish_and_come_back_loses_no_record_over_starts_and_failovers(
    tmp_path: Path,
) -> None:
    """While they are gone a broker starts again and our server changes. The producer writes all the time."""
    async with behind_our_server(tmp_path, (1, 2, 3, 4)) as mixed:
        zk, topics = mixed.zk, ("kept", "moved", "edited")
        for topic in topics:
            await mixed.create(topic, {0: (1, 2, 3), 1: (2, 3, 1)})
        async with mixed.load("kept", 2), mixed.load("moved", 2), mixed.load("edited", 2):
            paths = [path for topic in topics[:2] for path in sorted(await zk.tree(znode_paths.topic(topic)))]
            znodes = [(path, (await zk.get(path))[0]) for path in paths]
            for topic in topics[:2]:
                await delete_tree(zk, znode_paths.topic(topic))
            for topic in topics[:2]:
                await eventually(lambda: shows(mixed, topic, UNKNOWN_TOPIC_OR_PARTITION))  # noqa: B023
            await mixed.stock.brokers[3].stop()
            await mixed.gone(znode_paths.broker(3))
            await mixed.stock.brokers[3].start()
            await eventually(lambda: mixed.lives(3), within=60)
            assert all(mixed.stock.brokers[broker].has("kept", 0) for broker in (1, 2, 3))

            put_back = [Create(path, data) for path, data in znodes]
            await zk.multi([one for one in put_back if one.path.startswith(znode_paths.topic("kept"))])
            await eventually(lambda: shows(mixed, "kept", 0))
            await mixed.cluster.servers[mixed.server].kill()
            await mixed.serve("b")
            await zk.multi([one for one in put_back if one.path.startswith(znode_paths.topic("moved"))])
            await eventually(lambda: shows(mixed, "moved", 0))

            # 4 has no replica of it.
            data, _ = await zk.get(znode_paths.topic("edited"))
            found = json.loads(data)
            found["partitions"]["0"] = [4]
            await zk.set(znode_paths.topic("edited"), json.dumps(found).encode())
            await mixed.rest_at({("edited", 0): (4,)})
            await mixed.start({("kept", 0): (2, 3, 4), ("moved", 1): (1, 2, 4)})
            await mixed.rest_at({("kept", 0): (2, 3, 4), ("moved", 1): (1, 2, 4)})
