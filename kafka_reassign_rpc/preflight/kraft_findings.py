"""What keeps a cluster from its migration to KRaft (KIP-866), or would be lost or left behind by it. Pure.

UNSAFE     the migration waits forever, a KRaft controller stops at it, or something of ours is lost or stays forever
WARNING    what an operator has to prepare, or to know
Here: what is under way, what is ours, and what of the metadata in ZooKeeper a KRaft controller waits for, stops at, or
does not take over. Sources: KRaftMigrationDriver, ZkTopicMigrationClient, ZkConfigMigrationClient.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.config_values import DEFAULT, INT32, number
from kafka_reassign_rpc.core.configs.config_definitions import is_password
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.core.settings.settings_in_force import MOVE_SETTINGS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import names_in
from kafka_reassign_rpc.preflight import kraft_broker_findings, own_znodes, restart_findings, under_kraft_findings
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import (
    LEAVE,
    MOVE_REPLICAS,
    Cures,
    Finding,
    every,
    fine,
    partition_names,
    some,
    unsafe,
    warning,
)
from kafka_reassign_rpc.preflight.own_znodes import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState, unreadable_requests
from kafka_reassign_rpc.preflight.restart_findings import RestartState
from kafka_reassign_rpc.preflight.under_kraft_findings import NO_THROTTLE, standing_throttles
from kafka_reassign_rpc.preflight.znode_findings import registrations
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.zookeeper import znode_paths


def findings(
    state: FoundState, more: MigrationState, restarts: RestartState, answers: Sequence[BrokerAnswer], cures: Cures
) -> Iterator[Finding]:
    if state.is_krafts:
        yield from under_kraft_findings.findings(state, more)
        return
    yield from _migration(state, cures)
    yield from _moves(state.cluster, cures)
    yield from _requests(state, cures)
    yield from _throttles(state, more, cures)
    yield from _settings(state.cluster, cures)
    yield from _own(more, cures)
    yield from _metadata(state, more, restarts, cures)
    yield from restart_findings.findings(state, restarts, cures, restart_findings.FOR_KRAFT, unsafe)
    yield from kraft_broker_findings.findings(answers)
    # Brokers restart before and in a migration.
    yield from restart_findings.of_brokers(state.cluster.broker_configs, answers, unsafe)
    yield from restart_findings.of_topics(state.cluster.topic_configs, answers, unsafe)


def _migration(state: FoundState, cures: Cures) -> Iterator[Finding]:
    """`/migration` and `/controller`."""
    odd, now = state.migration.odd, state.controller
    if odd is controller_election.PREPARED:
        yield fine("migration", odd.what)
    elif odd is not None:
        yield unsafe("migration", *odd, cures.delete([znode_paths.MIGRATION]))
    least = max((one.controller_epoch for _, _, one in state.cluster.all_partitions()), default=0)
    lowered = None if now.problem is not None else controller_election.lowered_epoch(now.epoch, least)
    if lowered is not None:
        verb = "set" if now.epoch is not None else "create"
        yield unsafe("controller", *lowered, cures.shell((verb, znode_paths.CONTROLLER_EPOCH, str(least))))
    if now.problem is not None:
        commands = cures.shell(("set", znode_paths.CONTROLLER_EPOCH, str(least + 1)))
        yield unsafe("controller", *controller_election.invalid_epoch(now.problem, least), commands)
    wrong = None if now.owner is None else controller_election.invalid_owner(now.owner)
    if wrong is not None and now.owner is not None:
        yield unsafe("controller", *wrong, () if now.owner.session else cures.elect())
    if odd is None and wrong is None and now.problem is None and lowered is None:
        yield fine("migration", "no migration has begun, and nothing is in its way in /controller and /migration")


def _moves(cluster: Cluster, cures: Cures) -> Iterator[Finding]:
    """A cancel of all would forget what the queue holds: `leave` waits for moves in flight, and keeps the queue."""
    ends, or_cancel = (cures.leave(), f"; {LEAVE}") if cluster.queue else (cures.cancel(), ", or cancel all")
    moving = partition_names(names_in(cluster.moving))
    if moving:
        yield unsafe(
            "moves",
            f"{counted(len(moving), 'partition')} {agreeing(len(moving), 'are')} moving ({some(moving)}): KRaft carries"
            " on such moves without their original replicas, their throttles and who asked",
            f"wait until `{command('kafka-reassign status')}` shows none{or_cancel}",
            ends,
        )
    waiting = {(topic, index) for topic, places in cluster.queue.topics.items() for index in places}
    waiting |= set(() if cluster.batch is None else cluster.batch.entries)
    if waiting:
        names = partition_names(waiting)
        yield unsafe(
            "waiting-moves",
            f"{counted(len(names), 'move')} {agreeing(len(names), 'wait')} for a turn ({some(names)}): a migration"
            " forgets them",
            f"wait until they are done{or_cancel}",
            ends,
        )
    if not moving and not waiting:
        yield fine("moves", "no partition moves, and none waits to move")


def _requests(state: FoundState, cures: Cures) -> Iterator[Finding]:
    cluster, batch = state.cluster, state.cluster.batch
    places = {
        znode_paths.REASSIGN_PARTITIONS: batch is not None and not batch.entries and not batch.unreadable,
        znode_paths.CANCEL_IN_PROGRESS: cluster.cancel_all is not None,
        znode_paths.REASSIGN_CANCEL: cluster.disabled_by_znode,
        znode_paths.PREFERRED_REPLICA_ELECTION: state.election,
    }
    found = [path for path, is_there in places.items() if is_there]
    if found:
        yield unsafe(
            "requests",
            f"there are requests in {every(found)}: a migration forgets them",
            "let a controller carry them out, or delete these znodes",
            cures.delete(found),
        )
    unread = [f"{znode_paths.REASSIGNMENT_REQUESTS}/{one}" for one in sorted(cluster.requests)]
    if unread:
        yield unsafe(
            "requests",
            f"there are requests in {every(unread)}: a migration forgets their moves",
            f"let a controller carry them out; {LEAVE}, and keeps them",
            cures.leave(),
        )
    if broken := unreadable_requests(state):
        what = f"there are requests that cannot be understood in {every(broken)}: a migration forgets them"
        yield unsafe("requests", what, "correct them, or delete these znodes")
    for problem in state.problems:
        yield unsafe("requests", problem, "correct or delete it")
    if state.marks:
        yield unsafe(
            "deletions",
            f"{counted(len(state.marks), 'topic', 'are')} marked for deletion ({some(sorted(state.marks))}): a"
            " migration leaves such topics out, and their logs stay on brokers until these look for strays",
            "wait until they are deleted (all their brokers have to be up), or delete the marks; the topics stay after"
            " the next election",
            cures.elect(map(znode_paths.delete_topic, sorted(state.marks))),
        )
    if not any((found, unread, broken, state.problems, state.marks)):
        yield fine("requests", "no request and no deletion waits in ZooKeeper")


def _throttles(state: FoundState, more: MigrationState, cures: Cures) -> Iterator[Finding]:
    kept = more.kept_throttles
    others = standing_throttles(state.cluster, kept).others
    if kept:
        yield unsafe(
            "leases",
            f"leases of throttles have changed configs of {some(kept)}: after a migration nothing takes"
            " them back, and they hold forever",
            f"let their moves end, or end them with `{command('kafka-reassign throttle', 0)}` while a server of"
            f" kafka-reassign-rpc is the controller; {LEAVE}",
            cures.leave(),
        )
    if others:
        yield warning(
            "throttles",
            f"replication throttles are set on {some(others)}, and still hold after the migration",
            "delete them (kafka-configs.sh --alter --delete-config), if no move needs them",
        )
    if not others and not kept:
        yield NO_THROTTLE


def _settings(cluster: Cluster, cures: Cures) -> Iterator[Finding]:
    own, _ = divided(cluster.default_configs)
    if own:
        yield unsafe(
            "settings",
            f"settings of servers are among the brokers' defaults ({some(sorted(own))}): KRaft keeps them there as"
            " configs that no broker knows",
            f"{MOVE_SETTINGS}, with a server as the controller; {LEAVE}",
            cures.leave(),
        )
    if cluster.settings or cluster.settings_problem:
        yield warning(
            "settings",
            f"{znode_paths.SETTINGS} has settings of servers ({some(sorted(cluster.settings)) or 'unreadable'}): they"
            " end with ZooKeeper, self-healing and caps with them",
            "note them (`kafka-reassign settings`), or let `leave` keep them in its file",
            cures.leave(),
        )


def _own(more: MigrationState, cures: Cures) -> Iterator[Finding]:
    if more.own.ours:
        roots = sorted({own_znodes.root_of(one.path) for one in more.own.ours})
        yield warning(
            "own-znodes",
            f"znodes of kafka-reassign-rpc are left ({every(roots)}): a migration leaves them there",
            LEAVE,
            cures.leave(),
        )


def _metadata(state: FoundState, more: MigrationState, restarts: RestartState, cures: Cures) -> Iterator[Finding]:
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
