"""Login configurations as Java reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.security.login.jaas import JaasEntry, parse_entry, parse_sections, read_file
from kafka_reassign_rpc.security.properties import BadSetting
from tests.tables import for_each

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_sv_5_an_entry_has_a_module_a_flag_and_options() -> None:
    text = f'{PLAIN} required username="alice" // who\n password=\'s p"c\' x=1 /* more */ empty="";'
    entry = parse_entry(text, "sasl.jaas.config")
    assert entry == JaasEntry(PLAIN, {"username": "alice", "password": 's p"c', "x": "1", "empty": ""})
    assert entry.option("empty") is entry.option("missing") is None


def test_sv_5_a_file_has_sections_with_entries() -> None:
    text = 'KafkaServer {\n a.B required u="1";\n c.D optional;\n};\n# comment\nClient { e.F required p="{;}"; };'
    found = parse_sections(text, "jaas.conf")
    assert found == {
        "KafkaServer": (JaasEntry("a.B", {"u": "1"}), JaasEntry("c.D", {})),
        "Client": (JaasEntry("e.F", {"p": "{;}"}),),
    }


@given(st.text(max_size=30))
def test_sv_5_a_quoted_option_may_have_any_character(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_entry(f'a.B required password="{quoted}";', "x").options == {"password": value}


@for_each(
    "text",
    [
        "", "a.B", "a.B required", "a.B sometimes;", 'a.B required password="secret"', "a.B required password=;",
        'a.B required password="secret;', 'a.B required "secret";', 'a.B required p="secret"; a.B required;',
        'a.B required = "secret";', "Client { a.B required; };", "{", 'a.B required p="secret" };',
    ],
)  # fmt: skip
def test_sv_5_what_is_no_entry_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(BadSetting, match=r"sasl\.jaas\.config is no login configuration") as refused:
        parse_entry(text, "sasl.jaas.config")
    assert "secret" not in str(refused.value)


@given(st.text("ab \"'{};=/*#\n\\", max_size=40))
def test_sv_5_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_entry, parse_sections):
        try:
            parse(text, "x")
        except BadSetting:
            continue


def test_sv_5_an_entry_shows_no_value() -> None:
    assert "secret" not in repr(parse_entry('a.B required password="secret";', "x"))
    assert "secret" not in str([parse_entry('a.B required password="secret";', "x")])


def test_sv_5_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadSetting, match=r"java\.security\.auth\.login\.config: cannot read /nowhere: No such file"):
        read_file("/nowhere", "java.security.auth.login.config")
