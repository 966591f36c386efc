"""Configs that clients read and change at a server whose ZooKeeper is away."""

import pytest

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore, QuotaStore
from kafka_reassign_rpc.zookeeper.served_configs import ServedConfigs, ServedQuotas, ServedSettings
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

ALICE = requesters.client("User:alice", "admin-1", "10.0.0.7")


async def test_sv_2_a_client_of_configs_learns_that_zookeeper_is_away(zk_connect: str) -> None:
    """It is no defect of the server, and needs no traceback in its log."""
    async with ZooKeeper(zk_connect) as zk:
        configs = ServedConfigs(ConfigStore(zk))
        await configs.alter(TOPICS, "t", lambda _: {"flush.ms": "500"}, ALICE)
        assert await configs.get(TOPICS, "t") == {"flush.ms": "500"}
    with pytest.raises(BrokerNotAvailable, match="ZooKeeper cannot be asked"):
        await configs.get(TOPICS, "t")
    with pytest.raises(BrokerNotAvailable, match="ZooKeeper cannot be asked"):
        await configs.alter(TOPICS, "t", lambda _: {}, ALICE)


async def test_sv_2_a_client_of_quotas_learns_that_zookeeper_is_away(zk_connect: str) -> None:
    alice = ((USER, "alice"),)
    set_by_somebody = {"request_percentage": "5"}
    async with ZooKeeper(zk_connect) as zk:
        quotas = ServedQuotas(QuotaStore(zk))
        await quotas.alter(alice, lambda _: set_by_somebody, ALICE)
        assert await quotas.get(alice) == set_by_somebody
        assert await quotas.get_all((USER,), {}) == {alice: set_by_somebody}
    for call in (
        lambda: quotas.get(alice),
        lambda: quotas.get_all((USER,), {}),
        lambda: quotas.alter(alice, lambda _: {}, ALICE),
    ):
        with pytest.raises(BrokerNotAvailable, match="ZooKeeper cannot be asked"):
            await call()


async def test_fg_5_each_change_of_dynamic_configs_has_an_event_with_who(zk_connect: str) -> None:
    recorded: list[Event] = []
    async with ZooKeeper(zk_connect) as zk:
        await zk.ensure_path(znode_paths.ADMIN)
        store = ServerConfigStore(zk, 1000)
        configs, quotas = ServedConfigs(store, recorded.extend), ServedQuotas(QuotaStore(zk), recorded.extend)
        await configs.alter(TOPICS, "t", lambda _: {"flush.ms": "500", "plug.in": "secret"}, ALICE)
        await configs.alter(TOPICS, "t", lambda current: current, ALICE)
        await configs.alter(BROKERS, DEFAULT, lambda _: {"self.healing.paused": "true"}, ALICE)
        secrets = {"ssl.keystore.password": "pass", "password.encoder.old.secret": "pass"}
        await configs.alter(BROKERS, "1000", lambda _: secrets, ALICE)
        await ServedSettings(store, recorded.extend).move(ALICE)
        many = {f"x.{number}": "1" for number in range(9)}
        await configs.alter(TOPICS, "u", lambda _: many, ALICE)
        await quotas.alter(((USER, "bob"), ("client-id", None)), lambda _: {"request_percentage": "5"}, ALICE)
        await quotas.alter(((USER, "bob"),), lambda _: {"SCRAM-SHA-256": "salt=…"}, ALICE)
        await quotas.alter(((USER, "bob"),), lambda _: {}, ALICE)
    assert {event.event for event in recorded} == {"config.changed"}
    assert {event.who for event in recorded} == {ALICE.who}
    assert [(event.topic, event.broker, event.reason) for event in recorded] == [
        ("t", None, "topic t: flush.ms unset -> 500, plug.in unset -> (hidden)"),
        (None, None, "all brokers: self.healing.paused unset -> true"),
        (None, 1000, f"node 1000: {', '.join(f'{name} unset -> (hidden)' for name in sorted(secrets))}"),
        (None, None, "settings of all servers: self.healing.paused unset -> true"),
        (None, None, "all brokers: self.healing.paused true -> unset"),
        ("u", None, f"topic u: {', '.join(f'x.{n} unset -> (hidden)' for n in range(5))} and 4 more"),
        (None, None, "user bob, client-id (default): request_percentage unset -> 5"),
        (None, None, "user bob: SCRAM-SHA-256 unset -> (hidden)"),
        (None, None, "user bob: SCRAM-SHA-256 (hidden) -> unset"),
    ]
