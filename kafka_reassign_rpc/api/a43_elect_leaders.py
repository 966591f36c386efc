"""ElectLeaders (key 43), versions 0-2: preferred and unclean elections.

Behaviour   One result per partition. Version 0 has preferred elections only. Null partitions mean all; the answer
            then leaves out partitions with ELECTION_NOT_NEEDED. On a node that is not the controller each named
            partition gets NOT_CONTROLLER.
Difference  A request for all partitions gets NOT_CONTROLLER at the top level from a node that is not the
            controller. A ZooKeeper-mode broker answers an empty success, which tools report as done.
"""

from collections.abc import Iterable

from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import ItemResult, Node, active_controller
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, InvalidRequest, KafkaError, NotController
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.protocol.messages import ElectLeadersRequest, ElectLeadersResponse

PREFERRED = 0
UNCLEAN = 1

_Topic = ElectLeadersResponse.ReplicaElectionResult
_Partition = _Topic.PartitionResult


async def handle(node: Node, request: ElectLeadersRequest, ctx: RequestContext) -> ElectLeadersResponse:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    kind = request.election_type if ctx.api_version >= 1 else PREFERRED
    if kind not in {PREFERRED, UNCLEAN}:
        raise InvalidRequest(f"Value {kind} must be one of the election types 0 (preferred) and 1 (unclean)")
    wanted = None
    if request.topic_partitions is not None:
        wanted = list(dict.fromkeys(TopicPartition(t.topic, p) for t in request.topic_partitions for p in t.partitions))
    results: Iterable[ItemResult] = await controller.elect_leaders(
        wanted, unclean=kind == UNCLEAN, timeout_ms=request.timeout_ms, ctx=ctx
    )
    if wanted is None:
        results = [result for result in results if not isinstance(result[2], ElectionNotNeeded)]
    return _answer(ctx.api_version, 0, results)


def _answer(version: int, code: int, results: Iterable[ItemResult]) -> ElectLeadersResponse:
    topics: dict[str, list[_Partition]] = {}
    for topic, index, error in results:
        topics.setdefault(topic, []).append(
            _Partition(version=version, partition_id=index, error_code=code_of(error), error_message=message_of(error))
        )
    return ElectLeadersResponse(
        version=version,
        throttle_time_ms=0,
        error_code=code,
        replica_election_results=[_Topic(version=version, topic=t, partition_result=p) for t, p in topics.items()],
    )


def fail(request: ElectLeadersRequest, version: int, error: KafkaError) -> ElectLeadersResponse:
    if request.topic_partitions is None:
        return _answer(version, error.code, ())
    top = 0 if isinstance(error, NotController) else error.code
    return _answer(version, top, [(t.topic, p, error) for t in request.topic_partitions for p in t.partitions])


API = Api(
    key=43,
    name="ElectLeaders",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
    to_controller=True,
)
