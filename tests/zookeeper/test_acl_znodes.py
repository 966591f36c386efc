"""ACLs on a real ZooKeeper: what Kafka writes is read, and the other way round."""

import asyncio
import json

import pytest

from kafka_reassign_rpc.core.acls.acl_authorizer import Entries
from kafka_reassign_rpc.core.acls.acl_binding import (
    RESOURCE_TYPES,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.zookeeper import acl_znodes, config_znodes
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore, TooManyAcls, decode_acls, encode_acls, literal_change
from kafka_reassign_rpc.zookeeper.operations import Create, Result, SetData
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

ALICE = AccessControlEntry("User:alice", "10.0.0.1", AclOperation.READ, AclPermissionType.ALLOW)
BOB = AccessControlEntry("User:bob,é=%", "*", AclOperation.ALTER_CONFIGS, AclPermissionType.DENY)
TOPIC = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
PREFIX = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "pre:-", PatternType.PREFIXED)
BY_KAFKA = {"host": "10.0.0.1", "permissionType": "Allow", "operation": "Read", "principal": "User:alice"}


def of(*entries: AccessControlEntry) -> Entries:
    return frozenset(entries)


async def changed(store: AclStore, pattern: ResourcePattern, *entries: AccessControlEntry) -> tuple[Entries, Entries]:
    return await store.change(pattern, lambda _: frozenset(entries))


async def test_sv_5_acls_are_where_kafka_puts_them_and_every_change_is_announced(zk: ZooKeeper) -> None:
    store = AclStore(zk)
    await store.create_paths()
    assert set(await zk.children("/kafka-acl")) == set(await zk.children("/kafka-acl-extended/prefixed"))
    assert set(await zk.children("/kafka-acl")) == {
        *("Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User")
    }
    before = await store.last_changes()
    assert await changed(store, TOPIC, ALICE) == (of(), of(ALICE))
    assert await changed(store, TOPIC, ALICE) == (of(ALICE), of(ALICE)), "no change: no announcement"
    await changed(store, PREFIX, ALICE, BOB)
    assert json.loads((await zk.get("/kafka-acl/Topic/t"))[0]) == {"version": 1, "acls": [BY_KAFKA]}
    assert await zk.exists("/kafka-acl-extended/prefixed/TransactionalId/pre:-") is not None
    (literal,) = await zk.children("/kafka-acl-changes")
    assert literal == "acl_changes_0000000000"
    assert (await zk.get(f"/kafka-acl-changes/{literal}"))[0] == b"TOPIC:t"
    (extended,) = await zk.children("/kafka-acl-extended-changes")
    assert json.loads((await zk.get(f"/kafka-acl-extended-changes/{extended}"))[0]) == {
        **{"version": 1, "resourceType": "TRANSACTIONAL_ID"},
        **{"name": "pre:-", "patternType": "PREFIXED"},
    }
    found = await store.changed_since(before)
    assert (found.patterns, found.bad) == ([TOPIC, PREFIX], [])
    assert (await store.changed_since(found.last)).patterns == []
    assert dict([read async for read in store.read_all()]) == {TOPIC: of(ALICE), PREFIX: of(ALICE, BOB)}
    await changed(store, TOPIC)
    assert await zk.exists("/kafka-acl/Topic/t") is None, "without ACLs the znode goes"
    assert (await store.changed_since(found.last)).patterns == [TOPIC]
    assert await store.read([TOPIC]) == [(TOPIC, frozenset())]


async def test_sv_5_a_change_that_meets_another_is_made_again_upon_it(zk: ZooKeeper) -> None:
    store, other = AclStore(zk), [ALICE, BOB]
    carol = AccessControlEntry("User:carol", "*", AclOperation.READ, AclPermissionType.ALLOW)
    data = [encode_acls(frozenset(other[:1])), encode_acls(frozenset(other))]
    await store.create_paths()

    calls: list[Entries] = []
    pending: list[asyncio.Future[list[Result]]] = []
    path = "/kafka-acl/Topic/t"

    def add(current: Entries) -> Entries:
        calls.append(current)
        if data:  # another process is faster: it creates the znode, then it changes it
            write = zk.submit_multi([SetData(path, data.pop(0)) if current else Create(path, data.pop(0))])
            pending.append(write)
        return current | {carol}

    before, after = await store.change(TOPIC, add)
    await asyncio.gather(*pending)
    assert calls == [of(), of(ALICE), of(ALICE, BOB)]
    assert (before, after) == (of(ALICE, BOB), of(ALICE, BOB, carol))
    assert decode_acls((await zk.get("/kafka-acl/Topic/t"))[0], "") == after


async def test_sv_5_acls_that_cannot_be_read_are_reported_and_not_overwritten(zk: ZooKeeper) -> None:
    store = AclStore(zk)
    await store.create_paths()
    await changed(store, PREFIX, ALICE)
    await zk.create("/kafka-acl/Topic/t", b"garbage")
    await zk.create("/kafka-acl/Topic/empty")
    await zk.create("/kafka-acl/Whatever")
    await zk.create("/kafka-acl/Whatever/t", b"garbage")
    found = dict([read async for read in store.read_all()])
    assert found.pop(PREFIX) == of(ALICE)
    assert found.pop(TOPIC._replace(name="empty")) == frozenset()
    error = found.pop(TOPIC)
    assert isinstance(error, BadZnode)
    assert error.path == "/kafka-acl/Topic/t"
    assert not found
    with pytest.raises(BadZnode):
        await changed(store, TOPIC, BOB)
    assert (await zk.get("/kafka-acl/Topic/t"))[0] == b"garbage"


async def test_sv_5_more_acls_than_a_znode_can_hold_are_refused(zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_znodes, "MOST_BYTES", 200)
    store = AclStore(zk)
    await changed(store, TOPIC, ALICE)
    with pytest.raises(TooManyAcls, match="3 ACLs"):
        await changed(store, TOPIC, ALICE, BOB, ALICE._replace(host="*"))
    assert await store.read([TOPIC]) == [(TOPIC, of(ALICE))]


async def test_sv_5_old_announcements_go_and_garbage_among_them_is_reported(zk: ZooKeeper) -> None:
    store = AclStore(zk)
    await store.create_paths()
    await changed(store, TOPIC, ALICE)
    await zk.create("/kafka-acl-changes/acl_changes_", b"nonsense", sequence=True)
    await zk.create("/kafka-acl-extended-changes/acl_changes_", b"TOPIC:t", sequence=True)
    found = await store.changed_since({})
    assert found.patterns == [TOPIC]
    assert [error.path for error in found.bad] == [
        "/kafka-acl-changes/acl_changes_0000000001",
        "/kafka-acl-extended-changes/acl_changes_0000000000",
    ]
    created = (await zk.get("/kafka-acl-changes/acl_changes_0000000000"))[1].ctime
    await store.purge_changes(created + config_znodes.CHANGE_EXPIRATION_MS)
    assert len(await zk.children("/kafka-acl-changes")) == 2
    await store.purge_changes(created + 2 * config_znodes.CHANGE_EXPIRATION_MS)
    assert await zk.children("/kafka-acl-changes") == await zk.children("/kafka-acl-extended-changes") == []


@pytest.mark.parametrize("data", [b"", b"TOPIC", b"TOPIC:", b"ANY:t", b"NOTHING:t", b"TOPIC:a/b", b"\xff:t"])
def test_sv_5_an_announcement_that_names_no_resource_is_reported(data: bytes) -> None:
    with pytest.raises(BadZnode):
        literal_change(data, "/kafka-acl-changes/acl_changes_1")


def test_sv_5_names_of_operations_and_permissions_are_those_of_kafka() -> None:
    every = frozenset(
        AccessControlEntry("User:a", "*", operation, permission)
        for operation in AclOperation
        for permission in AclPermissionType
        if operation is not AclOperation.ANY and permission is not AclPermissionType.ANY
    )
    written = json.loads(encode_acls(every))["acls"]
    assert {"DescribeConfigs", "IdempotentWrite", "All", "CreateTokens"} < {one["operation"] for one in written}
    assert {one["permissionType"] for one in written} == {"Allow", "Deny", "Unknown"}
    assert decode_acls(encode_acls(every), "") == every
    told = {"principal": "User:a", "host": "*", "permissionType": "ALLOW", "operation": "idempotentwrite"}
    unknown = {**told, "permissionType": "Perhaps", "operation": "Fly"}
    assert decode_acls(json.dumps({"version": 1, "acls": [told, unknown]}).encode(), "") == {
        AccessControlEntry("User:a", "*", AclOperation.IDEMPOTENT_WRITE, AclPermissionType.ALLOW),
        AccessControlEntry("User:a", "*", AclOperation.UNKNOWN, AclPermissionType.UNKNOWN),
    }
    assert len(RESOURCE_TYPES) == 6


@pytest.mark.parametrize(
    "change",
    [{"principal": "alice"}, {"operation": "Any"}, {"permissionType": "ANY"}, {"host": None}, {"principal": 7}],
)
def test_sv_5_an_acl_that_kafka_cannot_read_makes_its_znode_unreadable(change: dict[str, object]) -> None:
    data = json.dumps({"version": 1, "acls": [BY_KAFKA, {**BY_KAFKA, **change}]}).encode()
    with pytest.raises(BadZnode):
        decode_acls(data, "/kafka-acl/Topic/t")
    with pytest.raises(BadZnode):
        decode_acls(json.dumps({"version": 2, "acls": []}).encode(), "/kafka-acl/Topic/t")
