"""Calls that hold moves of the queue, and release them."""

from collections.abc import Iterable
from typing import Any

from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.vendor_calls import do_command
from kafka_reassign_rpc.core.queue.holding import HoldOutcome
from kafka_reassign_rpc.core.vendor_bodies import HoldBody, ReleaseBody

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
    selection: dict[str, Any] = {
        "all": topics is None and brokers is None and requests is None,
        "topics": None if topics is None else frozenset(topics),
        "brokers": None if brokers is None else frozenset(brokers),
        "reasons": None if requests is None else frozenset(requests),
    }
    if hold:
        return await do_command(router, "hold", HoldOutcome, NO_HOLD, HoldBody(reason=reason, **selection))
    return await do_command(router, "release", HoldOutcome, NO_HOLD, ReleaseBody(**selection))
