from collections.abc import Iterable

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.queue.holding import HoldOutcome
from kafka_reassign_rpc.protocol.messages import HoldMovesRequest

NO_HOLD = (
    "The controller cannot hold moves: that needs a kafka-reassign-rpc server of this version. This request was not"
    " sent."
)


async def hold_moves(
    router: RequestRouter,
    hold: bool,
    topics: Iterable[str] | None,
    brokers: Iterable[int] | None,
    requests: Iterable[str] | None,
    reason: str,
) -> HoldOutcome:
    """Raises KafkaError, UnsupportedHere."""
    await require(router, HoldMovesRequest, NO_HOLD)
    request = HoldMovesRequest(
        hold=hold,
        all=topics is None and brokers is None and requests is None,
        topics=None if topics is None else list(topics),
        brokers=None if brokers is None else list(brokers),
        reasons=None if requests is None else list(requests),
        reason=reason,
    )
    answer = await router.ask_controller(always(request), HoldMovesRequest, changes=True)
    raise_for(answer.error_code, answer.error_message)
    return HoldOutcome(answer.changed, answer.unchanged, answer.in_flight)
