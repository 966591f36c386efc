"""What a guarded cluster has everywhere: client quotas that hold for the benchmark's client, which never reaches them,
and ACLs that let its principal do what it does. (Limits on frames, requests and connections are always on.)

As kafka-configs.sh and kafka-acls.sh write it; this server and stock Kafka read the same znodes.
"""

import json

from benchmarks.frames import CLIENT_ID
from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS, CLUSTER_NAME
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

PROPERTIES = {"authorizer.class.name": CLASS_NAME}
"""Of the server and of the stock broker."""
_OPERATIONS = ("Describe", "Alter", "AlterConfigs", "Create", "ClusterAction")
"""On the cluster: those of the load client, and of the simulated brokers, which nobody has authenticated either."""
_QUOTAS = {
    "request_percentage": "100000.0",
    "controller_mutation_rate": "1000000000.0",
    "producer_byte_rate": "1000000000000",
    "consumer_byte_rate": "1000000000000",
}


async def protect(zk: ZooKeeper) -> None:
    """Write both into the chroot of a cluster, before its controllers start."""
    user = ANONYMOUS.partition(":")[2]
    acls = [
        {"principal": ANONYMOUS, "permissionType": "Allow", "operation": operation, "host": "*"}
        for operation in _OPERATIONS
    ]
    quotas = {"version": 1, "config": _QUOTAS}
    for path, document in (
        (f"{znode_paths.ACLS}/Cluster/{CLUSTER_NAME}", {"version": 1, "acls": acls}),
        (znode_paths.config(f"clients/{CLIENT_ID}"), quotas),
        (znode_paths.config(f"users/{user}/clients/{CLIENT_ID}"), quotas),
    ):
        await zk.ensure_path(path.rpartition("/")[0])
        await zk.create(path, json.dumps(document).encode())
