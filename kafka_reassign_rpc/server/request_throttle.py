"""What a request costs its client: its share of the server's time, and how long its connection is muted.

As in a broker (RequestHandlerHelper, KIP-219) the answer goes out at once and says how long the client should wait;
meanwhile its connection is not read. A longer wait by a controller mutation quota counts instead. The cost is the time
on the event loop: decoding, handler, encoding. What the controller does later, together for many, does not count; nor
does it in Kafka.
"""

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.core.quotas.connection_quotas import RequestQuotas, RequestUse
from kafka_reassign_rpc.protocol.frame_codec import Body, RequestHeader
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.throttle_time import FIELD, SIZE, begins_with_throttle, throttle_ms
from kafka_reassign_rpc.protocol.versions import ApiKey

EXEMPT = frozenset({ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ENVELOPE})
"""Requests of brokers that wait for no quota (sendResponseExemptThrottle), unless they were denied. The client whose
request a broker forwards waits there."""
NS_PER_MS = 1_000_000
KNOWN_MS = 100
"""How long a connection remembers which quota holds for its client, unless one changes."""


class RequestThrottle:
    """Counts the requests of one connection against its clients' quotas. `now_ns` is by the performance counter."""

    def __init__(self, quotas: RequestQuotas) -> None:
        self._quotas = quotas
        self._table = quotas.table
        self._client: tuple[str, str | None] | None = None
        self._use: RequestUse | None = None
        """Where the requests of `_client` are counted, as long as `_revision` is that of the quotas."""
        self._revision = -1
        self._known_until_ms = 0

    @property
    def unlimited(self) -> bool:
        return self._table.empty

    def answer(self, header: RequestHeader, peer: Peer, body: Body, busy_ns: int, now_ns: int) -> tuple[Body, int]:
        wanted = throttle_ms(header.api_key, header.api_version, body)
        if header.api_key in EXEMPT and _is_exempt(body):
            return body, wanted
        waits_ms = self._throttle_ms(header, peer, busy_ns, now_ns)
        if waits_ms <= wanted:
            return body, wanted
        return _with_throttle(header, body, waits_ms), waits_ms

    def spent(
        self, header: RequestHeader, peer: Peer, busy_ns: int, now_ns: int, refusal: ApiMessage | None = None
    ) -> int:
        """For a request that was not served or wants no answer: none is free because it is refused. Returns how long
        its client waits, in ms, which its `refusal` says."""
        waits_ms = self._throttle_ms(header, peer, busy_ns, now_ns)
        if refusal is not None and waits_ms > 0:
            _with_throttle(header, refusal, waits_ms)
        return waits_ms

    def sent(self, header: RequestHeader, busy_ns: int, now_ns: int) -> None:
        """The bytes of the last `answer` were made in `busy_ns`. (Those to exempt requests are small.)"""
        if self._use is not None and header.api_key not in EXEMPT:
            self._use.record(busy_ns, now_ns // NS_PER_MS)

    def _throttle_ms(self, header: RequestHeader, peer: Peer, busy_ns: int, now_ns: int) -> int:
        now_ms = now_ns // NS_PER_MS
        use = self._use_of(header, peer, now_ms)
        return 0 if use is None else use.throttle_ms(busy_ns, now_ms)

    def _use_of(self, header: RequestHeader, peer: Peer, now_ms: int) -> RequestUse | None:
        """None where no quota holds for the client."""
        client = peer.principal, header.client_id
        revision = self._table.revision
        if client != self._client or revision != self._revision or now_ms >= self._known_until_ms:
            client_id = header.client_id or ""
            self._client = client if len(client_id) <= LONGEST_NAME else None  # 32 KiB in each connection are too much
            self._revision, self._known_until_ms = revision, now_ms + KNOWN_MS
            self._use = self._quotas.use(peer.principal.partition(":")[2], client_id)
        return self._use


def _is_exempt(body: Body) -> bool:
    return getattr(body, "error_code", 0) != ClusterAuthorizationFailed.code


def _with_throttle(header: RequestHeader, body: Body, waits_ms: int) -> Body:
    """Versions without the field say nothing; the connection is muted all the same."""
    if isinstance(body, ApiMessage):
        if hasattr(body, FIELD):
            setattr(body, FIELD, waits_ms)
        return body
    if not begins_with_throttle(header.api_key, header.api_version):
        return body
    first = waits_ms.to_bytes(SIZE, "big")
    if isinstance(body, bytes):
        return first + body[SIZE:]
    return [first + body[0][SIZE:], *body[1:]]
