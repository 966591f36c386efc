"""As whom brokers come to the server's listeners: by the protocol, the login or the certificate, and the rules."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.preflight.authorizer_findings import (
    BrokerLogins,
    CannotLogIn,
    UnknownPrincipal,
    gather,
    principal_at,
)
from tests.certificates import Authority
from tests.tables import for_each

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
KRB5 = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab=k"
RULES = "sasl.kerberos.principal.to.local.rules"


def listener(protocol: str) -> Endpoint:
    return Endpoint("IN", protocol, "h", 1)


def by_login(mechanism: str, jaas: str, own: dict[str, str] | None = None, realm: str = "R") -> str:
    setting = f"listener.name.in.{mechanism.lower()}.sasl.jaas.config"
    settings = {"sasl.enabled.mechanisms": mechanism, **(own or {})}
    return principal_at(
        listener("SASL_SSL"), mechanism, None, BrokerLogins(own=settings, file={setting: jaas}, realm=realm)
    )


@pytest.mark.parametrize(
    ("mechanism", "jaas", "own", "principal"),
    [
        ("PLAIN", f'{PLAIN} username="kafka" password="x" user_alice="y";', {}, "User:kafka"),
        ("SCRAM-SHA-256", f'{SCRAM} username="a,b" password="x";', {}, "User:a,b"),
        ("SCRAM-SHA-512", f'{SCRAM} username="k" password="x" tokenauth="false";', {}, "User:k"),
        ("GSSAPI", f'{KRB5} principal="kafka/b1.example@R";', {}, "User:kafka"),
        ("GSSAPI", f'{KRB5} principal="kafka/b1.example";', {}, "User:kafka"),
        ("GSSAPI", f'{KRB5} principal="kafka/b1@R";', {RULES: "RULE:[2:$1-$2]"}, "User:kafka-b1"),
        (
            "GSSAPI",
            f'{KRB5} principal="kafka/b1@R";',
            {RULES: "DEFAULT", f"listener.name.in.{RULES}": "RULE:[2:$1]/U"},
            "User:KAFKA",
        ),
    ],
)
def test_hm_6_a_login_says_who_brokers_are(mechanism: str, jaas: str, own: dict[str, str], principal: str) -> None:
    assert by_login(mechanism, jaas, own) == principal


@for_each(
    ("mechanism", "jaas", "realm"),
    [
        ("OAUTHBEARER", "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;", "R"),
        ("PLAIN", "no login configuration", "R"),
        ("PLAIN", "", "R"),
        ("PLAIN", f'{PLAIN} user_kafka="x";', "R"),
        ("SCRAM-SHA-256", f'{SCRAM} username="id" password="x" tokenauth="true";', "R"),
        ("GSSAPI", f'{KRB5} principal="*";', "R"),
        ("GSSAPI", f"{KRB5};", "R"),
        ("GSSAPI", f'{KRB5} principal="kafka@R";', ""),
    ],
)
def test_hm_6_what_the_settings_do_not_say_is_unknown(mechanism: str, jaas: str, realm: str) -> None:
    with pytest.raises(UnknownPrincipal):
        by_login(mechanism, jaas, realm=realm)


def test_hm_6_a_ticket_that_no_rule_is_for_cannot_log_in() -> None:
    with pytest.raises(CannotLogIn):
        by_login("GSSAPI", f'{KRB5} principal="kafka/b1@OTHER";')


@pytest.mark.parametrize(
    ("own", "principal"),
    [
        ({"ssl.client.auth": "required"}, "User:CN=b1,OU=kafka"),
        ({"ssl.client.auth": "requested"}, "User:CN=b1,OU=kafka"),
        ({"ssl.client.auth": "none"}, "User:ANONYMOUS"),
        ({"ssl.client.auth": "required", "listener.name.in.ssl.client.auth": "none"}, "User:ANONYMOUS"),
        ({"ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/U"}, "User:B1"),
    ],
)
def test_hm_6_the_certificate_of_a_brokers_keystore_and_the_servers_rules_say_who_it_is(
    own: dict[str, str], principal: str, tmp_path: Path
) -> None:
    ca = Authority("CN=ca")
    at, broker = listener("SSL"), ca.issue("CN=b1,OU=kafka")
    stores = broker.pkcs12_keystore(tmp_path / "b1.p12")
    assert principal_at(at, None, None, gather(own, stores, [at])) == principal
    mine = gather({**own, **ca.issue("CN=server").pkcs12_keystore(tmp_path / "own.p12")}, {}, [at])
    assert principal_at(at, None, broker.der, mine) == principal, "what the broker has shown"
    if "ANONYMOUS" not in principal:
        with pytest.raises(UnknownPrincipal):
            principal_at(at, None, None, mine)


def test_hm_6_a_certificate_that_no_rule_is_for_cannot_log_in() -> None:
    own = {"ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=x$/x/"}
    with pytest.raises(CannotLogIn):
        principal_at(listener("SSL"), None, Authority("CN=ca").issue("CN=b1").der, BrokerLogins(own=own))


def test_hm_6_the_file_of_logins_says_who_brokers_are_where_no_setting_does(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f'KafkaServer {{ {PLAIN} username="all"; }}; in.KafkaServer {{ {PLAIN} username="here"; }};')
    own = {"java.security.auth.login.config": str(file), "sasl.enabled.mechanisms": "PLAIN"}
    broker = {"sasl.mechanism.inter.broker.protocol": "PLAIN"}
    at = listener("SASL_PLAINTEXT")
    assert principal_at(at, None, None, gather(own, broker, [at])) == "User:here"


def test_hm_6_the_servers_own_login_is_not_the_brokers() -> None:
    own = {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.in.plain.sasl.jaas.config": f'{PLAIN} username="controller" password="x" user_kafka="y";',
    }
    with pytest.raises(UnknownPrincipal, match="no --kafka-config"):
        principal_at(listener("SASL_SSL"), None, None, BrokerLogins(own=own))


def test_hm_6_brokers_with_a_mechanism_that_the_listener_does_not_have_cannot_log_in() -> None:
    own = {"sasl.enabled.mechanisms": "PLAIN", "listener.name.in.sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    with pytest.raises(CannotLogIn, match=r"by PLAIN, and listener\.name\.in\.sasl\.enabled\.mechanisms"):
        principal_at(listener("SASL_SSL"), "PLAIN", None, BrokerLogins(own=own))
