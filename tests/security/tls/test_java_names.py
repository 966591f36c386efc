"""Names of principals are those of stock Kafka: recorded from a JVM with Kafka's own class, and asked again in CI."""

import pytest

from kafka_reassign_rpc.security.tls.principal_mapping import (
    NoMatchingRule,
    distinguished_name,
    parse_rules,
    principal_name,
    subject_name,
)
from tests.certificates import Authority
from tests.security.tls.java_names import NAMES, RULES, WITHOUT, Table, ask_java, recorded


@pytest.fixture(scope="module")
def table() -> Table:
    return recorded()


def mapped(rules: str, name: str) -> str:
    try:
        parsed = parse_rules(rules)
    except ValueError:
        return "invalid"
    try:
        return "= " + principal_name(parsed, name)
    except NoMatchingRule as error:
        return "none" if str(error).startswith("no rule") else "fails"


def test_sv_5_a_distinguished_name_is_printed_as_java_prints_it(table: Table) -> None:
    assert len(table.names) > 80
    assert [(der, distinguished_name(bytes.fromhex(der))) for der, _ in table.names] == table.names


def test_sv_5_mapping_rules_give_what_kafkas_own_class_gives(table: Table) -> None:
    assert {rules for rules, _, _ in table.mapped} == set(RULES)
    assert {name for _, name, _ in table.mapped} == set(NAMES)
    known = [row for row in table.mapped if not any(part in row[0] for part in WITHOUT)]
    assert [(rules, name, mapped(rules, name)) for rules, name, _ in known] == known


def test_sv_5_a_pattern_that_python_reads_otherwise_is_refused_not_guessed(table: Table) -> None:
    unknown = [row for row in table.mapped if any(part in row[0] for part in WITHOUT)]
    assert unknown
    assert {mapped(rules, name) for rules, name, _ in unknown} == {"invalid"}


@pytest.mark.parametrize(
    "rules", ["RULE:^CN=(.*$/$1/", "RULE:^CN=(.*)$/$1/LU", "DEFAUL", "RULE:(?<=a+)b/x/", "RULE:a{,3}/x/"]
)
def test_sv_5_rules_that_do_not_parse_are_named_by_their_number(rules: str) -> None:
    with pytest.raises(ValueError, match=r"^rule 1(: .* pattern| is invalid)") as error:
        parse_rules(rules)
    assert rules not in str(error.value)


def test_sv_5_the_name_is_that_of_the_certificates_subject() -> None:
    issued = Authority("CN=ca,O=Acme").issue("CN=alice,OU=ops,O=Acme\\, Inc.,C=DE")
    assert subject_name(issued.der) == "CN=alice,OU=ops,O=Acme\\, Inc.,C=DE"


@pytest.mark.release
def test_sv_5_the_recorded_names_are_those_of_java_now(table: Table) -> None:
    assert ask_java() == table
