"""Reads the topics with replicas on one broker, and of all others as little as possible."""

from collections.abc import Collection

from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.controller.loading.znode_reads import decoded
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

AT_ONCE = 1000
"""How many topics have their znodes in memory together."""


async def read_topics_on(zk: ZooKeeper, broker: int) -> Collection[Topic]:
    """Leaves out topics that cannot be decoded. Raises ZkError."""
    names = await zk.children(znode_paths.TOPICS, many=True)
    digits = b"%d" % broker
    holding = []
    pace = Pace()
    for part in pieces(names, AT_ONCE):
        paths = [znode_paths.topic(name) for name in part]
        for name, path, read in zip(part, paths, await zk.multi_get(paths), strict=True):
            if read is not None and digits in read[0] and await _has_replica(read[0], path, broker):
                holding.append(name)
            await pace.rest()
    return (await load_topics.read_topics(zk, holding)).found.values()


async def _has_replica(data: bytes, path: str, broker: int) -> bool:
    try:
        found = await decoded(topic_znodes.decode_topic, data, path)
    except BadZnode:
        return False
    return any(broker in replicas for replicas, _, _ in found.partitions.values())
