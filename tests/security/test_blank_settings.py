"""A blank setting means here what stock Kafka makes of it: recorded from a JVM, and asked again in CI."""

import argparse
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.serve_command import server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.client.client_settings import client_configs
from kafka_reassign_rpc.security.properties import TAKE_BLANKS, BadSetting
from kafka_reassign_rpc.security.sasl.kerberos import NoShortName, parse_rules, short_name
from kafka_reassign_rpc.security.sasl.sasl_config import SaslConfig
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from tests.certificates import Authority
from tests.security.blanks import OF_AUTHORIZERS, READ, Case, ask_java, bases, cases, recorded, written
from tests.tables import for_each

OURS = {
    "zookeeper.connect": "the server could connect to none; a broker finds that out later",
    "java.security.auth.login.config": "in Java it is no setting of the file, but a property of the process",
    "zookeeper.sasl.client": "as above",
    "zookeeper.sasl.clientconfig": "as above",
    "zookeeper.sasl.client.username": "as above",
    "zookeeper: zookeeper.clientCnxnSocket": "a broker with TLS to ZooKeeper does not find such a class later",
}
"""What is refused here, and in Kafka's file has no effect or one later."""


@pytest.fixture(scope="module", autouse=True)
def quick_stores() -> Any:
    """Each store is decrypted once: that takes long on purpose."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pkcs12, "load_pkcs12", functools.cache(pkcs12.load_pkcs12))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blanks")


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, dict[str, str]]:
    return bases(folder)


def read(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    return complete_listeners(read_settings(parser.parse_args(arguments), SETTINGS))


def refusal(kind: str, path: str, properties: Mapping[str, str]) -> str:
    """ "" where it is taken."""
    try:
        if kind == "client":
            client_configs("127.0.0.1:1", properties, lambda _: None)
        else:
            server_config(read("--kafka-config", path, "--kafka-config-listeners", "true", "--broker-id", "7"))
    except (BadSetting, UsageError) as error:
        return str(error)
    return ""


def test_sv_5_every_reader_takes_the_files_without_a_blank(folder: Path, whole: dict[str, dict[str, str]]) -> None:
    for base, properties in whole.items():
        kind = "client" if base == "client" else "broker"
        assert not refusal(kind, written(folder, properties), properties), base
        assert recorded()[f"{base}: whole"] == "= PKCS12"


@for_each("case", cases(), ids=lambda case: case.key)
def test_sv_5_a_blank_setting_is_refused_where_kafka_refuses_it_and_taken_where_kafka_takes_it(
    folder: Path, whole: dict[str, dict[str, str]], case: Case
) -> None:
    properties = {**whole[case.base], case.name: ""}
    refused = refusal(case.kind, written(folder, whole[case.base], case.name), properties)
    said = recorded()[case.key]
    assert bool(refused) == (said.startswith("error") or bool({case.name, case.key} & OURS.keys())), (said, refused)
    if said == "error definition" and case.name.rpartition("client.")[2] not in TAKE_BLANKS:
        assert case.name in refused
        assert "blank" in refused


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("listener.name.internal.ssl.client.auth", "blank"),
        ("listener.name.internal.ssl.keystore.location", "it is blank, and TLS needs the file"),
        ("listener.name.internal.ssl.key.password", "no key has a blank password"),
        ("num.partitions", "blank"),
    ],
)
def test_sv_5_a_refused_blank_is_named_with_what_to_do(
    folder: Path, whole: dict[str, dict[str, str]], name: str, problem: str
) -> None:
    """A blank ssl.client.auth must not open the listener of brokers to every client."""
    refused = refusal("broker", written(folder, whole["tls"], name), {})
    assert name in refused
    assert problem in refused


def test_sv_5_a_blank_of_a_listener_replaces_what_holds_for_all(whole: dict[str, dict[str, str]]) -> None:
    rules = {"ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/", "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}
    for_all = {**whole["tls"], **rules}
    blank = {f"listener.name.internal.{name}": "" for name in rules}
    prefixes = ("listener.name.internal.", "")
    config = TlsConfig.of({**for_all, **blank}, prefixes)
    assert config.offered == TlsConfig.of(whole["tls"], prefixes).offered != TlsConfig.of(for_all, prefixes).offered
    with pytest.raises(NoMatchingRule):  # as in Kafka, no rule is not the rule DEFAULT
        config.principal_of(Authority("CN=x").own.der)


def test_sv_5_without_mechanisms_and_without_rules_no_client_logs_in(whole: dict[str, dict[str, str]]) -> None:
    assert SaslConfig.of({**whole["tls"], "sasl.enabled.mechanisms": ""}, "CLIENT").mechanisms == ()
    with pytest.raises(NoShortName):
        short_name("a@R", parse_rules([]), "R")
    assert short_name("a@R", parse_rules(None), "R") == "a"


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        *(("ssl.client.auth", False), ("ssl.cipher.suites", True), ("super.users", True), ("num.partitions", False)),
        *(("data.dir", False), ("event.log.dir", True), ("controller.takeover", False), ("webhook.urls", False)),
    ],
)
def test_sv_5_a_blank_means_the_same_in_flags_and_in_our_own_file(folder: Path, name: str, is_taken: bool) -> None:
    toml = folder / f"{name}.toml"
    toml.write_text(f'"{name}" = ""\n')
    for arguments in ((f"--{name.replace('.', '-')}", ""), ("--config", str(toml))):
        if is_taken:
            assert not read(*arguments)[name]
            continue
        with pytest.raises(UsageError) as error:
            read(*arguments)
        assert name in str(error.value).removeprefix("--").replace("-", ".")


def test_sv_5_a_blank_variable_is_not_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_REASSIGN_BOOTSTRAP_SERVER", " ")
    with pytest.raises(UsageError, match="KAFKA_REASSIGN_BOOTSTRAP_SERVER: expected"):
        read()


@pytest.mark.release
@pytest.mark.timeout(1200)
def test_sv_5_the_recorded_blanks_are_those_of_kafka_now() -> None:
    assert ask_java() == recorded()


def test_sv_5_a_blank_is_a_value_for_what_kafka_parses_and_an_error_for_all_else() -> None:
    said = {name: recorded()[f"{'authorizer' if name in OF_AUTHORIZERS else 'tls'}: {name}"] for name in READ}
    parsed = {name for name, text in said.items() if text != "error definition"} - OURS.keys()
    assert parsed - {*OF_AUTHORIZERS} == (TAKE_BLANKS & {*READ}) - {*OF_AUTHORIZERS} - OURS.keys()
