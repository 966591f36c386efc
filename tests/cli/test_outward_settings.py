"""The server's own logins by the settings of brokers: from a server.properties and TOML. Secrets have no flag."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.serve_command import server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.zookeeper.access import open_to_all, secured
from tests.certificates import PASSWORD, Authority

SECRET = "correct horse"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"


def configured(*arguments: str) -> ServerConfig:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    given = parser.parse_args(("--zookeeper-connect", "127.0.0.1:1", *arguments))
    return server_config(complete_listeners(read_settings(given, SETTINGS)))


def server_properties(directory: Path, **more: str) -> dict[str, str]:
    """Of a broker whose ZooKeeper and whose other brokers are secured."""
    jaas = directory / "jaas.conf"
    jaas.write_text(f'Client {{ {DIGEST} required username="kafka" password="{SECRET}"; }};\n')
    ca = Authority("CN=ca")
    stores = {**ca.issue("CN=kafka").pkcs12_keystore(directory / "own.p12"), **ca.pem_truststore(directory / "ca.pem")}
    return {
        **stores,
        **{f"zookeeper.{name}": value for name, value in stores.items()},
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.set.acl": "true",
        "java.security.auth.login.config": str(jaas),
        "listener.security.protocol.map": "INTERNAL:SASL_SSL,CLIENT:SASL_SSL",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.internal.scram-sha-512.sasl.jaas.config":
            f'{SCRAM} required username="kafka" password="{SECRET}";',
        **{name.replace("_", "."): value for name, value in more.items()},
    }  # fmt: skip


def file_of(path: Path, properties: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="latin-1")
    return str(path)


def test_sv_5_a_brokers_server_properties_says_how_to_reach_brokers_and_zookeeper(tmp_path: Path) -> None:
    found = configured("--kafka-config", file_of(tmp_path / "server.properties", server_properties(tmp_path)))
    broker = Broker(1, 1, (Endpoint("CLIENT", "SASL_SSL", "a", 1), Endpoint("INTERNAL", "SASL_SSL", "b", 2)))
    assert found.links.endpoint(broker).host == "b"
    assert found.links.protocol == "SASL_SSL"
    assert found.zookeeper_access.tls is not None
    assert found.zookeeper_access.sasl is not None
    assert found.zookeeper_access.acl_of is secured
    shown = repr(found)
    assert SECRET not in shown
    assert PASSWORD not in shown


def test_sv_5_without_settings_nothing_is_secured() -> None:
    found = configured()
    assert (found.links.listener, found.links.protocol) == (None, None)
    assert (found.zookeeper_access.tls, found.zookeeper_access.sasl) == (None, None)
    assert found.zookeeper_access.acl_of is open_to_all


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"zookeeper_ssl_client_enable": "false", "zookeeper_sasl_client": "false"}, "zookeeper.set.acl: "),
        ({"zookeeper_clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNIO"}, "zookeeper.clientCnxnSocket: "),
        ({"zookeeper_ssl_crl_enable": "true"}, "zookeeper.ssl.crl.enable: "),
        ({"zookeeper_ssl_keystore_password": "wrong"}, "zookeeper.ssl.keystore.location: "),
        ({"zookeeper_sasl_clientconfig": "Nobody"}, "java.security.auth.login.config: the section Nobody"),
        ({"java_security_auth_login_config": "/nowhere"}, "java.security.auth.login.config: cannot read /nowhere"),
        ({"sasl_mechanism_inter_broker_protocol": "PLAIN"}, "listener.name.internal.plain.sasl.jaas.config, or "),
        ({"ssl_truststore_location": "/nowhere"}, "ssl.truststore.location: cannot read /nowhere"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "check"])
def test_sv_5_settings_that_cannot_be_used_end_with_code_2_and_one_line_without_secrets(
    command: str, changes: dict[str, str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path / "server.properties", server_properties(tmp_path, **changes))
    arguments = [command, "--zookeeper-connect", "127.0.0.1:1", "--kafka-config", path]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    last = said.strip().splitlines()[-1]
    assert text in last
    assert SECRET not in said
    assert PASSWORD not in said


def test_sv_5_status_takes_the_files_of_serve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    properties = server_properties(tmp_path, zookeeper_sasl_clientconfig="Nobody")
    path = file_of(tmp_path / "server.properties", properties)
    assert main(["status", "--zookeeper-connect", "127.0.0.1:1", "--kafka-config", path]) == 2
    assert "the section Nobody" in capsys.readouterr().err
