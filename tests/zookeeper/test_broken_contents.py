"""Each decoder of a znode, on what Kafka writes there, broken at every place: reported, and the others are read."""

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_reassign_rpc
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.zookeeper import (
    acl_znodes,
    own_server_znodes,
    reassign_partitions_znode,
    reassignment_request_znodes,
    reassignments_znodes,
    topic_znodes,
    znode_contents,
    znode_decoder,
)
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.znode_decoder import LONGEST, BadZnode
from tests.effort import examples
from tests.zookeeper.broken_documents import BREAKERS, Break, breaks, places, text_of

PACKAGE = Path(kafka_reassign_rpc.__file__).parent
MODULES = (
    *(reassign_partitions_znode, reassignment_request_znodes, reassignments_znodes),
    *(acl_znodes, own_server_znodes, topic_znodes, znode_contents),
)
STAT = Stat(*range(11))
ID = "AAECAwQFBgcICQoLDA0ODw"
ENTRY = {"topic": "t", "partition": 0, "replicas": [1, 2], "original_replicas": [2, 3], "cancel_skipped": "why"}
QUEUED = {**ENTRY, "route": "rpc", "reason": "why", "throttle": 1000, "moves_per_broker": 5, "client": 0}
CLIENT = {"principal": "User:a", "client_id": "b", "address": "::1", "listener": "SASL_SSL", "mechanism": "PLAIN"}
RATE = {"set": "1000", "lease": 1000, "before": "5"}
LIST = {"ours": "0:1", "before": "0:2"}
LONGEST_MESSAGE = 800


class Znode(NamedTuple):
    """A kind of znode: its decoder, and documents that have every field of its schema."""

    decode: Callable[[bytes, str], Any]
    documents: tuple[Any, ...]


ZNODES = {
    "decode_topic": Znode(
        topic_znodes.decode_topic,
        (
            {
                "version": 3,
                "partitions": {"0": [1, 2], "1": [3]},
                "topic_id": ID,
                "adding_replicas": {"0": [2]},
                "removing_replicas": {"0": [1]},
                "missing_replicas": {"0": 1},
                "ours": {"not": [1]},
            },
            {"version": 1, "partitions": {"0": [1]}, "addingReplicas": {"0": [1]}, "removingReplicas": {}},
        ),
    ),
    "decode_state": Znode(
        topic_znodes.decode_state,
        (
            {
                "controller_epoch": 1,
                "leader": 1,
                "version": 1,
                "leader_epoch": 0,
                "isr": [1, 2],
                "leader_recovery_state": 1,
            },
        ),
    ),
    "decode_failed_log_dirs": Znode(
        znode_contents.decode_failed_log_dirs,
        ({"version": 1, "timestamp": 1, "log_dirs": ["/data/1"]}, {"timestamp": "1"}),
    ),
    "decode_failure": Znode(znode_contents.decode_failure, ({"version": 1, "timestamp": 1}, {"timestamp": "1"})),
    "decode_last_control": Znode(
        own_server_znodes.decode_last_control, ({"version": 1, "epoch": 7, "until": 1, "kraft": True},)
    ),
    "decode_registered_server": Znode(
        own_server_znodes.decode_registered_server,
        ({"version": 1, "endpoints": ["A:SSL://h:9092", "B:B://[::1]:9093"]},),
    ),
    "decode_broker": Znode(
        lambda data, path: znode_contents.decode_broker(data, path, 7),
        (
            {
                "version": 5,
                "host": "h",
                "port": 9092,
                "endpoints": ["PLAINTEXT://h:9092", "INSIDE://[::1]:9093"],
                "jmx_port": -1,
                "timestamp": "1",
                "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "INSIDE": "SSL"},
                "features": {},
                "rack": "a",
            },
            {"version": 1, "host": "h", "port": 9092, "jmx_port": 1},
        ),
    ),
    "decode_controller": Znode(
        znode_contents.decode_controller,
        (
            {
                "version": 2,
                "brokerid": 1,
                "timestamp": "1",
                "kraftControllerEpoch": -1,
                "listeners": ["PLAINTEXT://h:9092"],
            },
        ),
    ),
    "decode_controller_epoch": Znode(znode_contents.decode_controller_epoch, (7,)),
    "decode_config": Znode(
        znode_contents.decode_config, ({"version": 1, "config": {"retention.ms": "5", "cleanup.policy": "delete"}},)
    ),
    "decode_config_change": Znode(
        znode_contents.decode_config_change,
        ({"version": 2, "entity_path": "topics/t"}, {"version": 1, "entity_type": "topics", "entity_name": "t"}),
    ),
    "decode_producer_id_block": Znode(
        znode_contents.decode_producer_id_block,
        ({"version": 1, "broker": 1, "block_start": "0", "block_end": "999"},),
    ),
    "decode_cluster_id": Znode(znode_contents.decode_cluster_id, ({"version": "1", "id": ID},)),
    "decode_move_record": Znode(
        lambda data, path: reassignments_znodes.decode_move_record(data, path, STAT),
        (
            {
                "version": 1,
                "target": [1, 2],
                "original_replicas": [2, 3],
                "route": "rpc",
                "reason": "why",
                "throttle": 7,
                "kept": [4],
            },
        ),
    ),
    "decode_reassignments": Znode(
        reassign_partitions_znode.decode_reassignments,
        ({"version": 1, "partitions": [ENTRY, {**ENTRY, "topic": "u"}]},),
    ),
    "decode_queue": Znode(
        reassign_partitions_znode.decode_queue, ({"version": 1, "clients": [CLIENT], "partitions": [QUEUED]},)
    ),
    "decode_request": Znode(
        reassignment_request_znodes.decode_request,
        ({"version": 1, "assignments": {"t": {"0": [1, 2]}, "u": {"3": [4], "4": []}}, "legacy": True},),
    ),
    "decode_memory": Znode(
        lambda data, path: (
            own_server_znodes.decode_memory(data, path, BrokerMemory)
            if b"set" in data
            else own_server_znodes.decode_memory(data, path, TopicMemory)
        ),
        ({"version": 1, "leader": RATE, "follower": RATE}, {"version": 1, "leader": LIST, "follower": LIST}),
    ),
    "decode_log_dir_event": Znode(znode_contents.decode_log_dir_event, ({"version": 1, "broker": 1, "event": 1},)),
    "decode_partitions": Znode(
        znode_contents.decode_partitions, ({"version": 1, "partitions": [{"topic": "t", "partition": 0}]},)
    ),
    "decode_acls": Znode(
        acl_znodes.decode_acls,
        (
            {
                "version": 1,
                "acls": [{"principal": "User:a", "permissionType": "Allow", "operation": "Read", "host": "10.0.0.1"}],
            },
        ),
    ),
    "decode_extended_change": Znode(
        acl_znodes.decode_extended_change,
        ({"version": 1, "resourceType": "TOPIC", "name": "pre-", "patternType": "PREFIXED"},),
    ),
    "decode_token_end": Znode(
        znode_contents.decode_token_end, ({"version": 3, "expiryTimestamp": 1, "maxTimestamp": 2},)
    ),
}
EACH = pytest.mark.parametrize("name", ZNODES)


def test_sv_6_every_decoder_of_a_znode_is_tried() -> None:
    found = {
        name
        for module in MODULES
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("decode_") and value.__module__ == module.__name__
    }
    assert found == ZNODES.keys()
    paths = {path for path in (PACKAGE / "zookeeper").glob("*.py") if path.stem.endswith(("_znodes", "_znode"))}
    without_decoders = {PACKAGE / "zookeeper" / name for name in ("config_znodes.py", "settings_znode.py")}
    assert paths - {Path(module.__file__ or "") for module in MODULES} == without_decoders


@EACH
def test_sv_6_what_kafka_writes_is_read(name: str) -> None:
    for document in ZNODES[name].documents:
        assert ZNODES[name].decode(msgspec.json.encode(document), "/a/1") is not None


@EACH
def test_sv_6_a_znode_that_is_broken_at_any_place_is_read_or_reported_and_the_others_are_read(name: str) -> None:
    """Broken: other types, numbers and texts of any size, depth, names that occur twice, no JSON, no UTF-8."""
    decode, documents = ZNODES[name]
    for document in documents:
        whole = msgspec.json.encode(document)
        tried = {f"/broken-{number}/1": text_of(document, one) for number, one in enumerate(breaks(document))}
        tried |= {f"/cut-{size}/1": whole[:size] for size in range(len(whole))}
        assert len(tried) > len(BREAKERS)
        read = {"/first/1": whole, **tried, "/last/1": whole}
        found, bad = znode_decoder.decode_many(decode, ((path, (data, STAT)) for path, data in read.items()))
        assert found.keys() >= {"/first/1", "/last/1"}
        reported = {error.path for error in bad}
        assert found.keys() | reported == read.keys()
        assert not found.keys() & reported
        for path, value in found.items():
            is_harmless(value, read[path])
        for error in bad:
            is_short(error)


@pytest.mark.parametrize("name", ["decode_reassignments", "decode_queue", "decode_request"])
def test_236_5_an_entry_that_is_broken_at_any_place_is_reported_and_the_others_count(name: str) -> None:
    """As far as the whole is JSON."""
    (document,) = ZNODES[name].documents
    if name == "decode_request":
        document = {"version": 1, "assignments": {"t": {"0": [1, 2]}, "good": {"0": [3]}}}
        inside: tuple[str | int, ...] = ("assignments", "t")
    else:
        document = {"version": 1, "partitions": [ENTRY, {"topic": "good", "partition": 0, "replicas": [3]}]}
        inside = ("partitions", 0)
    tried = 0
    for one in breaks(document):
        data = text_of(document, one)
        if one.place[: len(inside)] != inside or one.how == "name" or not is_json(data):
            continue
        tried += 1
        found = ZNODES[name].decode(data, "/a/1")
        entries = found.moves if name == "decode_request" else found.entries
        assert ("good", 0) in entries, data[:200]
        assert entries.keys() - {("good", 0)} or found.problems or is_harmlessly_empty(one)
    assert tried > len(BREAKERS)


@pytest.mark.parametrize("name", ["x" * 250, "x" * 33_000, "a b", "..", "é", "", "a\n"])
def test_sv_6_a_topic_with_a_name_that_kafka_does_not_allow_is_reported(name: str) -> None:
    document = msgspec.json.encode(ZNODES["decode_topic"].documents[0])
    with pytest.raises(BadZnode, match="no topic can have this name") as caught:
        topic_znodes.decode_topic(document, f"/brokers/topics/{name}")
    assert len(str(caught.value)) < LONGEST_MESSAGE
    assert topic_znodes.decode_topic(document, f"/brokers/topics/{'x' * 249}").partitions


def is_harmlessly_empty(one: Break) -> bool:
    """Whether a topic without partitions is there now: nothing is asked for."""
    return one.by == b"{}"


def is_json(data: bytes) -> bool:
    """Whether the strict decoder can skip all of it."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


@pytest.mark.more
@settings(max_examples=examples(300))
@given(
    st.sampled_from([(znode.decode, document) for znode in ZNODES.values() for document in znode.documents]),
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.sampled_from(["value", "name", "twice"]), st.sampled_from([*BREAKERS.values()])
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), max_size=3),
)
def test_sv_6_a_znode_that_is_broken_at_many_places_is_read_or_reported(
    znode: tuple[Callable[[bytes, str], Any], Any],
    where: list[tuple[int, str, bytes]],
    strewn: list[tuple[int, bytes]],
) -> None:
    decode, document = znode
    found = list(places(document))
    data = text_of(document, *(Break(found[number % len(found)], how, by) for number, how, by in where))
    for number, more in strewn:
        at = number % (len(data) + 1)
        data = data[:at] + more + data[at + len(more) :]
    try:
        is_harmless(decode(data, "/a/1"), data)
    except BadZnode as error:
        is_short(error)


def is_short(error: BadZnode) -> None:
    """Whether the message names the znode and makes one line of a log."""
    message = str(error)
    assert message.startswith(error.path)
    assert len(message) < LONGEST_MESSAGE
    assert message.isprintable()


def is_harmless(value: Any, data: bytes) -> None:
    """Whether a decoded value has nothing that fails later: numbers that cannot be written, halves of characters.

    A request may name a topic with half a character. That target is refused as of any topic that does not exist.
    """
    errors = "surrogatepass" if isinstance(value, reassignment_request_znodes.ReadRequest) else "strict"
    for problem in getattr(value, "problems", ()):
        assert len(problem) < LONGEST + 50
        assert problem.isprintable()
    stack = [value]
    while stack:
        match stack.pop():
            case bool() | None | bytes() | msgspec.Raw():
                pass
            case int() as number:
                assert -(2**63) <= number < 2**63, data[:200]
            case str() as text:
                text.encode(errors=errors)
            case dict() as found:
                stack += [*found.keys(), *found.values()]
            case list() | tuple() | set() | frozenset() as found:
                stack += found
            case msgspec.Struct() as struct:
                stack += [getattr(struct, field) for field in struct.__struct_fields__]
            case other:
                assert type(other).__name__ == "UUID", other


def test_sv_6_nothing_but_the_one_decoder_parses_a_znode() -> None:
    """No json.loads, no decode of bytes or by a decoder, no int or float of a text, where znodes are read."""
    parsers = {"loads", "decode", "isdigit", "isdecimal", "isnumeric"}
    read = [path for path in (PACKAGE / "zookeeper").glob("*.py") if "znode" in path.stem]
    for folder in ("commands", "commit", "duties", "loading", "watches"):
        read += (PACKAGE / "controller" / folder).glob("*.py")
    read.remove(Path(znode_decoder.__file__))
    assert len(read) > 30
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in read
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        if (isinstance(node.func, ast.Attribute) and node.func.attr in parsers)
        or (isinstance(node.func, ast.Name) and node.func.id in {"int", "float"})
    ]
    assert found == []
