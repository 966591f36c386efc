"""The bytes that are packed by hand are those that the schemas give."""

from typing import Any, TypeVar
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.controller_channel import request_builders
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.protocol.frame_codec import encode_body, encode_request, request_prefix
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, UpdateMetadataRequest, valid_versions
from kafka_reassign_rpc.support.slices import finished

from . import request_messages

LEADER_AND_ISR = valid_versions(LeaderAndIsrRequest)
UPDATE_METADATA = valid_versions(UpdateMetadataRequest)

T = TypeVar("T")


epochs = st.integers(0, 2**31 - 1)
ids = st.lists(st.integers(0, 9), max_size=5, unique=True).map(tuple)
many = st.lists(st.integers(0, 2000), min_size=120, max_size=140, unique=True).map(tuple)
partitions = st.builds(
    Partition,
    replicas=ids | many,
    adding=ids,
    removing=ids,
    pending_deletion=ids,
    leader=st.integers(-1, 9),
    isr=ids | many,
    leader_epoch=epochs,
    partition_epoch=st.integers(-1, 2**31 - 1),
    controller_epoch=epochs,
    leader_recovery_state=st.integers(0, 1),
    offline=ids,
)
endpoints = st.builds(
    Endpoint,
    st.text(max_size=5),
    st.sampled_from(SECURITY_PROTOCOLS),
    st.text(max_size=200),
    epochs,
)
racks = st.none() | st.text(max_size=5)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Cluster, Sender, Broker]:
    names = draw(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3, unique=True))
    topics = {
        name: Topic(
            name=name,
            id=draw(st.none() | st.uuids()),
            partitions=draw(st.dictionaries(st.integers(0, 20), partitions, max_size=4)),
            deleting=draw(st.booleans()),
        )
        for name in names
    }
    brokers = {
        broker: Broker(broker, draw(epochs), tuple(draw(st.lists(endpoints, min_size=1, max_size=2))), draw(racks))
        for broker in draw(st.sets(st.integers(0, 9), min_size=1, max_size=3))
    }
    sender = Sender(draw(epochs), draw(epochs), tuple(draw(st.lists(endpoints, max_size=2))))
    return Cluster(brokers=brokers, topics=topics), sender, draw(st.sampled_from(list(brokers.values())))


@given(clusters(), st.integers(*LEADER_AND_ISR), st.data())
def test_455_4_a_leader_and_isr_packed_by_hand_is_that_of_the_schema(
    case: tuple[Cluster, Sender, Broker], version: int, data: st.DataObject
) -> None:
    cluster, sender, broker = case
    wanted = data.draw(st.dictionaries(st.sampled_from(list(cluster.topics)), _flags))
    complete = data.draw(st.booleans())
    message = request_messages.leader_and_isr(cluster, sender, broker, wanted, version, is_complete=complete)
    packed = finished(request_builders.leader_and_isr(cluster, sender, broker, wanted, version, is_complete=complete))
    assert packed == (None if message is None else encode_body(message, version=version))


_flags = st.dictionaries(st.integers(0, 20), st.booleans(), max_size=6)


@given(clusters(), st.integers(*UPDATE_METADATA), st.data())
def test_455_4_an_update_metadata_packed_by_hand_is_that_of_the_schema(
    case: tuple[Cluster, Sender, Broker], version: int, data: st.DataObject
) -> None:
    cluster, sender, broker = case
    indexes = st.lists(st.integers(0, 20), max_size=6, unique=True)
    wanted = data.draw(st.dictionaries(st.sampled_from(list(cluster.topics)), indexes))
    deleted = data.draw(st.dictionaries(st.sampled_from([*cluster.topics, "gone"]), indexes))
    message = request_messages.update_metadata(cluster, sender, broker, wanted, deleted, version)
    packed = finished(request_builders.update_metadata(cluster, sender, broker, wanted, deleted, version))
    assert packed == encode_body(message, version=version)


@given(st.none() | st.text(max_size=20), epochs)
def test_sv_1_a_request_prefix_and_a_body_make_the_request(client_id: str | None, correlation_id: int) -> None:
    for cls, version in ((LeaderAndIsrRequest, 5), (UpdateMetadataRequest, 8)):
        body: Any = cls(version=version, controller_id=1, controller_epoch=2, broker_epoch=3)
        raw = encode_body(body, version=version)
        prefix = request_prefix(
            cls, version=version, correlation_id=correlation_id, client_id=client_id, body_size=len(raw)
        )
        wanted = encode_request(body, version=version, correlation_id=correlation_id, client_id=client_id)
        assert prefix + raw == wanted


def test_455_4_a_topic_without_an_id_has_the_zero_id() -> None:
    broker = Broker(1, 5, (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),))
    cluster = Cluster(
        brokers={1: broker}, topics={"t": Topic("t", None, {0: Partition(replicas=(1,), partition_epoch=0)})}
    )
    sender = Sender(1000, 3, ())
    packed = finished(request_builders.leader_and_isr(cluster, sender, broker, {"t": {0: True}}, 7))
    assert packed is not None
    assert UUID(int=0).bytes in packed
