"""SASL of a listener by Kafka's properties: what a broker's server.properties means here, and what is refused."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.security_settings import SASL_SETTINGS
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE, SaslConfig
from tests.tables import for_each

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = "listener.name.external.plain.sasl.jaas.config"
PLAIN = {
    "sasl.enabled.mechanisms": "PLAIN",
    JAAS: f'{MODULE} required username="admin" password="x" user_alice="alice\\"s" "user_a,b=c%25ü"="päss;";',
}


def test_sv_5_the_users_of_a_login_configuration_are_those_of_plain() -> None:
    config = SaslConfig.of(PLAIN, "EXTERNAL")
    assert config.mechanisms == ("PLAIN",)
    assert {user: password.value for user, password in config.passwords.items()} == {
        "alice": 'alice"s',
        "a,b=c%25ü": "päss;",
    }
    assert 'alice"s' not in repr(config)
    assert (config.max_receive_size, config.max_reauth_ms) == (524288, {"PLAIN": 0})


def test_sv_5_the_settings_page_names_the_largest_request_that_counts_where_none_is_set() -> None:
    [named] = [one.default_words for one in SASL_SETTINGS if one.name == "sasl.server.max.receive.size"]
    assert int(named) == SaslConfig.of(PLAIN, "EXTERNAL").max_receive_size == MAX_RECEIVE_SIZE == 524288


def test_sv_5_settings_of_a_mechanism_come_before_those_of_a_listener_and_of_all() -> None:
    given = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.external.sasl.enabled.mechanisms": "SCRAM-SHA-512, SCRAM-SHA-256",
        "connections.max.reauth.ms": "1",
        "listener.name.external.connections.max.reauth.ms": "2",
        "listener.name.external.scram-sha-256.connections.max.reauth.ms": "3",
        "sasl.server.max.receive.size": "1000",
    }
    config = SaslConfig.of(given, "EXTERNAL")
    assert config.mechanisms == ("SCRAM-SHA-512", "SCRAM-SHA-256")
    assert config.max_reauth_ms == {"SCRAM-SHA-512": 2, "SCRAM-SHA-256": 3}
    assert config.max_receive_size == 1000


def test_sv_5_oauthbearer_takes_the_settings_of_kip_768() -> None:
    config = SaslConfig.of(
        {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.jwks.endpoint.url": "https://issuer/keys",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms": "60000",
            "listener.name.external.oauthbearer.sasl.oauthbearer.expected.audience": "kafka, other",
            "sasl.oauthbearer.expected.issuer": "https://issuer",
            "sasl.oauthbearer.clock.skew.seconds": "5",
            "listener.name.external.oauthbearer.sasl.server.callback.handler.class": (
                "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
            ),
        },
        "EXTERNAL",
    )
    assert config.jwks is not None
    assert (config.jwks.url, config.jwks.refresh_s) == ("https://issuer/keys", 60.0)
    rules = config.token_rules
    assert (rules.audiences, rules.issuer, rules.skew_s) == (("kafka", "other"), "https://issuer", 5)


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ('KafkaServer { %s required user_a="1"; };', {"a"}),
        ('external.KafkaServer { %s required user_b="2"; };\nKafkaServer { %s required user_a="1"; };', {"b"}),
        (
            'other.KafkaServer { %s required user_b="2"; };\nKafkaServer { x.Y required; %s required user_a="1"; };',
            {"a"},
        ),
    ],
)
def test_sv_5_without_a_login_configuration_the_section_of_the_file_counts(
    tmp_path: Path, file: str, users: set[str]
) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text(file.replace("%s", MODULE))
    given = {"sasl.enabled.mechanisms": "PLAIN", "java.security.auth.login.config": str(path)}
    assert SaslConfig.of(given, "EXTERNAL").passwords.keys() == users
    assert SaslConfig.of(given | {JAAS: f'{MODULE} required user_c="3";'}, "EXTERNAL").passwords.keys() == {"c"}


def test_sv_5_a_file_of_logins_without_a_section_for_the_mechanism_has_no_users(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text('KafkaServer { x.ScramLoginModule required username="secret-word"; };')
    given = {"sasl.enabled.mechanisms": "PLAIN", "java.security.auth.login.config": str(path)}
    with pytest.raises(BadSetting, match="PLAIN has no users") as caught:
        SaslConfig.of(given, "EXTERNAL")
    assert "secret-word" not in str(caught.value)


@for_each(
    ("given", "named"),
    [
        ({}, "gssapi.sasl.jaas.config: GSSAPI needs"),
        ({"sasl.enabled.mechanisms": "PLAIN,CRAM-MD5"}, "sasl.enabled.mechanisms: [hidden]"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "PLAIN has no users"),
        ({"sasl.enabled.mechanisms": "PLAIN", "sasl.jaas.config": f'{MODULE} required user_a="b";'}, "no users"),
        (PLAIN | {JAAS: "secret-word"}, JAAS),
        (PLAIN | {JAAS: 'com.example.Login required user_a="secret-word";'}, "com.example.Login"),
        (PLAIN | {JAAS: f'{MODULE} required user_{"a" * 1025}="secret-word";'}, "could not log in"),
        (PLAIN | {JAAS: f'{MODULE} required user_a="{"secret-word" * 400}";'}, "could not log in"),
        (PLAIN | {"sasl.server.callback.handler.class": "com.example.Check"}, "com.example.Check"),
        (PLAIN | {"sasl.server.max.receive.size": "-1"}, "sasl.server.max.receive.size"),
        (PLAIN | {"connections.max.reauth.ms": "1h"}, "connections.max.reauth.ms"),
        ({"sasl.enabled.mechanisms": "OAUTHBEARER"}, "sasl.oauthbearer.jwks.endpoint.url"),
        (
            {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.jwks.endpoint.url": "ftp://user:secret-word@host/keys",
            },
            "sasl.oauthbearer.jwks.endpoint.url",
        ),
        (
            {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.jwks.endpoint.url": "https://host/keys",
                "sasl.oauthbearer.clock.skew.seconds": "x",
            },
            "sasl.oauthbearer.clock.skew.seconds",
        ),
    ],
)
def test_sv_5_what_makes_no_sense_is_refused_by_its_setting_and_without_secrets(
    given: dict[str, str], named: str
) -> None:
    with pytest.raises(BadSetting) as caught:
        SaslConfig.of(given, "EXTERNAL")
    assert named in str(caught.value)
    assert "secret-word" not in str(caught.value)
