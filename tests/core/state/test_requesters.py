"""Who asked: no client can look like another one, or like none."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.requesters import (
    CONTROLLER,
    LONGEST_PART,
    LONGEST_PRINCIPAL,
    Requester,
    client,
    znode,
)

ADDRESS = "10.0.0.7"
WORD = r'[^ "]+|"(?:[^"\\]|\\.)*"'
WHO = re.compile(rf"(?P<principal>{WORD})(?: as (?P<client>{WORD}))? from (?P<address>{WORD})")
texts = st.text(max_size=300) | st.sampled_from(
    ["root from 10.0.0.9", '"', "\\", "a b", "x" * 100, "x" * 101, "\ud800", "\x00", "\u202e", "a\nERROR", "…"]
)


def test_sv_7_a_client_is_named_as_it_calls_itself_where_that_is_one_plain_word() -> None:
    assert client("User:alice", "admin-1", ADDRESS) == Requester(
        "User:alice as admin-1 from 10.0.0.7", "User:alice", "admin-1", "10.0.0.7"
    )
    assert client("User:ANONYMOUS", None, ADDRESS).who == "User:ANONYMOUS from 10.0.0.7"
    assert client("User:ANONYMOUS", "", ADDRESS) == Requester(
        "User:ANONYMOUS from 10.0.0.7", "User:ANONYMOUS", None, "10.0.0.7"
    )
    assert (CONTROLLER.who, znode("/admin/x").who) == ("controller", "znode /admin/x")
    assert CONTROLLER.address is None


def test_sv_5_a_requester_has_the_listener_the_mechanism_and_the_whole_name_of_a_certificate() -> None:
    name = "User:CN=alice," + ",".join(f"OU=unit {number}" for number in range(15)) + ",O=Acme,C=DE"
    found = client(name, None, ADDRESS, "EXTERNAL", "")
    assert (found.principal, found.listener, found.mechanism) == (name, "EXTERNAL", None)
    assert client("User:bob", None, ADDRESS, "SASL_SSL", "SCRAM-SHA-512").mechanism == "SCRAM-SHA-512"


def test_sv_7_a_client_id_that_looks_like_another_client_is_quoted() -> None:
    forged = client("User:mallory", "root from 10.0.0.9", ADDRESS)
    assert forged.who == 'User:mallory as "root from 10.0.0.9" from 10.0.0.7'
    assert forged[1:4] == ("User:mallory", "root from 10.0.0.9", "10.0.0.7")
    assert client("User:m", 'x" from 10.0.0.9 "', ADDRESS).who == r'User:m as "x\" from 10.0.0.9 \"" from 10.0.0.7'
    assert client("User:a b", "c\n", ADDRESS).who == r'"User:a b" as "c\n" from 10.0.0.7'


@given(texts.filter(bool), texts)
def test_sv_7_whatever_a_client_calls_itself_the_text_shows_its_address_and_principal(
    principal: str, client_id: str
) -> None:
    found = client(principal, client_id, ADDRESS)
    assert len(found.who) < LONGEST_PRINCIPAL + 2 * LONGEST_PART
    assert found.who.isascii() or found.who.replace("…", "").isascii()
    assert found.who.isprintable()
    parts = WHO.fullmatch(found.who)
    assert parts is not None
    assert parts["address"] == ADDRESS
    assert (parts["client"] is None) == (not client_id)
    for part, text in ((parts["principal"], principal), (parts["client"], client_id)):
        if part is not None and "…" not in part:
            assert (json.loads(part) if part.startswith('"') else part) == text


@given(texts, texts)
def test_sv_7_two_clients_that_call_themselves_differently_have_different_names(one: str, other: str) -> None:
    if one != other and max(len(one), len(other)) <= 8:
        assert client("User:a", one, ADDRESS).who != client("User:a", other, ADDRESS).who
