from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.reassignment.figure_history import PastFigures, Point
from kafka_reassign_rpc.core.status.documents import known
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest, DescribeReassignmentsResponse

NO_HISTORY = "The controller keeps no figures of the past: that needs a kafka-reassign-rpc server."


async def history(router: RequestRouter, timeout_ms: int) -> list[PastFigures]:
    cls = DescribeReassignmentsRequest
    await require(router, cls, NO_HISTORY)
    request = cls(topic_reassignments=[], timeout_ms=timeout_ms, include_history=True)
    answer = await router.ask_controller(always(request), cls)
    raise_for(answer.error_code, answer.error_message)
    return [
        PastFigures(span.at, span.step_ms, span.span_ms, [_point(point) for point in span.points])
        for span in answer.history
    ]


def _point(point: DescribeReassignmentsResponse.HistorySpan.HistoryPoint) -> Point:
    return Point(
        at=point.at,
        in_flight=point.in_flight,
        waiting=point.waiting,
        rate=known(point.rate),
        bytes_left=known(point.bytes_left),
        under_replicated=known(point.under_replicated),
        offline=known(point.offline),
    )
