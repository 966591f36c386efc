"""Configs of users, clients and IPs on a real ZooKeeper."""

import json
import logging
from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, USER, QuotaEntity
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore, quota_path, quote_name, unquote_name
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
    assert [record.message.partition(": ")[2].partition(":")[0] for record in caplog.records] == ["/config/users/bad"]
