"""What stands in ZooKeeper under names and numbers that Kafka takes for unique, as the check reads it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.preflight.read_state import children
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

QUOTED = ("users", "clients")
"""Kinds of entities whose names are quoted for URLs."""


class ProducerBlock(NamedTuple):
    """`last`: the last producer id that it says to be given out; `writes`: its zkVersion."""

    last: int | None
    writes: int


class UniqueNames(NamedTuple):
    """entities   names of znodes by the kind of QUOTED
    producer_ids  None: there is no znode, or it cannot be understood
    """

    entities: Mapping[str, Sequence[str]] = {}
    producer_ids: ProducerBlock | None = None


async def read(zk: ZooKeeper) -> UniqueNames:
    """Raises ZkError."""
    entities = {kind: await children(zk, znode_paths.config_type(kind)) for kind in QUOTED}
    block = None
    with suppress(NoNode, BadZnode):
        data, stat = await zk.get(znode_paths.PRODUCER_ID_BLOCK)
        block = ProducerBlock(znode_contents.decode_producer_id_block(data), stat.version)
    return UniqueNames(entities, block)
