"""Plain counters of a server, which the metrics read."""

from collections import defaultdict

import msgspec


class ServerStats(msgspec.Struct):
    """Counts since the start; those called `now` are current values."""

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
