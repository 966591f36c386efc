from collections.abc import Iterable

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.reassignment_calls import by_topic, require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.protocol.messages import AlterReassignmentThrottlesRequest

NO_RATES = (
    "The controller does not change the throttles of moves: that needs a kafka-reassign-rpc server of this version. "
    "This request was not sent."
)

_Topic = AlterReassignmentThrottlesRequest.ThrottledTopic


async def alter_throttles(
    router: RequestRouter,
    throttle: int,
    topics: Iterable[str] | None,
    partitions: Iterable[tuple[str, int]] | None,
    timeout_ms: int,
) -> ThrottledMoves:
    await require(router, AlterReassignmentThrottlesRequest, NO_RATES)
    wanted = None
    if topics is not None or partitions is not None:
        wanted = [_Topic(name=name, partitions=None) for name in topics or ()]
        wanted += [_Topic(name=name, partitions=indexes) for name, indexes in by_topic(partitions or ()).items()]
    request = AlterReassignmentThrottlesRequest(timeout_ms=timeout_ms, throttle=throttle, topics=wanted)
    answer = await router.ask_controller(always(request), AlterReassignmentThrottlesRequest, changes=True)
    raise_for(answer.error_code, answer.error_message)
    return ThrottledMoves(answer.moving_moves, answer.waiting_moves, answer.repair_moves)
