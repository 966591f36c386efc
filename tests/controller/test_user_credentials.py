"""Credentials in memory follow ZooKeeper, whoever changes them there."""

import json
from collections.abc import AsyncIterator

import pytest_asyncio

from kafka_reassign_rpc.controller.watches.user_credentials import UserCredentials
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.security.sasl.credential_cache import CredentialCache
from kafka_reassign_rpc.security.sasl.scram import ScramSaslServer
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore, quote_name
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.security.sasl_steps import CREDENTIALS, USERS, Exchange, as_config
from tests.waiting import eventually

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def configs(user: str, *mechanisms: str) -> dict[str, str]:
    return {name: as_config(CREDENTIALS[name][user]) for name in mechanisms}


async def set_configs(zk: ZooKeeper, user: str, wanted: dict[str, str]) -> None:
    await QuotaStore(zk).alter(((USER, user),), lambda _: wanted)


@pytest_asyncio.fixture
async def cache(zk: ZooKeeper) -> AsyncIterator[CredentialCache]:
    """Started when alice and a user with an odd name have credentials."""
    await set_configs(zk, "alice", configs("alice", SHA_256, SHA_512) | {"request_percentage": "10"})
    await set_configs(zk, "a,b=c%25ü", configs("a,b=c%25ü", SHA_256))
    found = CredentialCache()
    credentials = UserCredentials(zk, found)
    await credentials.start()
    yield found
    await credentials.close()


async def test_sv_5_credentials_are_read_at_the_start_whatever_the_users_names_are(cache: CredentialCache) -> None:
    assert cache.loaded
    assert cache.of(SHA_256)("alice") == CREDENTIALS[SHA_256]["alice"]
    assert cache.of(SHA_512)("alice") == CREDENTIALS[SHA_512]["alice"]
    assert cache.of(SHA_256)("a,b=c%25ü") == CREDENTIALS[SHA_256]["a,b=c%25ü"]
    assert cache.of(SHA_512)("a,b=c%25ü") is None
    assert cache.of(SHA_256)("bob") is None


async def test_sv_5_created_changed_and_deleted_credentials_count_from_then_on(
    cache: CredentialCache, zk: ZooKeeper
) -> None:
    find = cache.of(SHA_256)
    await set_configs(zk, "bob", configs("bob", SHA_256))
    await eventually(lambda: find("bob") == CREDENTIALS[SHA_256]["bob"])
    await set_configs(zk, "bob", configs("alice", SHA_256))
    await eventually(lambda: find("bob") == CREDENTIALS[SHA_256]["alice"])
    await set_configs(zk, "bob", {})
    await eventually(lambda: find("bob") is None)
    assert find("alice") is not None


async def test_sv_5_garbage_in_a_users_znode_is_refusal_and_never_admission(
    cache: CredentialCache, zk: ZooKeeper
) -> None:
    find = cache.of(SHA_256)
    path = znode_paths.config(f"users/{quote_name('alice')}")
    for data in (b"", b"no json", b'{"version":1,"config":{"SCRAM-SHA-256":"salt=,stored_key=!"}}'):
        await set_configs(zk, "alice", configs("alice", SHA_256))
        await eventually(lambda: find("alice") is not None)
        await zk.set(path, data)
        announced = json.dumps({"version": 2, "entity_path": "users/alice"}).encode()
        await zk.create(znode_paths.CONFIG_CHANGE_PREFIX, announced, sequence=True)
        await eventually(lambda: find("alice") is None)
        await zk.delete(path)


async def test_sv_5_users_that_went_while_zookeeper_was_away_are_gone_after_the_connection(
    cache: CredentialCache, zk: ZooKeeper, zk_connect: str
) -> None:
    await zk.delete(znode_paths.config("users/alice"))  # nobody announces it
    async with ZooKeeper(zk_connect) as other:
        again = UserCredentials(other, cache)
        await again.start()
        assert cache.of(SHA_256)("alice") is None
        await again.close()


async def test_sv_5_a_deleted_user_cannot_authenticate_any_more(cache: CredentialCache, zk: ZooKeeper) -> None:
    def log_in() -> int:
        exchange = Exchange(mechanisms=scram_servers_of(cache))
        return int(exchange.log_in(SHA_256, "alice", USERS["alice"]).error_code)

    assert log_in() == 0
    await set_configs(zk, "alice", {})
    await eventually(lambda: log_in() == 58)


def scram_servers_of(cache: CredentialCache) -> dict[str, object]:
    return {SHA_256: lambda: ScramSaslServer(SHA_256, cache.of(SHA_256))}


def test_sv_5_before_the_credentials_are_read_a_client_is_asked_to_come_again() -> None:
    exchange = Exchange(mechanisms=scram_servers_of(CredentialCache()))
    exchange.handshake(SHA_256)
    answer, step = exchange.token(b"n,,n=alice,r=abcdefgh")
    assert answer is None
    assert step.end.name == "CLOSE_NOW"
