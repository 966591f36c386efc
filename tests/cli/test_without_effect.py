"""A setting of security that has no effect ends the start, with one line that says so."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.cli import serve_command, watch_command
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.connection_flags import SPARK_CLASSES, VARIABLES, misspelt
from kafka_reassign_rpc.transport.broker_links import broker_links

ZK = ("--zookeeper-connect", "127.0.0.1:1")
PAGE = ("--metrics-listener", "127.0.0.1:0")
MAP = "listener.security.protocol.map=PLAIN:PLAINTEXT,TLS:SSL,LOGIN:SASL_PLAINTEXT\n"


class Started(Exception):
    pass


@pytest.fixture(autouse=True)
def _starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def started(*_: object, **__: object) -> int:
        raise Started

    monkeypatch.chdir(tmp_path)
    for module in (serve_command, watch_command):
        monkeypatch.setattr(module, "run_until_signalled", started)
        monkeypatch.setattr(module, "set_up_logging", lambda *_: None)


@pytest.mark.parametrize("command", ["serve", "watch"])
@pytest.mark.parametrize("name", ["ssl.keystore.location", "ssl.client.auth", "ssl.truststore.location"])
def test_hm_6_tls_settings_of_the_page_without_its_protocol_end_the_start(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = "required" if name.endswith("auth") else "/etc/x.pem"
    (tmp_path / "c.toml").write_text(f'"listener.name.metrics.{name}" = "{value}"\n')
    where = ZK if command == "serve" else ("--bootstrap-server", "127.0.0.1:1")
    assert main([command, *where, *PAGE, "--config", "c.toml"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"listener.name.metrics.{name}: it has no effect, since this listener speaks PLAINTEXT" in line
    assert "metrics.security.protocol says its protocol" in line


@pytest.mark.parametrize(
    ("listener", "setting", "speaks"),
    [
        ("plain", "ssl.client.auth=required", "PLAINTEXT"),
        ("plain", "plain.sasl.jaas.config=x", "PLAINTEXT"),
        ("plain", "sasl.enabled.mechanisms=PLAIN", "PLAINTEXT"),
        ("tls", "plain.sasl.jaas.config=x", "SSL"),
        ("login", "ssl.client.auth=required", "SASL_PLAINTEXT"),
    ],
)
def test_hm_6_security_of_a_listener_whose_protocol_has_none_ends_the_start(
    listener: str, setting: str, speaks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    own = ("--listeners", f"{listener.upper()}://127.0.0.1:0", "--kafka-config", str(file))
    text = f"{MAP}listener.name.{listener}.{setting}\n"
    file.write_text(text)
    assert main(["serve", *ZK, *own]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"it has no effect, since this listener speaks {speaks}, so it would be open" in line
    if speaks == "PLAINTEXT":
        with pytest.raises(Started):
            main(["serve", *ZK, *own, "--kafka-config-other-names", f"listener.name.{listener}.*"])


def test_hm_6_what_concerns_a_listener_of_the_brokers_alone_may_stay(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"{MAP}listeners=PLAIN://h:1\nlistener.name.plain.ssl.client.auth=required\n")
    with pytest.raises(Started):
        main(["serve", *ZK, "--kafka-config", str(file)])


@pytest.mark.parametrize(
    "name",
    [
        "KAFKA_REASSIGN_WACH",
        "kafka_reassign_watch",
        "KAFKA_REASSIGN_Watch",
        "KAFKA-REASSIGN-WATCH",
        "kafka.reassign.watch",
        "KAFKA_REASSIGNWATCH",
        "KAFKA_REASSIGN__WATCH",
    ],
)
def test_sv_1_a_misspelt_variable_of_the_environment_ends_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "hunter2")
    for command in ("serve", "watch", "check"):
        assert main([command, *ZK]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert "no such variable of the environment; is KAFKA_REASSIGN_WATCH meant?" in line
        assert "hunter2" not in line


def test_sv_1_serve_heeds_the_variables_of_a_cluster_to_look_at_only_where_it_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are the defaults of all commands that reach a cluster."""
    monkeypatch.setenv("KAFKA_REASSIGN_BOOTSTRAP_SERVER", "h:1")
    monkeypatch.setenv("KAFKA_REASSIGN_COMMAND_CONFIG", "/f")
    with pytest.raises(Started):
        main(["serve", *ZK])


def test_sv_1_variables_that_are_read_and_those_of_services_are_no_mistake() -> None:
    assert {one.variable for one in SETTINGS if one.variable} | {SPARK_CLASSES} == {*VARIABLES}
    host, rpc = "KAFKA_REASSIGN_RPC_SERVICE_HOST", "KAFKA_REASSIGN_RPC_PORT"  # of the Service in deploy/kubernetes
    ports = (f"{rpc}_9092_TCP", f"{rpc}_9092_TCP_ADDR", "KAFKA_REASSIGN_RPC_SERVICE_PORT_METRICS", rpc)
    assert misspelt([*VARIABLES, host, *ports, "PATH", "KAFKA_REASSIGNMENT_FILE"]) is None
    assert "there are KAFKA_REASSIGN_WATCH, " in str(misspelt(["KAFKA_REASSIGN_BROKER_ID"])), "it resembles none"
    assert misspelt(["KAFKA_REASSIGN_PASSWORD_hunter2"]) is not None
    assert "hunter" not in str(misspelt(["KAFKA_REASSIGN_PASSWORD_HUNTER"]))


@pytest.mark.parametrize("name", ["inter.broker.listener.name", "control.plane.listener.name"])
def test_sv_5_an_unknown_listener_of_brokers_is_named_with_those_that_there_are(name: str) -> None:
    login = {"sasl.mechanism.inter.broker.protocol": "PLAIN", name: "NOPE"}
    with pytest.raises(BadSetting, match=rf"^{name}: there is no such listener; listener.* has A, B$"):
        broker_links({**login, "listener.security.protocol.map": "B:SSL,A:SASL_SSL"})
    with pytest.raises(BadSetting, match=r"without listener\.security\.protocol\.map the listeners are PLAINTEXT, "):
        broker_links(login)
    assert broker_links({name: "NOPE"}).listener == "NOPE"  # its protocol is what the brokers register
