"""What can be said from ZooKeeper once a KRaft controller has the cluster: what stays behind, and nothing else. Pure.

What ZooKeeper holds is a copy then, and brokers in KRaft mode do not register there: they look lost, their configs look
like those of no broker. So nothing is said of brokers and replicas, and no command is printed that writes.
"""

from collections.abc import Iterator

from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.preflight import own_znodes
from kafka_reassign_rpc.preflight.findings import (
    Finding,
    every,
    fine,
    partition_names,
    some,
    some_brokers,
    unsafe,
    warning,
)
from kafka_reassign_rpc.preflight.migration_state import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.preflight.standing_throttles import NO_THROTTLE, standing_throttles
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.zookeeper import znode_paths

NOT_KNOWN = (
    "what ZooKeeper holds is a copy, and brokers in KRaft mode do not register there: which brokers live, what they"
    " lead and what they lack is not known from here"
)
ASK = f"ask the brokers (`{command('kafka-reassign status')}`)"


def taken_over(state: FoundState) -> Finding:
    """What each check says first, and `check` and `check --without` alone."""
    owner, odd = state.controller.owner, state.migration.odd
    if owner is not None and owner.kraft_epoch is not None:
        what = f"the KRaft controller {owner.id} has the cluster ({znode_paths.CONTROLLER}, epoch {owner.kraft_epoch})"
    else:
        what = "a KRaft controller may have the cluster" if odd is None else odd.what
    advice = f"{ASK}; go on with the migration, or go back, as docs/migrate.md says, and change nothing in ZooKeeper"
    return unsafe("migration", f"{what}: {NOT_KNOWN}", f"{advice} before")


def findings(state: FoundState, more: MigrationState) -> Iterator[Finding]:
    yield taken_over(state)
    cluster = state.cluster
    if cluster.brokers:
        yield fine("brokers", f"{some_brokers(cluster.brokers, 'are')} in ZooKeeper mode still")
    yield from _throttles(state, more)
    waiting = {(topic, index) for topic, places in cluster.queue.topics.items() for index in places}
    if waiting:
        names = partition_names(waiting)
        yield warning(
            "waiting-moves",
            f"{counted(len(names), 'move')} that waited {agreeing(len(names), 'are')} forgotten ({some(names)})",
            "ask the brokers for those that you still want",
        )
    own, _ = divided(cluster.default_configs)
    if own:
        what = f"settings of servers are among the brokers' defaults ({some(sorted(own))}), and no broker knows them"
        yield warning("settings", what, "they do no harm; docs/migrate.md says how configs are deleted under KRaft")
    if more.own.ours:
        roots = sorted({own_znodes.root_of(one.path) for one in more.own.ours})
        yield fine("own-znodes", f"znodes of kafka-reassign-rpc are left ({every(roots)}), and go with ZooKeeper")


def _throttles(state: FoundState, more: MigrationState) -> Iterator[Finding]:
    """KRaft writes its configs to ZooKeeper too: these do hold."""
    leased, others = standing_throttles(state.cluster, more.kept_throttles)
    if leased:
        yield unsafe(
            "leases",
            f"throttles of leases have stayed: {every(map(str, leased))}. Nothing takes them back under KRaft, and they"
            " hold forever",
            "when their moves have ended take them back as docs/migrate.md says, to the values before:"
            f" {znode_paths.THROTTLES} has it",
        )
    if others:
        yield warning(
            "throttles",
            f"replication throttles are set, and hold: {every(map(str, others))}",
            "take them back, as docs/migrate.md says, if no move needs them",
        )
    if not leased and not others:
        yield NO_THROTTLE
