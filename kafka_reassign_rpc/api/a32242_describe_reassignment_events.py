"""DescribeReassignmentEvents: the events that this server has recorded.

The answer has at most `MAX_BYTES` of events as JSON, from a number on, and the number to go on with. If the log no
longer has the wanted event, it begins with the oldest one. Every server answers with its own events and its id; if no
events are asked for, also with the running servers.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, NodeEndpoint, RecordedEvents
from kafka_reassign_rpc.core.kafka_errors import KafkaError, PolicyViolation
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentEventsRequest, DescribeReassignmentEventsResponse
from kafka_reassign_rpc.support.turns import Work, waited

MAX_BYTES = 1_048_576
"""The most bytes of events in one answer."""


def handle(
    node: Node, request: DescribeReassignmentEventsRequest, ctx: RequestContext
) -> Work[DescribeReassignmentEventsResponse]:
    found = yield from waited(node.events(request.from_seq, min(request.max_bytes, MAX_BYTES)))
    if found is None:
        raise PolicyViolation("This server keeps no event log: start it with event.log.dir set to a directory.")
    servers = (yield from waited(node.servers(ctx.listener))) if request.from_seq < 0 else ()
    return _answer(None, node.node_id, found, servers)


def fail(
    _request: DescribeReassignmentEventsRequest, _version: int, error: KafkaError
) -> DescribeReassignmentEventsResponse:
    return _answer(error, -1, RecordedEvents([], -1, -1))


def _answer(
    error: KafkaError | None, server: int, found: RecordedEvents, servers: Sequence[NodeEndpoint] = ()
) -> DescribeReassignmentEventsResponse:
    return DescribeReassignmentEventsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        server_id=server,
        oldest_seq=found.oldest_seq,
        complete_seq=found.complete_seq,
        next_seq=found.next_seq,
        events=list(found.events),
        servers=[
            DescribeReassignmentEventsResponse.EventServer(version=0, server_id=one.id, host=one.host, port=one.port)
            for one in servers
        ],
    )


API = Api(
    key=32242,
    name="DescribeReassignmentEvents",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
