"""Which cluster is in ZooKeeper: its id, and whether there is one at all that this server may join."""

import logging
from contextlib import suppress
from uuid import uuid4

from kafka_reassign_rpc.controller import controller_election, invalid_election_znodes
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.producer_id_blocks import BLOCK, first_free
from kafka_reassign_rpc.core.state.topic import topic_id_text
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NoAuth, NodeExists, NoNode

log = logging.getLogger(__name__)


async def connect(zk: ZooKeeper, config: ServerConfig) -> None:
    """Also makes the paths that servers need. Raises NotSent, MigrationToKRaft, NoCluster."""
    await zk.start(config.connection_timeout_ms / 1000)
    found = invalid_election_znodes.migration(await controller_election.read_migration(zk))
    if found.stops:
        raise controller_election.MigrationToKRaft(str(found.odd))
    if not config.new_cluster:
        await check_cluster_exists(zk, config.takeover)
    for path in (*znode_paths.PERSISTENT, *znode_paths.OWN):
        await zk.ensure_path(path)
    await _fill_producer_ids(zk)


async def _fill_producer_ids(zk: ZooKeeper) -> None:
    """Servers up to 0.2.0 created this znode with empty data: a stock controller gives out no ids then, and a migration
    stops. A block that is given to no one takes its place."""
    path = znode_paths.PRODUCER_ID_BLOCK
    with suppress(NoNode, NoAuth, BadVersion):
        data, stat = await zk.get_or_null(path)
        if data == b"":
            first = first_free(None, stat.version)
            block = znode_contents.encode_producer_id_block(-1, first, first + BLOCK - 1)
            await zk.set(path, block, stat.version)
            log.warning(
                "%s was empty, which no stock controller can read: producer ids up to %d count as given out",
                path,
                first + BLOCK - 1,
            )


async def cluster_id(zk: ZooKeeper) -> str:
    """Creates the id as brokers do; empty if it cannot be decoded."""
    while True:
        try:
            data, _ = await zk.get(znode_paths.CLUSTER_ID)
            return znode_contents.decode_cluster_id(data)
        except BadZnode as error:
            log.error("clients see no cluster id until it is repaired: %s", error)
            return ""
        except NoNode:
            try:
                await zk.create(znode_paths.CLUSTER_ID, znode_contents.encode_cluster_id(topic_id_text(uuid4())))
            except NodeExists:
                continue


class NoCluster(RuntimeError):
    """There is no controller, no broker and no topic below the chroot."""


async def check_cluster_exists(zk: ZooKeeper, takeover: Takeover) -> None:
    """Detects a mistyped chroot, which looks like a new cluster. Raises NoCluster unless this server always takes
    over."""
    if await zk.exists(znode_paths.CONTROLLER) is not None:
        return
    for path in (znode_paths.BROKER_IDS, znode_paths.TOPICS):
        found = await zk.exists(path)
        if found is not None and found.num_children:
            return
    problem = (
        f"no broker is registered and no topic exists in ZooKeeper at {zk.connect}: is the chroot of zookeeper.connect"
        " that of the brokers?"
    )
    if takeover is not Takeover.ALWAYS:
        raise NoCluster(f"{problem} With controller.takeover={takeover} a server waits for no new cluster")
    log.warning("%s This server controls a cluster without brokers until they come", problem)
