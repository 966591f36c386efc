"""What ZooKeeper holds that decides whether a server may control the cluster, and what it would do first."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.commands.cluster_commands import ControllerFailover
from kafka_reassign_rpc.controller.commands.command import Round
from kafka_reassign_rpc.controller.controller_election import ControllerOwner, Migration
from kafka_reassign_rpc.controller.loading import load_cluster
from kafka_reassign_rpc.core.queue.window_now import judge
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

QUOTED = ("users", "clients")
"""Kinds of entities whose names are quoted for URLs."""


class ControllerNow(NamedTuple):
    """The controller of a cluster. `owner` is None where there is none.

    epoch       of the controller elected last; None: there was none
    since_ms    when the owner was elected, ms since 1970; None: it was just gone
    problem     why the epoch cannot be read; None: it can
    """

    owner: ControllerOwner | None
    epoch: int | None
    since_ms: int | None
    problem: BadZnode | None


class FoundState(NamedTuple):
    """What ZooKeeper holds.

    registered  names under `/brokers/ids`
    servers     names under `/admin/reassignment_servers`: ids of servers that run
    taken_ids   names under `/admin/reassignment_server_ids`: ids that servers have taken
    migration   what `/migration` says
    marks       topics marked for deletion
    election    a request of Kafka 2's tool for preferred leaders is there
    missing     znodes that a server would create
    problems    of the batch and the queue
    """

    cluster: Cluster
    cluster_id: str | None
    controller: ControllerNow
    registered: list[str]
    servers: list[str]
    taken_ids: list[str]
    migration: Migration
    marks: list[str]
    election: bool
    missing: list[str]
    problems: list[str]

    @property
    def is_krafts(self) -> bool:
        """Whether a KRaft controller has taken the metadata over, or may have: what ZooKeeper says is a copy then."""
        owner = self.controller.owner
        return self.migration.stops or (owner is not None and owner.kraft_epoch is not None)


class ProducerBlock(NamedTuple):
    """`last`: the last producer id that it says to be given out; `writes`: its zkVersion."""

    last: int | None
    writes: int


class UniqueNames(NamedTuple):
    """Names and numbers that Kafka takes for unique.

    entities      names of znodes by the kind of QUOTED
    producer_ids  None: there is no znode, or it cannot be understood
    """

    entities: Mapping[str, Sequence[str]] = {}
    producer_ids: ProducerBlock | None = None


class FirstDecisions(NamedTuple):
    """What the failover of a new controller would decide now."""

    starts: list[TopicPartition]
    ends: list[TopicPartition]
    leaders: list[TopicPartition]


async def children(zk: ZooKeeper, path: str) -> list[str]:
    """Empty where there is no such znode."""
    with suppress(NoNode):
        return await zk.children(path)
    return []


async def read_controller(zk: ZooKeeper) -> ControllerNow:
    """Raises ZkError."""
    epoch = since = problem = None
    try:
        epoch = znode_contents.decode_controller_epoch((await zk.get(znode_paths.CONTROLLER_EPOCH))[0])
    except NoNode:
        pass
    except BadZnode as error:
        problem = error
    owner = await controller_election.owner(zk)
    if owner is not None:
        with suppress(NoNode):
            since = (await zk.get(znode_paths.CONTROLLER))[1].ctime
    return ControllerNow(owner, epoch, since, problem)


async def cluster_id(zk: ZooKeeper) -> str | None:
    """Raises ZkError."""
    with suppress(NoNode, BadZnode):
        return znode_contents.decode_cluster_id((await zk.get(znode_paths.CLUSTER_ID))[0])
    return None


async def read(zk: ZooKeeper) -> FoundState:
    """Raises ZkError."""
    loaded = await load_cluster.read_cluster(zk)
    wanted = (*znode_paths.PERSISTENT, *znode_paths.OWN, znode_paths.CLUSTER_ID, znode_paths.FEATURE)
    return FoundState(
        cluster=loaded.cluster,
        cluster_id=await cluster_id(zk),
        controller=await read_controller(zk),
        registered=await children(zk, znode_paths.BROKER_IDS),
        servers=await children(zk, znode_paths.REASSIGNMENT_SERVERS),
        taken_ids=await children(zk, znode_paths.REASSIGNMENT_SERVER_IDS),
        migration=controller_election.migration(await controller_election.read_migration(zk)),
        marks=await children(zk, znode_paths.DELETE_TOPICS),
        election=await zk.exists(znode_paths.PREFERRED_REPLICA_ELECTION) is not None,
        missing=[path for path in wanted if await zk.exists(path) is None],
        problems=[problem.text for problem in loaded.problems],
    )


async def read_unique_names(zk: ZooKeeper) -> UniqueNames:
    """Raises ZkError."""
    entities = {kind: await children(zk, znode_paths.config_type(kind)) for kind in QUOTED}
    block = None
    with suppress(NoNode, BadZnode):
        data, stat = await zk.get_or_null(znode_paths.PRODUCER_ID_BLOCK)
        block = ProducerBlock(znode_contents.decode_producer_id_block(data), stat.version)
    return UniqueNames(entities, block)


def unreadable_requests(state: FoundState) -> list[str]:
    cluster = state.cluster
    found = [part.path for part in cluster.queue.parts.values() if part.unreadable]
    return found if cluster.batch is None or not cluster.batch.unreadable else [*found, znode_paths.REASSIGN_PARTITIONS]


async def first_decisions(cluster: Cluster, own_id: int, settings: ReassignmentSettings, now_ms: int) -> FirstDecisions:
    """Decides as a new controller does once it has judged the windows at `now_ms`, and commits nothing."""
    soft = replace(cluster.soft, started_with=settings, window=judge(cluster, now_ms))
    cluster = replace(cluster, servers=cluster.servers | {own_id}, soft=soft)
    work = Round(RoundView(cluster), {})
    await Pace().through(ControllerFailover(own_id, lambda: None).decide(work))
    found = FirstDecisions([], [], [])
    for name, change in work.view.partitions.items():
        before = cluster.get(*name)
        if before is None:
            continue
        if change.value.is_moving != before.is_moving:
            (found.starts if change.value.is_moving else found.ends).append(name)
        if change.value.leader != before.leader:
            found.leaders.append(name)
    return found
