"""What keeps a cluster from its migration to KRaft (KIP-866), or would be lost or left behind by it. Pure.

UNSAFE     the migration waits forever, a KRaft controller stops at it, or something of ours is lost or stays forever
WARNING    what an operator has to prepare, or to know
Here: what is under way, and what is ours. Source: KRaftMigrationDriver.
"""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.controller import invalid_election_znodes
from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.core.settings.settings_in_force import MOVE_SETTINGS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import names_in
from kafka_reassign_rpc.preflight import (
    default_config_findings,
    kraft_broker_findings,
    kraft_metadata_findings,
    own_znodes,
    restart_findings,
    topic_config_findings,
    under_kraft_findings,
)
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.cures import LEAVE, Cures
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, partition_names, some, unsafe, warning
from kafka_reassign_rpc.preflight.migration_state import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState, unreadable_requests
from kafka_reassign_rpc.preflight.restart_state import RestartState
from kafka_reassign_rpc.preflight.standing_throttles import NO_THROTTLE, standing_throttles
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
    yield from kraft_metadata_findings.findings(state, more, restarts, cures)
    yield from restart_findings.findings(state, restarts, cures, restart_findings.FOR_KRAFT, unsafe)
    yield from kraft_broker_findings.findings(answers)
    # Brokers restart before and in a migration.
    yield from default_config_findings.findings(state.cluster.broker_configs, answers, unsafe)
    yield from topic_config_findings.findings(state.cluster.topic_configs, answers, unsafe)


def _migration(state: FoundState, cures: Cures) -> Iterator[Finding]:
    """`/migration` and `/controller`."""
    odd, now = state.migration.odd, state.controller
    if odd is invalid_election_znodes.PREPARED:
        yield fine("migration", odd.what)
    elif odd is not None:
        yield unsafe("migration", *odd, cures.delete([znode_paths.MIGRATION]))
    least = max((one.controller_epoch for _, _, one in state.cluster.all_partitions()), default=0)
    lowered = None if now.problem is not None else invalid_election_znodes.lowered_epoch(now.epoch, least)
    if lowered is not None:
        verb = "set" if now.epoch is not None else "create"
        yield unsafe("controller", *lowered, cures.shell((verb, znode_paths.CONTROLLER_EPOCH, str(least))))
    if now.problem is not None:
        commands = cures.shell(("set", znode_paths.CONTROLLER_EPOCH, str(least + 1)))
        yield unsafe("controller", *invalid_election_znodes.controller_epoch(now.problem, least), commands)
    wrong = None if now.owner is None else invalid_election_znodes.controller(now.owner)
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
