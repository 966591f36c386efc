"""What a broker reads of ZooKeeper when it starts, and a KRaft controller when it takes a cluster over, as it is now;
and what of it ends the broker, or stops the migration: a finding for each row of `core.restarts.table` that is met.

Dynamic configs that brokers cannot live with have findings of their own, since it takes the brokers' answers to judge
them: cluster-wide ones, those of single brokers, and those of topics at which brokers end when they start.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS, flag, integer, trim
from kafka_reassign_rpc.core.configs.config_definitions import ignored_default
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs, tiered_storage
from kafka_reassign_rpc.core.configs.config_rules import NOT_APPLIED, REMOTE_STORAGE, applied
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.ending_values import (
    CLIENTS,
    IPS,
    SCRAM,
    USERS,
    BrokerTrouble,
    ClientTrouble,
    TopicTrouble,
    later_trouble,
    name_trouble,
    topic_trouble,
    value_troubles,
)
from kafka_reassign_rpc.core.restarts.table import UNJUDGED_AT_START, Ending, Victim
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import (
    Command,
    Commands,
    Cures,
    Finding,
    every,
    fine,
    some,
    some_brokers,
    warning,
)
from kafka_reassign_rpc.preflight.read_state import FoundState, children
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.config_znodes import READ_TOGETHER
from kafka_reassign_rpc.zookeeper.znode_contents import decode_token_end, encode_config
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

_any = msgspec.json.Decoder()
_INT32, _INT64 = 1 << 31, 1 << 63
_PREFIXES: Mapping[str, int] = {
    znode_paths.CONFIG_CHANGES: len("config_change_"),
    znode_paths.ACL_CHANGES: len("acl_changes_"),
    znode_paths.EXTENDED_ACL_CHANGES: len("acl_changes_"),
}
"""How many characters a broker skips before the number in a name, without looking at them."""


class ZnodeTrouble(NamedTuple):
    """`stays`: the configs that may stay, None: the znode as a whole is wrong."""

    ending: Ending
    path: str
    why: str
    stays: Mapping[str, str] | None = None


def config_troubles(path: str, data: bytes) -> Iterator[ZnodeTrouble]:
    """Of a znode under `/config`. Configs of brokers are judged elsewhere: that needs the brokers' answers."""
    kind, *rest = path.removeprefix(f"{znode_paths.CONFIG}/").split("/")
    named = _name_trouble(kind, rest)
    if named is not None:
        yield ZnodeTrouble(named.ending, path, named.why)
        return
    try:
        configs = _configs(data, path)
    except BadZnode as error:
        yield ZnodeTrouble(table.CONFIG_JSON, path, error.reason, None if kind in (TOPICS, BROKERS) else {})
        return
    odd = sorted(name for name, value in configs.items() if not isinstance(value, str))
    texts = {name: value for name, value in configs.items() if isinstance(value, str)}
    if odd:
        yield ZnodeTrouble(table.CONFIG_TEXTS, path, f"{', '.join(odd)}: no text", texts)
    if kind == TOPICS and (topic := topic_trouble(texts, None)) is not None:
        yield ZnodeTrouble(topic.ending, path, topic.why)
    if kind in (TOPICS, BROKERS):
        return
    found = list(value_troubles([kind, *rest], texts))
    stays = {name: value for name, value in texts.items() if name not in {one.config for one in found}}
    yield from (ZnodeTrouble(one.ending, path, one.why, stays) for one in found)


def _name_trouble(kind: str, rest: list[str]) -> ClientTrouble | None:
    if kind == TOPICS:
        return None
    if kind == BROKERS:
        is_id = rest[0] == DEFAULT or integer(trim(rest[0]), _INT32) is not None
        return None if is_id else ClientTrouble(table.BROKER_NAMES, "it is no broker id")
    found = (name_trouble(USERS if place else kind, name) for place, name in enumerate(rest[::2]))
    return next((one for one in found if one is not None), None)


def _configs(data: bytes, path: str) -> Mapping[str, object]:
    """As ConfigEntityZNode.decode takes them: any version, and no configs where there are none. Raises BadZnode where
    brokers find no configs in the content.
    """
    if not data:
        return {}
    found = decode_json(_any, data, path)
    configs = found.get("config") if isinstance(found, dict) else None
    if not isinstance(configs, dict):
        raise BadZnode(path, "no object with configs")
    return configs


def change_trouble(parent: str, name: str) -> ZnodeTrouble | None:
    """ZkNodeChangeNotificationListener.changeNumber."""
    if integer(name[_PREFIXES[parent] :], _INT64) is not None:
        return None
    return ZnodeTrouble(table.CHANGES, f"{parent}/{name}", "it has no number")


CHANGE_FOLDERS = tuple(_PREFIXES)


def cluster_id_trouble(data: bytes | None) -> ZnodeTrouble | None:
    """`data`: None where there is no such znode in a cluster that has been in use."""
    path = znode_paths.CLUSTER_ID
    if data is None:
        return ZnodeTrouble(table.CLUSTER_ID, path, "it is gone")
    try:
        found = decode_json(_any, data, path)
    except BadZnode as error:
        return ZnodeTrouble(table.CLUSTER_ID, path, error.reason)
    if isinstance(found, dict) and isinstance(found.get("id"), str):
        return None
    return ZnodeTrouble(table.CLUSTER_ID, path, "it has no id")


def feature_trouble(data: bytes) -> ZnodeTrouble | None:
    """FeatureZNode.decode."""
    path = znode_paths.FEATURE
    try:
        found = decode_json(_features, data, path)
    except BadZnode as error:
        return ZnodeTrouble(table.FEATURES, path, error.reason)
    wrong = [name for name, levels in found.features.items() if not _is_level(levels, found.version)]
    if found.version not in (1, 2) or found.status not in (0, 1) or wrong:
        return ZnodeTrouble(table.FEATURES, path, f"version {found.version}, status {found.status}")
    if found.status and found.features:
        return ZnodeTrouble(table.FEATURE_LEVELS, path, ", ".join(sorted(found.features)))
    return None


class _Features(msgspec.Struct):
    version: int
    status: int
    features: dict[str, dict[str, int]]


_features = msgspec.json.Decoder(_Features)


def _is_level(levels: Mapping[str, int], version: int) -> bool:
    lowest, highest = levels.get("min_version_level", 1 if version > 1 else 0), levels.get("max_version_level", 0)
    return 1 <= lowest <= highest


def producer_ids_trouble(data: bytes | None) -> ZnodeTrouble | None:
    try:
        znode_contents.decode_producer_id_block(data)
    except BadZnode as error:
        return ZnodeTrouble(table.PRODUCER_IDS, error.path, error.reason)
    return None


class RestartState(NamedTuple):
    """None: there is no such znode.

    configs   by path: all of clients, those of brokers, and those of topics that cannot be understood
    changes   names of announcements, by the znode above them
    tokens    delegation tokens, by path
    acls      those that cannot be decoded: the reason, by path
    """

    configs: Mapping[str, bytes]
    changes: Mapping[str, Sequence[str]]
    cluster_id: bytes | None
    features: bytes | None
    producer_ids: bytes | None
    tokens: Mapping[str, bytes]
    acls: Mapping[str, str]


async def read(zk: ZooKeeper, state: FoundState) -> RestartState:
    """Raises ZkError."""
    unread = [path for kind, name in state.cluster.config_versions if (path := _unread(state, kind, name))]
    tokens = [f"{znode_paths.DELEGATION_TOKENS}/{name}" for name in await children(zk, znode_paths.DELEGATION_TOKENS)]
    return RestartState(
        configs=await _data(zk, [*unread, *await _clients(zk)]),
        changes={folder: await children(zk, folder) for folder in CHANGE_FOLDERS},
        cluster_id=await _one(zk, znode_paths.CLUSTER_ID),
        features=await _one(zk, znode_paths.FEATURE),
        producer_ids=await _producer_ids(zk),
        tokens=await _data(zk, tokens),
        acls={one.path: one.reason async for _, one in AclStore(zk).read_all() if isinstance(one, BadZnode)},
    )


def _unread(state: FoundState, kind: str, name: str) -> str | None:
    """All of brokers, since even their names count; of topics only those that could not be decoded."""
    if kind == TOPICS and name in state.cluster.topic_configs:
        return None
    return znode_paths.config(f"{kind}/{name}") if kind in (TOPICS, BROKERS) else None


async def _clients(zk: ZooKeeper) -> list[str]:
    """Names as they are stored: one that cannot be decoded has to be found too."""
    users = await _below(zk, [znode_paths.config_type(USERS)])
    of_users = await _below(zk, [f"{user}/{CLIENTS}" for user in users])
    others = await _below(zk, [znode_paths.config_type(kind) for kind in (CLIENTS, IPS)])
    return [*users, *of_users, *others]


async def _below(zk: ZooKeeper, parents: Sequence[str]) -> list[str]:
    found: list[str] = []
    for some_paths in pieces(parents, READ_TOGETHER):
        names = await zk.multi_children(some_paths)
        each = zip(some_paths, names, strict=True)
        found += [f"{parent}/{name}" for parent, below in each for name in sorted(below or ())]
    return found


async def _data(zk: ZooKeeper, paths: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for some_paths in pieces(paths, READ_TOGETHER):
        read = zip(some_paths, await zk.multi_get(some_paths), strict=True)
        found |= {path: one[0] for path, one in read if one is not None}
    return found


async def _one(zk: ZooKeeper, path: str) -> bytes | None:
    with suppress(NoNode):
        return (await zk.get(path))[0]
    return None


async def _producer_ids(zk: ZooKeeper) -> bytes | None:
    """None as well where it has no data: nothing has been given out yet."""
    with suppress(NoNode):
        return (await zk.get_or_null(znode_paths.PRODUCER_ID_BLOCK))[0]
    return None


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
        yield from config_troubles(path, data)
    for folder, names in restarts.changes.items():
        changes = (change_trouble(folder, name) for name in sorted(names))
        yield from (one for one in changes if one is not None)
    singles = [
        cluster_id_trouble(restarts.cluster_id) if _needs_id(state, restarts) else None,
        None if restarts.features is None else feature_trouble(restarts.features),
        None if restarts.producer_ids is None else producer_ids_trouble(restarts.producer_ids),
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


OF_BROKERS = "default-configs"
REMOVE = "kafka-configs --entity-type brokers --entity-default --alter --delete-config"
_BEFORE = f"correct or remove them before a broker restarts ({REMOVE}; of one broker: --entity-name)"


def of_brokers(
    of_brokers: Mapping[str, Configs],
    answers: Sequence[BrokerAnswer],
    harm: Callable[[str, str, str], Finding],
) -> Iterator[Finding]:
    """`of_brokers`: all dynamic configs in ZooKeeper, by the name of the znode. `harm` makes the finding where a broker
    ends, or loses a part of itself.
    """
    standing = of_brokers.get(DEFAULT, {})
    heard = [one for one in answers if not one.problem]
    ignored = {name: why for name, value in standing.items() if (why := ignored_default(name, value)) is not None}
    if ignored:
        yield warning(
            OF_BROKERS,
            f"brokers leave out of the cluster-wide configs what they cannot use: {some(sorted(ignored))}"
            f" ({next(iter(ignored.values()))})",
            f"remove them ({REMOVE})",
        )
    refusing = [(one.broker.id, one.defaults) for one in heard if one.defaults is not None]
    for broker, refusal in refusing[:1]:
        named = some_brokers(id_ for id_, _ in refusing)
        blamed = some(refusal.culprits) if refusal.culprits else "those that do not fit together"
        effect = (
            f"{NOT_APPLIED}: {blamed}; {UNJUDGED_AT_START.dies}"
            if refusal.standing
            else "would have trouble with the dynamic configs of brokers at the next start"
        )
        yield harm(OF_BROKERS, f"{named} {effect} (broker {broker}: {refusal.error})", _BEFORE)
    unheard = [*_unheard(of_brokers, answers)]
    if unheard:
        named = some(f"{'all brokers' if name == DEFAULT else f'broker {name}'} ({one})" for name, one in unheard)
        yield harm(OF_BROKERS, f"brokers that do not answer could not live with their configs: {named}", _BEFORE)
    unknown = [f"broker {one.broker.id} ({one.defaults_unknown})" for one in heard if one.defaults_unknown]
    if unknown:
        yield warning(
            OF_BROKERS,
            f"it is not known whether brokers can live with the cluster-wide configs: {some(unknown)}",
            "give the principal of the server's login ALTER_CONFIGS and DESCRIBE_CONFIGS on the cluster: without them"
            " it refuses to change cluster-wide configs",
        )
    if heard and not (ignored or refusing or unheard or unknown):
        yield fine(OF_BROKERS, f"every broker can live with the {counted(len(standing), 'cluster-wide config')}")


def _unheard(of_brokers: Mapping[str, Configs], answers: Sequence[BrokerAnswer]) -> Iterator[tuple[str, BrokerTrouble]]:
    """Brokers that are down or do not say, judged by what ZooKeeper has alone: what they are started with may add
    to it.
    """
    told = {str(one.broker.id) for one in answers if not one.problem and not one.defaults_unknown}
    defaults = applied(of_brokers.get(DEFAULT, {}))
    silent = {name for name in of_brokers if name != DEFAULT} | {str(one.broker.id) for one in answers}
    if not told:
        silent.add(DEFAULT)
    for name in sorted(silent - told):
        own = {} if name == DEFAULT else of_brokers.get(name, {})
        configs = ConfigLayers(own, defaults).effective()
        trouble = later_trouble(configs, configs)
        if trouble is not None:
            yield name, trouble


OF_TOPICS = "topic-configs"


def of_topics(
    of_topics: Mapping[str, Mapping[str, str]],
    answers: Sequence[BrokerAnswer],
    harm: Callable[[str, str, str], Finding],
) -> Iterator[Finding]:
    """A broker reads the configs of all topics when it starts, whether it has a replica or not. `harm` makes the
    finding of those at which it ends.
    """
    tiered = tiered_storage(None if one.problem else one.configs for one in answers)
    ending: defaultdict[Ending, list[tuple[str, TopicTrouble]]] = defaultdict(list)
    for topic, configs in sorted(of_topics.items()):
        trouble = topic_trouble(configs, tiered)
        if trouble is not None:
            ending[trouble.ending].append((topic, trouble))
    for row, met in ending.items():
        named = [f"{topic} ({trouble.why})" for topic, trouble in met]
        yield harm(
            OF_TOPICS,
            f"{counted(len(named), 'topic', 'have')} configs that brokers of 3.9 cannot live with: {row.dies}:"
            f" {some(named)}",
            f"correct them before a broker restarts ({row.cure}): one that is taken away leaves the topic with the"
            " brokers' own, which may delete what it was to keep",
        )
    if not ending and tiered is not None:
        that_have = f"{counted(len(of_topics), 'topic')} that {agreeing(len(of_topics), 'have')}"
        yield fine(OF_TOPICS, f"brokers can start with the configs of {that_have} some")
    remote = [topic for topic, configs in of_topics.items() if flag(configs.get(REMOTE_STORAGE, ""))]
    if tiered is None and remote:
        yield warning(
            OF_TOPICS,
            f"it is not known whether every broker has tiered storage, which topics need: {some(sorted(remote))}",
            "let all brokers answer, and look again: a broker without it does not start while there are such topics",
        )
