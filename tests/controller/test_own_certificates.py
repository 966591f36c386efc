"""A server does a TLS handshake with itself before it controls, and goes on doing so."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.cli.listener_settings import listener_security
from kafka_reassign_rpc.cli.security_settings import links
from kafka_reassign_rpc.controller.lifecycle import own_tls
from kafka_reassign_rpc.controller.lifecycle.own_tls import certificates
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.status.own_certificates import OwnCertificates
from kafka_reassign_rpc.preflight.check import check, of_certificates
from kafka_reassign_rpc.preflight.findings import Level
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority, Issued
from tests.waiting import eventually

BROKERS = Endpoint("INTERNAL", "SSL", "127.0.0.1", 0)
CLIENTS = Endpoint("CLIENT", "SSL", "127.0.0.1", 0)
NOW = 1_000_000.0


class Made:
    """Stores below a folder, and configurations of servers with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca, self.other = Authority("CN=ca"), Authority("CN=other")

    def store(self, issued: Issued, name: str = "own") -> dict[str, str]:
        return issued.pem_keystore(self.folder / f"{name}.pem")

    @property
    def good(self) -> dict[str, str]:
        return {**self.store(self.ca.issue()), **self.ca.pem_truststore(self.folder / "ca.pem")}

    def config(self, properties: Mapping[str, str], *listeners: Endpoint, connect: str = "") -> ServerConfig:
        return ServerConfig(
            zookeeper_connect=connect,
            listeners=listeners,
            security=listener_security(listeners, properties),
            links=links({**properties, "listener.security.protocol.map": "INTERNAL:SSL"}, "INTERNAL"),
            brokers_listener="INTERNAL",
        )

    def judged(self, properties: Mapping[str, str], *listeners: Endpoint) -> OwnCertificates:
        return certificates(self.config(properties, *listeners), listeners)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_sv_5_the_listener_of_brokers_is_judged_by_the_settings_that_brokers_have_among_themselves(made: Made) -> None:
    good = made.good
    assert not made.judged(good, BROKERS, CLIENTS).failing
    strange = made.store(made.other.issue(), "strange")["ssl.keystore.location"]
    found = made.judged({**good, "listener.name.internal.ssl.keystore.location": strange}, BROKERS, CLIENTS)
    assert [one.listener for one in found.failing] == ["INTERNAL"]
    assert found.kept_out == found.failing[0]


@pytest.mark.parametrize("is_alone", [True, False])
def test_sv_5_brokers_come_by_the_only_listener_whatever_its_name(made: Made, is_alone: bool) -> None:
    listeners = [CLIENTS] if is_alone else [CLIENTS, BROKERS]
    properties = {**made.good, **made.store(made.ca.issue(hosts=("elsewhere",)), "elsewhere")}
    kept_out = made.judged(properties, *listeners).kept_out
    assert kept_out is not None
    assert kept_out.listener == ("CLIENT" if is_alone else "INTERNAL")
    assert "has not the name 127.0.0.1" in kept_out.why
    assert not made.judged({**properties, "ssl.endpoint.identification.algorithm": ""}, *listeners).failing


def test_sv_5_clients_may_trust_another_ca_but_not_a_certificate_that_has_expired(made: Made) -> None:
    good = made.good
    strange = made.store(made.other.issue(), "strange")["ssl.keystore.location"]
    found = made.judged({**good, "listener.name.client.ssl.keystore.location": strange}, BROKERS, CLIENTS)
    assert (found.failing, found.handshakes[1].is_doubt) == ([], True)
    old = made.store(made.ca.issue(ends=-timedelta(days=1)), "old")["ssl.keystore.location"]
    found = made.judged({**good, "listener.name.client.ssl.keystore.location": old}, BROKERS, CLIENTS)
    assert [one.listener for one in found.failing] == ["CLIENT"]
    assert found.kept_out is None


def test_sv_5_a_plain_listener_of_brokers_needs_no_certificate(made: Made) -> None:
    plain = replace(BROKERS, security_protocol="PLAINTEXT")
    old = {**made.good, **made.store(made.ca.issue(ends=-timedelta(days=1)), "old")}
    found = made.judged(old, plain, CLIENTS)
    assert [one.listener for one in found.failing] == ["CLIENT"]
    assert found.kept_out is None


def test_sv_5_check_calls_a_refused_certificate_unsafe_and_warns_of_one_that_ends_soon(made: Made) -> None:
    old = {**made.good, **made.store(made.ca.issue(ends=-timedelta(days=1)), "old")}
    found = [*of_certificates(made.judged(old, BROKERS), NOW)]
    assert [one.level for one in found] == [Level.UNSAFE]
    assert "brokers would not connect: the certificate has expired" in found[0].text
    fine = made.judged(made.good, BROKERS)
    ends_s = fine.ends["listener INTERNAL", "own"]
    for days, level, text in ((30, Level.OK, "succeeds"), (9, Level.WARNING, "ends in 9 days")):
        found = [*of_certificates(fine, ends_s - days * 86_400)]
        assert level in {one.level for one in found}
        assert any(text in one.text for one in found)
    assert not [*of_certificates(OwnCertificates(), NOW)]


@asynccontextmanager
async def started(config: ServerConfig) -> AsyncIterator[ControllerProcess]:
    async with ControllerProcess(config) as server:
        yield server


async def test_sv_5_a_server_that_no_broker_would_reach_is_a_standby_and_resigns_until_its_certificate_is_right(
    zk_connect: str, made: Made, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_tls, "CHECK_S", 0.02)
    properties = {**made.good, **made.store(made.other.issue())}
    config = made.config(properties, BROKERS, connect=zk_connect)
    tls = config.security["INTERNAL"].tls
    assert tls is not None
    found = await check(config, 10)
    assert [one.level for one in found if one.subject == "certificates"] == [Level.UNSAFE]
    async with started(config) as server, ZooKeeper(zk_connect) as zk:
        await eventually(lambda: "standing by: listener INTERNAL: brokers would not connect: no cert" in caplog.text)
        assert await zk.exists(znode_paths.CONTROLLER) is None
        assert server._state.role().role != "controller"

        made.store(made.ca.issue())
        assert await tls.check()
        await server.ready()
        assert server._state.role().role == "controller"
        assert not server._state.status().certificates.failing

        caplog.clear()
        made.store(made.ca.issue(ends=-timedelta(days=2)))
        assert await tls.check()
        await eventually(lambda: "the controllership" in caplog.text or "standing by" in caplog.text)
        status = server._state.status()
        assert status.document.role != "controller"
        (problem,) = [one for one in status.document.problems if one.kind == "certificates"]
        assert "expired" in problem.text

        async def is_vacant() -> bool:
            return await zk.exists(znode_paths.CONTROLLER) is None

        await eventually(is_vacant)
        days = status.certificates.days_left(status.document.at / 1000)
        assert days["listener INTERNAL", "own"] == pytest.approx(-2, abs=0.1)
        assert {("listener INTERNAL", "ca"), ("brokers", "own")} < days.keys()
        errors = [one for one in caplog.records if one.levelno == logging.ERROR]
        assert len(errors) == 2  # for this certificate, and not at each look
        assert "What to do: give the keystore a certificate" in errors[0].getMessage()
        assert errors[1].getMessage().startswith("standing by: listener INTERNAL: brokers would not connect")

        made.store(made.ca.issue())
        assert await tls.check()
        await eventually(lambda: server._state.role().role == "controller")


async def test_sv_5_a_server_whose_certificate_fails_looks_again_each_hour(
    made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    config = made.config({**made.good, **made.store(made.other.issue())}, BROKERS)
    own = own_tls.OwnTls(config, lambda: config.listeners, lambda: now[0])
    for now[0], looks in ((1, 1), (2, 1), (3600, 1), (3602, 2), (3700, 2)):
        await own.known()
        assert caplog.text.count("brokers would not connect") == looks


async def test_sv_5_a_defect_in_the_look_keeps_no_server_from_elections_and_is_logged_once_an_hour(
    made: Made, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> OwnCertificates:
        raise RuntimeError("an unknown extension")

    now = [0.0]
    config = made.config(made.good, BROKERS)
    own = own_tls.OwnTls(config, lambda: config.listeners, lambda: now[0])
    monkeypatch.setattr(own_tls, "certificates", fails)
    for now[0], looks in ((1, 1), (2, 1), (3602, 2)):
        await own.known()
        assert own.found.kept_out is None
        assert caplog.text.count("is not known: the check failed") == looks
    monkeypatch.undo()
    now[0] += own_tls.EVERY_S
    await own.known()
    assert [one.listener for one in own.found.handshakes] == ["INTERNAL"]
