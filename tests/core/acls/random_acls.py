"""Random ACLs and requests in which patterns, principals and hosts often meet, and an authorizer that has them."""

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from kafka_reassign_rpc.core.acls.acl_authorizer import NO_ENTRIES, AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    RESOURCE_TYPES,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

NAMES = ("a", "ab", "abc", "abcd", "b", "ba", "*", "*a", "kafka-cluster", "ä", "aä€", "a-b_c.d", "a😀", "a😀b")
PRINCIPALS = ("User:alice", "User:bob", "User:*", "Group:alice", "User:", "User:a:b", "User:CN=x,O=y")
HOSTS = ("10.0.0.1", "10.0.0.2", "*", "0:0:0:0:0:0:0:1")
OPERATIONS = tuple(one for one in AclOperation if one > AclOperation.ANY)
ASKED = tuple(one for one in OPERATIONS if one is not AclOperation.ALL)


Request = tuple[str, str, AclOperation, ResourceType, str]
"""Principal, host, operation, type and name of the resource."""


class Case(NamedTuple):
    """An authorizer's ACLs and settings, and what is asked of it."""

    acls: list[AclBinding]
    supers: list[str]
    everyone: bool
    requests: list[Request]


def random_case(seed: int) -> Case:
    random = Random(seed)
    kinds = random.sample(RESOURCE_TYPES, 2)
    operations = random.sample(OPERATIONS, 5)
    acls = {
        AclBinding(
            ResourcePattern(
                random.choice(kinds), random.choice(NAMES), random.choice((PatternType.LITERAL, PatternType.PREFIXED))
            ),
            AccessControlEntry(
                random.choice(PRINCIPALS),
                random.choice(HOSTS),
                random.choice(operations),
                AclPermissionType.DENY if random.random() < 0.25 else AclPermissionType.ALLOW,
            ),
        )
        for _ in range(random.randrange(20))
    }
    requests: list[Request] = [
        (
            random.choice(PRINCIPALS),
            random.choice([host for host in HOSTS if host != "*"]),
            random.choice([one for one in operations if one in ASKED] if random.random() < 0.7 else ASKED),
            random.choice(kinds),
            random.choice((*NAMES, "abcx", "x", "")),
        )
        for _ in range(40)
    ]
    supers = [random.choice(PRINCIPALS)] if random.random() < 0.2 else []
    return Case(sorted(acls), supers, random.random() < 0.4, requests)


def put(authorizer: AclAuthorizer, acls: Iterable[AclBinding]) -> None:
    """Puts each ACL by itself, so that patterns change as they do in a cluster."""
    for pattern, entry in acls:
        for _ in authorizer.cache.put(pattern, authorizer.cache.entries(pattern) | {entry}):
            pass


def authorizer_of(case: Case) -> AclAuthorizer:
    """An authorizer that has these ACLs, and has had others before."""
    made = AclAuthorizer(case.supers, allow_everyone=case.everyone)
    others = [AclBinding(acl.pattern._replace(name=acl.pattern.name + "b"), acl.entry) for acl in case.acls]
    put(made, [*others, *case.acls])
    for pattern, entry in others:
        if AclBinding(pattern, entry) not in case.acls:
            for _ in made.cache.put(pattern, made.cache.entries(pattern) - {entry}):
                pass
    assert made.cache.size == len(case.acls)
    assert all(made.cache.entries(one) != NO_ENTRIES for one in made.cache.patterns())
    made.loaded = True
    return made
