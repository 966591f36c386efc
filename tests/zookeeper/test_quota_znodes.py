"""Configs of users, clients and IPs on a real ZooKeeper."""

import json
import logging
from collections.abc import Mapping, Sequence

import pytest

from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, USER, QuotaEntity
from kafka_reassign_rpc.zookeeper.config_znodes import Change, QuotaStore, quota_path, quote_name, unquote_name
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

ODD = "alice@x y*~/é"
ODD_QUOTED = "alice%40x%20y%2A%7E%2F%C3%A9"


def rate(value: str, _: Mapping[str, str] | None = None) -> Mapping[str, str]:
    return {"producer_byte_rate": value}


async def put(store: QuotaStore, entity: QuotaEntity, value: str) -> None:
    await store.alter(entity, lambda current: {**current, "producer_byte_rate": value})


async def test_sv_5_names_of_users_clients_and_ips_are_quoted_as_kafka_quotes_them(zk: ZooKeeper) -> None:
    store = QuotaStore(zk)
    await put(store, ((USER, ODD),), "1")
    await put(store, ((USER, ODD), (CLIENT_ID, "<default>")), "2")
    await put(store, ((USER, None),), "3")
    await put(store, ((IP, "10.0.0.1"),), "4")
    assert sorted(await zk.children("/config/users")) == ["<default>", ODD_QUOTED]
    assert await zk.children(f"/config/users/{ODD_QUOTED}/clients") == ["%3Cdefault%3E"], "a name, not the default"
    names = sorted(await zk.children("/config/changes"))
    announced = [json.loads((await zk.get(f"/config/changes/{name}"))[0])["entity_path"] for name in names]
    assert announced == [
        f"users/{ODD_QUOTED}",
        f"users/{ODD_QUOTED}/clients/%3Cdefault%3E",
        "users/<default>",
        "ips/10.0.0.1",
    ]
    assert await store.get(((USER, ODD),)) == rate("1")
    assert unquote_name(quote_name(ODD)) == ODD
    assert quota_path(((CLIENT_ID, None),)) == "clients/<default>"


async def test_sv_5_entities_are_found_by_their_types_and_by_the_names_that_are_asked_for(zk: ZooKeeper) -> None:
    store = QuotaStore(zk)
    entities: list[QuotaEntity] = [
        ((USER, "a"),),
        ((USER, "a"), (CLIENT_ID, "x")),
        ((USER, "a"), (CLIENT_ID, None)),
        ((USER, "b"), (CLIENT_ID, "x")),
        ((USER, None), (CLIENT_ID, "y")),
        ((CLIENT_ID, "x"),),
    ]
    for index, entity in enumerate(entities):
        await put(store, entity, str(index))
    pair = (USER, CLIENT_ID)
    assert set(await store.get_all(pair, {})) == set(entities[1:5])
    assert await store.get_all(pair, {USER: "a"}) == {entities[1]: rate("1"), entities[2]: rate("2")}
    assert set(await store.get_all(pair, {CLIENT_ID: "x"})) == {entities[1], entities[3]}
    assert set(await store.get_all(pair, {USER: None, CLIENT_ID: "y"})) == {entities[4]}
    assert await store.get_all((USER,), {USER: "nobody"}) == {}
    assert await store.get_all((IP,), {}) == {}
    users = await store.get_all((USER,), {})
    assert users[((USER, "a"),)] == rate("0")
    assert users[((USER, "b"),)] == {}, "the parent of a client has no configs"


async def test_sv_6_a_malformed_znode_of_a_user_is_reported_and_left_out(
    zk: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    store = QuotaStore(zk)
    await put(store, ((USER, "good"),), "1")
    await zk.create("/config/users/bad", b"garbage")
    assert await store.get_all((USER,), {}) == {((USER, "good"),): rate("1")}
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["/config/users/bad"]


def without(*names: str) -> Change:
    return lambda current: {name: value for name, value in current.items() if name not in names}


QUOTA = "producer_byte_rate"
USERS, CLIENTS, IPS = (f"/config/{kind}" for kind in ("users", "clients", "ips"))


@pytest.mark.parametrize(
    ("entity", "parent"),
    [
        (((USER, "a"),), USERS),
        (((USER, None),), USERS),
        (((CLIENT_ID, "x"),), CLIENTS),
        (((CLIENT_ID, None),), CLIENTS),
        (((IP, "10.0.0.1"),), IPS),
        (((IP, None),), IPS),
        (((USER, "a"), (CLIENT_ID, "x")), USERS),
        (((USER, "a"), (CLIENT_ID, None)), USERS),
        (((USER, None), (CLIENT_ID, "x")), USERS),
        (((USER, None), (CLIENT_ID, None)), USERS),
    ],
)
async def test_hm_4_an_entity_without_quotas_keeps_no_znode_and_the_change_is_announced(
    zk: ZooKeeper, entity: QuotaEntity, parent: str
) -> None:
    store = QuotaStore(zk)
    await put(store, entity, "1")
    await store.alter(entity, without(QUOTA))
    assert await zk.children(parent) == []
    await store.alter(entity, without(QUOTA))
    assert await zk.children(parent) == [], "the removal of a quota that never was makes no znode"
    names = await zk.children("/config/changes")
    announced = [json.loads((await zk.get(f"/config/changes/{name}"))[0])["entity_path"] for name in names]
    assert announced == [quota_path(entity)] * 3


async def test_hm_4_a_user_stays_as_long_as_it_has_quotas_credentials_or_clients(zk: ZooKeeper) -> None:
    store, user = QuotaStore(zk), ((USER, "a"),)
    first, second = ((USER, "a"), (CLIENT_ID, "x")), ((USER, "a"), (CLIENT_ID, "y"))
    for entity in (user, first, second):
        await put(store, entity, "1")
    await store.alter(user, lambda current: {**current, "SCRAM-SHA-256": "credential"})

    await store.alter(first, without(QUOTA))
    assert await zk.children(f"{USERS}/a/clients") == ["y"]
    await store.alter(user, without(QUOTA))
    assert await store.get(user) == {"SCRAM-SHA-256": "credential"}
    await store.alter(second, without(QUOTA))
    assert await zk.children(f"{USERS}/a") == [], "the parent of the clients is gone, the user has a credential"
    await put(store, first, "1")
    await store.alter(user, without("SCRAM-SHA-256"))
    assert json.loads((await zk.get(f"{USERS}/a"))[0])["config"] == {}, "the user has a client"
    await store.alter(first, without(QUOTA))
    assert await zk.children(USERS) == []


async def test_hm_4_a_user_whose_znode_cannot_be_read_or_has_other_children_stays(zk: ZooKeeper) -> None:
    store, entity = QuotaStore(zk), ((USER, "a"), (CLIENT_ID, "x"))
    await put(store, entity, "1")
    await zk.set(f"{USERS}/a", b"{garbage", 0)
    await store.alter(entity, without(QUOTA))
    assert await zk.children(f"{USERS}/a") == []
    await zk.set(f"{USERS}/a", b"", 1)
    await put(store, entity, "1")
    await zk.create(f"{USERS}/a/others", b"")
    await store.alter(entity, without(QUOTA))
    assert await zk.children(f"{USERS}/a") == ["others"]


async def test_hm_4_a_quota_that_is_set_while_the_last_one_is_removed_stays(zk: ZooKeeper, zk_connect: str) -> None:
    """The read of one falls between the read and the write of the other, in either order."""
    mine, entity = QuotaStore(zk), ((USER, "a"), (CLIENT_ID, "x"))
    await put(mine, entity, "1")
    read_parents = zk.multi_get
    raced: list[Sequence[str]] = []

    async def slow(paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        found = await read_parents(paths)
        if not raced:
            raced.append(paths)
            async with ZooKeeper(zk_connect) as other:
                await put(QuotaStore(other), ((USER, "a"), (CLIENT_ID, "y")), "2")
                await put(QuotaStore(other), ((USER, "a"),), "3")
        return found

    zk.multi_get = slow  # type: ignore[method-assign]
    await mine.alter(entity, without(QUOTA))

    assert raced
    assert await zk.children(f"{USERS}/a/clients") == ["y"]
    assert await mine.get(((USER, "a"), (CLIENT_ID, "y"))) == rate("2")
    assert await mine.get(((USER, "a"),)) == rate("3")
