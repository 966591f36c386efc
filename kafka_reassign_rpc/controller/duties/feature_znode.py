"""`/feature`: the finalized features of the cluster (KIP-584), in ZooKeeper mode none. Kafka:
KafkaController.maybeSetupFeatureVersioning.

A znode that exists stays as it is; garbage is logged, since a controller of Kafka fails at it. A new one is written in
version 1: brokers before 3.3 read no other, and a later controller of Kafka rewrites it at its failover.
"""

import logging
from typing import Annotated, Any, Literal

import msgspec

from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json

log = logging.getLogger(__name__)

ENABLED = 1
NO_FEATURES = msgspec.json.encode({"version": 1, "status": ENABLED, "features": {}})


class _Feature(msgspec.Struct):
    """What Kafka reads (FeatureZNode.decode). Status 0: the features are disabled."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    status: Literal[0, 1]
    features: dict[str, Any]


_decoder = msgspec.json.Decoder(_Feature)


async def ensure_feature_znode(store: FencedZooKeeper) -> None:
    """Raises ControllerMoved, ReloadNeeded."""
    (found,) = await store.read([znode_paths.FEATURE])
    if found is None:
        await store.write([Create(znode_paths.FEATURE, NO_FEATURES)])
        return
    try:
        decode_json(_decoder, found[0], znode_paths.FEATURE)
    except BadZnode as error:
        log.warning("a controller of Kafka would fail at this znode, which stays as it is: %s", error)
