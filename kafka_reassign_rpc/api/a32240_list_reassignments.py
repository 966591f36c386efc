"""ListReassignments (KIP-240): the identities of the moves in flight.

Null topics ask for all moves. If a partition does not exist, the answer has UNKNOWN_TOPIC_OR_PARTITION and a message
that names it, and still lists the others. It leaves out a move until its record is durable, since it has no identity.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    ApiGroup,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with, existing
from kafka_reassign_rpc.api.ports import ControllerPort, Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.protocol.messages import ListReassignmentsRequest, ListReassignmentsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.turns import rest

_Topic = ListReassignmentsResponse.ListedTopic

SHOWN_UNKNOWN = 10
"""Partitions that an error message names."""


async def handle(node: Node, request: ListReassignmentsRequest, _ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    asked = request.topic_partitions
    if asked is None:
        return await _listed(controller, None, None)
    wanted = await existing(node, ((topic.topic, topic.partition_ids) for topic in asked))
    unknown = await _unknown(((topic.topic, topic.partition_ids) for topic in asked), wanted)
    return await _listed(controller, wanted, unknown)


async def _unknown(
    asked: Iterable[tuple[str, Sequence[int]]], known: Mapping[str, Collection[int]]
) -> KafkaError | None:
    first: list[str] = []
    count = 0
    for name, index in ((name, index) for name, indexes in asked for index in indexes):
        if index not in known.get(name, ()):
            count += 1
            if count <= SHOWN_UNKNOWN:
                first.append(f"{shortened(name)}-{index}")
        await rest()
    if not count:
        return None
    return UnknownTopicOrPartition(f"There is no partition {first_of(first, SHOWN_UNKNOWN, of=count)}.")


async def _listed(
    controller: ControllerPort, wanted: Mapping[str, Collection[int]] | None, error: KafkaError | None
) -> Answer:
    """Takes all values from the controller at once: the next commit changes them."""
    found = [
        (topic.name, ids)
        for topic, indexes in controller.list_reassignments(wanted)
        if (
            ids := [
                (index, move.id)
                for index in indexes
                if (move := topic.partitions[index].move) is not None and move.id is not None
            ]
        )
    ]
    elements = (
        InParts(_Topic(version=0, topic=name), "topic_reassignments", len(moves), moves) for name, moves in found
    )
    answer = _answer(error)
    return await answer_with(answer, "reassignments", elements, len(found), sum(len(moves) for _, moves in found))


def _answer(error: KafkaError | None) -> ListReassignmentsResponse:
    return ListReassignmentsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        reassignments=[],
    )


API = served(
    ListReassignmentsRequest,
    Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),
    handle=handle,
    group=ApiGroup.VENDOR,
    max_elements=PARTITION_NUMBERS,
)
