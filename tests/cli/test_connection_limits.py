"""The limits on connections that `serve` has by default, and those that an operator sets."""

import argparse

import pytest

from kafka_reassign_rpc.cli.serve_command import server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.server import file_descriptors
from kafka_reassign_rpc.server.server_limits import ServerLimits

DESCRIPTORS = 10_000


def limits(*arguments: str) -> ServerLimits:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    given = parser.parse_args(["--zookeeper-connect", "127.0.0.1:1", *arguments])
    return server_config(read_settings(given, SETTINGS)).limits


@pytest.fixture(autouse=True)
def descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_descriptors, "limit", lambda: DESCRIPTORS)


def test_sv_6_by_default_connections_leave_descriptors_to_others_and_no_address_takes_all() -> None:
    found = limits()
    assert found.max_connections == DESCRIPTORS - file_descriptors.KEPT
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
    assert limits("--max-connections", "9999").max_connections == DESCRIPTORS - file_descriptors.KEPT
    assert "file descriptors do not allow 9999" in caplog.text
