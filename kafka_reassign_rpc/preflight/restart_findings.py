"""What in ZooKeeper ends a broker that starts, or stops a migration: a finding for each row of
`core.restarts.table` that is met. Pure.

Configs of topics and cluster-wide ones have findings of their own, since it takes the brokers' answers to judge them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping

from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.client_values import SCRAM
from kafka_reassign_rpc.core.restarts.table import Ending, Victim
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.preflight.cures import Command, Commands, Cures
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, warning
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.preflight.restart_state import RestartState
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.zookeeper import restart_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.delegation_token_znodes import decode_token_end
from kafka_reassign_rpc.zookeeper.restart_znodes import ZnodeTrouble
from kafka_reassign_rpc.zookeeper.znode_contents import encode_config
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

OF_CHECK = frozenset({Victim.BROKERS, Victim.PART, Victim.ELECTION})
FOR_KRAFT = frozenset({Victim.BROKERS, Victim.PART, Victim.MIGRATION})
"""Brokers restart before and in a migration."""
SUBJECT = "restarts"
_INTERNAL = ("__consumer_offsets", "__transaction_state")
_MENDED_BY_HAND = (
    *(table.CLUSTER_ID, table.INTERNAL_TOPICS, table.PRODUCER_IDS),
    *(table.ACLS, table.CONFIG_TEXTS, table.CONFIG_JSON),
)
"""What belongs there no command can know."""


def findings(
    state: FoundState,
    restarts: RestartState,
    cures: Cures,
    victims: Collection[Victim],
    harm: Callable[[str, str, str, Commands], Finding],
) -> Iterator[Finding]:
    """`victims`: whose end counts here; `harm`: makes the finding where a broker or a migration surely ends."""
    found: defaultdict[Ending, list[ZnodeTrouble]] = defaultdict(list)
    for one in _troubles(state, restarts):
        if not one.ending.victims.isdisjoint(victims):
            found[one.ending].append(one)
    for ending, troubles in found.items():
        ends = ending.certain and not ending.victims.isdisjoint({Victim.BROKERS, Victim.MIGRATION})
        named = every(f"{one.path} ({one.why})" for one in troubles)
        yield (harm if ends else warning)(
            ending.subject, f"{ending.dies}: {named}", ending.cure, _commands(ending, troubles, cures)
        )
    if not found:
        read = counted(len(restarts.configs), "znode")
        yield fine(SUBJECT, f"nothing of what brokers read when they start ends them ({read} of configs)")


def _troubles(state: FoundState, restarts: RestartState) -> Iterator[ZnodeTrouble]:
    for path, data in sorted(restarts.configs.items()):
        yield from restart_znodes.config_troubles(path, data)
    for folder, names in restarts.changes.items():
        changes = (restart_znodes.change_trouble(folder, name) for name in sorted(names))
        yield from (one for one in changes if one is not None)
    singles = [
        restart_znodes.cluster_id_trouble(restarts.cluster_id) if _needs_id(state, restarts) else None,
        None if restarts.features is None else restart_znodes.feature_trouble(restarts.features),
        None if restarts.producer_ids is None else restart_znodes.producer_ids_trouble(restarts.producer_ids),
    ]
    yield from (one for one in singles if one is not None)
    yield from _internal_topics(state.cluster)
    yield from (ZnodeTrouble(table.ACLS, path, why) for path, why in sorted(restarts.acls.items()))
    yield from _tokens(restarts.tokens)


def _needs_id(state: FoundState, restarts: RestartState) -> bool:
    """The first broker of a new cluster makes its id."""
    return restarts.cluster_id is not None or bool(state.registered or state.cluster.topics)


def _internal_topics(cluster: Cluster) -> Iterator[ZnodeTrouble]:
    for topic in _INTERNAL:
        if topic in cluster.unreadable:
            yield ZnodeTrouble(table.INTERNAL_TOPICS, znode_paths.topic(topic), str(cluster.unreadable[topic]))


def _tokens(tokens: Mapping[str, bytes]) -> Iterator[ZnodeTrouble]:
    for path, data in sorted(tokens.items()):
        try:
            decode_token_end(data, path)
        except BadZnode as error:
            yield ZnodeTrouble(table.TOKENS, path, error.reason)


def _commands(ending: Ending, troubles: list[ZnodeTrouble], cures: Cures) -> Commands:
    """A credential that stays is written by no command: it would be in a shell's history. None takes away the
    configs of a topic, without which it may lose records, or what an ACL denies.
    """
    if ending in _MENDED_BY_HAND or any(SCRAM & (one.stays or {}).keys() for one in troubles):
        return ()
    return cures.shell(*dict.fromkeys(_command(one) for one in troubles))


def _command(trouble: ZnodeTrouble) -> Command:
    """The znode of configs stays, since there may be others below it."""
    if trouble.stays is None:
        return ("deleteall" if trouble.ending is table.CLIENT_NAMES else "delete", trouble.path)
    return ("set", trouble.path, encode_config(trouble.stays).decode())
