"""What keeps a cluster from its migration to KRaft (KIP-866), or would be lost or left behind by it. Pure.

UNSAFE     the migration waits forever, a KRaft controller stops at it, or something of ours is lost or stays forever
WARNING    what an operator has to prepare, or to know
Here: what is under way, and what is ours. Source: KRaftMigrationDriver.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from kafka_reassign_rpc.controller import odd_znodes
from kafka_reassign_rpc.core.server_settings import divided
from kafka_reassign_rpc.core.settings_in_force import MOVE_SETTINGS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.core.throttling import replication_throttles
from kafka_reassign_rpc.preflight import (
    default_config_findings,
    kraft_broker_findings,
    kraft_metadata_findings,
    own_znodes,
    restart_findings,
    topic_config_findings,
)
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.cures import LEAVE, Commands, Cures
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, partition_names, some, unsafe, warning
from kafka_reassign_rpc.preflight.migration_state import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState, unreadable_requests
from kafka_reassign_rpc.preflight.restart_state import RestartState
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.zookeeper import znode_paths

_MOST_AT_ONCE = 20
"""Throttled topics and brokers of which a finding has commands."""
_THROTTLES = (
    replication_throttles.LEADER_RATE,
    replication_throttles.FOLLOWER_RATE,
    replication_throttles.LEADER_REPLICAS,
    replication_throttles.FOLLOWER_REPLICAS,
)


def findings(
    state: FoundState, more: MigrationState, restarts: RestartState, answers: Sequence[BrokerAnswer], cures: Cures
) -> Iterator[Finding]:
    yield from _migration(state, cures)
    yield from _moves(state.cluster, cures)
    yield from _requests(state, cures)
    yield from _throttles(state, more, cures)
    yield from _settings(state.cluster, cures)
    yield from _own(more, cures)
    yield from kraft_metadata_findings.findings(state, more, restarts, cures)
    yield from restart_findings.findings(state, restarts, cures, restart_findings.FOR_KRAFT, unsafe)
    yield from kraft_broker_findings.findings(answers)
    if not state.is_krafts:  # brokers restart before and in a migration
        yield from default_config_findings.findings(state.cluster.broker_configs, answers, cures, unsafe)
        yield from topic_config_findings.findings(state.cluster.topic_configs, answers, cures, unsafe)


def _migration(state: FoundState, cures: Cures) -> Iterator[Finding]:
    """`/migration` and `/controller`."""
    odd, now = state.migration.odd, state.controller
    if odd is odd_znodes.PREPARED:
        yield fine("migration", odd.what)
    elif odd is not None:
        commands = () if odd is odd_znodes.MIGRATING else cures.delete([znode_paths.MIGRATION])
        yield unsafe("migration", *odd, commands)
    if now.problem is not None:
        least = max((one.controller_epoch for _, _, one in state.cluster.all_partitions()), default=0)
        commands = cures.shell(("set", znode_paths.CONTROLLER_EPOCH, str(least + 1)))
        yield unsafe("controller", *odd_znodes.controller_epoch(now.problem, least), commands)
    wrong = None if now.owner is None else odd_znodes.controller(now.owner)
    if wrong is not None and now.owner is not None:
        is_nobodys = not now.owner.session and now.owner.kraft_epoch < 0
        yield unsafe("controller", *wrong, cures.elect() if is_nobodys else ())
    if odd is None and wrong is None and now.problem is None:
        yield fine("migration", "no migration has begun, and nothing stands in its way in /controller and /migration")


def _moves(cluster: Cluster, cures: Cures) -> Iterator[Finding]:
    moving = partition_names((name, index) for name, indexes in cluster.moving.items() for index in indexes)
    if moving:
        yield unsafe(
            "moves",
            f"{counted(len(moving), 'partition')} {agreeing(len(moving), 'are')} moving ({some(moving)}): KRaft carries"
            " on such moves without their original replicas, their throttles and who asked",
            f"wait until `{command('kafka-reassign', '--status')}` shows none, or cancel all, those that wait too",
            cures.cancel(),
        )
    waiting = {(topic, index) for topic, places in cluster.queue.topics.items() for index in places}
    waiting |= set(() if cluster.batch is None else cluster.batch.entries)
    if waiting:
        names = partition_names(waiting)
        yield unsafe(
            "waiting-moves",
            f"{counted(len(names), 'move')} {agreeing(len(names), 'wait')} for a turn ({some(names)}): a migration"
            " forgets them",
            "wait until they are done, or cancel all, those in flight too",
            cures.cancel(),
        )
    if not moving and not waiting:
        yield fine("moves", "no partition moves, and none waits to move")


def _requests(state: FoundState, cures: Cures) -> Iterator[Finding]:
    cluster = state.cluster
    stand = {
        znode_paths.REASSIGN_PARTITIONS: cluster.batch is not None and not cluster.batch.entries,
        **dict.fromkeys((f"{znode_paths.REASSIGNMENT_REQUESTS}/{one}" for one in sorted(cluster.requests)), True),
        znode_paths.CANCEL_IN_PROGRESS: cluster.cancel_all is not None,
        znode_paths.REASSIGN_CANCEL: cluster.disabled_by_znode,
        znode_paths.PREFERRED_REPLICA_ELECTION: state.election,
    }
    stand |= dict.fromkeys(unreadable_requests(state), True)
    found = [path for path, stands in stand.items() if stands]
    if found:
        yield unsafe(
            "requests",
            f"requests stand in {every(found)}: a migration forgets them",
            "let a controller carry them out, or delete these znodes",
            cures.delete(found),
        )
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
    if not found and not state.problems and not state.marks:
        yield fine("requests", "no request and no deletion waits in ZooKeeper")


def _throttles(state: FoundState, more: MigrationState, cures: Cures) -> Iterator[Finding]:
    cluster, kept = state.cluster, more.kept_throttles
    standing = [
        (kind, name, found)
        for kind, configs in ((BROKERS, cluster.broker_configs), (TOPICS, cluster.topic_configs))
        for name, values in configs.items()
        if (found := [one for one in _THROTTLES if one in values])
    ]
    leased = [one for one in standing if f"{one[0]}/{one[1]}" in kept]
    others = [one for one in standing if one not in leased]
    if state.is_krafts and leased:
        verify = command("kafka-reassign", "--verify", "--reassignment-json-file", "FILE")
        yield unsafe(
            "leases",
            f"throttles of leases have stayed on {_entities(leased)}: nobody takes them back under KRaft, and they hold"
            " forever",
            f"when their moves have ended, delete them, so or by `{verify}` with the file of the moves;"
            f" what stood there before is in {znode_paths.THROTTLES}{_rest(leased)}",
            _deleted(leased, cures),
        )
    elif kept and not state.is_krafts:
        yield unsafe(
            "leases",
            f"leases of throttles have changed configs of {some(kept)}: after a migration nobody takes"
            " them back, and they hold forever",
            f"let their moves end, or end them with `{command('kafka-reassign throttle', 0)}` while a server of"
            f" kafka-reassign-rpc is the controller; {LEAVE}",
            cures.leave(),
        )
    if others:
        yield warning(
            "throttles",
            f"replication throttles stand on {_entities(others)}, and go on to hold after the migration",
            f"delete them, if no move needs them{_rest(others)}",
            _deleted(others, cures),
        )
    if not standing and (state.is_krafts or not kept):
        yield fine("throttles", "no replication throttle stands")


_Throttled = tuple[str, str, list[str]]
"""The kind and the name of an entity, and its configs that throttle."""


def _entities(throttled: Sequence[_Throttled]) -> str:
    return some(f"{kind}/{name}" for kind, name, _ in throttled)


def _deleted(throttled: Sequence[_Throttled], cures: Cures) -> Commands:
    return tuple(chain.from_iterable(cures.without_configs(*one) for one in throttled[:_MOST_AT_ONCE]))


def _rest(throttled: Sequence[_Throttled]) -> str:
    """What the advice says where there are more than the commands name: a cluster may have thousands of topics."""
    more = len(throttled) - _MOST_AT_ONCE
    return f"; these commands are for {_MOST_AT_ONCE}, and {more} more wait: run this check again" if more > 0 else ""


def _settings(cluster: Cluster, cures: Cures) -> Iterator[Finding]:
    own, _ = divided(cluster.default_configs)
    if own:
        yield unsafe(
            "settings",
            f"settings of servers stand among the brokers' defaults ({some(sorted(own))}): KRaft keeps them there as"
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
            f"znodes of kafka-reassign-rpc stand ({every(roots)}): a migration leaves them there",
            LEAVE,
            cures.leave(),
        )
