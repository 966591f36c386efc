"""A server with the server.properties of a broker, and clients that authenticate: real processes, real sockets.

The listeners are EXTERNAL (SASL_PLAINTEXT) and SECURE (SASL_SSL).
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from joserfc import jwt
from joserfc.jwk import KeySet
from kafka.admin import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.config_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.processes import Process, processes
from tests.security.sasl_steps import CREDENTIALS, as_config, scram_credential
from tests.security.test_oauthbearer import RSA
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLAIN_JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' user_alice="alice-secret" "user_é,=%"="é,=%-secret";'
)
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SCRAM_USER, SCRAM_SECRET = "a=b%c", "a=b%c-secret"


class Served:
    """A running server, its addresses by listener, and what its clients trust."""

    def __init__(self, process: Process, directory: Path, trusted: str, zookeeper: str) -> None:
        self.zookeeper = zookeeper
        self.process = process
        self.directory = directory
        self.trusted = trusted
        self.addresses: dict[str, str] = {}

    def everything_written(self) -> str:
        """All that the process has written: its log and its event logs."""
        events = "".join(path.read_text() for path in self.directory.rglob("*.jsonl"))
        return self.process.log + events


def ascii_only(value: str) -> str:
    """As a line of a properties file."""
    return "".join(c if c < "\x80" else f"\\u{ord(c):04x}" for c in value)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(zookeeper: EmbeddedZooKeeper, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    directory = tmp_path_factory.mktemp("sasl")
    ca = Authority("CN=ca")
    ca.pem_truststore(directory / "ca.pem")
    jwks = directory / "keys.json"
    jwks.write_text(json.dumps(KeySet([RSA]).as_dict(private=False)))
    properties = {
        "listeners": "EXTERNAL://127.0.0.1:0,SECURE://127.0.0.1:0",
        "listener.security.protocol.map": "EXTERNAL:SASL_PLAINTEXT,SECURE:SASL_SSL",
        "sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM, "OAUTHBEARER")),
        "listener.name.external.plain.sasl.jaas.config": PLAIN_JAAS,
        "listener.name.secure.plain.sasl.jaas.config": PLAIN_JAAS,
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{jwks}",
        **ca.issue("CN=server").pem_keystore(directory / "server.pem"),
    }
    path = directory / "server.properties"
    path.write_text("".join(f"{name}={ascii_only(value)}\n" for name, value in properties.items()))
    connect = f"{zookeeper.address}/sasl-clients"
    async with ZooKeeper(zookeeper.address) as outside:
        await outside.ensure_path("/sasl-clients/config/users")
        for user in ("alice", "bob"):
            config = {name: as_config(CREDENTIALS[name][user]) for name in SCRAM}
            data = json.dumps({"version": 1, "config": config}).encode()
            await outside.create(f"/sasl-clients/config/users/{user}", data)
    async with processes(directory) as group:
        process = await group.start(
            "server", "serve", "--zookeeper-connect", connect, "--kafka-config", str(path),
            "--kafka-config-listeners", "true", "--event-log-dir", str(directory / "events"), "--log-level", "DEBUG",
        )  # fmt: skip
        found = Served(process, directory, str(directory / "ca.pem"), connect)
        async with ZooKeeper(connect) as zk:
            owner = await controller_election.owner(zk)
        assert owner is not None
        found.addresses = {one.listener: f"{one.host}:{one.port}" for one in owner.endpoints}
        assert found.addresses["EXTERNAL"] == process.ready_value("bootstrap")
        yield found


def refusal(served: Served, listener: str, mechanism: str, user: str, password: str) -> str:
    """What librdkafka is answered where its credentials are wrong; "" where they are right."""
    told: list[KafkaError] = []
    client = librdkafka(served, listener, mechanism, user, password, told.append)
    for _ in range(100):
        try:
            client.list_topics(timeout=0.2)
        except KafkaException:
            client.poll(0)
        else:
            return ""
        wrong = [error.str() for error in told if error.code() == KafkaError._AUTHENTICATION]
        if wrong:
            return str(wrong[0])
    raise AssertionError(told)


LISTENERS = ("EXTERNAL", "SECURE")
USERS = [("PLAIN", "alice", "alice-secret"), ("PLAIN", "é,=%", "é,=%-secret")] + [
    (name, "alice", "alice-secret") for name in SCRAM
]


def token() -> str:
    now = int(time.time())
    return jwt.encode({"alg": "RS256", "kid": "rsa"}, {"sub": "alice", "iat": now, "exp": now + 600}, RSA)


class Provider(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        self._text = text

    def token(self) -> str:
        return self._text


def ask_by_kafka_python(served: Served, listener: str, mechanism: str, user: str, password: str) -> Any:
    options: dict[str, Any] = {"sasl_plain_username": user, "sasl_plain_password": password}
    if mechanism == "OAUTHBEARER":
        options = {"sasl_oauth_token_provider": Provider(password)}
    if listener == "SECURE":
        options |= {"ssl_cafile": served.trusted}
    client = KafkaAdminClient(
        bootstrap_servers=served.addresses[listener],
        security_protocol="SASL_SSL" if listener == "SECURE" else "SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        **options,
    )
    try:
        return client.describe_cluster()
    finally:
        client.close()


def librdkafka(
    served: Served,
    listener: str,
    mechanism: str,
    user: str,
    password: str,
    tell: Callable[[KafkaError], None] = lambda _: None,
) -> AdminClient:
    options: dict[str, Any] = {"sasl.username": user, "sasl.password": password}
    if mechanism == "OAUTHBEARER":
        options = {"oauth_cb": lambda _: (password, time.time() + 600)}
    if listener == "SECURE":
        options["ssl.ca.location"] = served.trusted
    client = AdminClient(
        {
            "bootstrap.servers": served.addresses[listener],
            "security.protocol": "sasl_ssl" if listener == "SECURE" else "sasl_plaintext",
            "sasl.mechanism": mechanism,
            "log_level": 0,
            "error_cb": tell,
            **options,
        }
    )
    if mechanism == "OAUTHBEARER":
        client.poll(0)
    return client


def ask_by_librdkafka(served: Served, listener: str, mechanism: str, user: str, password: str) -> Any:
    return librdkafka(served, listener, mechanism, user, password).list_topics(timeout=20).brokers


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("ask", [ask_by_kafka_python, ask_by_librdkafka])
async def test_sv_5_clients_authenticate_with_each_mechanism(
    served: Served, ask: Callable[..., Any], listener: str
) -> None:
    for mechanism, user, password in [*USERS, ("OAUTHBEARER", "", token())]:
        assert await asyncio.to_thread(ask, served, listener, mechanism, user, password)


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM, "OAUTHBEARER"])
async def test_sv_5_wrong_credentials_are_said_to_be_wrong(served: Served, mechanism: str) -> None:
    assert await asyncio.to_thread(refusal, served, "EXTERNAL", mechanism, "alice", "wrong-secret")


async def test_sv_5_new_credentials_count_at_once_and_deleted_ones_no_longer(served: Served) -> None:
    """They are changed in ZooKeeper, as a broker changes them for `kafka-configs.sh`."""
    configs = {name: as_config(scram_credential(name, SCRAM_SECRET)) for name in SCRAM}

    async def log_in() -> bool:
        return not await asyncio.to_thread(refusal, served, "EXTERNAL", "SCRAM-SHA-256", SCRAM_USER, SCRAM_SECRET)

    async with ZooKeeper(served.zookeeper) as zk:
        store = QuotaStore(zk)
        assert not await log_in()
        await store.alter(((USER, SCRAM_USER),), lambda _: configs)
        await eventually(log_in)
        await store.alter(((USER, SCRAM_USER),), lambda _: {})
        await eventually(lambda: _not(log_in))


async def _not(condition: Callable[[], Any]) -> bool:
    return not await condition()


@pytest.mark.stock
@pytest.mark.release
@pytest.mark.parametrize("listener", LISTENERS)
async def test_sv_5_the_stock_tools_authenticate_by_their_command_config(served: Served, listener: str) -> None:
    require(BROKER_VERSION)
    tools = Tools(BROKER_VERSION)
    await asyncio.to_thread(tools.start)
    try:
        for mechanism, module in (
            ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
            ("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"),
        ):
            for password, right in (("alice-secret", True), ("wrong-secret", False)):
                lines = {
                    "security.protocol": "SASL_SSL" if listener == "SECURE" else "SASL_PLAINTEXT",
                    "sasl.mechanism": mechanism,
                    "sasl.jaas.config": f'{module} required username="alice" password="{password}";',
                    "ssl.truststore.type": "PEM",
                    "ssl.truststore.location": served.trusted,
                }
                path = served.directory / "client.properties"
                path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
                output = await tools.run(
                    "reassign-partitions", "--bootstrap-server", served.addresses[listener],
                    "--command-config", str(path), "--list",
                )  # fmt: skip
                said = output.out + output.err
                assert ("No partition reassignments found." in said) == right, said
                assert ("SaslAuthenticationException" in said) != right, said
    finally:
        tools.stop()


async def test_sv_5_no_secret_is_in_what_the_server_writes(served: Served) -> None:
    """The last test of the file: the log is at level DEBUG, and has seen all of them."""
    written = served.everything_written()
    assert "not authenticated" in written
    for secret in ("alice-secret", "wrong-secret", SCRAM_SECRET, "é,=%-secret", token()[:40]):
        assert secret not in written
    assert as_config(CREDENTIALS["SCRAM-SHA-256"]["alice"])[5:40] not in written
