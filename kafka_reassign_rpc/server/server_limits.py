"""The limits of a server on frames, requests and connections, by Kafka's names, and what it counts of them.

`protocol.served_connection` enforces the size of a frame, `protocol.frame_codec` the number of array elements,
`open_connections` the rest, with `connection_times`.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.quotas.connection_quotas import UNLIMITED
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows
from kafka_reassign_rpc.protocol.served_connection import MAX_REQUEST_BYTES

LEAST_PER_IP = 100
"""The default for one address is at least this, however few connections there may be in all."""
CREATION_RATE_PER_IP = 5000
"""The default of max.connection.creation.rate.per.ip for `serve`. Simulated brokers have no such limit."""


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Names and defaults are Kafka's; three defaults differ to suit an administration server."""

    socket_request_max_bytes: int = MAX_REQUEST_BYTES
    queued_max_requests: int = 500
    """Requests in work or waiting for it. Above it, connections are not read."""
    queued_max_request_bytes: int = 256 * 1024 * 1024
    """Bytes of unanswered requests and unread answers of all connections together; -1 = unlimited (Kafka's default)."""
    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = {}
    max_connection_creation_rate: int = UNLIMITED
    """Connections per second. The server accepts further ones only when their turn has come."""
    max_connection_creation_rate_of_listeners: Mapping[str, int] = {}
    """The same for single listeners, by name."""
    protected_listener: str = ""
    """The brokers' listener, to which max_connection_creation_rate does not apply; "": none."""
    quota_windows: QuotaWindows = QuotaWindows()
    controller_quota_windows: QuotaWindows = QuotaWindows()
    """The windows of controller mutation quotas, over which a burst is allowed."""
    max_connection_creation_rate_per_ip: int = UNLIMITED
    """Connections per second from one address. The server closes further ones at once."""
    connections_max_idle_ms: int = 600_000
    """With 0 or less, idle connections stay open."""
    socket_listen_backlog_size: int = 1024
    """Kafka has 50. With 1024, a burst of a thousand clients comes in without a refusal."""
    slow_frame_ms: int = 10_000
    """While request bytes are over their limit, a connection may close whose frame, or whose reading of an answer,
    takes longer."""
    slow_client_timeout_ms: int = 30_000
    """How long a client may take for its first request, for the rest of a request, and to read on in an answer. Kafka's
    clients give a request up after this time (request.timeout.ms). With 0 or less there is no limit."""
    queued_max_response_bytes: int = 256 * 1024 * 1024
    """Bytes of unread answers of all connections together. At half of it, large requests wait."""
    large_frame_bytes: int = 8 * 1024
    """A larger frame is decoded, answered and freed in slices."""
    turn_ms: int = 5
    """How long one connection with many requests may keep the event loop before other tasks run."""
    tls_handshake_timeout_ms: int = 10_000
    connection_failed_authentication_delay_ms: int = 100
    """How long the answer to failed authentication, and the end of that connection, wait."""


def most_per_ip(connections: int) -> int:
    """Many clients may be behind a NAT gateway, and no single address takes the place of all others."""
    return max(LEAST_PER_IP, connections // 4)


class ServerStats(msgspec.Struct):
    """Counts since the start, which the metrics read; those called `now` are current values."""

    connections_now: int = 0
    connections_accepted: int = 0
    connections_refused: int = 0
    connections_delayed: int = 0
    """Accepted later, because of max.connection.creation.rate."""
    connections_evicted: int = 0
    """Closed to make room for others."""
    connections_idle_closed: int = 0
    connections_silent_closed: int = 0
    """Closed because they sent no request in time."""
    connections_partial_closed: int = 0
    """Closed because they did not send the rest of a request in time."""
    connections_unread_closed: int = 0
    """Closed because they did not read their answers."""
    connections_malformed: int = 0
    connections_unauthenticated: int = 0
    connections_failed_tls: int = 0
    """Closed because their TLS handshake failed or took too long."""
    connections_expired: int = 0
    """Closed because their session was over and they did not authenticate again (connections.max.reauth.ms)."""
    connections_slow_closed: int = 0
    """Closed in the middle of a frame, to get below `ServerLimits.queued_max_request_bytes`."""
    bytes_received: int = 0
    bytes_sent: int = 0
    requests_in_work_now: int = 0
    requests_waiting_now: int = 0
    request_bytes_now: int = 0
    """Bytes of requests without an answer, and of answers that clients have not read."""
    answer_bytes_now: int = 0
    """The bytes of answers among them."""
    requests: defaultdict[int, int] = msgspec.field(default_factory=lambda: defaultdict(int))
    """Answered requests, by API key."""
    requests_throttled: int = 0
    """Requests after which their connection was muted for a quota."""
    handler_failures: int = 0
