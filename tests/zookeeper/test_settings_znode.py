"""`/admin/reassignment_settings` as servers change it: versioned, fenced, in one transaction with what they read."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence

import pytest

from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, MovedSettings
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.access import secured
from kafka_reassign_rpc.zookeeper.operations import Op, Result
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore, decode_settings
from kafka_reassign_rpc.zookeeper.transactions import transact
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

ALICE = requesters.client("User:alice", "admin-1", "10.0.0.7")
INTERVAL, PAUSED, RATE = "failure.interval.ms", "self.healing.paused", "follower.replication.throttled.rate"
OWN, DEFAULTS = znode_paths.config_broker("1000"), znode_paths.config_broker("<default>")


def put(**configs: str) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return lambda current: {**current, **named}


async def at(zk: ZooKeeper, path: str) -> object:
    """The configs in a znode; None where there is none."""
    try:
        return json.loads((await zk.get(path))[0])["config"]
    except NoNode:
        return None


async def announced(zk: ZooKeeper) -> list[str]:
    """The entities whose change was announced to brokers."""
    names = sorted(await zk.children(znode_paths.CONFIG_CHANGES))
    return [json.loads((await zk.get(f"{znode_paths.CONFIG_CHANGES}/{name}"))[0])["entity_path"] for name in names]


async def test_hm_1_settings_are_in_a_znode_of_ours_and_nothing_of_them_under_config(zk: ZooKeeper) -> None:
    await zk.ensure_path(znode_paths.ADMIN)
    store = ServerConfigStore(zk, 1000)
    assert await store.get("brokers", "1000") == {}
    await store.alter("brokers", "1000", put(failure_interval_ms="5"), by=ALICE)
    assert await at(zk, znode_paths.SETTINGS) == {INTERVAL: "5"}
    assert await at(zk, OWN) is None
    await store.alter("brokers", "1000", put(self_healing_paused="true", follower_replication_throttled_rate="7"))
    assert await at(zk, znode_paths.SETTINGS) == {INTERVAL: "5", PAUSED: "true"}
    assert await at(zk, OWN) == {RATE: "7"}, "a config of Kafka's stays where brokers have it"
    assert await announced(zk) == ["brokers/1000"]
    version = (await zk.get(znode_paths.SETTINGS))[1].version
    await store.alter("brokers", "1000", lambda current: current, by=ALICE)
    assert (await zk.get(znode_paths.SETTINGS))[1].version == version, "nothing is written where nothing changes"
    await store.alter("brokers", "1000", lambda _: {}, by=ALICE)
    assert (await at(zk, znode_paths.SETTINGS), await at(zk, OWN)) == ({}, {})


async def test_hm_1_what_says_nothing_does_not_stay_set(zk: ZooKeeper) -> None:
    await zk.ensure_path(znode_paths.ADMIN)
    store = ServerConfigStore(zk, 1000)
    await store.alter("brokers", "1000", put(cordoned_brokers="3", failure_interval_ms="5"), by=ALICE)
    await store.alter("brokers", "1000", put(cordoned_brokers="", reassignment_windows=""), by=ALICE)
    assert await at(zk, znode_paths.SETTINGS) == {INTERVAL: "5"}
    await store.alter("brokers", "<default>", put(cordoned_brokers="3"))
    await store.alter("brokers", "1000", put(cordoned_brokers=""), by=ALICE)
    cordoned = {"cordoned.brokers": "", INTERVAL: "5"}
    assert await at(zk, znode_paths.SETTINGS) == cordoned, "it opens what the brokers' defaults close"


async def test_hm_1_several_servers_share_the_settings_and_lose_no_change_of_each_other(zk: ZooKeeper) -> None:
    await zk.ensure_path(znode_paths.ADMIN)
    stores = [ServerConfigStore(zk, number) for number in (1000, 1001, 1002)]
    names = sorted(SERVER_SETTINGS)

    async def set_one(number: int) -> None:
        change = {names[number]: str(number)}
        store = stores[number % 3]
        await store.alter("brokers", str(1000 + number % 3), lambda current: {**current, **change}, by=ALICE)

    await asyncio.gather(*(set_one(number) for number in range(len(names))))
    wanted = {name: str(number) for number, name in enumerate(names)}
    assert [await store.get("brokers", str(1000 + n)) for n, store in enumerate(stores)] == [wanted] * 3


async def test_hm_1_a_setting_of_a_later_version_stays_and_is_not_shown(zk: ZooKeeper) -> None:
    await zk.ensure_path(znode_paths.ADMIN)
    await zk.create(znode_paths.SETTINGS, b'{"version":1,"config":{"of.tomorrow":"1","failure.interval.ms":"2"}}')
    store = ServerConfigStore(zk, 1000)
    assert await store.get("brokers", "1000") == {INTERVAL: "2"}
    await store.alter("brokers", "1000", lambda _: {PAUSED: "true"}, by=ALICE)
    assert await at(zk, znode_paths.SETTINGS) == {"of.tomorrow": "1", PAUSED: "true"}


async def test_hm_1_settings_that_cannot_be_read_are_not_overwritten(zk: ZooKeeper) -> None:
    await zk.ensure_path(znode_paths.ADMIN)
    await zk.create(znode_paths.SETTINGS, b"garbage")
    store = ServerConfigStore(zk, 1000)
    assert await store.get("brokers", "1000") == {}
    for change in (
        store.alter("brokers", "1000", put(failure_interval_ms="5")),
        store.read("brokers", "1000"),
    ):
        with pytest.raises(BadZnode, match=r"^/admin/reassignment_settings: "):
            await change
    with pytest.raises(BadZnode):
        await store.move(ALICE)
    assert (await zk.get(znode_paths.SETTINGS))[0] == b"garbage"


async def test_hm_1_the_move_takes_all_settings_out_of_the_defaults_at_once_and_keeps_what_holds(zk: ZooKeeper) -> None:
    for path in (znode_paths.ADMIN, znode_paths.config_type("brokers"), znode_paths.CONFIG_CHANGES):
        await zk.ensure_path(path)
    store = ServerConfigStore(zk, 1000)
    assert await store.move(ALICE) == MovedSettings()
    assert await zk.exists(znode_paths.SETTINGS) is None
    await store.alter("brokers", "<default>", lambda _: {INTERVAL: "5", PAUSED: "true", RATE: "7"}, by=ALICE)
    await store.alter("brokers", "1000", put(failure_interval_ms="6"), by=ALICE)
    assert await store.move(ALICE) == MovedSettings({PAUSED: "true"}, {INTERVAL: "5"})
    assert await at(zk, znode_paths.SETTINGS) == {INTERVAL: "6", PAUSED: "true"}
    assert await at(zk, DEFAULTS) == {RATE: "7"}
    written = [(await zk.get(path))[1].mzxid for path in (znode_paths.SETTINGS, DEFAULTS)]
    assert written[0] == written[1], "one transaction"
    assert await announced(zk) == ["brokers/<default>"] * 2, "brokers drop them"
    assert await store.move(ALICE) == MovedSettings()


@pytest.mark.parametrize("changed", ["defaults", "settings", "epoch"])
async def test_hm_1_a_move_during_which_others_write_is_made_again_from_what_is_there_then(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """Also where a controller was elected in between: the transaction checks that first."""
    await zk.ensure_path(znode_paths.ADMIN)
    await zk.create(znode_paths.CONTROLLER_EPOCH, b"1")
    store, other = ServerConfigStore(zk, 1000), ServerConfigStore(zk, 1001)
    await store.alter("brokers", "<default>", lambda _: {INTERVAL: "5"}, by=ALICE)
    failed: list[Exception] = []

    async def late(of: ZooKeeper, ops: Sequence[Op]) -> list[Result]:
        if not failed:
            monkeypatch.setattr(transactions, "transact", transact)
            if changed == "defaults":
                await other.alter("brokers", "<default>", lambda current: {**current, PAUSED: "true"}, by=ALICE)
            elif changed == "settings":
                await other.alter("brokers", "1001", put(failure_interval_ms="6"), by=ALICE)
            else:
                await zk.set(znode_paths.CONTROLLER_EPOCH, b"2")
            try:
                return await transact(of, ops)
            except Exception as error:
                failed.append(error)
                raise
        return await transact(of, ops)

    monkeypatch.setattr(transactions, "transact", late)
    found = await store.move(ALICE)
    assert len(failed) == 1
    expected = {
        "defaults": MovedSettings({INTERVAL: "5", PAUSED: "true"}),
        "settings": MovedSettings({}, {INTERVAL: "5"}),
        "epoch": MovedSettings({INTERVAL: "5"}),
    }
    assert found == expected[changed]
    assert await at(zk, DEFAULTS) == {}
    holds = {"defaults": {INTERVAL: "5", PAUSED: "true"}, "settings": {INTERVAL: "6"}, "epoch": {INTERVAL: "5"}}
    assert await at(zk, znode_paths.SETTINGS) == holds[changed]


def test_hm_1_in_a_secured_zookeeper_all_read_the_settings_and_only_servers_and_brokers_write_them() -> None:
    assert secured(znode_paths.SETTINGS) == secured(znode_paths.REASSIGNMENTS)
    assert secured(znode_paths.SETTINGS) != secured(DEFAULTS), "they hold no secrets, as configs of brokers may"


async def test_fg_5_the_znode_tells_who_has_set_or_deleted_a_setting_while_it_has_that_value(
    zk: ZooKeeper,
) -> None:
    await zk.ensure_path(znode_paths.ADMIN)
    store = ServerConfigStore(zk, 1000)
    bob = requesters.client("User:bob", None, "10.0.0.8")

    async def by() -> dict[str, str]:
        data, _ = await zk.get(znode_paths.SETTINGS)
        return {name: one.who for name, one in decode_settings(data, znode_paths.SETTINGS).by().items()}

    await store.alter("brokers", "1000", put(self_healing_paused="true", failure_interval_ms="5"), by=ALICE)
    await store.alter("brokers", "1000", put(failure_interval_ms="6"), by=bob)
    assert await by() == {PAUSED: ALICE.who, INTERVAL: bob.who}
    await store.alter("brokers", "1000", lambda _: {INTERVAL: "6"}, by=bob)
    assert await by() == {PAUSED: bob.who, INTERVAL: bob.who}, "who has deleted it"
    content = json.loads((await zk.get(znode_paths.SETTINGS))[0])
    content["config"] = {INTERVAL: "7"}
    await zk.set(znode_paths.SETTINGS, json.dumps(content).encode())
    assert await by() == {PAUSED: bob.who}, "somebody has edited the znode"
    await store.alter("brokers", "1000", put(self_healing_paused="true"), by=requesters.CONTROLLER)
    assert await by() == {}, "of anybody but a client no name is stored, and no former one is left"


@pytest.mark.parametrize(
    "set_by", [7, [], {INTERVAL: 7}, {INTERVAL: {"principal": 1}}, {INTERVAL: {"principal": "x" * 999, "address": "a"}}]
)
def test_fg_5_settings_hold_whatever_is_in_the_place_of_their_author(set_by: object) -> None:
    data = json.dumps({"version": 1, "config": {INTERVAL: "5"}, "set_by": set_by}).encode()
    found = decode_settings(data, "/x")
    assert (found.configs, found.by()) == ({INTERVAL: "5"}, {})
