"""What a controller's requests say, in every version that a broker may ask for."""

from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import request_builders
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_body, encode_request
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
    valid_versions,
)
from kafka_reassign_rpc.support.slices import finished
from tests.core.build import TOPIC_ID, cluster, moving, not_moving

from . import request_messages

SENDER = Sender(1000, 9, (Endpoint("PLAINTEXT", "PLAINTEXT", "server", 9092), Endpoint("TLS", "SSL", "server", 9093)))


def made() -> tuple[Cluster, Broker]:
    """Partition 0 moves from 1, 2 to 3, 4; partition 1 is at rest on 1, 2; 4 is dead."""
    found = cluster(moving((1, 2), (3, 4)), not_moving(1, 2), live=(1, 2, 3))
    return found, found.brokers[3]


def over_the_wire(body: Any, version: int) -> Any:
    """As the broker reads it."""
    frame = encode_request(body, version=version, correlation_id=1, client_id="1000")
    return decode_request(frame[4:]).body


def versions(request: Any) -> list[int]:
    oldest, newest = valid_versions(request)
    return list(range(oldest, newest + 1))


@pytest.mark.parametrize("version", versions(LeaderAndIsrRequest))
def test_455_3_leader_and_isr_carries_adding_and_removing_replicas(version: int) -> None:
    found, broker = made()
    body = request_messages.leader_and_isr(found, SENDER, broker, {"t": {0: False}}, version)

    read = over_the_wire(body, version)
    assert (read.controller_id, read.controller_epoch) == (1000, 9)
    (topic,) = read.topic_states
    (state,) = topic.partition_states
    assert (topic.topic_name, topic.topic_id) == ("t", TOPIC_ID)
    assert read.broker_epoch == broker.epoch
    assert state.replicas == [3, 4, 1, 2]
    assert (state.leader, state.leader_epoch, state.isr) == (1, 6, [1, 2])
    assert state.is_new, "a replica that is being added may be created"
    assert (state.adding_replicas, state.removing_replicas) == ([3, 4], [1, 2])
    assert [leader.broker_id for leader in read.live_leaders] == [1]


@pytest.mark.parametrize("isr", [(1, 2), (1, 2, 3)])
def test_455_3_an_adding_replica_is_new_only_until_it_is_in_sync(isr: tuple[int, ...]) -> None:
    """With a log directory offline, a new replica gets an empty log: it must not be one that may lead."""
    found = cluster(moving((1, 2), (3, 4), isr=isr), live=(1, 2, 3, 4))
    for broker, is_new in ((1, False), (3, 3 not in isr), (4, True)):
        for body in (
            request_messages.leader_and_isr(found, SENDER, found.brokers[broker], {"t": {0: False}}, 7),
            request_messages.leader_and_isr(found, SENDER, found.brokers[broker], {}, 7, is_complete=True),
        ):
            assert body is not None
            (state,) = body.topic_states[0].partition_states
            assert (broker, state.is_new) == (broker, is_new)


def test_455_3_an_adding_replica_is_not_new_on_a_broker_that_has_registered_since_its_move_began() -> None:
    """It may have copied a part into a log directory that is offline now: a second log of it would keep the broker from
    starting once that directory is back."""
    move = moving((1, 2), (3, 4))
    assert move.move is not None
    assert move.move.id is not None
    found = cluster(move, live=(1, 2, 3, 4))
    for epoch, is_new in ((move.move.id - 1, True), (move.move.id + 1, False)):
        found.brokers[3] = replace(found.brokers[3], epoch=epoch)
        body = request_messages.leader_and_isr(found, SENDER, found.brokers[3], {}, 7, is_complete=True)
        assert body is not None
        (state,) = body.topic_states[0].partition_states
        assert state.is_new is is_new


def test_455_3_leader_and_isr_names_only_partitions_with_a_replica_on_the_broker() -> None:
    found, broker = made()

    assert request_messages.leader_and_isr(found, SENDER, broker, {"t": {1: False}, "gone": {0: True}}, 7) is None
    body: Any = request_messages.leader_and_isr(found, SENDER, broker, {"t": {0: True, 1: True, 77: True}}, 7)
    assert [state.partition_index for state in body.topic_states[0].partition_states] == [0]


@pytest.mark.parametrize("version", versions(UpdateMetadataRequest))
def test_455_4_update_metadata_names_every_live_broker_the_controller_and_offline_replicas(version: int) -> None:
    found, broker = made()
    body = request_messages.update_metadata(found, SENDER, broker, {"t": [0, 1]}, {"old": [5]}, version)

    read = over_the_wire(body, version)
    assert sorted(live.id for live in read.live_brokers) == [1, 2, 3, 1000]
    own = next(live for live in read.live_brokers if live.id == 1000)
    assert [(end.host, end.port, end.security_protocol) for end in own.endpoints] == [
        ("server", 9092, 0),
        ("server", 9093, 1),
    ]
    states = {topic.topic_name: topic.partition_states for topic in read.topic_states}
    moving_state, _ = states["t"]
    assert moving_state.replicas == [3, 4, 1, 2]
    assert moving_state.offline_replicas == [4]
    (forgotten,) = states["old"]
    assert (forgotten.partition_index, forgotten.leader) == (5, -2)


@pytest.mark.parametrize("version", versions(UpdateMetadataRequest))
def test_455_4_where_brokers_have_racks_the_controller_claims_one_of_them(version: int) -> None:
    """Or brokers could not create topics of their own: Kafka places none where a rack is missing."""
    found, broker = made()

    def racks() -> dict[int, str | None]:
        read = over_the_wire(request_messages.update_metadata(found, SENDER, broker, {}, {}, version), version)
        return {live.id: live.rack for live in read.live_brokers}

    assert racks()[1000] is None
    found.brokers.update({id: replace(one, rack=f"r{id}") for id, one in found.brokers.items()})
    assert racks() == {1: "r1", 2: "r2", 3: "r3", 1000: "r1"}
    found.brokers[3] = replace(found.brokers[3], rack="r2")
    assert racks()[1000] == "r2", "of a rack with many brokers each gets the fewest replicas"


def test_455_4_deleted_topics_and_unreadable_partitions_are_not_propagated() -> None:
    found, broker = made()
    found.topics["t"].unreadable = {0: "why"}
    body = request_messages.update_metadata(found, SENDER, broker, {"t": [0, 1]}, {}, 8)
    assert [state.partition_index for state in body.topic_states[0].partition_states] == [1]
    assert request_messages.leader_and_isr(found, SENDER, broker, {"t": {0: False}}, 7) is None
    assert finished(request_builders.leader_and_isr(found, SENDER, broker, {"t": {0: False}}, 7)) is None
    frame = finished(request_builders.update_metadata(found, SENDER, broker, {"t": [0, 1]}, {}, 8))
    assert frame == encode_body(body, version=8)

    found.topics["t"].unreadable = {}
    found.topics["t"].partitions[0] = Partition(replicas=(1, 2, 3))
    assert request_messages.leader_and_isr(found, SENDER, broker, {}, 7, is_complete=True) is None, (
        "it has no state yet"
    )

    found.topics["t"].deleting = True
    assert request_messages.update_metadata(found, SENDER, broker, {"t": [1]}, {}, 8).topic_states == []


def test_sv_10_a_broker_is_not_made_to_forget_partitions_that_exist_again() -> None:
    """A reload may find them, after a request to forget them had no answer and before it is repeated."""
    found, broker = made()
    deleted = {"t": [0, 1, 2], "gone": [0]}
    for version in versions(UpdateMetadataRequest):
        body = request_messages.update_metadata(found, SENDER, broker, {"t": [1]}, deleted, version)
        frame = finished(request_builders.update_metadata(found, SENDER, broker, {"t": [1]}, deleted, version))
        assert frame == encode_body(body, version=version)
        read = over_the_wire(body, version)
        states = [(one.topic_name, state) for one in read.topic_states for state in one.partition_states]
        assert [(name, state.partition_index, state.leader) for name, state in states] == [
            ("t", 1, 1),
            ("t", 2, request_builders.LEADER_DURING_DELETE),
            ("gone", 0, request_builders.LEADER_DURING_DELETE),
        ]


@pytest.mark.parametrize("version", versions(StopReplicaRequest))
def test_455_4_stop_replica_deletes_and_is_fenced(version: int) -> None:
    _, broker = made()
    stops = {
        TopicPartition("t", 0): StopReplicaState(7, delete=True),
        TopicPartition("u", 3): StopReplicaState(8, delete=False),
    }
    read = over_the_wire(request_builders.stop_replica(SENDER, broker, stops, version), version)

    found = {
        (topic.topic_name, state.partition_index): (state.leader_epoch, state.delete_partition)
        for topic in read.topic_states
        for state in topic.partition_states
    }
    assert found == {("t", 0): (7, True), ("u", 3): (8, False)}


def test_455_2_a_topic_without_an_id_is_propagated_without_one() -> None:
    found, broker = made()
    found.topics["t"] = replace(found.topics["t"], id=None)

    body = request_messages.leader_and_isr(found, SENDER, broker, {"t": {0: False}}, 7)
    read = over_the_wire(body, 7)
    assert read.topic_states[0].topic_id in (None, UUID(int=0))
