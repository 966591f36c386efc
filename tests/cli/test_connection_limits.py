"""The limits on connections that `serve` has by default, and those that an operator sets."""

import argparse
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.serve_command import server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.support.quiet_arguments import UsageError

DESCRIPTORS = 10_000


def config(*arguments: str) -> ServerConfig:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    given = parser.parse_args(["--zookeeper-connect", "127.0.0.1:1", *arguments])
    return server_config(complete_listeners(read_settings(given, SETTINGS)))


def limits(*arguments: str) -> ServerLimits:
    return config(*arguments).limits


@pytest.fixture(autouse=True)
def descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_limits, "descriptor_limit", lambda: DESCRIPTORS)


def test_sv_6_by_default_connections_leave_descriptors_to_others_and_no_address_takes_all() -> None:
    found = limits()
    assert found.max_connections == DESCRIPTORS - process_limits.KEPT
    assert found.max_connections_per_ip == found.max_connections // 4
    assert found.max_connection_creation_rate_per_ip == 5000
    assert found.slow_client_timeout_ms == 30_000
    assert found.socket_listen_backlog_size == 1024


def test_sv_6_an_operator_sets_other_limits() -> None:
    found = limits(
        *("--max-connections", "500", "--max-connections-per-ip-overrides", "10.0.0.1:7, [::1]:8,"),
        *("--max-connection-creation-rate-per-ip", "3", "--slow-client-timeout-ms", "4"),
    )
    assert (found.max_connections, found.max_connections_per_ip) == (500, 125)
    assert found.max_connections_per_ip_overrides == {"10.0.0.1": 7, "::1": 8}
    assert (found.max_connection_creation_rate_per_ip, found.slow_client_timeout_ms) == (3, 4)
    assert limits("--max-connections-per-ip", "9").max_connections_per_ip == 9


def test_sv_6_more_connections_than_descriptors_allow_are_not_promised(caplog: pytest.LogCaptureFixture) -> None:
    assert limits("--max-connections", "9999").max_connections == DESCRIPTORS - process_limits.KEPT
    assert "file descriptors do not allow 9999" in caplog.text


def test_sv_6_rates_of_connections_are_those_of_a_broker_of_its_listeners_and_windows(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        "max.connection.creation.rate=50\nlistener.name.external.max.connection.creation.rate=20\n"
        "listener.name.other.max.connection.creation.rate=7\nquota.window.num=5\nquota.window.size.seconds=2\n"
        "inter.broker.listener.name=INTERNAL\n"
    )
    protocols = "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT"
    several = ("--listeners", "INTERNAL://:1,EXTERNAL://:2", "--listener-security-protocol-map", protocols)
    found = limits(*several, "--kafka-config", str(properties))
    assert found.max_connection_creation_rate == 50
    assert found.max_connection_creation_rate_of_listeners == {"EXTERNAL": 20}
    assert found.protected_listener == "INTERNAL"
    assert found.quota_windows == (5, 2000)

    one = ("--listeners", "INTERNAL://:1", "--listener-security-protocol-map", protocols)
    found = limits(*one, "--inter-broker-listener-name", "INTERNAL", "--max-connection-creation-rate", "9")
    assert (found.max_connection_creation_rate, found.protected_listener) == (9, ""), "nobody else could come in"
    assert limits().quota_windows == (11, 1000)


def test_sv_5_windows_of_mutation_quotas_are_those_of_a_broker() -> None:
    assert limits().controller_quota_windows == (11, 1000)
    found = limits("--controller-quota-window-num", "3", "--controller-quota-window-size-seconds", "20")
    assert found.controller_quota_windows == (3, 20_000)
    assert found.quota_windows == (11, 1000)


@pytest.mark.parametrize("of", ["--quota-window", "--controller-quota-window"])
@pytest.mark.parametrize("end", ["-num", "-size-seconds"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "9999"])
def test_sv_6_windows_that_cannot_be_are_refused(of: str, end: str, value: str) -> None:
    with pytest.raises(UsageError, match=of + end):
        limits(of + end, value)


def test_mg_3_brokers_come_by_the_listener_that_has_the_name_of_theirs() -> None:
    assert config().brokers_listener == "PLAINTEXT"
    assert config("--inter-broker-listener-name", "internal").brokers_listener == "INTERNAL"
    assert config("--security-inter-broker-protocol", "SSL").brokers_listener == "SSL"
    two = ("--inter-broker-listener-name", "internal", "--control-plane-listener-name", "Control")
    assert config(*two).brokers_listener == "CONTROL"
