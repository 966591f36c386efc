"""How Kerberos principals become names, and what GSSAPI needs."""

import pytest

from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl.kerberos import NoShortName, parse_rules, short_name
from kafka_reassign_rpc.security.sasl.sasl_config import SaslConfig
from tests.tables import for_each


@for_each(
    ("principal", "rules", "name"),
    [
        ("alice@R", "", "alice"),
        ("alice/host@R", "", "alice"),
        ("alice", "", "alice"),
        ("Alice@R", "RULE:[1:$1]/L", "alice"),
        ("alice@OTHER", "RULE:[1:$1-$0]", "alice-OTHER"),
        ("kafka/host@R", "RULE:[2:$1.$2](kafka[.]h.*)s/[.]/-/g/U", "KAFKA-HOST"),
        ("a.b.c@R", "RULE:[1:$1]s/[.]/-/", "a-b.c"),
        ("ab@R", "RULE:[1:$1]s/(a)(b)/$2$1/", "ba"),
        ("ab@R", "RULE:[1:$1]s/b/\\.x\\$1\\\\/", "a.x$1\\"),
        ("bob@R", "RULE:[1:$1](alice)s/a/b/,DEFAULT", "bob"),
    ],
)
def test_sv_5_a_principal_gets_the_name_of_the_first_rule_that_is_for_it(principal: str, rules: str, name: str) -> None:
    assert short_name(principal, parse_rules(rules.split(",") if rules else None), "R") == name


@pytest.mark.parametrize(
    ("principal", "rules"),
    [("alice@OTHER", "DEFAULT"), ("a/b/c@R", "DEFAULT"), ("alice@R", "RULE:[1:$1@$0]"), ("a/b@R", "RULE:[1:$1]")],
)
def test_sv_5_a_principal_without_a_simple_name_is_refused(principal: str, rules: str) -> None:
    with pytest.raises(NoShortName):
        short_name(principal, parse_rules([rules]), "R")


@pytest.mark.parametrize(
    "rule", ["", "RULE:x", "RULE:[1:$2]", "RULE:[3:$1]", "RULE:[1:$1](*)", "RULE:[1:$1]s/a/$1/", "RULE:[1:$]"]
)
def test_sv_5_a_rule_that_makes_no_sense_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match=r"^rule 1 is invalid"):
        parse_rules([rule])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "gssapi.sasl.jaas.config: GSSAPI needs"),
        ({"listener.name.a.gssapi.sasl.jaas.config": "org.acme.login.Y required;"}, "got org.acme.login.Y"),
        (
            {"listener.name.a.gssapi.sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"},
            "keyTab and principal are needed",
        ),
    ],
)
def test_sv_5_gssapi_without_a_key_is_refused(given: dict[str, str], named: str) -> None:
    with pytest.raises(BadSetting) as caught:
        SaslConfig.of(given, "A")
    assert named in str(caught.value)
