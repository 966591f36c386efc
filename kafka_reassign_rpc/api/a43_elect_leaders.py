"""ElectLeaders: preferred and unclean elections.

Null partitions mean all; the answer then leaves out partitions with ELECTION_NOT_NEEDED. On a node that is not the
controller each named partition gets NOT_CONTROLLER. The answer comes when this node shows the elected leaders, whatever
the timeout: a stock controller answers REQUEST_TIMED_OUT if its own metadata has not followed in time.

Difference: a request for all partitions gets NOT_CONTROLLER at the top level from a node that is not the controller. A
ZooKeeper-mode broker answers an empty success, which tools report as done.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import ItemResult, Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, InvalidRequest, KafkaError, NotController
from kafka_reassign_rpc.core.leadership.elections import ElectionType
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import ElectLeadersRequest, ElectLeadersResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest

_Topic = ElectLeadersResponse.ReplicaElectionResult
_Partition = _Topic.PartitionResult


async def handle(node: Node, request: ElectLeadersRequest, ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    kind = request.election_type if ctx.api_version >= 1 else ElectionType.PREFERRED
    if kind not in tuple(ElectionType):
        raise InvalidRequest(f"Value {kind} must be one of the election types 0 (preferred) and 1 (unclean)")
    wanted = None
    if request.topic_partitions is not None:
        wanted = await _wanted(request.topic_partitions)
    results: Sequence[ItemResult] = await controller.elect_leaders(
        wanted, unclean=kind == ElectionType.UNCLEAN, ctx=ctx
    )
    by_topic = await _by_topic(results, everything=wanted is None)
    answer = await _answer(ctx.api_version, 0, by_topic)
    await in_turns(emptied(*by_topic.values(), *(each for each in (wanted, results) if isinstance(each, list))))
    return answer


async def _wanted(asked: Sequence[ElectLeadersRequest.TopicPartitions]) -> list[TopicPartition]:
    wanted: dict[TopicPartition, None] = {}
    for topic in asked:
        await rest()
        for index in topic.partitions:
            await rest()
            wanted[TopicPartition(topic.topic, index)] = None
    listed: list[TopicPartition] = []
    for name in wanted:
        listed.append(name)
        await rest()
    return listed


async def _by_topic(results: Iterable[ItemResult], *, everything: bool) -> dict[str, list[ItemResult]]:
    """`everything`: leaves out those that needed no election."""
    topics: dict[str, list[ItemResult]] = {}
    for result in results:
        if not (everything and isinstance(result[2], ElectionNotNeeded)):
            topics.setdefault(result[0], []).append(result)
        await rest()
    return topics


async def _answer(version: int, code: int, topics: Mapping[str, Sequence[ItemResult]]) -> Answer:
    elements = (
        InParts(_Topic(version=version, topic=topic), "partition_result", len(results), _partitions(version, results))
        for topic, results in topics.items()
    )
    answer = ElectLeadersResponse(version=version, throttle_time_ms=0, error_code=code)
    return await answer_with(answer, "replica_election_results", elements, len(topics), sum(map(len, topics.values())))


def _partitions(version: int, results: Iterable[ItemResult]) -> Iterator[tuple[object, ...]]:
    fields = in_order(_Partition, version)
    for _, index, error in results:
        yield fields({"partition_id": index, "error_code": code_of(error), "error_message": message_of(error)})


async def fail(request: ElectLeadersRequest, version: int, error: KafkaError) -> Answer:
    asked = request.topic_partitions or ()
    top = 0 if asked and isinstance(error, NotController) else error.code
    results = ((topic.topic, index, error) for topic in asked for index in topic.partitions)
    by_topic = await _by_topic(results, everything=False)
    return await _answer(version, top, by_topic)


API = served(
    ElectLeadersRequest,
    Acl(AclOperation.ALTER, AclResource.CLUSTER, names_request=False),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
    to_controller=True,
    by_brokers=True,
)
