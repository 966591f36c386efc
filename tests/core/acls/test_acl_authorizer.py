"""Who may do what: AclAuthorizer's rules one by one, and all of them on random ACLs, compared with a tiny reference."""

import pytest

from kafka_reassign_rpc.core.acls.acl_authorizer import MOST_FOUND, AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
    parse_super_users,
)
from kafka_reassign_rpc.core.config_values import java_host
from tests.core.acls.random_acls import authorizer_of, put, random_case
from tests.core.acls.reference import Reference
from tests.tables import for_each

ALICE, HERE = "User:alice", "10.0.0.1"
TOPIC, LITERAL, PREFIXED = ResourceType.TOPIC, PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def acl(
    name: str,
    operation: AclOperation = AclOperation.READ,
    permission: AclPermissionType = ALLOW,
    *,
    pattern: PatternType = LITERAL,
    principal: str = ALICE,
    host: str = "*",
) -> AclBinding:
    return AclBinding(ResourcePattern(TOPIC, name, pattern), AccessControlEntry(principal, host, operation, permission))


def authorizer(*acls: AclBinding, supers: tuple[str, ...] = (), everyone: bool = False) -> AclAuthorizer:
    made = AclAuthorizer(supers, allow_everyone=everyone)
    put(made, acls)
    made.loaded = True
    return made


def reads(made: AclAuthorizer, name: str = "t", who: str = ALICE, host: str = HERE) -> bool:
    return made.authorize(who, host, AclOperation.READ, TOPIC, name)


def test_sv_5_what_any_client_may_do_to_the_cluster_changes_with_its_acls() -> None:
    """What was found before is remembered until then."""
    cluster = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, LITERAL)
    made = authorizer()
    asked = AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME

    def may() -> list[bool]:
        return [made.authorize(who, host, *asked) for who in (ALICE, "User:bob") for host in (HERE, "10.0.0.2")]

    def change(*entries: tuple[str, str, AclPermissionType]) -> None:
        wanted = frozenset(AccessControlEntry(who, host, AclOperation.ALTER, kind) for who, host, kind in entries)
        for _ in made.cache.put(cluster, wanted):
            may()

    assert may() == [False] * 4
    change((ALICE, "*", ALLOW))
    assert may() == [True, True, False, False]
    change((ALICE, "*", ALLOW), (ALICE, HERE, DENY), ("User:*", "10.0.0.2", ALLOW))
    assert may() == [False, True, False, True]
    change()
    assert may() == [False] * 4
    for number in range(MOST_FOUND + 10):
        made.authorize(f"User:{number}", HERE, *asked)
    assert len(made.cache._on_cluster) <= MOST_FOUND


def test_sv_5_random_acls_are_decided_as_the_reference_decides() -> None:
    for seed in range(400):
        case = random_case(seed)
        made, reference = authorizer_of(case), Reference(case.acls, case.supers, everyone=case.everyone)
        for principal, host, operation, kind, name in case.requests:
            asked = principal, host, operation, kind
            assert made.authorize(*asked, name) == reference.authorize(*asked, name), (case, asked, name)
            assert made.authorize_by_resource_type(*asked) == reference.authorize_by_resource_type(*asked), (
                seed,
                asked,
            )
            if kind in SUPPORTED_OPERATIONS:
                shown = made.authorized_operations(principal, host, kind, name)
                assert shown == {
                    one for one in SUPPORTED_OPERATIONS[kind] if reference.authorize(principal, host, one, kind, name)
                }


def test_sv_5_until_all_acls_are_loaded_only_super_users_may_do_anything() -> None:
    made = AclAuthorizer(["User:root"], allow_everyone=True)
    put(made, [acl("t")])
    assert not reads(made)
    assert not made.authorized_operations(ALICE, HERE, TOPIC, "t")
    assert not made.authorize_by_resource_type(ALICE, HERE, AclOperation.READ, TOPIC)
    assert reads(made, who="User:root")
    made.loaded = True
    assert reads(made)
    assert reads(made, "other")


def test_sv_5_a_pattern_whose_acls_cannot_be_read_refuses_all_but_super_users_there_and_nowhere_else() -> None:
    made = authorizer(acl("*"), acl("abc", pattern=PREFIXED), supers=("User:root",))
    for _ in made.cache.put(ResourcePattern(TOPIC, "ab", PREFIXED), None):
        pass
    assert not reads(made, "abcd")
    assert reads(made, "a")
    assert reads(made, "abcd", "User:root")
    assert made.cache.entries(ResourcePattern(TOPIC, "ab", PREFIXED)) == frozenset()
    put(made, [acl("ab", pattern=PREFIXED, operation=AclOperation.WRITE)])
    assert reads(made, "abcd")


def test_sv_5_no_step_of_a_change_admits_what_neither_acls_admit() -> None:
    made = authorizer(acl("t"), acl("t", permission=DENY, host=HERE))
    pattern = ResourcePattern(TOPIC, "t", LITERAL)
    assert not reads(made)
    for _ in made.cache.put(pattern, frozenset([acl("t").entry, acl("t", permission=DENY, principal="User:*").entry])):
        assert not reads(made)
        assert not made.authorize_by_resource_type(ALICE, HERE, AclOperation.READ, TOPIC)
    assert not reads(made)


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("", set()),
        ("User:a", {"User:a"}),
        ("User:a;User:b;;", {"User:a", "User:b"}),
        (" User:CN=a,O=b ;\tUser:c:d", {"User:CN=a,O=b", "User:c:d"}),
        (";", set()),
    ],
)
def test_sv_5_super_users_are_split_as_kafka_splits_them(text: str, users: set[str]) -> None:
    assert parse_super_users(text) == users


@pytest.mark.parametrize("text", ["alice", "User:a;bob", "User:a;;User:b", " "])
def test_sv_5_super_users_that_are_no_principals_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="User:alice"):
        parse_super_users(text)


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::ff:0", "2001:db8:0:0:0:0:ff:0"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("", ""),
        ("no:address", "no:address"),
    ],
)
def test_sv_5_hosts_are_compared_as_java_prints_them(address: str, printed: str) -> None:
    assert java_host(address) == printed


ANY = AclBindingFilter(ResourceType.ANY, None, PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)


@for_each(
    ("wanted", "matching"),
    [
        (ANY, {"ab", "*", "a-prefixed"}),
        (ANY._replace(name="ab"), {"ab"}),
        (ANY._replace(name="ab", pattern_type=PatternType.MATCH), {"ab", "*", "a-prefixed"}),
        (ANY._replace(name="a", pattern_type=PatternType.MATCH), {"*", "a-prefixed"}),
        (ANY._replace(name="a", pattern_type=PatternType.LITERAL), set()),
        (ANY._replace(pattern_type=PREFIXED), {"a-prefixed"}),
        (ANY._replace(pattern_type=PatternType.UNKNOWN), set()),
        (ANY._replace(resource_type=ResourceType.GROUP), set()),
        (ANY._replace(host=HERE), {"*"}),
        (ANY._replace(principal="User:bob"), {"a-prefixed"}),
        (ANY._replace(operation=AclOperation.ALL), set()),
        (ANY._replace(permission_type=DENY), {"ab"}),
    ],
)
def test_sv_5_filters_match_as_in_kafka(wanted: AclBindingFilter, matching: set[str]) -> None:
    acls = {
        "ab": acl("ab", permission=DENY),
        "*": acl("*", host=HERE),
        "a-prefixed": acl("a", pattern=PREFIXED, principal="User:bob"),
    }
    found = {name for name, one in acls.items() if wanted.matches_pattern(one.pattern)}
    assert {name for name in found if wanted.matches_entry(acls[name].entry)} == matching


def test_sv_5_a_filter_names_the_patterns_that_need_not_be_known() -> None:
    named = ANY._replace(resource_type=TOPIC, name="a")
    assert named.patterns() == (ResourcePattern(TOPIC, "a", LITERAL), ResourcePattern(TOPIC, "a", PREFIXED))
    assert named._replace(pattern_type=PREFIXED).patterns() == (ResourcePattern(TOPIC, "a", PREFIXED),)
    assert named._replace(pattern_type=PatternType.MATCH).patterns() == ()
    assert named._replace(name=None).patterns() == ANY._replace(name="a").patterns() == ()
