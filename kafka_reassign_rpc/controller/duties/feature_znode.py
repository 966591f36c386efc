"""`/feature`: the finalized features of the cluster (KIP-584). Kafka: KafkaController.maybeSetupFeatureVersioning.

In ZooKeeper mode no broker supports a feature, so the set is empty, and a znode that exists stays as it is. A new one
is written in version 1: brokers before 3.3 read no other, and a later controller of Kafka rewrites it at its failover.
"""

import msgspec

from kafka_reassign_rpc.controller.commit.durable_store import DurableStore
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create

ENABLED = 1
NO_FEATURES = msgspec.json.encode({"version": 1, "status": ENABLED, "features": {}})


async def ensure_feature_znode(store: DurableStore) -> None:
    """Create the znode if it does not exist. Raises ControllerMoved, ReloadNeeded."""
    (found,) = await store.read([znode_paths.FEATURE])
    if found is None:
        await store.write([Create(znode_paths.FEATURE, NO_FEATURES)])
