"""DescribeReassignmentEvents (vendor key 32242), version 0: what this server has recorded, event by event.

Behaviour   the events from a number on, as JSON, at most `MAX_BYTES` of them; more is asked for with the number that
            the answer gives. An event that is not kept any more: from the oldest one on, which the answer names.
            Every server answers, whether it is the controller or not, with what it has recorded itself; which one
            it is stands in the answer. POLICY_VIOLATION where it keeps no event log.
ACL         DESCRIBE on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, EventsPort, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, PolicyViolation
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentEventsResponse
from kafka_reassign_rpc.protocol.versions import ApiKey

MAX_BYTES = 1_048_576
"""Of events in one answer."""


async def handle(node: Node, request: Any, _ctx: RequestContext) -> Any:
    found = await node.events(request.from_seq, min(request.max_bytes, MAX_BYTES))
    if found is None:
        raise PolicyViolation("This server keeps no event log: start it with event.log.dir set to a directory.")
    return _answer(None, node.node_id, found)


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return _answer(error, -1, EventsPort([], -1, -1))


def _answer(error: KafkaError | None, server: int, found: EventsPort) -> Any:
    return DescribeReassignmentEventsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        server_id=server,
        oldest_seq=found.oldest_seq,
        next_seq=found.next_seq,
        events=list(found.events),
    )


API = Api(ApiKey.DESCRIBE_REASSIGNMENT_EVENTS, "DescribeReassignmentEvents", 0, 0, handle, fail)
