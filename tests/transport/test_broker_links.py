"""Connections to brokers over every security protocol, by the settings of brokers, over real sockets."""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.protocol.messages import StopReplicaRequest
from kafka_reassign_rpc.security.login.sasl_login import client_security
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.transport.broker_links import LOGIN, RIGHTS, BrokerLinks, BrokerRefuses, broker_links
from kafka_reassign_rpc.transport.rpc_client import connect
from tests.certificates import Authority, Issued
from tests.tables import for_each

from .secured_broker import SecuredBroker, secured_broker

SECRET = 'h"ush=,; 密'
USERS = {"kafka": SECRET, "a,b=c": SECRET}
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class Cluster:
    """An authority, a broker's certificate, and settings that trust it."""

    def __init__(self, directory: Path) -> None:
        self.ca = Authority("CN=ca")
        self.server = self.ca.issue("CN=broker")
        self.directory = directory
        self.trust = self.ca.pem_truststore(directory / "ca.pem")

    def context(self, own: Issued | None = None, /, **more: str) -> ssl.SSLContext:
        store = (own or self.server).pem_keystore(self.directory / "server.pem")
        return TlsConfig.of({**store, **self.trust, **more}).load_server().context


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def jaas(module: str, user: str, password: str = SECRET) -> str:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'{module} required username="{user}" password="{quoted}";'


def scram(user: str = "kafka", password: str = SECRET) -> dict[str, str]:
    return {
        "inter.broker.listener.name": "INTERNAL",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.internal.scram-sha-512.sasl.jaas.config": jaas(SCRAM, user, password),
    }


async def asks(links: BrokerLinks, there: SecuredBroker, times: int = 1) -> None:
    """Open a connection and have requests answered on it."""
    client = await links.open(there.broker, "1000", 10.0)
    try:
        for _ in range(times):
            answer = await client.call(StopReplicaRequest, StopReplicaRequest(version=3, topic_states=[]), 3)
            assert not answer.error_code
    finally:
        client.close()


async def refusal(links: BrokerLinks, there: SecuredBroker) -> str:
    with pytest.raises(BrokerRefuses) as refused:
        await links.open(there.broker, "1000", 10.0)
    text = str(refused.value)
    place = there.broker.endpoints[1]
    start = f"broker 7 at {place.host}:{place.port}: listener INTERNAL, {place.security_protocol}: "
    assert text.startswith(start)
    assert SECRET not in text
    assert links.troubles == 1
    return text.removeprefix(start)


@pytest.mark.both_loops
@pytest.mark.parametrize("user", ["kafka", "a,b=c"])
async def test_sv_5_a_broker_is_reached_by_scram_over_tls(cluster: Cluster, user: str) -> None:
    async with secured_broker("SASL_SSL", "SCRAM-SHA-512", USERS, tls=cluster.context()) as there:
        links = broker_links({**cluster.trust, **scram(user)})
        await asks(links, there)
    assert there.as_whom == [user]
    assert there.asked == [17, 36, 36, 5]
    assert links.troubles == 0


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
async def test_sv_5_a_login_may_come_from_a_file_as_java_reads_it(tmp_path: Path, mechanism: str) -> None:
    (tmp_path / "jaas.conf").write_text(
        f"KafkaServer {{ {jaas(PLAIN, 'other', 'x')} }};\n"
        f"internal.KafkaServer {{ {jaas(PLAIN, 'kafka')} {jaas(SCRAM, 'a,b=c')} }};\n"
    )
    async with secured_broker("SASL_PLAINTEXT", mechanism, USERS) as there:
        values = {
            "inter.broker.listener.name": "INTERNAL",
            "listener.security.protocol.map": "EXTERNAL:PLAINTEXT,INTERNAL:SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": mechanism,
            "java.security.auth.login.config": str(tmp_path / "jaas.conf"),
        }
        await asks(broker_links(values), there)
    assert there.as_whom == ["kafka" if mechanism == "PLAIN" else "a,b=c"]


async def test_sv_5_a_broker_is_shown_the_certificate_that_it_asks_for(cluster: Cluster, tmp_path: Path) -> None:
    own = cluster.ca.issue("CN=controller").pkcs12_keystore(tmp_path / "own.p12")
    context = cluster.context(None, **{"ssl.client.auth": "required"})
    async with secured_broker("SSL", tls=context) as there:
        found = {"security.inter.broker.protocol": "SSL", **cluster.trust}
        await asks(broker_links({**found, **own}), there)
        text = await refusal(broker_links(found), there)
    assert "it may want a certificate that it trusts" in text or text.startswith("TLS failed: ")
    assert there.asked == [18, 5], "the certificate is settled before a request counts on it"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (scram(password="wrong"), "SCRAM-SHA-512: Authentication failed: Invalid username or password"),
        (scram(user="nobody"), "SCRAM-SHA-512: Authentication failed: Invalid username or password"),
        (
            {
                "inter.broker.listener.name": "INTERNAL",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "sasl.jaas.config": jaas(PLAIN, "kafka"),
            },
            "it does not take PLAIN, but ['SCRAM-SHA-512', 'GSSAPI']",
        ),
        (
            {"inter.broker.listener.name": "INTERNAL"},
            "this server has no login (sasl.mechanism.inter.broker.protocol, sasl.jaas.config)",
        ),
        (
            {**scram(), "listener.security.protocol.map": "INTERNAL:SASL_SSL"},
            "it should speak SASL_SSL, by this server's settings",
        ),
    ],
)
async def test_sv_5_why_a_broker_does_not_take_a_login_is_said_without_secrets(
    values: Mapping[str, str], reason: str
) -> None:
    async with secured_broker("SASL_PLAINTEXT", "SCRAM-SHA-512", USERS) as there:
        assert await refusal(broker_links(values), there) == reason
    assert there.as_whom == []


async def test_sv_5_a_listener_without_sasl_is_said(cluster: Cluster) -> None:
    async with secured_broker("SASL_PLAINTEXT") as there:
        text = await refusal(broker_links(scram()), there)
    assert text == "it does not log clients in there: the listener is without SASL"


async def test_sv_5_a_broker_whose_certificate_is_not_trusted_gets_no_password(
    cluster: Cluster, tmp_path: Path
) -> None:
    strange = Authority("CN=other").pem_truststore(tmp_path / "other.pem")
    elsewhere = cluster.ca.issue("CN=broker", hosts=["elsewhere"])
    cases = [
        (cluster.server, strange, "its certificate is refused: unable to get local issuer certificate"),
        (elsewhere, cluster.trust, "its certificate is refused: IP address mismatch, certificate is not valid for"),
    ]
    for own, trust, reason in cases:
        async with secured_broker("SASL_SSL", "PLAIN", USERS, tls=cluster.context(own)) as there:
            assert (await refusal(broker_links({**scram(), **trust}), there)).startswith(reason)
            assert there.asked == []
            if own is elsewhere:
                values = {**scram(), **trust, "ssl.endpoint.identification.algorithm": ""}
                assert "does not take SCRAM-SHA-512" in await refusal(broker_links(values), there)


async def test_sv_5_a_listener_with_tls_is_not_reached_without_settings_of_tls() -> None:
    async with secured_broker("SASL_SSL", "SCRAM-SHA-512", USERS) as there:
        assert "no settings of TLS" in await refusal(broker_links(scram()), there)


async def test_sv_5_a_login_that_ends_is_repeated_before_on_the_same_connection() -> None:
    async with secured_broker("SASL_PLAINTEXT", "PLAIN", USERS, life_ms=1) as there:
        values = {"security.inter.broker.protocol": "SASL_PLAINTEXT", "sasl.mechanism.inter.broker.protocol": "PLAIN"}
        links = broker_links({**values, "sasl.jaas.config": jaas(PLAIN, "kafka")})
        client = await links.open(there.broker, "1000", 10.0)
        for _ in range(3):
            await asyncio.sleep(0.002)  # longer than the login holds
            await client.call(StopReplicaRequest, StopReplicaRequest(version=3, topic_states=[]), 3)
        client.close()
    assert there.asked == [17, 36, *[17, 36, 5] * 3]


async def test_sv_5_nothing_comes_between_the_parts_of_a_login_that_is_repeated() -> None:
    """Kafka closes a connection on which something else is asked in the middle of a login."""
    async with secured_broker("SASL_PLAINTEXT", "SCRAM-SHA-512", USERS, life_ms=1) as there:
        at = there.broker.endpoints[1]
        values = {"security.protocol": at.security_protocol, "sasl.mechanism": "SCRAM-SHA-512"}
        login = client_security({**values, "sasl.jaas.config": jaas(SCRAM, "a,b=c")}).login
        client = await connect(at.host, at.port, "someone", 10.0, login=login, max_in_flight=5)
        request = StopReplicaRequest(version=3, topic_states=[])
        for _ in range(3):
            await asyncio.sleep(0.002)
            await asyncio.gather(*(client.call(StopReplicaRequest, request, 3) for _ in range(20)))
        client.close()
    begun = [number for number, key in enumerate(there.asked) if key == 17]
    assert len(begun) >= 4, "one to connect, and one before each of the three lots"
    for number in begun[1:]:
        assert there.asked[number : number + 4] == [17, 36, 36, 5]
    assert there.asked.count(5) == 60


async def test_sv_5_a_trouble_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    links = BrokerLinks()
    for text in ("broker 7: no", "broker 7: no", "broker 7: never", "broker 7: never"):
        links.warn(7, LOGIN, text)
    links.warn(7, RIGHTS, "broker 7: may not")
    assert links.troubles == 1
    links.forget(7, LOGIN)
    links.forget(7, LOGIN)
    links.forget(8)
    assert links.troubles == 1
    links.forget(7)
    assert links.troubles == 0
    assert [record.message for record in caplog.records] == [
        "broker 7: no",
        "broker 7: never",
        "broker 7: may not",
        "broker 7 takes this server now (login)",
    ]


@for_each(
    ("values", "text"),
    [
        ({"security.inter.broker.protocol": "TLS"}, "security.inter.broker.protocol: expected one of PLAINTEXT, SSL"),
        (
            {"security.inter.broker.protocol": "SSL", "inter.broker.listener.name": "A"},
            "security.inter.broker.protocol: only one of it and inter.broker.listener.name may be set",
        ),
        ({"listener.security.protocol.map": "A"}, "listener.security.protocol.map: expected NAME:PROTOCOL"),
        ({"listener.security.protocol.map": "A:B"}, "listener.security.protocol.map: expected NAME:PROTOCOL with"),
        ({"listener.security.protocol.map": "A:SSL,a:SSL"}, "listener.security.protocol.map: A is there twice"),
        ({"security.inter.broker.protocol": "SASL_SSL"}, "listener.name.sasl_ssl.gssapi.sasl.jaas.config: a login"),
        (
            {"security.inter.broker.protocol": "SASL_PLAINTEXT", "sasl.mechanism.inter.broker.protocol": "PLAIN"},
            "listener.name.sasl_plaintext.plain.sasl.jaas.config: a login configuration for PLAIN is missing",
        ),
        ({**scram(), "listener.name.internal.scram-sha-512.sasl.jaas.config": f"{SCRAM} required password=hush;"},
         "listener.name.internal.scram-sha-512.sasl.jaas.config: SCRAM-SHA-512 needs a username and a password"),
        ({"security.inter.broker.protocol": "SSL", "ssl.truststore.location": "/nowhere"},
         "ssl.truststore.location: cannot read /nowhere: No such file or directory"),
    ],
)  # fmt: skip
def test_sv_5_settings_that_cannot_be_used_are_named(values: Mapping[str, str], text: str) -> None:
    with pytest.raises(BadSetting) as refused:
        broker_links(values)
    assert str(refused.value).startswith(text)
    assert "hush" not in str(refused.value)


def test_sv_5_without_settings_the_first_listener_of_a_broker_is_used() -> None:
    assert BrokerLinks() is not None
    links = broker_links({})
    assert (links.listener, links.protocol) == (None, None)
    assert broker_links({"inter.broker.listener.name": "SSL"}).protocol == "SSL"
    both = broker_links({"inter.broker.listener.name": "B", "control.plane.listener.name": "C"})
    assert both.listener == "C"


def test_sv_5_a_protocol_alone_means_the_listener_of_its_name_and_else_one_that_speaks_it() -> None:
    """KafkaConfig.getInterBrokerListenerNameAndSecurityProtocol: credentials of another listener may be others."""
    of_clients, of_brokers = (Endpoint(name, "SSL", "h", at) for name, at in (("CLIENT", 1), ("SSL", 2)))
    plain = Endpoint("PLAIN", "PLAINTEXT", "h", 3)
    links = BrokerLinks(protocol="SSL")
    assert links.endpoint(Broker(1, 1, (plain, of_clients, of_brokers))) == of_brokers
    assert links.endpoint(Broker(1, 1, (plain, of_clients))) == of_clients
    assert BrokerLinks("CLIENT", "SSL").endpoint(Broker(1, 1, (of_brokers, of_clients))) == of_clients


async def test_sv_5_many_connections_are_opened_at_a_time(cluster: Cluster) -> None:
    async with AsyncExitStack() as stack:
        there = [
            await stack.enter_async_context(secured_broker("SASL_SSL", "SCRAM-SHA-512", USERS, tls=cluster.context()))
            for _ in range(5)
        ]
        links = broker_links({**cluster.trust, **scram()})
        await asyncio.gather(*(asks(links, one, times=3) for one in there))
