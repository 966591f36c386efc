"""Frames of controllers and followers, with short builders for the tests of this directory."""

from typing import Any
from uuid import UUID

from kafka_reassign_rpc.protocol.frame_codec import decode_request, decode_response, encode_request, encode_response
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrRequest,
    SimulatedFetchRequest,
    SimulatedFetchResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
)

TOPIC_ID = UUID(int=7)
NO_LIMIT = (1 << 63) - 1


def leader_and_isr(
    *partitions: dict[str, Any],
    topic: str = "t",
    topic_id: UUID = TOPIC_ID,
    controller_epoch: int = 1,
    broker_epoch: int = 10,
    version: int = 7,
) -> Any:
    """Each partition: index, leader, epoch, isr, replicas and, if wanted, version (the partition epoch)."""
    of_topic = LeaderAndIsrRequest.LeaderAndIsrTopicState
    states = [
        of_topic.LeaderAndIsrPartitionState(
            version=version,
            partition_index=one["index"],
            controller_epoch=controller_epoch,
            leader=one["leader"],
            leader_epoch=one["epoch"],
            isr=one["isr"],
            partition_epoch=one.get("version", 0),
            replicas=one["replicas"],
            adding_replicas=[],
            removing_replicas=[],
            is_new=one.get("is_new", False),
        )
        for one in partitions
    ]
    return LeaderAndIsrRequest(
        version=version,
        controller_id=1000,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        live_leaders=[],
        topic_states=[of_topic(version=version, topic_name=topic, topic_id=topic_id, partition_states=states)],
    )


def stop_replica(
    *partitions: tuple[int, int, bool],
    topic: str = "t",
    controller_epoch: int = 1,
    broker_epoch: int = 10,
    version: int = 4,
) -> Any:
    """Each partition: index, leader epoch, delete."""
    of_topic = StopReplicaRequest.StopReplicaTopicState
    states = [
        of_topic.StopReplicaPartitionState(
            version=version, partition_index=index, leader_epoch=epoch, delete_partition=delete
        )
        for index, epoch, delete in partitions
    ]
    return StopReplicaRequest(
        version=version,
        controller_id=1000,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[of_topic(version=version, topic_name=topic, partition_states=states)],
    )


def update_metadata(
    *partitions: dict[str, Any],
    brokers: dict[int, tuple[str, int]] | None = None,
    topic: str = "t",
    topic_id: UUID = TOPIC_ID,
    controller_id: int = 1000,
    controller_epoch: int = 1,
    broker_epoch: int = 10,
    version: int = 8,
) -> Any:
    """Each partition: index, leader, epoch, isr, replicas; brokers: (host, port) by id."""
    of_topic = UpdateMetadataRequest.UpdateMetadataTopicState
    states = [
        of_topic.UpdateMetadataPartitionState(
            version=version,
            partition_index=one["index"],
            controller_epoch=controller_epoch,
            leader=one["leader"],
            leader_epoch=one["epoch"],
            isr=one["isr"],
            zk_version=one.get("version", 0),
            replicas=one["replicas"],
            offline_replicas=[],
        )
        for one in partitions
    ]
    broker = UpdateMetadataRequest.UpdateMetadataBroker
    return UpdateMetadataRequest(
        version=version,
        controller_id=controller_id,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        live_brokers=[
            broker(
                version=version,
                id=broker_id,
                rack="r",
                endpoints=[
                    broker.UpdateMetadataEndpoint(
                        version=version, host=host, port=port, listener="PLAINTEXT", security_protocol=0
                    )
                ],
            )
            for broker_id, (host, port) in (brokers or {}).items()
        ],
        topic_states=[of_topic(version=version, topic_name=topic, topic_id=topic_id, partition_states=states)]
        if states
        else [],
    )


def fetch(
    sequence: int,
    *added: tuple[int, int, int],
    removed: tuple[int, ...] = (),
    topic: str = "t",
    replica_id: int = 2,
    session_id: int = 1,
    max_bytes: int = NO_LIMIT,
    max_throttled_bytes: int = NO_LIMIT,
    throttled: bool = False,
) -> Any:
    """A follower's request; each added partition: index, leader epoch, size."""
    of_topic = SimulatedFetchRequest.AddedTopic
    return SimulatedFetchRequest(
        version=0,
        replica_id=replica_id,
        session_id=session_id,
        sequence=sequence,
        max_bytes=max_bytes,
        max_throttled_bytes=max_throttled_bytes,
        added=[
            of_topic(
                version=0,
                topic=topic,
                partitions=[
                    of_topic.AddedPartition(
                        version=0, partition=index, leader_epoch=epoch, size=size, throttled=throttled
                    )
                    for index, epoch, size in added
                ],
            )
        ],
        removed=[SimulatedFetchRequest.RemovedTopic(version=0, topic=topic, partitions=list(removed))],
    )


def granted(answer: Any) -> dict[int, tuple[int, int, int]]:
    """By partition: error, leader's size, bytes; as the follower decodes them."""
    frame = encode_response(answer, version=0, correlation_id=1)
    _, answer = decode_response(SimulatedFetchResponse, frame[4:], version=0)
    return {
        partition.partition: (partition.error_code, partition.leader_size, partition.bytes)
        for topic in answer.topics
        for partition in topic.partitions
    }


def received(request: Any, version: int) -> Any:
    """The request as the broker decodes it."""
    frame = encode_request(request, version=version, correlation_id=1, client_id="1000")
    return decode_request(frame[4:]).body
