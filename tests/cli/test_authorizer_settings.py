"""The settings of the authorizer, from flags and from a broker's server.properties."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli import serve_command
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.support.quiet_arguments import UsageError

OF_BROKER = """\
authorizer.class.name=kafka.security.authorizer.AclAuthorizer
super.users=User:CN=a,O=b;User:root
allow.everyone.if.no.acl.found=true
"""


def read(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    serve_command.add_arguments(parser)
    return read_settings(parser.parse_args(["--zookeeper-connect", "127.0.0.1:1", *arguments]), SETTINGS)


def test_sv_5_an_authorizer_is_taken_from_the_settings_of_a_broker(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(OF_BROKER)
    found = serve_command.authorizer_config(read("--kafka-config", str(path)))
    assert found == AuthorizerConfig(frozenset(["User:CN=a,O=b", "User:root"]), True)
    assert serve_command.authorizer_config(read("--kafka-config", str(path), "--super-users", "User:x")) == (
        AuthorizerConfig(frozenset(["User:x"]), True)
    )
    assert serve_command.authorizer_config(read()) is None
    path.write_text("authorizer.class.name=com.example.Mine\n")
    with pytest.raises(UsageError, match=r"authorizer\.class\.name: .*this server runs no Java classes"):
        read("--kafka-config", str(path))


def test_sv_5_the_zookeeper_of_the_acls_may_be_another_one(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    of_acls = ("authorizer.zookeeper.url=other:2181/acls\n", "authorizer.zookeeper.session.timeout.ms=9000\n")
    path.write_text("".join((OF_BROKER, *of_acls)))
    found = serve_command.authorizer_config(read("--kafka-config", str(path)))
    assert found is not None
    assert (found.zookeeper_url, found.zookeeper_session_timeout_ms) == ("other:2181/acls", 9000)
    assert found.zookeeper_connection_timeout_ms is None
    flags = ("--authorizer-zookeeper-url", "third", "--authorizer-zookeeper-connection-timeout-ms", "800")
    found = serve_command.authorizer_config(read("--kafka-config", str(path), *flags))
    assert found is not None
    assert (found.zookeeper_url, found.zookeeper_connection_timeout_ms) == ("third", 800)


@pytest.mark.parametrize("name", ["authorizer.zookeeper.ssl.client.enable", "authorizer.zookeeper.clientCnxnSocket"])
def test_sv_5_a_way_of_its_own_to_the_zookeeper_of_the_acls_is_refused_and_not_overlooked(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"{OF_BROKER}{name}=true\n")
    with pytest.raises(UsageError, match=f"{name} is not supported: the server comes to authorizer"):
        serve_command.authorizer_config(read("--kafka-config", str(path)))
