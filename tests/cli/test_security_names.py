"""Misspelt names of security end the start: a broker's own properties, and the TOML file of this server."""

import argparse
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.security_names import Surroundings, unused
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS
from kafka_reassign_rpc.security.properties import BadSetting, prefix_of
from kafka_reassign_rpc.security.sasl.sasl_config import KNOWN as SERVER_MECHANISMS
from kafka_reassign_rpc.security.sasl.sasl_config import SaslConfig
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.transport.broker_links import broker_links

ZK = ("--zookeeper-connect", "127.0.0.1:1")
BROKER = """\
broker.id=3
log.dirs=/data
listeners=MTLS://0.0.0.0:9093,CLIENT://0.0.0.0:9094
listener.security.protocol.map=MTLS:SSL,CLIENT:SASL_SSL
inter.broker.listener.name=MTLS
num.network.threads=8
"""
OWN = frozenset(setting.name for setting in SETTINGS if setting.of_kafka)
OF_LISTENERS = frozenset(setting.name for setting in SETTINGS if setting.of_listeners)


def read(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    return read_settings(parser.parse_args([*ZK, *arguments]), SETTINGS)


def of_broker(folder: Path, *lines: str) -> str:
    path = folder / "server.properties"
    path.write_text(BROKER + "".join(f"{line}\n" for line in lines), encoding="latin-1")
    return str(path)


@pytest.mark.parametrize(
    ("line", "saying"),
    [
        ("listener.name.MTLS.ssl.client.auth=required", "in small letters: listener.name.mtls.ssl.client.auth"),
        ("listener.name.mtls.ssl.client.aut=required", "no listener has such a setting; is ssl.client.auth meant?"),
        ("listener.name.mtsl.ssl.client.auth=required", "there is no such listener, only client, metrics, mtls"),
        ("listener.name.nosuch.max.connections=97531", "there is no such listener"),
        ("listener.name.mtls.max.conections=97531", "no listener has such a setting"),
        ("listener.name.client.PLAIN.sasl.jaas.config=x", "there is no such mechanism"),
        ("listener.name.client.PLAIN.sasl.plain.users.file=x", "there is no such mechanism"),
        ("listener.name.client.plain.sasl.jas.config=97531", "such a setting; is sasl.jaas.config meant?"),
        ("listener.name.client.plain.ssl.client.auth=required", "no mechanism plain of a listener has such a setting"),
        ("listener.name.client.plain.sasl.oauthbearer.expected.issuer=97531", "no mechanism plain of a listener"),
        ("listener.name.client.sasl.mechanism.inter.broker.protocol=PLAIN", "no listener has such a setting"),
        ("listener.name.mtls=required", "no listener has such a setting"),
        ("ssl.client.atuh=required", "neither Kafka nor this server knows it; is ssl.client.auth meant?"),
        ("SSL.client.auth=required", "neither Kafka nor this server knows it; is ssl.client.auth meant?"),
        ("sasl.mechanism=PLAIN", "neither Kafka nor this server knows it"),
        ("sasl.plain.users.file=/users", "it belongs in the file of --config"),
        ("authorizer.class.names=kafka.security.authorizer.AclAuthorizer", "is authorizer.class.name meant?"),
        ("authoriser.class.name=kafka.security.authorizer.AclAuthorizer", "is authorizer.class.name meant?"),
        ("autorizer.class.name=kafka.security.authorizer.AclAuthorizer", "is authorizer.class.name meant?"),
        ("authorizer.zookeeper.sl.client.enable=true", "neither Kafka nor this server knows it"),
        ("super.user=User:root", "is super.users meant?"),
        ("zookeeper.set.acls=true", "nobody knows it; is zookeeper.set.acl meant?"),
        ("metrics.security.protocol=SSL", "it is this server's own: it belongs in the file of --config"),
        ("metrics.users.file=/users", "it is this server's own: it belongs in the file of --config"),
        ("webhook.secret.file=/secret", "it is this server's own: it belongs in the file of --config"),
        ("metrics.security.protocl=SSL", "nobody knows it; is metrics.security.protocol meant?"),
        ("allow.everyone.if.no.acls.found=false", "nobody knows it; is allow.everyone.if.no.acl.found meant?"),
    ],
)  # fmt: skip
def test_hm_6_a_name_that_means_security_and_has_no_effect_ends_the_start(
    tmp_path: Path, line: str, saying: str
) -> None:
    path = of_broker(tmp_path, line)
    with pytest.raises(UsageError) as error:
        read("--kafka-config", path)
    name = line.partition("=")[0]
    assert str(error.value).startswith(f"{path}: {name}: ")
    assert saying in str(error.value)
    assert "kafka.config.other.names" in str(error.value), "it says how the name may stay"
    assert line.partition("=")[2] not in str(error.value).replace(name, ""), "a value may be a secret"


@pytest.mark.parametrize("command", ["serve", "check"])
def test_hm_6_the_exit_code_is_2_and_all_names_are_shown(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of_broker(tmp_path, "listener.name.MTLS.ssl.client.auth=required", "super.user=User:root")
    assert main([command, *ZK, "--kafka-config", path]) == 2
    shown = capsys.readouterr().err
    assert "listener.name.MTLS.ssl.client.auth: " in shown
    assert "super.user: " in shown


def test_hm_6_no_setting_of_this_server_alone_is_ignored_in_the_file_of_a_broker(tmp_path: Path) -> None:
    alone = [one.name for one in SETTINGS if not one.of_kafka and one.name not in BROKER_CONFIGS]
    assert {"metrics.security.protocol", "metrics.users.file", "status.page", "controller.takeover"} <= {*alone}
    for name in alone:
        path = of_broker(tmp_path, f"{name}=97531")
        with pytest.raises(UsageError, match=rf": {re.escape(name)}: ") as error:
            read("--kafka-config", path)
        assert "97531" not in str(error.value)
        assert read("--kafka-config", path, "--kafka-config-other-names", name)["kafka.config.other.names"] == (name,)


def test_hm_6_names_that_the_operator_lets_stay_do_not_end_it(tmp_path: Path) -> None:
    lines = ("confluent.metrics.reporter.sasl.mechanism=PLAIN", "confluent.ssl.mode=x", "ssl.of.mine=1")
    path = of_broker(tmp_path, *lines)
    values = read("--kafka-config", path, "--kafka-config-other-names", "confluent.*, ssl.of.mine")
    assert values["kafka.config.other.names"] == ("confluent.*", "ssl.of.mine")
    with pytest.raises(UsageError, match=r"ssl\.of\.mine: ") as error:
        read("--kafka-config", path, "--kafka-config-other-names", "confluent.*")
    assert "confluent" not in str(error.value)


def test_hm_6_what_brokers_have_by_rights_is_taken_or_left_out(tmp_path: Path) -> None:
    path = of_broker(
        tmp_path,
        "ssl.keymanager.algorithm=SunX509",
        "ssl.secure.random.implementation=SHA1PRNG",
        "authorizer.class.name=kafka.security.authorizer.AclAuthorizer",
        "super.users=User:root",
        "sasl.enabled.mechanisms=PLAIN,MINE",
        "sasl.login.refresh.window.factor=0.8",
        "principal.builder.class=com.example.Builder",
        "listener.name.mtls.ssl.client.auth=required",
        "listener.name.mtls.ssl.keymanager.algorithm=SunX509",
        "listener.name.mtls.num.network.threads=2",
        "listener.name.client.plain.sasl.jaas.config=PlainLoginModule required user_a=b;",
        "listener.name.client.mine.sasl.jaas.config=Mine required;",
        "listener.name.client.plain.connections.max.reauth.ms=60000",
        "listener.name.client.connections.max.reauth.ms=60000",
        "listener.name.client.sasl.enabled.mechanisms=PLAIN",
        "authorizer.zookeeper.url=zk:2181",
        "rlmm.config.remote.log.metadata.common.client.sasl.mechanism=PLAIN",
        "rsm.config.storage.ssl.truststore.location=/trust",
        "metric.reporters=com.example.Reporter",
        "com.example.interval=3",
    )
    assert read("--kafka-config", path)["listener.name.mtls.ssl.client.auth"] == "required"


KAFKAS_OF_EACH = (
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)
"""SaslChannelBuilder, LoginManager and JaasContext read these behind the prefix of a listener and a mechanism."""
KAFKAS_OF_OAUTHBEARER = (
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.oauthbearer.header.urlencode",
)
"""AccessTokenRetrieverFactory reads these so, besides what this server reads as well."""


class Asked(dict[str, str]):
    """Settings that remember what was looked for."""

    def __init__(self, values: dict[str, str], names: set[str]) -> None:
        super().__init__(values)
        self._names = names

    def get(self, name: str, default: Any = None) -> Any:
        self._names.add(name)
        return super().get(name, default)


def looked_for() -> set[str]:
    """The names, below those of a listener A, that the code looks for where all mechanisms are on."""
    modules = "org.apache.kafka.common.security"
    logins = {
        "plain": f'{modules}.plain.PlainLoginModule required username="a" password="b" user_a="b";',
        "scram-sha-256": f'{modules}.scram.ScramLoginModule required username="a" password="b";',
        "scram-sha-512": f'{modules}.scram.ScramLoginModule required username="a" password="b";',
        "oauthbearer": f"{modules}.oauthbearer.OAuthBearerLoginModule required;",
        "gssapi": 'com.sun.security.auth.module.Krb5LoginModule required keyTab="k" principal="p" serviceName="s";',
    }
    values = {
        "sasl.enabled.mechanisms": ",".join(SERVER_MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": "file:///x",
        "sasl.oauthbearer.token.endpoint.url": "file:///x",
        "listener.security.protocol.map": "A:SASL_SSL",
        "inter.broker.listener.name": "A",
        **{f"listener.name.a.{mechanism}.sasl.jaas.config": login for mechanism, login in logins.items()},
    }
    names: set[str] = set()
    SaslConfig.of(Asked(values, names), "A")
    TlsConfig.of(Asked(values, names), (prefix_of("A"), ""))
    for mechanism in SERVER_MECHANISMS:
        with suppress(BadSetting):  # without the package gssapi
            broker_links(Asked({**values, "sasl.mechanism.inter.broker.protocol": mechanism}, names))
    return {name for name in names if name.startswith("listener.name.a.")}


def test_hm_6_what_is_looked_for_behind_a_listener_and_its_mechanisms_is_taken_and_nothing_else() -> None:
    asked, mechanisms = looked_for(), [mechanism.lower() for mechanism in SERVER_MECHANISMS]
    assert {"listener.name.a.plain.sasl.plain.users.file", "listener.name.a.sasl.plain.users.file"} <= asked
    assert {"listener.name.a.oauthbearer.sasl.oauthbearer.expected.issuer", "listener.name.a.ssl.client.auth"} <= asked
    kafkas = {f"listener.name.a.{one}.{setting}" for one in mechanisms for setting in KAFKAS_OF_EACH}
    kafkas |= {f"listener.name.a.oauthbearer.{setting}" for setting in KAFKAS_OF_OAUTHBEARER}
    around = Surroundings(OWN, OF_LISTENERS, {"a"})
    assert dict(unused(sorted(asked | kafkas), around)) == {}

    settings = {name.removeprefix("listener.name.a.") for name in asked | kafkas}
    settings |= OWN | OF_LISTENERS | {setting.partition(".")[2] for setting in settings}
    of_mechanisms = {f"listener.name.a.{one}.{setting}" for one in mechanisms for setting in settings if setting}
    wrong = of_mechanisms - asked - kafkas
    assert "listener.name.a.gssapi.sasl.kerberos.principal.to.local.rules" in wrong, "Kafka has it for a listener"
    assert "listener.name.a.plain.sasl.server.max.receive.size" in wrong, "Kafka has it for a listener"
    assert dict(unused(wrong, around)).keys() == wrong


@pytest.mark.parametrize(
    "name",
    [
        "listener.name.client.plain.sasl.plain.users.file",
        "listener.name.client.sasl.plain.users.file",
        "listener.name.client.oauthbearer.sasl.oauthbearer.expected.issuer",
    ],
)
@pytest.mark.parametrize("flag", ["--config", "--kafka-config"])
def test_hm_6_a_setting_of_a_listeners_mechanism_arrives(tmp_path: Path, flag: str, name: str) -> None:
    path = tmp_path / "file"
    path.write_text(
        f'listeners = "CLIENT://127.0.0.1:1"\n"listener.security.protocol.map" = "CLIENT:SASL_SSL"\n"{name}" = "x"\n'
        if flag == "--config"
        else f"{BROKER}{name}=x\n"
    )
    assert read(flag, str(path))[name] == "x"


def test_hm_6_a_listener_of_this_server_alone_may_have_settings(tmp_path: Path) -> None:
    path = of_broker(tmp_path, "listener.name.other.ssl.client.auth=required")
    own = ("--listeners", "OTHER://127.0.0.1:1", "--listener-security-protocol-map", "OTHER:SSL")
    assert read("--kafka-config", path, *own)["listener.name.other.ssl.client.auth"] == "required"


@pytest.mark.parametrize("name", ["listener.name.MTLS.ssl.client.auth", "listener.name.mtsl.ssl.client.auth"])
def test_hm_6_a_listener_that_is_none_ends_the_start_from_the_toml_file_too(tmp_path: Path, name: str) -> None:
    path = tmp_path / "server.toml"
    path.write_text(
        'listeners = "MTLS://127.0.0.1:1"\n"listener.security.protocol.map" = "MTLS:SSL"\n'
        f'"{name}" = "required"\n'
    )  # fmt: skip
    with pytest.raises(UsageError) as error:
        read("--config", str(path))
    assert str(error.value).startswith(f"{path}: {name}: ")
    path.write_text(path.read_text().replace(name, "listener.name.mtls.ssl.client.auth"))
    assert read("--config", str(path))["listener.name.mtls.ssl.client.auth"] == "required"


def test_hm_6_a_slip_in_a_name_with_capitals_is_found() -> None:
    [(_, why)] = unused(["ozokeeper.clientCnxnSocket"], Surroundings(OWN, OF_LISTENERS, {"mtls"}))
    assert why == "nobody knows it; is zookeeper.clientCnxnSocket meant?"


@given(st.sampled_from(sorted(name for name in OWN if len(name) >= 10)), st.data())
def test_hm_6_one_slip_in_a_name_of_tls_or_of_a_login_is_never_overlooked(name: str, data: st.DataObject) -> None:
    """A letter is left out, doubled, or exchanged with the next one."""
    at = data.draw(st.integers(0, len(name) - 2))
    kind = data.draw(st.sampled_from(["left out", "doubled", "exchanged"]))
    slip = {
        "left out": name[:at] + name[at + 1 :],
        "doubled": name[: at + 1] + name[at:],
        "exchanged": name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    }[kind]
    found = dict(unused([slip], Surroundings(OWN, OF_LISTENERS, {"mtls"})))
    assert slip in OWN or slip in found
