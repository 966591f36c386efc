"""What of the metadata in ZooKeeper a KRaft controller waits for, stops at, or does not take over (KIP-866). Pure.

Sources: KRaftMigrationDriver, ZkTopicMigrationClient, ZkConfigMigrationClient.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.configs.config_definitions import is_password
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.preflight.cures import MOVE_REPLICAS, Cures
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, partition_names, some, unsafe, warning
from kafka_reassign_rpc.preflight.migration_state import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.preflight.restart_state import RestartState
from kafka_reassign_rpc.preflight.znode_findings import registrations
from kafka_reassign_rpc.support.counted import agreeing, counted


def findings(state: FoundState, more: MigrationState, restarts: RestartState, cures: Cures) -> Iterator[Finding]:
    yield from _topics(state, cures)
    yield from _replicas(state, cures)
    yield from _configs(state.cluster)
    yield from _tokens(len(restarts.tokens))
    yield from _owners(more.owners, cures)


def _topics(state: FoundState, cures: Cures) -> Iterator[Finding]:
    cluster = state.cluster
    broken = sorted(cluster.unreadable.keys() - cluster.twins.keys())
    if broken:
        yield unsafe(
            "topics",
            f"the znodes of topics cannot be understood: {every(broken)}. While they are there, {table.TOPICS.dies}",
            "repair them, from a backup of ZooKeeper or the logs of the brokers: a KRaft controller stops at the first;"
            " a topic whose znode is deleted loses its records",
        )
    unreadable = sorted((topic.name, index) for topic in cluster.topics.values() for index in topic.unreadable)
    if unreadable:
        yield unsafe(
            "partition-states",
            f"the states of partitions cannot be understood: {every(partition_names(unreadable))}",
            "repair these znodes: a KRaft controller stops at the first; of those that are deleted the next controller"
            " takes all live replicas for in sync, and one that was not loses records",
        )
    nameless = sorted(topic.name for topic in cluster.topics.values() if topic.id is None)
    if nameless:
        yield unsafe(
            "topic-ids",
            f"{counted(len(nameless), 'topic')} {agreeing(len(nameless), 'have')} no id ({every(nameless)}): a KRaft"
            " controller stops at the first",
            "raise inter.broker.protocol.version to 2.8 or more; the next controller then gives them ids",
            cures.elect(),
        )
    empty = list(_which(cluster, lambda one: not one.replicas))
    if empty:
        yield unsafe(
            "empty-replicas",
            f"partitions have no replicas: {every(partition_names(empty))}. A KRaft controller stops at the first",
            "write the replicas that have their logs into the znodes of these topics; if these are not wanted any more,"
            " delete them",
        )
    stateless = partition_names(
        (topic.name, index)
        for topic in cluster.topics.values()
        for index, one in topic.partitions.items()
        if one.partition_epoch < 0 and one.replicas and index not in topic.unreadable
    )
    if stateless:
        yield unsafe(
            "stateless",
            f"partitions have no state yet: {every(stateless)}. KRaft would take all their replicas for in sync",
            "let the next controller elect their leaders (some replica of each has to be up), or delete these topics",
            cures.elect(),
        )
    leaderless = partition_names(_which(cluster, lambda one: one.leader == NO_LEADER and one.partition_epoch >= 0))
    if leaderless:
        yield warning(
            "offline",
            f"{counted(len(leaderless), 'partition')} {agreeing(len(leaderless), 'have')} no leader"
            f" ({some(leaderless)}), and will have none under KRaft",
            "bring a replica of their ISR back first",
        )
    if not any((cluster.unreadable, unreadable, nameless, empty, stateless)):
        yield fine("topics", f"{counted(len(cluster.topics), 'topic')} can be taken over")


def _replicas(state: FoundState, cures: Cures) -> Iterator[Finding]:
    """KRaftMigrationDriver.areZkBrokersReadyForMigration waits for each id in a topic's znode."""
    cluster = state.cluster
    unreadable = list(registrations(state))
    yield from unreadable
    held: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for topic, index, one in cluster.all_partitions():
        for broker in {*one.replicas, *one.pending_deletion} - cluster.brokers.keys():
            held[broker].append((topic, index))
    commands = cures.heal()
    for broker, partitions in sorted(held.items()):
        ours = str(broker) in state.taken_ids
        yield unsafe(
            "lost-replicas",
            f"{counted(len(partitions), 'replica')} {agreeing(len(partitions), 'are')} on {broker}, which is"
            f"{' the id of a server of kafka-reassign-rpc and' if ours else ''} no registered broker: the migration"
            f" waits for it forever. {every(partition_names(partitions))}",
            MOVE_REPLICAS if ours else f"bring broker {broker} back, or {MOVE_REPLICAS}",
            commands,
        )
        commands = ()  # they move those of all
    if not held and not unreadable:
        yield fine("replicas", "all replicas are on registered brokers")


def _configs(cluster: Cluster) -> Iterator[Finding]:
    own = {name for name, configs in cluster.broker_configs.items() if configs and name != DEFAULT}
    absent = sorted(name for name in own if (id_ := number(name, 0, INT32)) is not None and id_ not in cluster.brokers)
    if absent:
        yield warning(
            "broker-configs",
            f"there are configs for {some(absent)}, which are no registered brokers, and stay after the migration",
            "delete these znodes, if these ids do not come back",
        )
    secret = sorted(
        f"{name} of {broker}"
        for broker, values in cluster.broker_configs.items()
        for name in values
        if is_password(name)
    )
    if secret:
        yield warning(
            "passwords",
            f"dynamic configs hold passwords ({some(secret)}): a KRaft controller that cannot decode them stops",
            "give the controllers the brokers' password.encoder.secret, and its other settings",
        )


def _tokens(count: int) -> Iterator[Finding]:
    if count:
        yield warning(
            "delegation-tokens",
            f"{counted(count, 'delegation token')} {agreeing(count, 'are')} valid",
            "give the controllers the brokers' delegation.token.secret.key",
        )


def _owners(owners: Mapping[str, frozenset[str] | None], cures: Cures) -> Iterator[Finding]:
    """Controllers log in to ZooKeeper as one identity, and have to write all of these znodes."""
    nobodys = [path for path, found in owners.items() if found is not None and not found]
    if nobodys:
        yield unsafe(
            "znode-acls",
            f"nobody may write {some(nobodys)}, or not even the ACL may be read",
            "run the check with the brokers' login to ZooKeeper, or open them with the login of a superuser",
            cures.open_znodes(),
        )
    closed = {path: found for path, found in owners.items() if found}
    if not closed and nobodys:
        return
    if not closed:
        yield fine("znode-acls", "anybody may write the znodes that the controllers write")
        return
    common = frozenset.intersection(*closed.values())
    if common:
        yield warning(
            "znode-acls",
            f"{len(closed)} of {counted(len(owners), 'znode')} may be written by {some(sorted(common))} alone",
            "let the KRaft controllers log in to ZooKeeper so",
        )
        return
    by_owner: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for path, found in closed.items():
        by_owner[found].append(path)
    yield unsafe(
        "znode-acls",
        "no identity may write all znodes that the controllers write: "
        + "; ".join(f"{some(paths)} only by {some(sorted(who))}" for who, paths in by_owner.items()),
        "open them, or set them for the brokers' login (`--zookeeper.acl=secure`)",
        cures.open_znodes(),
    )


def _which(cluster: Cluster, rule: Callable[[Partition], bool]) -> Iterator[tuple[str, int]]:
    return ((topic, index) for topic, index, one in cluster.all_partitions() if rule(one))
