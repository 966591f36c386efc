"""SASL message by message on our server and on a stock broker 3.9.1: clients see the same.

Ours runs live. A stock broker runs beside it where tests marked `more` do more, and must do what is recorded of it;
elsewhere the recording speaks for it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.security.sasl.mechanism import MakeSaslServer
from kafka_reassign_rpc.security.sasl.sasl_authenticator import SaslAuthenticator, SaslSettings
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import quote_name
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.api.model_node import ModelNode
from tests.security.sasl_scenarios import (
    DELAY_MS,
    REAUTH,
    RECEIVE_SIZE,
    SASL,
    SCENARIOS,
    SCRAM,
    SCRAM_USERS,
    SESSION_MS,
    play,
)
from tests.security.sasl_steps import as_config, mechanisms, scram_servers
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import Recordings, Transcript, plain, runs_live

RECORDED = Recordings(Path(__file__).with_name("recorded"))
NAME = "sasl"
AT_ONCE = 30
"""Connections: a stock broker has a short queue for new ones."""
PLAIN_JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret";'
)
SCRAM_JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
PROPERTIES = {
    "listeners": f"PLAINTEXT://127.0.0.1:0,{SASL}://127.0.0.1:0,{REAUTH}://127.0.0.1:0",
    "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{SASL}:SASL_PLAINTEXT,{REAUTH}:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
    "sasl.server.max.receive.size": str(RECEIVE_SIZE),
    "connection.failed.authentication.delay.ms": str(DELAY_MS),
} | {
    f"listener.name.{listener.lower()}.{name}.{key}": value
    for listener in (SASL, REAUTH)
    for name, jaas in (("plain", PLAIN_JAAS), (SCRAM.lower(), SCRAM_JAAS))
    for key, value in (
        ("sasl.jaas.config", jaas),
        ("connections.max.reauth.ms", str(SESSION_MS if listener == REAUTH else 0)),
    )
}

pytestmark = [pytest.mark.more, pytest.mark.timeout(600)]


async def play_all(addresses: Mapping[str, tuple[str, int]]) -> dict[str, Transcript]:
    places = asyncio.Semaphore(AT_ONCE)

    async def placed(name: str) -> Transcript:
        listener, steps = SCENARIOS[name]
        async with places:
            return await play(steps, addresses[listener])

    return dict(zip(SCENARIOS, await asyncio.gather(*map(placed, SCENARIOS)), strict=True))


async def on_ours() -> dict[str, Transcript]:
    enabled: dict[str, MakeSaslServer] = {"PLAIN": mechanisms()["PLAIN"], **scram_servers({SCRAM: SCRAM_USERS})}
    listeners = []
    for name in (SASL, REAUTH):
        reauth = dict.fromkeys(enabled, SESSION_MS) if name == REAUTH else {}
        settings = SaslSettings(mechanisms=enabled, max_receive_size=RECEIVE_SIZE, max_reauth_ms=reauth)
        authenticator = partial(SaslAuthenticator, settings)
        listeners.append(Listener("127.0.0.1", 0, name, "SASL_PLAINTEXT", authenticator=authenticator))
    limits = ServerLimits(connection_failed_authentication_delay_ms=DELAY_MS)
    server = Server(Dispatcher(ModelNode()), listeners, limits)
    await server.start()
    try:
        return await play_all(server.addresses)
    finally:
        await server.close(deadline=1.0)


async def on_stock(directory: Path) -> dict[str, Transcript]:
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address))
        await zk.ensure_path("/config/users")
        for user, credential in SCRAM_USERS.items():
            document = {"version": 1, "config": {SCRAM: as_config(credential)}}
            await zk.create(znode_paths.config(f"users/{quote_name(user)}"), json.dumps(document).encode())
        cluster = StockCluster(zookeeper.address, directory, [1], overrides=PROPERTIES)
        stack.push_async_callback(cluster.kill)
        await cluster.start()
        registered = json.loads((await zk.get("/brokers/ids/1"))[0])
        addresses = {}
        for endpoint in registered["endpoints"]:
            name, _, place = endpoint.partition("://")
            addresses[name] = (place.rpartition(":")[0], int(place.rpartition(":")[2]))
        return await play_all(addresses)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ours(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Transcript]]:
    if runs_live():
        require(BROKER_VERSION)
        live = await on_stock(tmp_path_factory.mktemp("sasl"))
        RECORDED.check(NAME, list(live.items()))
    yield await on_ours()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", SCENARIOS)
async def test_sv_5_sasl_looks_to_clients_as_on_a_stock_broker(name: str, ours: dict[str, Transcript]) -> None:
    assert plain([(name, ours[name])]) == [(name, dict(RECORDED.get(NAME))[name])]


def test_each_recording_has_its_scenario() -> None:
    assert dict(RECORDED.get(NAME)).keys() == SCENARIOS.keys()
