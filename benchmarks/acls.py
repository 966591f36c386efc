"""What one decision of the authorizer costs, with few and with many ACLs.

python -m benchmarks acls [--quick]
"""

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.tables import show
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

FEW, MANY = 100, 100_000
DECISIONS, QUICK = 200_000, 5_000
ALICE, HERE = "User:alice", "10.0.0.1"
TOPIC = ResourceType.TOPIC
HEADER = ("ACLs", "of", "µs for each decision")


def _entry(user: str) -> AccessControlEntry:
    return AccessControlEntry(user, "*", AclOperation.READ, AclPermissionType.ALLOW)


def _literal(count: int) -> dict[ResourcePattern, frozenset[AccessControlEntry]]:
    return {ResourcePattern(TOPIC, f"topic-{n}", PatternType.LITERAL): frozenset([_entry(ALICE)]) for n in range(count)}


def _prefixed(count: int) -> dict[ResourcePattern, frozenset[AccessControlEntry]]:
    """The authorizer looks up 60 prefixes for a long name, one for each length."""
    return {
        ResourcePattern(TOPIC, f"{n:06d}" + "x" * (n % 60), PatternType.PREFIXED): frozenset([_entry(ALICE)])
        for n in range(count)
    }


def _of_one(count: int) -> dict[ResourcePattern, frozenset[AccessControlEntry]]:
    """One ACL for each of many users, all for every topic."""
    users = frozenset(_entry(f"User:user-{n}") for n in range(count))
    return {ResourcePattern(TOPIC, "*", PatternType.LITERAL): users}


KINDS: dict[str, Callable[[int], dict[ResourcePattern, frozenset[AccessControlEntry]]]] = {
    "as many topics": _literal,
    "as many prefixes": _prefixed,
    "as many users, for all topics": _of_one,
}


async def run(_zookeeper: str, _directory: Path, *, quick: bool) -> str:
    decisions = QUICK if quick else DECISIONS
    rows = [
        (f"{count:,}", kind, f"{_measure(made(count), decisions) * 1e6:.1f}")
        for count in (FEW, MANY)
        for kind, made in KINDS.items()
    ]
    return show("One decision of the authorizer", HEADER, rows)


def _measure(acls: dict[ResourcePattern, frozenset[AccessControlEntry]], decisions: int) -> float:
    """Seconds for one decision about a topic with a long name; some decisions are to allow."""
    authorizer = AclAuthorizer(["User:admin"])
    for pattern, entries in acls.items():
        for _ in authorizer.cache.put(pattern, entries):
            pass
    authorizer.loaded = True
    names = [pattern.name + "-" + "y" * 60 for pattern in list(acls)[:1000]]
    names += [pattern.name for pattern in list(acls)[:1000]]
    start = time.perf_counter()
    for at in range(decisions):
        authorizer.authorize(ALICE, HERE, AclOperation.DESCRIBE, TOPIC, names[at % len(names)])
    return (time.perf_counter() - start) / decisions
