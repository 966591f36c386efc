"""Credentials and quotas in memory follow ZooKeeper, also where others change them there."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.duties.client_config_keeper import ClientConfigKeeper
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, USER, QuotaEntity, QuotaTable
from kafka_reassign_rpc.security.sasl.scram import CredentialCache, ScramSaslServer
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import QuotaStore, quote_name
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
    credentials = ClientConfigKeeper(zk, QuotaTable(), found)
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
    await zk.delete(znode_paths.config("users/alice"))  # it is not announced
    async with ZooKeeper(zk_connect) as other:
        again = ClientConfigKeeper(other, QuotaTable(), cache)
        await again.start()
        assert cache.of(SHA_256)("alice") is None
        await again.close()


async def test_sv_5_a_deleted_user_can_no_longer_authenticate(cache: CredentialCache, zk: ZooKeeper) -> None:
    def log_in() -> int:
        exchange = Exchange(mechanisms=scram_servers_of(cache))
        return int(exchange.log_in(SHA_256, "alice", USERS["alice"]).error_code)

    assert log_in() == 0
    await set_configs(zk, "alice", {})
    await eventually(lambda: log_in() == 58)


def scram_servers_of(cache: CredentialCache) -> dict[str, object]:
    return {SHA_256: lambda _host: ScramSaslServer(SHA_256, cache.of(SHA_256))}


def test_sv_5_before_the_credentials_are_read_a_client_is_asked_to_come_again() -> None:
    exchange = Exchange(mechanisms=scram_servers_of(CredentialCache()))
    exchange.handshake(SHA_256)
    answer, step = exchange.token(b"n,,n=alice,r=abcdefgh")
    assert answer is None
    assert step.end.name == "CLOSE_NOW"


# -------------------------------------------------------------------------------------------------- quotas

PERCENTAGE, RATE = "request_percentage", "connection_creation_rate"
QUOTAS: dict[QuotaEntity, dict[str, str]] = {
    ((USER, "a%b/ü"),): {PERCENTAGE: "1"},
    ((USER, None),): {PERCENTAGE: "2"},
    ((CLIENT_ID, "c d"),): {PERCENTAGE: "3"},
    ((CLIENT_ID, None),): {PERCENTAGE: "4"},
    ((USER, "a%b/ü"), (CLIENT_ID, "c d")): {PERCENTAGE: "5"},
    ((USER, None), (CLIENT_ID, None)): {PERCENTAGE: "6"},
    ((IP, "10.0.0.1"),): {RATE: "7"},
    ((IP, None),): {RATE: "8"},
}


async def set_quotas(zk: ZooKeeper, wanted: dict[QuotaEntity, dict[str, str]]) -> None:
    for entity, found in wanted.items():
        await QuotaStore(zk).alter(entity, lambda _, found=found: found)  # type: ignore[misc]


@pytest_asyncio.fixture
async def table(zk: ZooKeeper) -> AsyncIterator[QuotaTable]:
    """Follows ZooKeeper. At the start there is nothing."""
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    found = QuotaTable()
    keeper = ClientConfigKeeper(zk, found, None)
    await keeper.start()
    yield found
    await keeper.close()


def values(table: QuotaTable) -> dict[QuotaEntity, float | None]:
    return {entity: table.quota(RATE if entity[0][0] == IP else PERCENTAGE, entity) for entity in QUOTAS}


async def test_sv_5_quotas_of_every_kind_of_entity_count_once_they_are_set_and_until_they_go(
    table: QuotaTable, zk: ZooKeeper
) -> None:
    assert set(values(table).values()) == {None}
    await set_quotas(zk, QUOTAS)
    await eventually(lambda: list(values(table).values()) == [1, 2, 3, 4, 5, 6, 7, 8])
    await set_quotas(zk, {((IP, None),): {}, ((USER, "a%b/ü"),): {PERCENTAGE: "9"}})
    await eventually(lambda: list(values(table).values()) == [9, 2, 3, 4, 5, 6, 7, None])


async def test_sv_5_quotas_that_are_there_at_the_start_count_and_those_that_went_unseen_go(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await set_quotas(zk, QUOTAS)
    found = QuotaTable()
    keeper = ClientConfigKeeper(zk, found, None)
    await keeper.start()
    await keeper.close()
    assert list(values(found).values()) == [1, 2, 3, 4, 5, 6, 7, 8]
    await zk.delete(znode_paths.config("ips/10.0.0.1"))  # it is not announced
    await zk.delete(znode_paths.config(f"users/{quote_name('a%b/ü')}/clients/{quote_name('c d')}"))
    async with ZooKeeper(zk_connect) as other:
        again = ClientConfigKeeper(other, found, None)
        await again.start()
        await again.close()
    assert list(values(found).values()) == [1, 2, 3, 4, None, 6, None, 8]


async def test_sv_5_quotas_that_could_not_be_read_count_once_they_are_repaired_without_an_announcement(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await set_quotas(zk, QUOTAS)
    path = znode_paths.config("ips/10.0.0.1")
    good, _ = await zk.get(path)
    await zk.set(path, b"garbage")
    async with ZooKeeper(zk_connect) as own:
        found = QuotaTable()
        keeper = ClientConfigKeeper(own, found, None)
        await keeper.start()
        assert list(values(found).values()) == [1, 2, 3, 4, 5, 6, None, 8]
        await zk.set(path, b"other garbage")
        await zk.set(path, good)
        await eventually(lambda: list(values(found).values()) == [1, 2, 3, 4, 5, 6, 7, 8])
        await keeper.close()


async def test_sv_5_a_quota_of_a_host_name_holds_for_its_address_and_that_of_an_unknown_name_has_no_effect(
    table: QuotaTable, zk: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await set_quotas(zk, {((IP, "no such host.invalid"),): {RATE: "3"}, ((IP, "localhost"),): {RATE: "5"}})
    await eventually(lambda: 5 in (table.quota(RATE, ((IP, "127.0.0.1"),)), table.quota(RATE, ((IP, "::1"),))))
    assert "no such host.invalid" in caplog.text
    await set_quotas(zk, {((IP, "localhost"),): {}, ((IP, "no such host.invalid"),): {}})
    await eventually(lambda: not table.sets(RATE))


async def test_sv_6_announcements_of_nonsense_change_nothing(table: QuotaTable, zk: ZooKeeper) -> None:
    for path in ("users", "users/a/b", "users/a/clients", "ips/1.2.3.4/clients/x", "topics/t", "users/a/clients/c/d/e"):
        announced = json.dumps({"version": 2, "entity_path": path}).encode()
        await zk.create(znode_paths.CONFIG_CHANGE_PREFIX, announced, sequence=True)
    await set_quotas(zk, QUOTAS)
    await eventually(lambda: list(values(table).values()) == [1, 2, 3, 4, 5, 6, 7, 8])
