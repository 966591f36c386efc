"""A server with an authorizer, over real sockets: who may do what, and ACLs that clients manage."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import (
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.zookeeper import acl_znodes
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError
from tests.controller.cluster import Cluster
from tests.waiting import eventually

ANONYMOUS = "User:ANONYMOUS"
CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)

ALL = AuthorizerConfig(frozenset([ANONYMOUS]))
"""ANONYMOUS may do everything."""

Acl = tuple[int, str, int, str, str, int, int]
"""Codes of resource type and pattern, names, principal, host, operation, permission."""


@asynccontextmanager
async def server(
    connect: str, authorizer: AuthorizerConfig | None, event_log: Path | None = None
) -> AsyncIterator[Cluster]:
    """A server without brokers. Super users are admitted by now."""
    async with ZooKeeper(connect) as zk:
        here = Cluster(connect, zk, DEFAULT_SETTINGS, event_log)
        here.authorizer = authorizer
        try:
            await here.start_server()
            if authorizer is ALL:
                await eventually(lambda: _has_loaded(here))
            yield here
        finally:
            await here.end()


async def _has_loaded(here: Cluster) -> bool:
    return bool((await here.ask(DescribeAclsRequest(**wanted()), 2)).error_code == 0)


def acl(name: str, *, kind: int = 2, pattern: int = 3, who: str = "User:alice", operation: int = 3) -> Acl:
    return kind, name, pattern, who, "*", operation, 3


async def create(here: Cluster, *acls: Acl) -> list[tuple[int, str | None]]:
    fields = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation")
    made = []
    for one in acls:
        values: dict[str, Any] = dict(zip((*fields, "permission_type"), one, strict=True))
        made.append(CreateAclsRequest.AclCreation(**values))
    answer = await here.ask(CreateAclsRequest(creations=made), 2)
    return [(one.error_code, one.error_message or None) for one in answer.results]


def wanted(kind: int = 1, name: str | None = None, pattern: int = 1, who: str | None = None) -> dict[str, Any]:
    return {
        **{"resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": pattern},
        **{"principal_filter": who, "host_filter": None, "operation": 1, "permission_type": 1},
    }


async def described(here: Cluster, **filters: Any) -> set[Acl]:
    answer = await here.ask(DescribeAclsRequest(**wanted(**filters)), 2)
    assert answer.error_code == 0, answer.error_message
    return {
        (
            *(found.resource_type, found.resource_name, found.pattern_type),
            *(one.principal, one.host, one.operation, one.permission_type),
        )
        for found in answer.resources
        for one in found.acls
    }


async def delete(here: Cluster, *filters: dict[str, Any]) -> list[list[tuple[str, str, int]]]:
    """The names and principals of the ACLs that each filter has deleted, and their error codes."""
    asked = [DeleteAclsRequest.DeleteAclsFilter(**one) for one in filters]
    answer = await here.ask(DeleteAclsRequest(filters=asked), 2)
    return [
        sorted((one.resource_name, one.principal, one.error_code) for one in result.matching_acls)
        for result in answer.filter_results
    ]


async def listed(here: Cluster) -> tuple[int, str | None]:
    answer = await here.ask(ListPartitionReassignmentsRequest(topics=None, timeout_ms=1000), 0)
    return answer.error_code, answer.error_message


async def test_sv_5_an_acl_in_zookeeper_opens_an_api_and_its_end_closes_it_and_refusals_are_events(
    zk_connect: str, tmp_path: Path
) -> None:
    async with server(zk_connect, AuthorizerConfig(frozenset(["User:root"])), tmp_path) as here:
        code, text = await listed(here)
        assert code == 31
        assert text == (
            "Request ListPartitionReassignments of User:ANONYMOUS from 127.0.0.1 is not authorized. Needs DESCRIBE"
            " permission on the cluster."
        )
        store = AclStore(here.zk)
        alter = AccessControlEntry(ANONYMOUS, "127.0.0.1", AclOperation.ALTER, AclPermissionType.ALLOW)
        await store.change(CLUSTER, lambda _: frozenset([alter]))
        await eventually(lambda: _code_is(here, 0))
        events = [one for one in await here.events() if one["event"] == "access.denied"]
        assert {one["reason"] for one in events} == {"ListPartitionReassignments: DESCRIBE on cluster"}
        assert events[0]["principal"] == ANONYMOUS
        assert events[0]["address"] == "127.0.0.1"
        assert events[0]["count"] == 1
        await store.change(CLUSTER, lambda _: frozenset())
        await eventually(lambda: _code_is(here, 31))


async def _code_is(here: Cluster, code: int) -> bool:
    return (await listed(here))[0] == code


async def test_sv_5_acls_are_created_described_and_deleted_as_on_a_broker(zk_connect: str, tmp_path: Path) -> None:
    async with server(zk_connect, ALL, tmp_path) as here:
        prefixed, any_topic = acl("pre-", pattern=4), acl("*", who="User:bob")
        cluster_acl = acl("kafka-cluster", kind=4, operation=7)
        assert (
            await create(here, acl("t"), acl("t", who="User:bob"), prefixed, any_topic, cluster_acl) == [(0, None)] * 5
        )
        assert await create(here, acl("t")) == [(0, None)], "again"
        everything = {acl("t"), acl("t", who="User:bob"), prefixed, any_topic, cluster_acl}
        assert await described(here) == everything
        assert await described(here, kind=2, name="pre-x", pattern=2) == {prefixed, any_topic}
        assert await described(here, name="t", pattern=3, who="User:bob") == {acl("t", who="User:bob")}
        assert await described(here, kind=3) == set()
        assert await AclStore(here.zk).read([CLUSTER]) == [
            (
                CLUSTER,
                frozenset([AccessControlEntry("User:alice", "*", AclOperation.ALTER, AclPermissionType.ALLOW)]),
            )
        ]
        deleted = await delete(
            here, wanted(2, "t", 3, "User:alice"), wanted(2, "t", 3), wanted(2, "pre-x", 2), wanted(5)
        )
        assert deleted == [
            [("t", "User:alice", 0)],
            [("t", "User:bob", 0)],
            [("*", "User:bob", 0), ("pre-", "User:alice", 0)],
            [],
        ], "an ACL is listed under the first filter that it matches"
        assert await described(here) == {cluster_acl}
        assert await here.zk.exists("/kafka-acl/Topic/t") is None
        told = [(one["event"], one["count"], one["reason"]) for one in await here.events() if "acl." in one["event"]]
        assert ("acl.created", 1, "Topic:PREFIXED:pre-: ALLOW READ to User:alice from *") in told
        assert {("acl.created", 2), ("acl.deleted", 2)} <= {one[:2] for one in told}
        assert len(told) == 7, "nothing is reported of what was there already"


async def test_sv_5_acls_that_make_no_sense_are_refused_one_by_one(zk_connect: str) -> None:
    wrong = {
        acl("other", kind=4): (42, "The only valid name for the CLUSTER resource is kafka-cluster"),
        acl(""): (42, "Invalid empty resource name"),
        acl("a/b"): (42, "Failed to create ACL"),
        acl("t", kind=99): (42, "Failed to create ACL"),
        acl("t", pattern=1): (42, "Failed to create ACL"),
        acl("t", operation=1): (42, "Failed to create ACL"),
        acl("t", who="alice"): (-1, "expected a string in format principalType:principalName but got alice"),
    }
    async with server(zk_connect, ALL) as here:
        assert await create(here, acl("good"), *wrong, acl("better")) == [(0, None), *wrong.values(), (0, None)]
        assert await described(here) == {acl("good"), acl("better")}


async def test_sv_5_acls_that_cannot_be_read_or_do_not_fit_are_not_changed(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_znodes, "MOST_BYTES", 150)
    async with server(zk_connect, ALL) as here:
        await here.zk.create("/kafka-acl/Topic/bad", b"garbage")
        found = await create(here, acl("bad"), acl("good"), acl("many"), acl("many", who="User:bob"))
        assert [code for code, _ in found] == [-1, 0, 44, 44]
        assert "The ACLs of Topic:LITERAL:bad cannot be read" in (found[0][1] or "")
        assert "150 fit" in (found[2][1] or "")
        assert await described(here) == {acl("good")}
        assert await delete(here, wanted(2, "bad", 3)) == [[]]
        assert (await here.zk.get("/kafka-acl/Topic/bad"))[0] == b"garbage"


async def test_sv_5_another_server_follows_and_a_standby_asks_its_authorizer_too(zk_connect: str) -> None:
    async with server(zk_connect, AuthorizerConfig()) as here:
        shown = AccessControlEntry(ANONYMOUS, "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW)
        await here.zk.ensure_path("/brokers/topics")
        answer = await here.ask(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t")]), 8)
        assert [(one.name, one.error_code) for one in answer.topics] == [("t", 29)]
        pattern = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
        await AclStore(here.zk).change(pattern, lambda _: frozenset([shown]))

        async def unknown() -> bool:
            found = await here.ask(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t")]), 8)
            return bool(found.topics[0].error_code == 3)

        await eventually(unknown)


async def test_sv_5_without_an_authorizer_there_are_no_acls(zk_connect: str) -> None:
    async with server(zk_connect, None) as here:
        answer = await here.ask(DescribeAclsRequest(**wanted()), 2)
        assert (answer.error_code, answer.error_message) == (54, "No Authorizer is configured on the broker")
        assert await create(here, acl("t")) == [(54, "No Authorizer is configured.")]


async def test_sv_5_acls_may_be_in_another_zookeeper_and_a_lost_one_leaves_those_read_last(
    zk_connect: str, tmp_path: Path
) -> None:
    async with EmbeddedZooKeeper(tmp_path / "other") as other:
        authorizer = replace(ALL, zookeeper_url=f"{other.address}/not/yet", zookeeper_session_timeout_ms=2_000)
        async with server(zk_connect, authorizer) as here:
            await eventually(lambda: _has_loaded(here))
            assert await create(here, acl("t")) == [(0, None)]
            async with ZooKeeper(f"{other.address}/not/yet") as zk:
                assert await zk.children("/kafka-acl/Topic") == ["t"]
                pattern = ResourcePattern(ResourceType.TOPIC, "u", PatternType.LITERAL)
                entry = AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)
                await AclStore(zk).change(pattern, lambda _: frozenset([entry]))
            assert await here.zk.exists("/kafka-acl") is None

            async def follows() -> bool:
                return await described(here) == {acl("t"), acl("u")}

            await eventually(follows)
            await other.kill()
            assert await described(here) == {acl("t"), acl("u")}
            assert (await here.ask(ListPartitionReassignmentsRequest(timeout_ms=9_000, topics=None), 0)).error_code == 0


async def test_sv_5_a_server_that_cannot_reach_the_zookeeper_of_the_acls_does_not_start(zk_connect: str) -> None:
    authorizer = replace(ALL, zookeeper_url="127.0.0.1:1", zookeeper_connection_timeout_ms=300)
    with pytest.raises(ZkError, match=r"127\.0\.0\.1:1"):
        async with server(zk_connect, authorizer):
            pass
