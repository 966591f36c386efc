"""Listeners by Kafka's settings: from flags, TOML and a broker's server.properties; secrets never show."""

import argparse
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli.kraft_serving import kraft_config
from kafka_reassign_rpc.cli.listener_settings import complete_listeners, listener_security
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.serve_command import server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import LEFT_OUT, add_flags, read_settings
from kafka_reassign_rpc.security.properties import Password
from kafka_reassign_rpc.security.sasl.hashed_users import hashed_line
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from tests.certificates import PASSWORD, Authority

ZK = ("--zookeeper-connect", "127.0.0.1:1")


def read(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    return complete_listeners(read_settings(parser.parse_args(arguments), SETTINGS))


def properties_file(path: Path, properties: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="latin-1")
    return str(path)


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, str]:
    ca = Authority("CN=ca")
    return {**ca.issue("CN=broker").pkcs12_keystore(tmp_path / "b.p12"), **ca.pem_truststore(tmp_path / "ca.pem")}


def test_sv_5_a_listener_has_the_protocol_of_the_map_else_that_of_its_name() -> None:
    values = read(
        "--listeners", "internal://127.0.0.1:1,SSL://127.0.0.1:2,PLAINTEXT://127.0.0.1:3",
        "--listener-security-protocol-map", "INTERNAL:SASL_SSL, ssl:ssl",
        "--advertised-listeners", "PLAINTEXT://c:3,INTERNAL://a:1,SSL://b:2",
    )  # fmt: skip
    assert [(one.listener, one.security_protocol) for one in values["listeners"]] == [
        ("INTERNAL", "SASL_SSL"),
        ("SSL", "SSL"),
        ("PLAINTEXT", "PLAINTEXT"),
    ]
    assert [(one.listener, one.host) for one in values["advertised.listeners"]] == [
        ("INTERNAL", "a"),
        ("SSL", "b"),
        ("PLAINTEXT", "c"),
    ]


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (
            ("--listeners", "INNER://h:1"),
            "--listeners: listener.security.protocol.map does not say the security protocol of listener 1 of 1",
        ),
        (("--listener-security-protocol-map", "A"), "listener.security.protocol.map: expected NAME:PROTOCOL"),
        (("--listener-security-protocol-map", "A:TLS"), "listener.security.protocol.map: expected NAME:PROTOCOL"),
        (("--listener-security-protocol-map", "A:SSL,a:SSL"), "listener.security.protocol.map: A is there twice"),
        (("--listeners", "SSL://h:1", "--advertised-listeners", "PLAINTEXT://h:1"), "--advertised-listeners: one is"),
    ],
)
def test_sv_5_listeners_that_do_not_fit_together_are_refused_with_the_reason(
    arguments: tuple[str, ...], saying: str
) -> None:
    with pytest.raises(UsageError, match="listener") as error:
        read(*arguments)
    assert str(error.value).startswith(saying)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]"])
def test_sv_5_what_nobody_can_connect_to_is_not_advertised(host: str) -> None:
    listening = ("--listeners", f"SSL://h:1,PLAINTEXT://{host}:2")
    with pytest.raises(UsageError, match=r"^--listeners: PLAINTEXT would be advertised at .*--advertised-listeners$"):
        read(*listening)
    with pytest.raises(UsageError, match=r"^--advertised-listeners: SSL would be advertised at"):
        read(*listening, "--advertised-listeners", f"PLAINTEXT://b:2,SSL://{host}:1")
    advertised = read(*listening, "--advertised-listeners", "PLAINTEXT://b:2,SSL://a:1")["advertised.listeners"]
    assert [one.host for one in advertised] == ["a", "b"]


def test_sv_5_a_listener_without_a_host_is_advertised_by_the_name_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "here.example")
    found = read("--listeners", "SSL://:1,PLAINTEXT://h:2")
    assert [one.host for one in found["listeners"]] == ["", "h"], "where it listens stays"
    assert [(one.host, one.port) for one in found["advertised.listeners"]] == [("here.example", 1), ("h", 2)]
    found = read("--listeners", "SSL://127.0.0.1:1", "--advertised-listeners", "SSL://:3")
    assert [(one.host, one.port) for one in found["advertised.listeners"]] == [("here.example", 3)]


def test_sv_5_a_brokers_server_properties_gives_what_concerns_this_server(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    path = properties_file(
        tmp_path / "server.properties",
        {
            "broker.id": "3",
            "listeners": "INTERNAL://0.0.0.0:9093",
            "advertised.listeners": "INTERNAL://broker3:9093",
            "listener.security.protocol.map": "INTERNAL:SSL,EXTERNAL:SASL_SSL",
            "log.dirs": "/var/kafka",
            "zookeeper.connect": "zk1:2181/kafka",
            "ssl.keystore.password": "",
            "ssl.client.auth": "required",
            "ssl.endpoint.identification.algorithm": "",
            **{f"listener.name.internal.{name}": value for name, value in stores.items()},
            "listener.name.internal.max.connections": "7",
            "num.network.threads": "8",
        },
    )
    values = read("--kafka-config", path, "--listeners", "INTERNAL://127.0.0.1:0")
    assert values["zookeeper.connect"] == "zk1:2181/kafka"
    assert values["broker.id"] == 1000
    assert [one.port for one in values["listeners"]] == [0]
    assert values["ssl.endpoint.identification.algorithm"] == ""
    assert values["ssl.keystore.password"] == Password("")
    assert set(values[LEFT_OUT]) == {
        "broker.id",
        "log.dirs",
        "listener.name.internal.max.connections",
        "num.network.threads",
    }
    assert security_properties(values)["listener.name.internal.ssl.keystore.password"] == PASSWORD
    security = listener_security(values["listeners"], values)["INTERNAL"]
    assert security.tls is not None
    assert security.tls.context.verify_mode.name == "CERT_REQUIRED"
    assert server_config(values).security.keys() == {"INTERNAL"}
    taken = read("--kafka-config", path, "--kafka-config-listeners", "true")
    assert [(one.listener, one.port) for one in taken["listeners"]] == [("INTERNAL", 9093)]
    assert [one.host for one in taken["advertised.listeners"]] == ["broker3"]


def test_sv_5_a_flag_wins_over_toml_and_toml_over_server_properties(tmp_path: Path) -> None:
    names = ("ssl.keystore.type", "ssl.protocol", "ssl.enabled.protocols")
    kafka = properties_file(tmp_path / "k.properties", dict.fromkeys(names, "of kafka"))
    toml = tmp_path / "c.toml"
    toml.write_text('ssl.keystore.type = "of toml"\nssl.enabled.protocols = ["of", "toml"]\n')
    values = read("--kafka-config", kafka, "--config", str(toml), "--ssl-keystore-type", "of a flag")
    assert [values[name] for name in names] == ["of a flag", "of kafka", "of,toml"]


@pytest.mark.parametrize("name", ["ssl.client.auth", "listener.name.ssl.ssl.client.auth"])
def test_sv_5_a_slip_in_what_is_asked_of_clients_ends_the_start_although_no_listener_has_tls(
    name: str, tmp_path: Path
) -> None:
    toml = tmp_path / "c.toml"
    toml.write_text(f'listeners = "SSL://127.0.0.1:0"\n"{name}" = "requird"\n')
    with pytest.raises(UsageError, match=f"{name}: expected one of required, requested, none, got \\[hidden\\]"):
        read("--config", str(toml))
    toml.write_text(f'listeners = "SSL://127.0.0.1:0"\n"{name}" = "Required"\n')
    assert read("--config", str(toml))[name] == "required"


def test_sv_5_a_listeners_own_settings_may_be_in_toml(tmp_path: Path, stores: dict[str, str]) -> None:
    toml = tmp_path / "c.toml"
    own = "".join(f'"listener.name.ssl.{name}" = "{value}"\n' for name, value in stores.items())
    toml.write_text(f'listeners = "SSL://127.0.0.1:0"\n{own}')
    values = read("--config", str(toml))
    assert listener_security(values["listeners"], values)["SSL"].tls is not None
    toml.write_text('"listener.name.ssl.log.dirs" = "x"')
    with pytest.raises(UsageError, match=r"unknown setting listener\.name\.ssl\.log\.dirs"):
        read("--config", str(toml))


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that ends with exit code 2: one line."""
    try:
        code: object = main(arguments)
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    (line,) = [line for line in said.err.strip().splitlines() if not line.startswith(("usage:", " "))]
    return line


@pytest.mark.parametrize("command", ["serve", "check"])
def test_sv_5_a_keystore_that_cannot_be_used_ends_the_command_with_exit_code_2(
    tmp_path: Path, stores: dict[str, str], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    listeners = ("--listeners", "SSL://127.0.0.1:0")
    assert "ssl.keystore.location: TLS needs a keystore with the server's key" in refusal(
        capsys, command, *ZK, *listeners
    )
    wrong = "not the password"
    path = properties_file(tmp_path / "k.properties", {**stores, "ssl.keystore.password": wrong})
    line = refusal(capsys, command, *ZK, *listeners, "--kafka-config", path)
    assert f"ssl.keystore.location: {tmp_path}/b.p12: the password is wrong, or the file is broken" in line
    assert wrong not in line
    line = refusal(capsys, command, *ZK, *listeners, "--ssl-principal-mapping-rules", "RULE:x")
    assert "ssl.principal.mapping.rules: rule 1 is invalid from its character 1 on" in line


def test_sv_5_a_secret_has_no_flag_and_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    secrets = [setting for setting in SETTINGS if setting.secret]
    assert len(secrets) >= 6
    for setting in secrets:
        for arguments in ((setting.flag, "s3cr3t"), (f"{setting.flag}=s3cr3t",)):
            line = refusal(capsys, "serve", *ZK, *arguments)
            assert f"{setting.flag}: everybody can read a command line; set {setting.name} in the file of" in line
            assert "s3cr3t" not in line


def test_sv_5_a_secret_of_the_wrong_form_is_not_repeated(tmp_path: Path) -> None:
    toml = tmp_path / "c.toml"
    toml.write_text("ssl.keystore.password = 123456789")
    with pytest.raises(UsageError) as error:
        read("--config", str(toml))
    assert str(error.value) == f"{toml}: ssl.keystore.password: expected text"


@pytest.mark.parametrize(
    ("content", "saying"),
    [
        (None, "cannot read {path}: No such file or directory"),
        (b"a=\\uzz", "{path}: Malformed \\uxxxx encoding."),
        (b"a" * (2**20 + 1), "cannot read {path}: it has more than 1048576 bytes"),
    ],
)
def test_sv_5_a_server_properties_that_cannot_be_read_is_refused_with_the_reason(
    tmp_path: Path, content: bytes | None, saying: str
) -> None:
    path = tmp_path / "server.properties"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read("--kafka-config", str(path))
    assert str(error.value) == f"--kafka-config: {saying.format(path=path)}"


def test_sv_5_pages_for_monitoring_need_tls_where_they_need_passwords(
    tmp_path: Path, stores: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (*ZK, "--metrics-listener", "127.0.0.1:0", "--metrics-users-file", str(tmp_path / "users.toml"))
    line = refusal(capsys, "serve", *asked)
    assert "metrics.users.file: passwords need metrics.security.protocol=SSL" in line
    path = properties_file(tmp_path / "k.properties", stores)
    secured = (*asked, "--kafka-config", path, "--metrics-security-protocol", "SSL")
    assert f"metrics.users.file: {tmp_path}/users.toml: no such file or directory" in refusal(capsys, "serve", *secured)
    (tmp_path / "users.toml").write_text('prometheus = "s3cr3t"')
    line = refusal(capsys, "serve", *secured)
    assert f"metrics.users.file: {tmp_path}/users.toml: user 1 of the file: expected salt=" in line
    assert "s3cr3t" not in line
    (tmp_path / "users.toml").write_text(f'prometheus = "{hashed_line("s3cr3t", 4096)}"')
    config = server_config(read(*secured))
    assert config.metrics_security.users is not None
    assert config.metrics_security.tls is not None
    assert config.status_page == "full", "it is known who reads"


def test_hm_7_the_pages_answer_to_the_names_that_the_operator_knows(capsys: pytest.CaptureFixture[str]) -> None:
    asked = (
        *(*ZK, "--metrics-listener", "Pages.example:0", "--metrics-host-names", "kafka, Monitoring.example"),
        *("--advertised-listeners", "PLAINTEXT://server-1:9092"),
    )
    names = server_config(read(*asked)).metrics_security.host_names
    assert {"pages.example", "kafka", "monitoring.example", "server-1"} <= names
    for wrong in ("http://a", "a:80", "*.example", "a/b", "-a", "a" * 254):
        given = ("--metrics-listener", "127.0.0.1:0", f"--metrics-host-names={wrong}")
        assert "expected names of hosts" in refusal(capsys, "serve", *ZK, *given)


def test_sv_11_the_status_page_tells_names_only_to_known_readers_unless_an_operator_says_so(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    plain = (*ZK, "--metrics-listener", "127.0.0.1:0")
    path = properties_file(tmp_path / "k.properties", stores)
    tls = (*plain, "--kafka-config", path, "--metrics-security-protocol", "SSL")
    asked = properties_file(tmp_path / "a.properties", {**stores, "listener.name.metrics.ssl.client.auth": "required"})
    wished = properties_file(
        tmp_path / "w.properties", {**stores, "listener.name.metrics.ssl.client.auth": "requested"}
    )
    for arguments, told in (
        (plain, "counts"),
        (tls, "counts"),
        ((*plain, "--kafka-config", wished, "--metrics-security-protocol", "SSL"), "counts"),
        ((*plain, "--kafka-config", asked, "--metrics-security-protocol", "SSL"), "full"),
        ((*plain, "--status-page", "full"), "full"),
        ((*tls, "--status-page", "off"), "off"),
    ):
        assert server_config(read(*arguments)).status_page == told, arguments


@pytest.mark.parametrize(
    ("protocol", "asks", "mode"),
    [
        ("SSL", {"ssl.client.auth": "requested"}, "CERT_OPTIONAL"),
        ("SASL_SSL", {"ssl.client.auth": "required"}, "CERT_NONE"),
        ("SASL_SSL", {"listener.name.front.ssl.client.auth": "required"}, "CERT_REQUIRED"),
    ],
)
def test_kr_9_a_front_asks_its_clients_for_certificates_as_its_settings_say(
    protocol: str, asks: Mapping[str, str], mode: str, tmp_path: Path, stores: dict[str, str]
) -> None:
    config = kraft_config(of_front(tmp_path, protocol, {**stores, **asks}), COMMON)
    assert config.front.listener.tls is not None
    assert config.front.listener.tls.context.verify_mode.name == mode


def test_kr_9_a_front_that_only_certificates_could_enter_does_not_start(tmp_path: Path, stores: dict[str, str]) -> None:
    values = of_front(tmp_path, "SSL", {**stores, "ssl.client.auth": "required"})
    with pytest.raises(UsageError, match="clients that come by a certificate alone are refused"):
        kraft_config(values, COMMON)


COMMON = server_config(read(*ZK))


def of_front(folder: Path, protocol: str, properties: Mapping[str, str]) -> dict[str, Any]:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=a password=b;"
    login = f"sasl.mechanism=PLAIN\nsasl.jaas.config={login}\n" if protocol.startswith("SASL") else ""
    client = folder / "client.properties"
    client.write_text(f"security.protocol={protocol}\n{login}")
    return read(
        *("--bootstrap-server", "127.0.0.1:1", "--command-config", str(client), "--listeners", "FRONT://127.0.0.1:0"),
        *("--listener-security-protocol-map", f"FRONT:{protocol}"),
        *("--kafka-config", properties_file(folder / "s.properties", properties)),
    )
