"""Contents of znodes: Kafka's bytes in and out; garbage is reported and never fatal."""

import contextlib
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_decoder, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record
from kafka_reassign_rpc.zookeeper.topic_znodes import Assignment
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from tests.tables import for_each

PATH = "/brokers/topics/t"
ids = st.integers(0, 2**31 - 1)
epochs = st.integers(0, 2**30)
replica_sets = st.lists(ids, unique=True, max_size=5).map(tuple)
assignments = st.builds(Assignment, replica_sets, replica_sets, replica_sets)
topics = st.dictionaries(ids, assignments, max_size=8)


def test_455_2_a_topic_is_written_as_stock_kafka_writes_it() -> None:
    data = topic_znodes.encode_topic(
        UUID(bytes=bytes(range(16))), {0: Assignment((3, 2, 1), (3,), (1,)), 1: Assignment((1, 2))}
    )
    assert json.loads(data) == {
        "partitions": {"0": [3, 2, 1], "1": [1, 2]},
        "topic_id": "AAECAwQFBgcICQoLDA0ODw",
        "adding_replicas": {"0": [3]},
        "removing_replicas": {"0": [1]},
        "version": 3,
    }


@given(topics, st.none() | st.uuids())
def test_455_2_a_topic_reads_back_as_it_was_written(partitions: dict[int, Assignment], topic_id: UUID | None) -> None:
    read = topic_znodes.decode_topic(topic_znodes.encode_topic(topic_id, partitions), PATH)
    assert (read.id, read.partitions, read.extra) == (topic_id, partitions, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"version":1,"partitions":{"0":[1,2]}}', {0: Assignment((1, 2))}),
        (
            '{"version":2,"partitions":{"0":[3,1]},"adding_replicas":{"0":[3]},"removing_replicas":{"0":[1]}}',
            {0: Assignment((3, 1), (3,), (1,))},
        ),
        (
            '{"version":2,"partitions":{"0":[3,1]},"addingReplicas":{"0":[3]},"removingReplicas":{"0":[1]}}',
            {0: Assignment((3, 1), (3,), (1,))},
        ),
        (
            '{"version":3,"partitions":{"0":[1]},"adding_replicas":null,"removing_replicas":{"7":[1]}}',
            {0: Assignment((1,))},
        ),
    ],
)
def test_455_2_every_version_and_both_spellings_are_read(text: str, expected: dict[int, Assignment]) -> None:
    assert topic_znodes.decode_topic(text.encode(), PATH).partitions == expected


def test_455_2_the_topic_id_and_unknown_fields_survive_a_rewrite() -> None:
    text = b'{"version":3,"partitions":{"0":[1]},"topic_id":"IeZwWdlURs2sHNEV7EVz5g","confluent":{"a":[1,2.5,"x"]}}'
    read = topic_znodes.decode_topic(text, PATH)
    again = json.loads(topic_znodes.encode_topic(read.id, {0: Assignment((2,))}, read.extra))
    assert again["topic_id"] == "IeZwWdlURs2sHNEV7EVz5g"
    assert again["confluent"] == {"a": [1, 2.5, "x"]}
    assert again["partitions"] == {"0": [2]}


def test_sv_4_missing_replicas_are_written_only_where_there_are_some_and_read_back() -> None:
    partitions = {0: Assignment((1,)), 1: Assignment((1, 2))}
    data = topic_znodes.encode_topic(None, partitions, {}, {0: 2})
    assert json.loads(data)["missing_replicas"] == {"0": 2}
    read = topic_znodes.decode_topic(data, PATH)
    assert (read.missing, read.extra) == ({0: 2}, {})
    assert "missing_replicas" not in json.loads(topic_znodes.encode_topic(None, partitions, {}, {}))


@pytest.mark.parametrize("value", ["7", "null", '{"0":0}', '{"0":32768}', '{"0":"1"}', '{"-1":1}', '{"0":[1]}'])
def test_sv_4_missing_replicas_that_are_not_ours_have_no_effect_and_survive_a_rewrite(value: str) -> None:
    text = b'{"version":3,"partitions":{"0":[1]},"missing_replicas":%s}' % value.encode()
    read = topic_znodes.decode_topic(text, PATH)
    assert read.missing == {}
    again = json.loads(topic_znodes.encode_topic(None, {0: Assignment((1,))}, read.extra))
    assert again["missing_replicas"] == json.loads(value)


def test_sv_4_missing_replicas_of_a_partition_that_does_not_exist_are_left_out() -> None:
    text = b'{"version":3,"partitions":{"0":[1]},"missing_replicas":{"0":1,"5":1}}'
    assert topic_znodes.decode_topic(text, PATH).missing == {0: 1}


@given(ids, epochs, replica_sets, epochs, st.integers(0, 1))
def test_455_4_a_partition_state_reads_back_as_it_was_written(
    leader: int, epoch: int, isr: tuple[int, ...], controller: int, recovery: int
) -> None:
    read = topic_znodes.decode_state(topic_znodes.encode_state(leader, epoch, isr, controller, recovery), PATH)
    assert (read.leader, read.leader_epoch, read.isr) == (leader, epoch, isr)
    assert (read.controller_epoch, read.leader_recovery_state) == (controller, recovery)


@pytest.mark.parametrize("epoch", [2**30 + 1, 2**31 - 2, 2**31 - 1, 2**31])
def test_sv_3_an_epoch_whose_successors_would_not_fit_into_a_request_is_a_mistake_in_the_znode(epoch: int) -> None:
    for leader_epoch, controller_epoch in ((epoch, 1), (1, epoch)):
        with pytest.raises(BadZnode, match=PATH):
            topic_znodes.decode_state(topic_znodes.encode_state(1, leader_epoch, (1,), controller_epoch), PATH)
    with pytest.raises(BadZnode, match=znode_paths.CONTROLLER_EPOCH):
        znode_contents.decode_controller_epoch(b"%d" % epoch)


def test_455_4_a_partition_state_has_kafkas_text() -> None:
    assert (
        topic_znodes.encode_state(1, 13, (2, 1), 12)
        == b'{"controller_epoch":12,"leader":1,"version":1,"leader_epoch":13,"isr":[2,1]}'
    )
    assert topic_znodes.encode_state(-1, 0, (), 1, 1).endswith(b'"isr":[],"leader_recovery_state":1}')


def test_sv_4_a_broker_registration_of_every_version_is_read() -> None:
    modern = (
        b'{"features":{},"listener_security_protocol_map":{"INTERNAL":"SASL_SSL","PLAINTEXT":"PLAINTEXT"},'
        b'"endpoints":["INTERNAL://[::1]:9093","PLAINTEXT://h:9092"],"rack":"r1","jmx_port":-1,"port":9092,'
        b'"host":"h","version":5,"timestamp":"1700000000000"}'
    )
    broker = znode_contents.decode_broker(modern, "/brokers/ids/7", 42)
    assert (broker.id, broker.epoch, broker.rack) == (7, 42, "r1")
    assert broker.endpoints == (
        Endpoint("INTERNAL", "SASL_SSL", "::1", 9093),
        Endpoint("PLAINTEXT", "PLAINTEXT", "h", 9092),
    )
    written = znode_contents.encode_broker(broker.endpoints, 1700000000000, "r1")
    assert json.loads(written) == json.loads(modern)
    assert znode_contents.decode_broker(written, "/brokers/ids/7", 42) == broker
    old = znode_contents.decode_broker(b'{"version":1,"host":"h","port":1,"jmx_port":-1}', "/brokers/ids/0", 1)
    assert old.endpoints == (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)


def test_sv_3_the_controller_znode_is_kafkas_with_our_listeners_added() -> None:
    stock = b'{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":-1}'
    assert znode_contents.encode_controller(3, 1) == stock
    assert znode_contents.decode_controller(stock).brokerid == 3
    ours = znode_contents.decode_controller(znode_contents.encode_controller(1000, 1, ["PLAINTEXT://h:1"]))
    assert (ours.brokerid, ours.listeners) == (1000, ("PLAINTEXT://h:1",))
    assert znode_contents.decode_controller(b'{"version":1,"brokerid":0,"timestamp":"1"}').brokerid == 0


def test_sv_4_small_znodes_read_as_kafka_writes_them() -> None:
    assert znode_contents.decode_controller_epoch(znode_contents.encode_controller_epoch(12)) == 12
    block = znode_contents.encode_producer_id_block(2, 1000, 1999)
    assert block == b'{"version":1,"broker":2,"block_start":"1000","block_end":"1999"}'
    assert znode_contents.decode_producer_id_block(block) == 1999
    assert znode_contents.decode_producer_id_block(None) is None
    with pytest.raises(BadZnode, match="empty"):
        znode_contents.decode_producer_id_block(b"")
    assert znode_contents.decode_cluster_id(znode_contents.encode_cluster_id("x-y")) == "x-y"
    assert znode_contents.decode_config(znode_contents.encode_config({"a": "b"}), PATH) == {"a": "b"}
    assert znode_contents.decode_config(b"", PATH) == {}
    assert znode_contents.decode_config_change(znode_contents.encode_config_change("topics/x"), PATH) == "topics/x"
    old = b'{"version":1,"entity_type":"topics","entity_name":"x"}'
    assert znode_contents.decode_config_change(old, PATH) == "topics/x"


GARBAGE = [
    *(b"", b"{", b"null", b"[]", b"0", b"\xff\xfe", b"[" * 5000, b'{"version":1}', b'{"version":"1"}'),
    *(b'{"version":99,"partitions":{}}', b'{"version":1,"partitions":[]}', b'{"version":1,"partitions":{"x":[1]}}'),
    *(b'{"version":1,"partitions":{"0":[-1]}}', b'{"version":1,"partitions":{"0":[1,1]}}'),
    *(b'{"version":1,"partitions":{"-1":[1]}}', b'{"version":1,"partitions":{"0":[2147483648]}}'),
    *(b'{"version":3,"partitions":{},"topic_id":"%"}', b'{"version":3,"partitions":{},"topic_id":7}'),
]
DECODERS = [
    topic_znodes.decode_topic,
    topic_znodes.decode_state,
    decode_move_record,
    znode_contents.decode_controller,
    znode_contents.decode_controller_epoch,
    znode_contents.decode_config_change,
    znode_contents.decode_cluster_id,
    lambda data, path: znode_contents.decode_broker(data, path + "/1", 1),
]


@for_each("data", GARBAGE)
def test_sv_6_garbage_in_a_topic_znode_is_reported_with_its_path(data: bytes) -> None:
    with pytest.raises(BadZnode) as caught:
        topic_znodes.decode_topic(data, PATH)
    assert caught.value.path == PATH
    assert str(caught.value).startswith(f"{PATH}: ")
    assert len(str(caught.value)) < 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    [
        *("version", "partitions", "topic_id", "adding_replicas", "isr", "leader", "leader_epoch", "controller_epoch"),
        *("brokerid", "endpoints", "host", "port", "rack", "target", "original_replicas", "config", "entity_path"),
        "route",
    ]
)


@given(st.one_of(st.binary(max_size=80), st.dictionaries(fields, json_values).map(lambda v: json.dumps(v).encode())))
def test_sv_6_any_content_of_a_znode_is_a_value_or_a_bad_znode(data: bytes) -> None:
    for decode in (*DECODERS, znode_contents.decode_config, znode_contents.decode_producer_id_block):
        with contextlib.suppress(BadZnode):
            decode(data, PATH)


def test_sv_6_the_readable_ones_of_many_are_kept_and_the_others_reported() -> None:
    stat = Stat(*[0] * 11)
    found = [("/a", (b'{"version":1,"config":{"k":"v"}}', stat)), ("/b", (b"{", stat)), ("/c", None)]
    good, bad = znode_decoder.decode_many(znode_contents.decode_config, found)
    assert good == {"/a": {"k": "v"}}
    assert [one.path for one in bad] == ["/b"]


def test_sv_4_paths_are_kafkas() -> None:
    assert znode_paths.partition_state("t", 3) == "/brokers/topics/t/partitions/3/state"
    assert [znode_paths.parse_index(name) for name in ("0", "17", "07", "-1", "x", "", "²")] == [0, 17] + [None] * 5
    assert znode_paths.sequence_number("config_change_0000000012") == 12
    assert znode_paths.sequence_number("config_change_") is None
    past = [f"config_change_{number:010d}" for number in (2**31 - 1, -(2**31), 1 - 2**31, -123_456_789, -1)]
    assert [znode_paths.sequence_number(name) for name in past] == [
        *(2**31 - 1, 2**31, 2**31 + 1, 2**32 - 123_456_789, 2**32 - 1)
    ], "ZooKeeper's count goes on in the negative"
    assert znode_paths.sequence_number("request-0000000012") == 12
