"""Kafka's `zookeeper.connect`."""

import pytest

from kafka_reassign_rpc.support.host_port import parse_connect_string
from tests.tables import for_each


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("localhost", [("localhost", 2181)], ""),
        ("zk1:2181,zk2:2182, zk3:2183", [("zk1", 2181), ("zk2", 2182), ("zk3", 2183)], ""),
        ("zk1:2181,zk2/kafka/prod", [("zk1", 2181), ("zk2", 2181)], "/kafka/prod"),
        ("zk1/kafka/", [("zk1", 2181)], "/kafka"),
        ("zk1/", [("zk1", 2181)], ""),
        ("[::1]:2182,[fe80::1]/k", [("::1", 2182), ("fe80::1", 2181)], "/k"),
        ("::1", [("::1", 2181)], ""),
        ("::ffff:127.0.0.1:2182,fe80::1%lo:7,zk:1,", [("::ffff:127.0.0.1", 2182), ("fe80::1%lo", 7), ("zk", 1)], ""),
    ],
)
def test_sv_1_the_connect_string_reads_as_kafka_reads_it(text: str, hosts: list[tuple[str, int]], chroot: str) -> None:
    parsed = parse_connect_string(text)
    assert list(parsed.hosts) == hosts
    assert parsed.chroot == chroot


@for_each(
    "text",
    [
        "",
        "/kafka",
        ":2181",
        "zk:0",
        "zk:70000",
        "zk:x",
        f"zk:{'9' * 5000}",
        "zk/a,zk2",
        "[::1:2181",
        "zk/a/../b",
        "u:pw@zk:1",
        "http:zk:1",
        "a;b:1",
    ],
)
def test_sv_1_a_connect_string_that_makes_no_sense_is_one_clear_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^zookeeper\.connect: .+$"):
        parse_connect_string(text)
