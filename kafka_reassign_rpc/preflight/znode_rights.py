"""Whether the ACLs of the znodes permit what a server does with them. Reads ACLs, and tries nothing out.

A server is `world:anyone`, and the principal that it logs in as. ZooKeeper wants WRITE on a znode to change its data,
and CREATE or DELETE on its parent to create or delete it. Source: ZooKeeper's PrepRequestProcessor.checkACL.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from kafka_reassign_rpc.core.config_values import TOPICS as CONFIGS_OF_TOPICS
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, unsafe, warning
from kafka_reassign_rpc.support.counted import all_of
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import acl_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, NoNode

READ, WRITE, CREATE, DELETE = 1, 2, 4, 8
_OWNERS = ("sasl", "x509", "digest")
"""The schemes of brokers' own identities."""
_CHILDREN = READ | CREATE | DELETE
_DATA = READ | WRITE
_NAMES = {READ: "read", WRITE: "write", CREATE: "create", DELETE: "delete"}

TOPICS = 2000
"""Topics of which the ACLs are read."""
AT_ONCE = 500

Identities = frozenset[tuple[str, str]]
"""(scheme, id) of those that ZooKeeper takes a client for."""

NEEDED: Mapping[str, int] = {
    **dict.fromkeys((*znode_paths.PERSISTENT, *znode_paths.OWN), 0),
    "/": CREATE | DELETE,
    znode_paths.CONTROLLER: READ,
    znode_paths.CONTROLLER_EPOCH: _DATA,
    znode_paths.CLUSTER_ID: READ,
    znode_paths.BROKER_IDS: READ,
    znode_paths.TOPICS: _CHILDREN,
    znode_paths.PRODUCER_ID_BLOCK: _DATA,
    znode_paths.ADMIN: _CHILDREN,
    znode_paths.DELETE_TOPICS: _CHILDREN,
    znode_paths.REASSIGNMENTS: _CHILDREN,
    znode_paths.REASSIGNMENT_REQUESTS: READ | DELETE,
    znode_paths.FAILED_BROKERS: _CHILDREN,
    znode_paths.FAILED_LOG_DIRS: _CHILDREN,
    znode_paths.REASSIGNMENT_SERVERS: READ | CREATE,
    znode_paths.REASSIGNMENT_SERVER_IDS: _CHILDREN,
    znode_paths.THROTTLES: _CHILDREN,
    znode_paths.config_type(CONFIGS_OF_TOPICS): _CHILDREN,
    **{znode_paths.config_type(kind): READ | CREATE for kind in znode_paths.CONFIG_TYPES if kind != CONFIGS_OF_TOPICS},
    znode_paths.CONFIG_CHANGES: _CHILDREN,
    znode_paths.ISR_CHANGES: READ | DELETE,
    znode_paths.LOG_DIR_EVENTS: READ | DELETE,
    znode_paths.FEATURE: READ,
}
"""Rights on znodes that a server creates if they do not exist."""

IF_PRESENT: Mapping[str, int] = {
    znode_paths.DELEGATION_TOKENS: READ | DELETE,
    znode_paths.DELEGATION_TOKEN_CHANGES: CREATE,
    znode_paths.PREFERRED_REPLICA_ELECTION: READ,
    znode_paths.REASSIGN_PARTITIONS: _DATA,
    znode_paths.LAST_CONTROL: _DATA,
    znode_paths.SETTINGS: _DATA,
    **dict.fromkeys(znode_paths.QUEUES, _DATA | _CHILDREN),
}
"""Rights on znodes of which a server creates none, or only such as the right on the parent is enough for."""


def written() -> set[str]:
    """The znodes of which a server changes the data, or creates or deletes children. ACLs are not among them."""
    return {path for path, rights in {**NEEDED, **IF_PRESENT}.items() if rights & (WRITE | CREATE | DELETE)} - {"/"}


def needed_if_present(topics: Iterable[str], configs: Mapping[str, Iterable[str]], *, acls: bool) -> dict[str, int]:
    """Rights on znodes that may not exist, where the right on the parent is enough.

    configs   the names of entities by the type, without topics: `znode_paths.CONFIG_TYPES`
    acls      whether a server would have the authorizer, with its ACLs in this ZooKeeper
    """
    found = {
        **IF_PRESENT,
        **{znode_paths.config(f"{kind}/{name}"): _DATA for kind, names in configs.items() for name in names},
    }
    if acls:
        found |= dict.fromkeys(acl_znodes.paths(), _CHILDREN)
    for name in islice(topics, TOPICS):
        found[znode_paths.topic(name)] = _DATA | CREATE | DELETE
        found[znode_paths.partitions(name)] = _CHILDREN
        found[znode_paths.partition_state(name, 0)] = _DATA
        found[znode_paths.config_topic(name)] = _DATA
    return found


def lacking(entries: Sequence[AclEntry], needed: int, own: Identities = frozenset()) -> tuple[int, int]:
    """Of the needed rights, those that this client does not have; and those that only some addresses have."""
    anyone = of_addresses = 0
    for entry in entries:
        if (entry.scheme, entry.id) == ("world", "anyone") or (entry.scheme, entry.id) in own:
            anyone |= entry.permissions
        elif entry.scheme == "ip":
            of_addresses |= entry.permissions
    missing = needed & ~anyone
    return missing & ~of_addresses, missing & of_addresses


async def find(zk: ZooKeeper, if_present: Mapping[str, int], *, sets_acl: bool) -> list[Finding]:
    """Read the ACLs and judge them. Raises ZkError where ZooKeeper cannot be asked.

    sets_acl   whether a server would own the znodes that it creates
    """
    own = frozenset(one for one in await zk.who_am_i() if one[0] != "ip")
    wanted = dict(NEEDED)
    acls: dict[str, list[AclEntry] | None] = {}
    while unread := [path for path in wanted if path not in acls]:
        acls |= await read_acls(zk, unread)
        for path in unread:
            if acls[path] is None and path != "/":
                parent = path.rpartition("/")[0] or "/"
                wanted[parent] = wanted.get(parent, 0) | CREATE
    acls |= await read_acls(zk, [path for path in if_present if path not in acls])
    wanted |= {path: wanted.get(path, 0) | rights for path, rights in if_present.items()}
    refused, perhaps = [], []
    for path, rights in wanted.items():
        entries = acls[path]
        if entries is not None:
            missing, of_addresses = lacking(entries, rights, own)
            if missing:
                refused.append(f"{path} ({_shown(missing)})")
            elif of_addresses:
                perhaps.append(f"{path} ({_shown(of_addresses)})")
    found = list(_findings(refused, perhaps, sum(entries is not None for entries in acls.values()), own))
    owned = [path for path, entries in acls.items() if any(one.scheme in _OWNERS for one in entries or ())]
    return found + list(_of_new_znodes(owned, sets_acl=sets_acl))


def _of_new_znodes(owned: Sequence[str], *, sets_acl: bool) -> Iterator[Finding]:
    if owned and not sets_acl:
        yield warning(
            "new-znodes",
            f"brokers have znodes that others may not write ({some(owned)}), and a server would create open ones",
            "start the server with --zookeeper-set-acl true and the login of the brokers, if brokers have"
            " zookeeper.set.acl=true",
        )


def _findings(refused: Sequence[str], perhaps: Sequence[str], count: int, own: Identities) -> Iterator[Finding]:
    if refused:
        who = all_of(f"{scheme}:{name}" for scheme, name in sorted(own)) if own else "a client without credentials"
        yield unsafe(
            "rights",
            f"the ACLs refuse {who} on {some(refused)}",
            "log in to ZooKeeper as the brokers do (docs/security-outward.md), or open these znodes"
            " (zookeeper-security-migration.sh --zookeeper.acl=unsecure)",
        )
    if perhaps:
        yield warning(
            "rights",
            f"the ACLs permit it for some addresses only on {some(perhaps)}",
            "check that the server's host is one of them (getAcl in zookeeper-shell.sh)",
        )
    if not refused and not perhaps:
        yield fine("rights", f"the ACLs of {count} znodes permit all that a server does")


def _shown(rights: int) -> str:
    return ", ".join(name for right, name in _NAMES.items() if rights & right)


async def read_acls(zk: ZooKeeper, paths: Sequence[str]) -> dict[str, list[AclEntry] | None]:
    """By path: the ACL, empty where not even that may be read; None where there is no znode."""
    found: dict[str, list[AclEntry] | None] = {}
    for part in pieces(paths, AT_ONCE):
        found |= zip(part, await asyncio.gather(*(_acl(zk, path) for path in part)), strict=True)
    return found


async def _acl(zk: ZooKeeper, path: str) -> list[AclEntry] | None:
    try:
        return await zk.acl(path)
    except NoNode:
        return None
    except NoAuth:
        return []
