"""The authorizer's ACLs are those in ZooKeeper, whatever happens to it; what cannot be read admits no client."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafka_reassign_rpc.controller.lifecycle import served_acls
from kafka_reassign_rpc.controller.lifecycle.served_acls import AclKeeper
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore, encode_acls
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

ALICE = AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)
BOB = ALICE._replace(principal="User:bob")
T = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
PRE = ResourcePattern(ResourceType.TOPIC, "pre-", PatternType.PREFIXED)


@asynccontextmanager
async def keeping(zk: ZooKeeper, *, everyone: bool = False) -> AsyncIterator[AclAuthorizer]:
    """An authorizer with a keeper that has loaded all."""
    made = AclAuthorizer(["User:root"], allow_everyone=everyone)
    keeper = AclKeeper(zk, made)
    await keeper.start()
    try:
        await eventually(lambda: made.loaded)
        yield made
    finally:
        await keeper.close()


async def grant(zk: ZooKeeper, pattern: ResourcePattern, *entries: AccessControlEntry) -> None:
    await AclStore(zk).change(pattern, lambda _: frozenset(entries))


def reads(made: AclAuthorizer, who: str, name: str = "t") -> bool:
    return made.authorize(who, "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, name)


async def test_sv_5_all_acls_are_loaded_and_each_change_is_followed(zk: ZooKeeper, zk_connect: str) -> None:
    async with ZooKeeper(zk_connect) as other:
        await grant(other, T, ALICE)
        async with keeping(zk) as made:
            assert reads(made, "User:alice")
            await grant(other, T, BOB)
            await eventually(lambda: reads(made, "User:bob"))
            assert not reads(made, "User:alice")
            await grant(other, PRE, ALICE)
            await eventually(lambda: reads(made, "User:alice", "pre-x"))
            await grant(other, PRE)
            await eventually(lambda: not reads(made, "User:alice", "pre-x"))
            assert made.cache.patterns() == [T]


async def test_sv_5_acls_that_could_not_be_read_hold_once_they_are_repaired_without_an_announcement(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Unreadable at the load, and since an announcement."""
    async with ZooKeeper(zk_connect) as other:
        await grant(other, T, ALICE)
        good, _ = await other.get("/kafka-acl/Topic/t")
        await other.set("/kafka-acl/Topic/t", b"garbage")
        async with keeping(zk) as made:
            for _ in range(2):
                assert not reads(made, "User:alice")
                await other.set("/kafka-acl/Topic/t", b"other garbage")
                await other.set("/kafka-acl/Topic/t", good)
                await eventually(lambda: reads(made, "User:alice"))
                await other.set("/kafka-acl/Topic/t", b"garbage")
                await other.create("/kafka-acl-changes/acl_changes_", b"TOPIC:t", sequence=True)
                await eventually(lambda: not reads(made, "User:alice"))


async def test_sv_5_acls_that_cannot_be_read_admit_only_super_users_until_they_are_repaired(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with ZooKeeper(zk_connect) as other:
        await grant(other, T, ALICE)
        await other.set("/kafka-acl/Topic/t", b"garbage")
        async with keeping(zk, everyone=True) as made:
            assert not reads(made, "User:alice")
            assert reads(made, "User:root")
            assert reads(made, "User:alice", "another")
            assert "only super users are admitted to Topic:LITERAL:t: /kafka-acl/Topic/t" in caplog.text
            await other.set("/kafka-acl/Topic/t", encode_acls(frozenset([ALICE])))
            await other.create("/kafka-acl-changes/acl_changes_", b"TOPIC:t", sequence=True)
            await eventually(lambda: reads(made, "User:alice"))
            assert not reads(made, "User:bob")


@pytest.mark.parametrize("garbage", [b"", b"\xff\x00", b"TOPIC", b"ANY:x", b"[" * 10_000])
async def test_sv_5_an_announcement_that_cannot_be_read_makes_the_keeper_read_everything(
    zk: ZooKeeper, zk_connect: str, garbage: bytes
) -> None:
    async with ZooKeeper(zk_connect) as other, keeping(zk) as made:
        await other.create("/kafka-acl/Topic/t", encode_acls(frozenset([ALICE])))  # not announced
        await other.create("/kafka-acl-extended-changes/acl_changes_", garbage, sequence=True)
        await eventually(lambda: reads(made, "User:alice"))


async def test_sv_5_after_a_reconnection_everything_is_read_again(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    await grant(zk, T, ALICE)
    await grant(zk, PRE, ALICE)
    async with keeping(through_proxy) as made:
        proxy.silence()
        proxy.fin()
        await eventually(lambda: not through_proxy.connected)
        await grant(zk, T, BOB)
        await zk.delete("/kafka-acl-extended/prefixed/Topic/pre-")  # not announced
        for name in await zk.children("/kafka-acl-changes"):
            await zk.delete(f"/kafka-acl-changes/{name}")
        assert reads(made, "User:alice"), "while ZooKeeper is away the last known ACLs count, as in Kafka"
        proxy.heal()
        await eventually(lambda: reads(made, "User:bob"))
        assert not reads(made, "User:alice")
        await eventually(lambda: made.cache.patterns() == [T])


async def test_sv_6_more_acls_than_fit_into_memory_admit_only_super_users(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    monkeypatch.setattr(served_acls, "MOST_ACLS", 3)
    async with ZooKeeper(zk_connect) as other:
        await grant(other, T, ALICE, BOB)
        async with keeping(zk, everyone=True) as made:
            await other.create("/kafka-acl/Topic/u", encode_acls(frozenset([ALICE, BOB])))
            await other.create("/kafka-acl-changes/acl_changes_", b"garbage", sequence=True)
            await eventually(lambda: not made.loaded)
            assert not reads(made, "User:alice")
            assert reads(made, "User:root")
            assert "more than 3 ACLs: only super users are admitted" in caplog.text


async def test_sv_5_an_ensemble_that_is_gone_for_long_changes_nothing(own_zookeeper: EmbeddedZooKeeper) -> None:
    async with ZooKeeper(own_zookeeper.address) as zk:
        await grant(zk, T, ALICE)
        async with keeping(zk) as made:
            await own_zookeeper.kill()
            await eventually(lambda: not zk.connected)
            assert reads(made, "User:alice")
