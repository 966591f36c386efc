"""What can be said from ZooKeeper once a KRaft controller has the cluster: what stays behind, and nothing else. Pure.
The configs that throttle replication, by leases or by others, are found here for the check before that, too.

What ZooKeeper holds is a copy then, and brokers in KRaft mode do not register there: they look lost, their configs look
like those of no broker. So nothing is said of brokers and replicas, and no command is printed that writes.
"""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
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
from kafka_reassign_rpc.preflight.own_znodes import MigrationState
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.zookeeper import znode_paths

_LONGEST = 100
"""Characters of a value that are shown: a list of replicas may be long."""
_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LEADER_REPLICAS, FOLLOWER_REPLICAS)


class Throttled(NamedTuple):
    """A config entity, such as `brokers/1`, and its configs that throttle. As text it has the values too."""

    entity: str
    configs: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.entity} ({', '.join(f'{name}={word(value, _LONGEST)}' for name, value in self.configs.items())})"


class StandingThrottles(NamedTuple):
    leased: list[Throttled]
    others: list[Throttled]


NO_THROTTLE = fine("throttles", "no replication throttle is set")


def standing_throttles(cluster: Cluster, kept: Container[str]) -> StandingThrottles:
    """`kept`: the entities whose former configs leases of ours keep."""
    found = [
        Throttled(f"{kind}/{name}", throttles)
        for kind, configs in ((BROKERS, cluster.broker_configs), (TOPICS, cluster.topic_configs))
        for name, values in configs.items()
        if (throttles := {one: values[one] for one in _THROTTLES if one in values})
    ]
    leased = [one for one in found if one.entity in kept]
    return StandingThrottles(leased, [one for one in found if one not in leased])


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
