"""A secured stock cluster under our controller: mTLS among brokers, SASL_SSL for clients, ACLs, and a ZooKeeper that
knows its users and whose znodes only brokers may write. The server gets a broker's own server.properties.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import ReassignmentClient, client_configs
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from tests.certificates import Authority
from tests.waiting import eventually

from .mixed_cluster import controller
from .secured_cluster import (
    BROKERS,
    STORE_SECRET,
    Secured,
    common_properties,
    create_topic,
    delete_topic,
    secured_cluster,
)
from .zookeeper_users import SECRET

pytestmark = [
    pytest.mark.stock,
    pytest.mark.stock_live,
    pytest.mark.asyncio(loop_scope="module"),
]

MINE, ALL_READ = AclEntry(31, "sasl", "kafka"), AclEntry(1, "world", "anyone")


def broker_properties(directory: Path, ca: Authority) -> dict[str, str]:
    """Of one broker, whose certificate names User:CN=kafka."""
    return {
        **common_properties(directory, ca),
        "ssl.client.auth": "required",
        "listeners": "INTERNAL://127.0.0.1:0,CLIENT://127.0.0.1:0",
        "listener.security.protocol.map": "INTERNAL:SSL,CLIENT:SASL_SSL",
        "inter.broker.listener.name": "INTERNAL",
        "super.users": "User:CN=kafka;User:admin",
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    async with secured_cluster(tmp_path_factory.mktemp("secured"), broker_properties) as made:
        yield made


async def test_sv_5_a_secured_stock_cluster_runs_under_our_controller_and_goes_back(secured: Secured) -> None:
    server = await secured.serve("server")
    assert await controller(secured.zk) == 1000
    ours = server.ready_value("bootstrap")
    certificate = secured.file("certificate", secured.certificate())
    configs = client_configs(ours, secured.certificate())

    await asyncio.to_thread(create_topic, configs, "t")
    await asyncio.to_thread(secured.produce, "t", 100)
    await secured.move(ours, certificate, {("t", 0): [2], ("t", 1): [1]})
    assert await asyncio.to_thread(secured.consume, "t", 100) == {b"%d" % number for number in range(100)}

    for path in (znode_paths.topic("t"), znode_paths.partition_state("t", 0), znode_paths.REASSIGNMENTS):
        assert await secured.zk.acl(path) == [MINE, ALL_READ], path
    assert await secured.zk.acl(znode_paths.config_type("brokers")) == [MINE]
    assert "does not take this server" not in server.log
    for secret in (SECRET, STORE_SECRET, "battery"):
        assert secret not in server.log

    assert await server.stop() == 0
    await eventually(secured.stock_controls, within=60)
    await asyncio.to_thread(delete_topic, client_configs(secured.internal, secured.certificate()), "t")

    async def is_deleted() -> bool:
        return await secured.zk.exists(znode_paths.topic("t")) is None

    await eventually(is_deleted, within=60)


async def test_sv_5_our_clients_reach_stock_brokers_by_every_login(secured: Secured) -> None:
    by_certificate = client_configs(secured.internal, secured.certificate())
    for bootstrap, configs in (
        (secured.internal, by_certificate),
        (secured.listener("CLIENT", 1), client_configs(secured.listener("CLIENT", 1), secured.login("PLAIN"))),
        (secured.listener("CLIENT", 2), client_configs(secured.listener("CLIENT", 2), secured.login("SCRAM-SHA-512"))),
    ):
        assert await asyncio.to_thread(nodes, configs) == set(BROKERS), bootstrap
    listed = await secured.reassign(
        secured.listener("CLIENT", 1), secured.file("scram", secured.login("SCRAM-SHA-512")), "--list"
    )
    assert (listed.code, listed.out) == (0, "No partition reassignments found.\n")


def nodes(configs: dict[str, object]) -> set[int]:
    with ReassignmentClient(**configs) as client:
        return {node.id for node in client.describe_cluster()}


async def test_sv_5_a_wrong_password_and_a_wrong_authority_are_said_without_secrets(secured: Secured) -> None:
    strange = Authority("CN=strange").pem_truststore(secured.directory / "strange.pem")
    cases = {
        "plain": (secured.login("PLAIN", "wr0ng"), "Authentication failed: Invalid username or password"),
        "scram": (secured.login("SCRAM-SHA-512", "wr0ng"), "Authentication failed"),
        "authority": (secured.login("PLAIN", **strange), "certificate"),
    }
    for name, (properties, text) in cases.items():
        soon = {"default.api.timeout.ms": "30000", "request.timeout.ms": "30000"}
        said = await secured.reassign(
            secured.listener("CLIENT", 1), secured.file(name, {**properties, **soon}), "--list"
        )
        assert said.code == 1, name
        assert text.lower() in (said.out + said.err).lower(), (name, said)
        assert "wr0ng" not in said.out + said.err
        assert SECRET not in said.out + said.err


async def test_sv_5_a_server_without_the_right_says_so_once(secured: Secured) -> None:
    stranger = secured.certificate("stranger")
    toml = secured.directory / "stranger.toml"
    names = ("ssl.keystore.location", "ssl.keystore.type", "ssl.keystore.password")
    found = {**stranger, "ssl.keystore.password": ""}
    toml.write_text("".join(f'"{name}" = "{found[name]}"\n' for name in names if found[name]))
    properties = dict(secured.stock.brokers[1].properties)
    properties = {name: value for name, value in properties.items() if not name.startswith("ssl.keystore")}
    server = await secured.start(
        "stranger", "--kafka-config", secured.file("without", properties), "--config", str(toml)
    )
    for broker in secured.stock.brokers.values():
        text = f"broker {broker.id} does not take this server as its controller (CLUSTER_AUTHORIZATION_FAILED)"
        await eventually(lambda text=text: text in server.log, within=30)  # type: ignore[misc]
    await asyncio.sleep(2.5)  # it goes on trying every second
    assert server.log.count("CLUSTER_AUTHORIZATION_FAILED") == len(BROKERS)
    assert await server.stop() == 0
    await eventually(secured.stock_controls, within=60)
