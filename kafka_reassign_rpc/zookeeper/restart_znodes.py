"""Which znodes end a broker that starts, or stop a migration: the rules of `core.restarts.table` for whole znodes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS, integer, trim
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.ending_values import (
    USERS,
    ClientTrouble,
    name_trouble,
    topic_trouble,
    value_troubles,
)
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json

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
