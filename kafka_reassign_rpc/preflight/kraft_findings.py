"""What keeps a cluster from its migration to KRaft (KIP-866), or would be lost or left behind by it. Pure.

UNSAFE     the migration waits forever, a KRaft controller stops at it, or something of ours is lost or stays forever
WARNING    what an operator has to prepare, or to know
Sources: KRaftMigrationDriver, ZkTopicMigrationClient, ZkConfigMigrationClient.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.controller import odd_znodes
from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.configs.config_definitions import is_password
from kafka_reassign_rpc.core.configs.java_values import double
from kafka_reassign_rpc.core.scram_credentials import MECHANISMS, fields_of
from kafka_reassign_rpc.core.server_settings import divided
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition
from kafka_reassign_rpc.core.state.config_entities import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.throttling import replication_throttles
from kafka_reassign_rpc.preflight import kraft_broker_findings, own_znodes
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, some, unsafe, warning
from kafka_reassign_rpc.preflight.migration_state import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.preflight.znode_findings import registrations
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.zookeeper import znode_paths

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")
LEAVE = "`kafka-reassign-rpc leave` takes away what is ours, step by step"
HOW_TO_MOVE = "`kafka-reassign-rpc export`, `plan heal` and `submit` move them to live brokers"
_THROTTLES = (
    replication_throttles.LEADER_RATE,
    replication_throttles.FOLLOWER_RATE,
    replication_throttles.LEADER_REPLICAS,
    replication_throttles.FOLLOWER_REPLICAS,
)


def findings(state: FoundState, more: MigrationState, answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    yield from _migration(state)
    yield from _moves(state.cluster)
    yield from _requests(state)
    yield from _throttles(state.cluster, more)
    yield from _topics(state)
    yield from _replicas(state)
    yield from _settings(state.cluster)
    yield from _own(more)
    yield from _configs(state.cluster)
    yield from _clients(more)
    yield from _acls(more.acls)
    yield from _owners(more.owners)
    yield from kraft_broker_findings.findings(answers)


def _migration(state: FoundState) -> Iterator[Finding]:
    """`/migration` and `/controller`."""
    odd, owner = state.migration.odd, state.controller.owner
    if odd is not None:
        yield (fine("migration", odd.what) if odd is odd_znodes.PREPARED else unsafe("migration", *odd))
    if state.controller.problem is not None:
        yield unsafe("controller", *odd_znodes.controller_epoch(state.controller.problem))
    wrong = None if owner is None else odd_znodes.controller(owner)
    if wrong is not None:
        yield unsafe("controller", *wrong)
    if odd is None and wrong is None and state.controller.problem is None:
        yield fine("migration", "no migration has begun, and nothing stands in its way in /controller and /migration")


def _moves(cluster: Cluster) -> Iterator[Finding]:
    moving = _named((name, index) for name, indexes in cluster.moving.items() for index in indexes)
    if moving:
        yield unsafe(
            "moves",
            f"{counted(len(moving), 'partition')} {agreeing(len(moving), 'are')} moving ({some(moving)}): KRaft carries"
            " on such moves without their original replicas, their throttles and who asked",
            "wait until `kafka-reassign --status` shows none, or cancel them: `kafka-reassign --cancel`",
        )
    waiting = {(topic, index) for topic, places in cluster.queue.topics.items() for index in places}
    waiting |= set(() if cluster.batch is None else cluster.batch.entries)
    if waiting:
        names = _named(waiting)
        yield unsafe(
            "waiting-moves",
            f"{counted(len(names), 'move')} {agreeing(len(names), 'wait')} for a turn ({some(names)}): a migration"
            " forgets them",
            "wait until they are done, or cancel them: `kafka-reassign --cancel`",
        )
    if not moving and not waiting:
        yield fine("moves", "no partition moves, and none waits to move")


def _requests(state: FoundState) -> Iterator[Finding]:
    cluster = state.cluster
    stand = {
        znode_paths.REASSIGN_PARTITIONS: cluster.batch is not None and not cluster.batch.entries,
        znode_paths.REASSIGNMENT_REQUESTS: bool(cluster.requests),
        znode_paths.CANCEL_IN_PROGRESS: cluster.cancel_all is not None,
        znode_paths.REASSIGN_CANCEL: cluster.disabled_by_znode,
        znode_paths.PREFERRED_REPLICA_ELECTION: state.election,
    }
    found = [path for path, stands in stand.items() if stands]
    if found:
        yield unsafe(
            "requests",
            f"requests stand in {', '.join(found)}: a migration forgets them",
            "let a controller carry them out, or delete these znodes",
        )
    for problem in state.problems:
        yield unsafe("requests", problem, "correct or delete it")
    if state.marks:
        yield unsafe(
            "deletions",
            f"{counted(len(state.marks), 'topic', 'are')} marked for deletion ({some(sorted(state.marks))}): a"
            " migration leaves such topics out, and their logs stay on brokers until these look for strays",
            "wait until they are deleted (all their brokers have to be up), or delete the marks under"
            f" {znode_paths.DELETE_TOPICS}",
        )
    if not found and not state.problems and not state.marks:
        yield fine("requests", "no request and no deletion waits in ZooKeeper")


def _throttles(cluster: Cluster, more: MigrationState) -> Iterator[Finding]:
    if more.kept_throttles:
        yield unsafe(
            "leases",
            f"leases of throttles have changed configs of {some(more.kept_throttles)}: after a migration nobody takes"
            " them back, and they hold forever",
            "let their moves end, or end them with `--throttle 0 --lease` while a server of kafka-reassign-rpc is the"
            f" controller; {LEAVE}",
        )
    standing = [
        f"{kind} {name}"
        for kind, configs in (("broker", cluster.broker_configs), ("topic", cluster.topic_configs))
        for name, values in configs.items()
        if any(one in values for one in _THROTTLES) and f"{kind}s/{name}" not in more.kept_throttles
    ]
    if standing:
        yield warning(
            "throttles",
            f"replication throttles stand on {some(standing)}, and go on to hold after the migration",
            "delete them with `kafka-configs.sh`, if no move needs them",
        )
    if not more.kept_throttles and not standing:
        yield fine("throttles", "no replication throttle stands")


def _topics(state: FoundState) -> Iterator[Finding]:
    cluster = state.cluster
    if cluster.unreadable:
        yield unsafe(
            "topics",
            f"the znodes of topics cannot be understood: {every(sorted(cluster.unreadable))}",
            "repair them: a KRaft controller stops at the first",
        )
    unreadable = _named((topic.name, index) for topic in cluster.topics.values() for index in topic.unreadable)
    if unreadable:
        yield unsafe(
            "partition-states",
            f"the states of partitions cannot be understood: {every(unreadable)}",
            "repair these znodes: a KRaft controller stops at the first",
        )
    nameless = sorted(topic.name for topic in cluster.topics.values() if topic.id is None)
    if nameless:
        yield unsafe(
            "topic-ids",
            f"{counted(len(nameless), 'topic')} {agreeing(len(nameless), 'have')} no id ({every(nameless)}): a KRaft"
            " controller stops at the first",
            "raise inter.broker.protocol.version to 2.8 or more; the next controller then gives them ids",
        )
    empty = _named(_which(cluster, lambda one: not one.replicas))
    if empty:
        yield unsafe(
            "empty-replicas",
            f"partitions have no replicas: {every(empty)}. A KRaft controller stops at the first",
            "delete these topics, or write replicas into their znodes",
        )
    stateless = _named(
        (topic.name, index)
        for topic in cluster.topics.values()
        for index, one in topic.partitions.items()
        if one.partition_epoch < 0 and one.replicas and index not in topic.unreadable
    )
    if stateless:
        yield unsafe(
            "stateless",
            f"partitions have no state yet: {every(stateless)}. KRaft would take all their replicas for in sync",
            "let a controller elect their leaders (some replica of each has to be up), or delete these topics",
        )
    leaderless = _named(_which(cluster, lambda one: one.leader == NO_LEADER and one.partition_epoch >= 0))
    if leaderless:
        yield warning(
            "offline",
            f"{counted(len(leaderless), 'partition')} {agreeing(len(leaderless), 'have')} no leader"
            f" ({some(leaderless)}), and will have none under KRaft",
            "bring a replica of their ISR back first",
        )
    if not any((cluster.unreadable, unreadable, nameless, empty, stateless)):
        yield fine("topics", f"{counted(len(cluster.topics), 'topic')} can be taken over")


def _replicas(state: FoundState) -> Iterator[Finding]:
    """KRaftMigrationDriver.areZkBrokersReadyForMigration waits for each id that stands in a topic's znode."""
    cluster = state.cluster
    unreadable = list(registrations(state))
    yield from unreadable
    held: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for topic, index, one in cluster.all_partitions():
        for broker in {*one.replicas, *one.pending_deletion} - cluster.brokers.keys():
            held[broker].append((topic, index))
    for broker, partitions in sorted(held.items()):
        ours = str(broker) in state.taken_ids
        yield unsafe(
            "lost-replicas",
            f"{counted(len(partitions), 'replica')} {agreeing(len(partitions), 'are')} on {broker}, which is"
            f"{' the id of a server of kafka-reassign-rpc and' if ours else ''} no registered broker: the migration"
            f" waits for it forever. {every(_named(partitions))}",
            HOW_TO_MOVE if ours else f"bring broker {broker} back, or {HOW_TO_MOVE}",
        )
    if not held and not unreadable:
        yield fine("replicas", "all replicas are on registered brokers")


def _settings(cluster: Cluster) -> Iterator[Finding]:
    own, _ = divided(cluster.default_configs)
    if own:
        yield unsafe(
            "settings",
            f"settings of servers stand among the brokers' defaults ({some(sorted(own))}): KRaft keeps them there as"
            " configs that no broker knows",
            "`kafka-reassign settings --move` moves them, with a server as the controller",
        )
    if cluster.settings or cluster.settings_problem:
        yield warning(
            "settings",
            f"{znode_paths.SETTINGS} has settings of servers ({some(sorted(cluster.settings)) or 'unreadable'}): they"
            " end with ZooKeeper, self-healing and caps with them",
            "note them (`kafka-reassign settings`)",
        )


def _own(more: MigrationState) -> Iterator[Finding]:
    if more.own.ours:
        roots = sorted({own_znodes.root_of(one.path) for one in more.own.ours})
        yield warning(
            "own-znodes",
            f"znodes of kafka-reassign-rpc stand ({every(roots)}): a migration leaves them there",
            LEAVE,
        )


def _configs(cluster: Cluster) -> Iterator[Finding]:
    known = {TOPICS: cluster.topic_configs, BROKERS: cluster.broker_configs}
    broken = sorted(f"/config/{kind}/{name}" for kind, name in cluster.config_versions if name not in known[kind])
    if broken:
        yield unsafe(
            "configs",
            f"configs cannot be understood: {every(broken)}. A KRaft controller takes over none of them, or stops"
            " there",
            "write them again with a version and a config of texts, or delete these znodes",
        )
    odd = sorted(name for name in cluster.broker_configs if name != DEFAULT and number(name, -INT32, INT32) is None)
    if odd:
        yield unsafe(
            "broker-configs",
            f"/config/brokers has {some(odd)}, which is no broker id: a KRaft controller stops there",
            "delete these znodes",
        )
    absent = sorted(
        name for name in cluster.broker_configs.keys() - set(odd) - {DEFAULT} if int(name) not in cluster.brokers
    )
    if absent:
        yield warning(
            "broker-configs",
            f"dynamic configs stand for {some(absent)}, which are no registered brokers, and stay after the migration",
            "delete them with `kafka-configs.sh --entity-type brokers --entity-name ID`, if these ids do not come back",
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


def _clients(more: MigrationState) -> Iterator[Finding]:
    bad = [f"/config/{path} ({reason})" for path, reason in sorted(more.unreadable.items())]
    for path, configs in sorted(more.quotas.items()):
        is_pair = path.count("/") > 1
        for name, value in sorted(configs.items()):
            if name in _SCRAM and not is_pair:
                if not is_credential(value):
                    bad.append(f"/config/{path} ({name} is no credential)")
            elif double(value) is None:
                bad.append(f"/config/{path} ({name} is no number)")
    if bad:
        yield unsafe(
            "quotas",
            f"quotas or SCRAM credentials cannot be read: {every(bad)}. A KRaft controller stops at the first, or"
            " takes over none of what stands there",
            "delete or correct them (`kafka-configs.sh --entity-type users …`)",
        )
    else:
        yield fine(
            "quotas", f"all quotas and SCRAM credentials can be taken over ({counted(len(more.quotas), 'znode')})"
        )
    if more.tokens:
        yield warning(
            "delegation-tokens",
            f"{counted(more.tokens, 'delegation token')} {agreeing(more.tokens, 'are')} valid",
            "give the controllers the brokers' delegation.token.secret.key",
        )


_SCRAM = frozenset(one.name for one in MECHANISMS.values())


def is_credential(text: str) -> bool:
    """Whether ScramCredentialUtils.credentialFromString can read it."""
    fields = fields_of(text)
    return fields is not None and all(
        _BASE64.fullmatch(one) is not None for one in (fields.salt, fields.stored_key, fields.server_key)
    )


def _acls(broken: Sequence[str]) -> Iterator[Finding]:
    if broken:
        yield unsafe(
            "acls",
            f"ACLs cannot be understood: {every(broken)}. A KRaft controller stops at the first",
            "correct or delete these znodes",
        )


def _owners(owners: Mapping[str, frozenset[str] | None]) -> Iterator[Finding]:
    """Controllers log in to ZooKeeper as one identity, and have to write all of these znodes."""
    nobodys = [path for path, found in owners.items() if found is not None and not found]
    if nobodys:
        yield unsafe(
            "znode-acls",
            f"nobody may write {some(nobodys)}, or not even the ACL may be read",
            "run the check with the brokers' login to ZooKeeper, or open them (`zookeeper-security-migration.sh"
            " --zookeeper.acl=unsecure`)",
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
        "open them (`zookeeper-security-migration.sh --zookeeper.acl=unsecure`), or set them for the brokers' login"
        " (`--zookeeper.acl=secure`)",
    )


def _which(cluster: Cluster, rule: Callable[[Partition], bool]) -> Iterator[tuple[str, int]]:
    return ((topic, index) for topic, index, one in cluster.all_partitions() if rule(one))


def _named(partitions: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{topic}-{index}" for topic, index in sorted(partitions)]
