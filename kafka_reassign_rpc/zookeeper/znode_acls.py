"""The ACLs with which znodes are created. Source: Kafka's ZkData.defaultAcls and ZooKeeper's ZooDefs.Ids."""

from collections.abc import Callable, Sequence

from kafka_reassign_rpc.core.state.config_entities import BROKERS
from kafka_reassign_rpc.zookeeper import jute, znode_paths

AclOf = Callable[[str], bytes]
"""Returns the encoded ACL of a new znode by its path, without the chroot."""

READ, ALL = 1, 31
_CREATOR_ALL = (ALL, "auth", "")
"""ZooKeeper replaces it with the identities of the connection."""
_WORLD_READ = (READ, "world", "anyone")

_PRIVATE = jute.encode_acl([_CREATOR_ALL])
_SECURED = jute.encode_acl([_CREATOR_ALL, _WORLD_READ])

PRIVATE_ROOTS = (
    znode_paths.config_type("users"),
    znode_paths.config_type(BROKERS),
    znode_paths.DELEGATION_TOKENS,
)
"""Paths that begin so have secrets: only their creators read them (ZkData.SensitiveRootPaths)."""


def open_to_all(_: str) -> bytes:
    """As without `zookeeper.set.acl`."""
    return jute.OPEN_ACL


def secured(path: str) -> bytes:
    """As with Kafka's `zookeeper.set.acl=true`: the creator may do everything, others read, but no secrets. Everybody
    may write below `/consumers`.
    """
    if path == znode_paths.CONSUMERS:
        return jute.OPEN_ACL
    return _PRIVATE if path.startswith(PRIVATE_ROOTS) else _SECURED


def always(entries: Sequence[tuple[int, str, str]]) -> AclOf:
    """Entries are (permission bits, scheme, id)."""
    encoded = jute.encode_acl(entries)
    return lambda _: encoded


LONGEST = len(_SECURED)
"""Bytes of the longest ACL that a create sends."""
assert LONGEST <= jute.ACL_ROOM
