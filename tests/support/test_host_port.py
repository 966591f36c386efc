"""Addresses are read as Kafka's clients of 3.9 read them: what ClientUtils.parseAndValidateAddresses made of each."""

import re
from pathlib import Path

import pytest

import kafka_reassign_rpc
from kafka_reassign_rpc.cli.value_parsers import host_and_port
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.reassign_command.action_context import check_addresses
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.support.host_port import Address, BadAddress, host_port, host_ports

PACKAGE = Path(kafka_reassign_rpc.__file__).parent

READ = {
    "localhost:9092,": [("localhost", 9092)],
    "127.0.0.1:1, ,127.0.0.1:2": [("127.0.0.1", 1), ("127.0.0.1", 2)],
    "[fe80::1%lo]:9092": [("fe80::1%lo", 9092)],
    "::ffff:127.0.0.1:9092": [("::ffff:127.0.0.1", 9092)],
    "::1:9": [("::1", 9)],
    "[::1]:1": [("::1", 1)],
    "PLAINTEXT://127.0.0.1:1": [("127.0.0.1", 1)],
    "plain-text://[::1]:5": [("::1", 5)],
    "[127.0.0.1:5": [("127.0.0.1", 5)],
    "localhost:0": [("localhost", 0)],
    ":1": [("", 1)],
    ",": [],
}
REFUSED = {"host": "url", "host:": "url", "localhost:+5": "url", "h:70000": "port", "h:99999999999": "port"}


@pytest.mark.parametrize("text", READ)
def test_236_12_addresses_are_read_as_kafkas_clients_read_them_by_every_command(text: str) -> None:
    assert [address for _, address in host_ports(text)] == READ[text]
    if not READ[text]:
        with pytest.raises(CommandFailed, match=r"No resolvable bootstrap urls given in bootstrap\.servers"):
            check_addresses(text)
        return
    local = [(host or "localhost", port) for host, port in READ[text]]
    assert list(client_settings({"bootstrap_servers": text}).addresses) == local
    assert list(client_settings({"bootstrap_servers": text.split(",")}).addresses) == local
    if "," not in text:
        assert host_and_port(text) == READ[text][0]


@pytest.mark.parametrize("text", REFUSED)
def test_236_12_what_is_no_address_is_refused_in_kafkas_words(text: str) -> None:
    with pytest.raises(BadAddress, match=rf"^Invalid {REFUSED[text]} in bootstrap\.servers: "):
        host_port(text)
    with pytest.raises(CommandFailed, match=rf"Invalid {REFUSED[text]} in bootstrap\.servers: "):
        check_addresses(f"localhost:1,{text}")


def test_236_12_what_resolves_is_enough_and_an_address_of_ipv6_is_shown_in_brackets() -> None:
    check_addresses("no-such-host.invalid:1,::ffff:127.0.0.1:1,")
    assert str(Address("fe80::1%lo", 9)) == "[fe80::1%lo]:9"
    assert str(Address("b1", 9)) == "b1:9"


OWN_FORMATS = {
    "support/host_port.py": "the one place that joins them",
    "fleet/simulated_broker.py": "simulated brokers listen on names and on IPv4",
    "zookeeper/own_server_znodes.py": "a znode of ours, read by servers of earlier releases: the last colon divides",
}


def test_sv_11_no_text_joins_a_host_and_a_port_by_itself_since_an_address_of_ipv6_has_brackets() -> None:
    joins = re.compile(r'host\}:\{[\w.]*port|"\{\}:\{\}"')
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if joins.search(path.read_text())}
    assert found == {*OWN_FORMATS}
