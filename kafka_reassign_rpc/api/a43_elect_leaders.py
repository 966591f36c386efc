"""ElectLeaders (key 43), versions 0-2: preferred and unclean elections.

Behaviour   One result per partition. Version 0 has preferred elections only. Null partitions mean all; the answer
            then leaves out partitions with ELECTION_NOT_NEEDED. On a node that is not the controller each named
            partition gets NOT_CONTROLLER. The answer comes when this node shows the elected leaders, whatever the
            timeout: where a stock controller answers REQUEST_TIMED_OUT, its own metadata has not followed in time.
Difference  A request for all partitions gets NOT_CONTROLLER at the top level from a node that is not the
            controller. A ZooKeeper-mode broker answers an empty success, which tools report as done.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
    awaited,
)
from kafka_reassign_rpc.api.large_requests import AnswerSteps, Steps, answer_with, flat, freed, handled, items_of, paced
from kafka_reassign_rpc.api.ports import ItemResult, Node, active_controller
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, InvalidRequest, KafkaError, NotController
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.protocol.messages import ElectLeadersRequest, ElectLeadersResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order
from kafka_reassign_rpc.support.slice_timer import in_turns

PREFERRED = 0
UNCLEAN = 1

_Topic = ElectLeadersResponse.ReplicaElectionResult
_Partition = _Topic.PartitionResult


async def handle(node: Node, request: ElectLeadersRequest, ctx: RequestContext) -> Answer:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    kind = request.election_type if ctx.api_version >= 1 else PREFERRED
    if kind not in {PREFERRED, UNCLEAN}:
        raise InvalidRequest(f"Value {kind} must be one of the election types 0 (preferred) and 1 (unclean)")
    wanted = None
    if request.topic_partitions is not None:
        wanted = await in_turns(_wanted(request.topic_partitions))
    results: Sequence[ItemResult] = await controller.elect_leaders(wanted, unclean=kind == UNCLEAN, ctx=ctx)
    by_topic = await in_turns(_by_topic(results, everything=wanted is None))
    answer = _answer(ctx.api_version, 0, by_topic)
    answered = await awaited(answer)
    await freed(*by_topic.values(), *(each for each in (wanted, results) if isinstance(each, list)))
    return answered


def _wanted(asked: Sequence[ElectLeadersRequest.TopicPartitions]) -> Steps[list[TopicPartition]]:
    """The partitions of a request, each once."""
    wanted: dict[TopicPartition, None] = {}
    for found in flat(asked, lambda topic: topic.partitions):
        if found is None:
            yield
        else:
            wanted[TopicPartition(found[0].topic, found[1])] = None
    listed: list[TopicPartition] = []
    for name, pause in paced(wanted):
        listed.append(name)
        if pause:
            yield
    return listed


def _by_topic(results: Iterable[ItemResult], *, everything: bool) -> Steps[dict[str, list[ItemResult]]]:
    """The results of each topic; where all partitions were asked for, without those that needed no election."""
    topics: dict[str, list[ItemResult]] = {}
    for result, pause in paced(results):
        if not (everything and isinstance(result[2], ElectionNotNeeded)):
            topics.setdefault(result[0], []).append(result)
        if pause:
            yield
    return topics


def _answer(version: int, code: int, topics: Mapping[str, Sequence[ItemResult]]) -> Handled:
    elements = (
        InParts(_Topic(version=version, topic=topic), "partition_result", len(results), _partitions(version, results))
        for topic, results in topics.items()
    )
    answer = ElectLeadersResponse(version=version, throttle_time_ms=0, error_code=code)
    return answer_with(answer, "replica_election_results", elements, len(topics), sum(map(len, topics.values())))


def _partitions(version: int, results: Iterable[ItemResult]) -> Iterator[tuple[object, ...]]:
    fields = in_order(_Partition, version)
    for _, index, error in results:
        yield fields({"partition_id": index, "error_code": code_of(error), "error_message": message_of(error)})


def fail(request: ElectLeadersRequest, version: int, error: KafkaError) -> Handled:
    asked = request.topic_partitions
    if not asked:
        return _answer(version, error.code, {})
    top = 0 if isinstance(error, NotController) else error.code

    def steps() -> AnswerSteps:
        results = ((topic.topic, index, error) for topic in asked for index in topic.partitions)
        return _answer(version, top, (yield from _by_topic(results, everything=False)))

    return handled(steps(), items_of(len(topic.partitions) for topic in asked))


API = Api(
    key=43,
    name="ElectLeaders",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER, names_request=False),),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
    to_controller=True,
)
