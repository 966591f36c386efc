"""AlterPartition: a leader asks for new ISRs. Each partition gets its state after the change, or an error from which
the leader knows what to do next.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafka_reassign_rpc.api.answer_fields import ZERO_UUID
from kafka_reassign_rpc.api.api_definition import (
    ALL_PARTITIONS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    ApiGroup,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import MOST_REPLICAS, answer_with, replicas
from kafka_reassign_rpc.api.ports import AlterPartition, Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest

_Changed = AlterPartitionRequest.TopicData
_Topic = AlterPartitionResponse.TopicData
_FIRST_WITH_RECOVERY = 1
_FIRST_WITH_IDS = 2
_FIRST_WITH_BROKER_EPOCHS = 3


async def handle(node: Node, request: AlterPartitionRequest, ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    version = ctx.api_version
    changes = await _changes(request, version)
    outcomes = await controller.alter_partition(
        AlterPartition(
            broker_id=request.broker_id, broker_epoch=request.broker_epoch, changes=changes, api_version=version
        )
    )
    topics = await _by_topic(version, changes, outcomes)
    elements = await _elements(version, topics)
    answer = AlterPartitionResponse(version=version, throttle_time_ms=0, error_code=0)
    answered = await answer_with(answer, "topics", elements, len(topics), len(changes))
    await in_turns(emptied(changes, elements, *topics.values()))
    return answered


async def _changes(request: AlterPartitionRequest, version: int) -> list[IsrChange]:
    changes = []
    for topic in request.topics:
        await rest()
        for partition in topic.partitions:
            await rest()
            changes.append(_change(topic, partition, version))
    return changes


async def _by_topic(
    version: int, changes: Sequence[IsrChange], outcomes: Sequence[Partition | KafkaError]
) -> dict[tuple[str, UUID | None], list[tuple[object, ...]]]:
    topics: dict[tuple[str, UUID | None], list[tuple[object, ...]]] = {}
    for change, outcome in zip(changes, outcomes, strict=True):
        name = (change.topic or "", change.topic_id)
        topics.setdefault(name, []).append(_partition(version, change.partition, outcome))
        await rest()
    return topics


async def _elements(version: int, topics: Mapping[tuple[str, UUID | None], list[tuple[object, ...]]]) -> list[InParts]:
    elements = []
    for (name, topic_id), partitions in topics.items():
        topic = _Topic(version=version, topic_name=name, topic_id=topic_id)
        elements.append(InParts(topic, "partitions", len(partitions), partitions))
        await rest()
    return elements


def _change(topic: _Changed, partition: _Changed.PartitionData, version: int) -> IsrChange:
    if version >= _FIRST_WITH_BROKER_EPOCHS:
        isr = replicas([member.broker_id for member in partition.new_isr_with_epochs[: MOST_REPLICAS + 1]])
        epochs = tuple(member.broker_epoch for member in partition.new_isr_with_epochs)
    else:
        isr, epochs = replicas(partition.new_isr), None
    return IsrChange(
        topic=None if version >= _FIRST_WITH_IDS else topic.topic_name,
        topic_id=(topic.topic_id or ZERO_UUID) if version >= _FIRST_WITH_IDS else None,
        partition=partition.partition_index,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=isr,
        isr_broker_epochs=epochs,
        leader_recovery_state=partition.leader_recovery_state if version >= 1 else 0,
    )


def _partition(version: int, index: int, outcome: Partition | KafkaError) -> tuple[object, ...]:
    """In order: much cheaper than an object for each."""
    if isinstance(outcome, KafkaError):
        fields: tuple[object, ...] = (index, outcome.code, 0, 0, ())
        recovery, epoch = 0, 0
    else:
        fields = (index, 0, outcome.leader, outcome.leader_epoch, outcome.isr)
        recovery, epoch = outcome.leader_recovery_state, outcome.partition_epoch
    return (*fields, recovery, epoch) if version >= _FIRST_WITH_RECOVERY else (*fields, epoch)


API = served(
    AlterPartitionRequest,
    Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),
    handle=handle,
    group=ApiGroup.INTER_BROKER,
    max_elements=ALL_PARTITIONS,
)
