"""What a request costs its client: its share of the server's time, and how long its connection is muted.

As a broker (RequestHandlerHelper, KIP-219): the answer goes out at once and says how long the client should wait. For
that time the connection is not read, and nothing that it has sent is taken up. The longer wait counts where a
controller mutation quota asks for one as well.

The time is that for which a request has kept the event loop: decoding and the handler before the answer is made, its
encoding afterwards. What the controller does for it later, with that of others, is not counted; nor is it in Kafka.
"""

import time
from collections.abc import Awaitable, Generator
from functools import cache
from types import coroutine
from typing import Any, TypeVar

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.quotas.request_quotas import RequestQuotas
from kafka_reassign_rpc.protocol.frame_codec import Body, RequestHeader
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage
from kafka_reassign_rpc.protocol.versions import ApiKey

EXEMPT = frozenset({ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION})
"""Requests of brokers that wait for no quota (sendResponseExemptThrottle), unless they were denied."""
FIELD = "throttle_time_ms"
NS_PER_MS = 1_000_000
_SIZE = 4

T = TypeVar("T")


class LoopTime:
    """Measures for how long awaitables keep the event loop. `ns`: so far."""

    def __init__(self, ns: int = 0) -> None:
        self.ns = ns

    @coroutine
    def of(self, awaitable: Awaitable[T]) -> Generator[Any, Any, T]:
        """Waits for it, and counts its time."""
        steps: Any = awaitable.__await__()
        step, given = steps.send, None
        while True:
            begun = time.perf_counter_ns()
            try:
                waits_for = step(given)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.ns += time.perf_counter_ns() - begun
            try:
                step, given = steps.send, (yield waits_for)
            except BaseException as error:  # a cancellation: it is for the awaitable
                step, given = steps.throw, error


class RequestThrottle:
    """Counts requests against the quotas of their clients. The time `now_ns` is that of the performance counter."""

    def __init__(self, quotas: RequestQuotas) -> None:
        self._quotas = quotas

    @property
    def unlimited(self) -> bool:
        """Whether there is no quota of any kind: no client waits, and nothing is counted."""
        return self._quotas.unlimited

    def answer(self, header: RequestHeader, peer: Peer, body: Body, busy_ns: int, now_ns: int) -> tuple[Body, int]:
        """The answer with the time that its client should wait, and that time."""
        wanted = _asked(header, body)
        if not self._quotas.enabled or _is_exempt(header, body):
            return body, wanted
        throttle_ms = self._quotas.throttle_ms(_user(peer), header.client_id or "", busy_ns, now_ns // NS_PER_MS)
        if throttle_ms <= wanted:
            return body, wanted
        return _with_throttle(header, body, throttle_ms), throttle_ms

    def spent(
        self, header: RequestHeader, peer: Peer, busy_ns: int, now_ns: int, refusal: ApiMessage | None = None
    ) -> int:
        """How long the client of a request waits that was not served or wants no answer: no request is free because it
        is refused. `refusal`: its answer, which gets that time."""
        if not self._quotas.enabled:
            return 0
        throttle_ms = self._quotas.throttle_ms(_user(peer), header.client_id or "", busy_ns, now_ns // NS_PER_MS)
        if refusal is not None and throttle_ms > 0:
            _with_throttle(header, refusal, throttle_ms)
        return throttle_ms

    def sent(self, header: RequestHeader, peer: Peer, busy_ns: int, now_ns: int) -> None:
        """An answer was made in `busy_ns`. (Those to exempt requests are small.)"""
        if self._quotas.enabled and header.api_key not in EXEMPT:
            self._quotas.record(_user(peer), header.client_id or "", busy_ns, now_ns // NS_PER_MS)


def _user(peer: Peer) -> str:
    return peer.principal.partition(":")[2]


def _is_exempt(header: RequestHeader, body: Body) -> bool:
    if header.api_key not in EXEMPT:
        return False
    return getattr(body, "error_code", 0) != ClusterAuthorizationFailed.code


def _asked(header: RequestHeader, body: Body) -> int:
    """How long the answer already asks its client to wait."""
    if isinstance(body, ApiMessage):
        return int(getattr(body, FIELD, 0))
    if not begins_with_throttle(header.api_key, header.api_version):
        return 0
    return int.from_bytes((body[0] if isinstance(body, list) else body)[:_SIZE], "big", signed=True)


def _with_throttle(header: RequestHeader, body: Body, throttle_ms: int) -> Body:
    """Versions without the field say nothing; the connection is muted all the same."""
    if isinstance(body, ApiMessage):
        if hasattr(body, FIELD):
            setattr(body, FIELD, throttle_ms)
        return body
    if not begins_with_throttle(header.api_key, header.api_version):
        return body
    first = throttle_ms.to_bytes(_SIZE, "big")
    if isinstance(body, bytes):
        return first + body[_SIZE:]
    return [first + body[0][_SIZE:], *body[1:]]


@cache
def begins_with_throttle(key: int, version: int) -> bool:
    """Whether an answer that is encoded already begins with its throttle time. (That of ApiVersions and of a few others
    stands elsewhere, but these are messages. A large answer to Produce does not say how long its client waits.)"""
    fields = RESPONSES[key]._struct.fields
    return next((name for name, field in fields.items() if field.for_version_q(version)), "") == FIELD
