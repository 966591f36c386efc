"""Whatever a znode holds: each decoder gives a value or a BadZnode with a message of bounded length."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE, named_replicas, rate_of
from kafka_reassign_rpc.zookeeper import (
    own_server_znodes,
    reassign_partitions_znode,
    reassignments_znodes,
    topic_znodes,
    znode_contents,
    znode_paths,
)
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import decode_request
from kafka_reassign_rpc.zookeeper.znode_decoder import LONGEST, MAX_WRONG, REPORTED, BadZnode
from tests.tables import for_each

Decoder = Callable[[bytes, str], Any]

LONGEST_MESSAGE = 800
DECODERS: dict[str, Decoder] = {
    "topic": topic_znodes.decode_topic,
    "state": topic_znodes.decode_state,
    "broker": lambda data, path: znode_contents.decode_broker(data, f"{path}/1", 1),
    "failed broker": znode_contents.decode_failure,
    "controller": znode_contents.decode_controller,
    "epoch": znode_contents.decode_controller_epoch,
    "config": znode_contents.decode_config,
    "config change": znode_contents.decode_config_change,
    "producer ids": znode_contents.decode_producer_id_block,
    "cluster id": znode_contents.decode_cluster_id,
    "move record": reassignments_znodes.decode_move_record,
    "batch": reassign_partitions_znode.decode_reassignments,
    "queue": reassign_partitions_znode.decode_queue,
    "request": decode_request,
    "topic's throttles": lambda data, path: own_server_znodes.decode_memory(data, path, TopicMemory),
    "broker's throttles": lambda data, path: own_server_znodes.decode_memory(data, path, BrokerMemory),
    "log dir event": znode_contents.decode_log_dir_event,
    "partitions": znode_contents.decode_partitions,
}
FIELDS = [
    *(
        "version",
        "partitions",
        "topic_id",
        "adding_replicas",
        "addingReplicas",
        "removing_replicas",
        "missing_replicas",
    ),
    *(
        "leader",
        "leader_epoch",
        "isr",
        "controller_epoch",
        "leader_recovery_state",
        "brokerid",
        "timestamp",
        "listeners",
    ),
    *("host", "port", "endpoints", "listener_security_protocol_map", "rack", "target", "original_replicas", "route"),
    *("reason", "throttle", "kept", "config", "entity_path", "entity_type", "entity_name", "id", "block_end"),
    *("block_start", "broker", "topic", "partition", "replicas", "cancel_skipped", "assignments", "legacy"),
    *("kraftControllerEpoch", "follower", "ours", "before", "set", "lease", "0", "t", "9" * 5_000, "²", "x" * 10_000),
]
numbers = st.sampled_from(
    ["1" * 30, "9" * 4_299, "9" * 5_000, "-" + "9" * 5_000, "1e400", "NaN", "Infinity", "-0", "2.5"]
)
nestings = st.tuples(st.sampled_from([(b"[", b"]"), (b'{"a":', b"}")]), st.sampled_from([2, 300, 990, 100_000])).map(
    lambda pair: (pair[0][0] * pair[1] + b"1" + pair[0][1] * pair[1]).decode()
)
texts = st.sampled_from(
    [*('"1"', '"²"', '"٣"', '"\\ud800"', '"\\u0000\\u001b"', '"\n"', '"a/b"', '"PLAINTEXT://h:²"', '"/"', '"topics/"')]
    + [f'"{text}"' for text in ("9" * 5_000, "PLAINTEXT://h:" + "9" * 5_000, "x" * 40_000)]
)
small = st.sampled_from(["0", "1", "2", "3", "-1", "2147483647", "2147483648", "true", "null"])


def as_object(pairs: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}"


pieces = st.recursive(
    numbers | nestings | texts | small,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]")
        # A name may occur twice.
        | st.lists(st.tuples(st.sampled_from(FIELDS), inner), max_size=5).map(as_object)
    ),
    max_leaves=10,
)


versions = st.sampled_from(["1", "1", "2", "3", '"1"', "9" * 5_000])
fields = st.lists(st.tuples(st.sampled_from(FIELDS), pieces), max_size=6)
documents = st.builds(lambda version, others: as_object([("version", version), *others]).encode(), versions, fields)
MIB = 2**20 - 2_000


def bad_or_good(decode: Decoder, data: bytes, path: str = "/a") -> Any:
    try:
        return decode(data, path)
    except BadZnode as error:
        message = str(error)
    assert len(message) < LONGEST_MESSAGE
    assert message.startswith(path[:100])
    return None


HOSTILE = [
    b"9" * 5_000,
    b'{"version":5,"endpoints":["PLAINTEXT://h:' + b"9" * 5_000 + b'"]}',
    b'{"version":5,"endpoints":["PLAINTEXT://h:\xc2\xb2"]}',
    b'{"version":1,"broker":1,"block_start":"0","block_end":"' + b"9" * 5_000 + b'"}',
    b'{"version":1,"assignments":{},"legacy":' + b"[" * 300 + b"]" * 300 + b"}",
    b'{"assignments":{},"version":' + b"[" * 300 + b"]" * 300 + b"}",
    b'{"version":1,"assignments":{"t":{"0":' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}}}",
    b'{"version":1,"assignments":{"t":{"' + b"9" * 5_000 + b'":[1]}}}',
    b'{"version":1,"assignments":{"\\ud800":{"0":[1]}}}',
    b'{"version":' + b"9" * 4_000 + b',"partitions":{},"config":{},"brokerid":1}',
    b'{"version":3,"partitions":{"0":[' + b",".join(b"1" for _ in range(10_000)) + b"]}}",
    b'{"version":3,"partitions":{},"topic_id":"' + b"x" * MIB + b'"}',
    b'{"version":5,"endpoints":[' + b",".join([b'"x"'] * 250_000) + b"]}",
    b'{"version":1,"partitions":[' + b",".join([b"0"] * 520_000) + b"]}",
]


@for_each("data", HOSTILE, ids=lambda data: f"{data[:40]!r}")
def test_236_5_hostile_content_raises_no_more_than_bad_znode_with_a_short_message(data: bytes) -> None:
    for decode in DECODERS.values():
        has_short_problems(bad_or_good(decode, data))


@given(documents | pieces.map(str.encode) | st.binary(max_size=100))
def test_236_5_no_content_of_a_znode_raises_more_than_bad_znode_with_a_short_message(data: bytes) -> None:
    for decode in DECODERS.values():
        has_short_problems(bad_or_good(decode, data))


def has_short_problems(found: Any) -> None:
    for problem in getattr(found, "problems", ()):
        assert len(problem) < LONGEST + 50


@for_each("decode", DECODERS.values(), ids=DECODERS)
def test_236_5_the_message_about_a_znode_with_an_endless_name_is_short(decode: Decoder) -> None:
    bad_or_good(decode, b"{", "/" + "x" * MIB)


@given(st.text(max_size=20) | st.integers().map(str) | st.sampled_from(["9" * 5_000, "²", "٣", "07", "9" * 30]))
def test_236_5_the_name_of_a_znode_is_a_number_or_not(name: str) -> None:
    index = znode_paths.parse_index(name)
    assert index is None or (str(index) == name and 0 <= index < 2**31)
    number = znode_paths.sequence_number(name)
    assert number is None or name.endswith((f"{number:010d}", f"{number - 2**32:010d}"))
    assert znode_paths.queue_part_number(f"/queue/part_{name}") is None or len(name) == 10
    for tail in ("²" * 10, "٣" * 10):
        assert znode_paths.sequence_number(name + tail) is None


@given(st.text("0123456789:,*²٣- ", max_size=40) | st.sampled_from(["9" * 5_000, "²:1", f"0:{'9' * 5_000}", "9" * 400]))
def test_240_1_any_text_is_a_list_of_throttled_replicas_and_a_rate(text: str) -> None:
    named_replicas(text)
    rate = rate_of(LEADER_RATE, {LEADER_RATE: text}, {})
    assert rate is None or 0 <= int(rate) <= 2**63


@pytest.mark.parametrize("decode", [DECODERS["batch"], DECODERS["queue"]])
def test_236_5_of_many_wrong_entries_the_first_are_named_and_the_good_ones_count(decode: Decoder) -> None:
    good = '{"topic":"t","partition":0,"replicas":[1]}'
    found = decode(f'{{"version":1,"partitions":[{"{},7," * 400}{good}]}}'.encode(), "/a")
    assert list(found.entries) == [("t", 0)]
    assert len(found.problems) == REPORTED + 1
    assert found.problems[-1] == "700 more problems of its entries"
    with pytest.raises(BadZnode, match=f"more than {MAX_WRONG} of its entries are malformed"):
        decode(f'{{"version":1,"partitions":[{"7," * MAX_WRONG}7,{good}]}}'.encode(), "/a")


def test_236_8_of_many_wrong_targets_the_first_are_named_and_the_good_ones_count() -> None:
    wrong = ",".join(f'"x{number}":[1]' for number in range(800))
    found = decode_request(f'{{"assignments":{{"t":{{{wrong},"0":[1]}}}}}}'.encode(), "/a")
    assert list(found.moves) == [("t", 0)]
    assert len(found.problems) == REPORTED + 1
    assert found.problems[-1] == "700 more problems of its entries"
