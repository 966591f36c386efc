"""Every metric that `/metrics` shows: its name, its kind, its labels and what it means.

A metric gets its name here and nowhere else: add a constant here and to `METRICS`, and its value in `gauge_values.py`
or where it is counted. The page itself and `docs/metrics.md` follow this catalogue.
"""

from typing import NamedTuple

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


class MetricType(NamedTuple):
    """`name` is as Prometheus shows it: a counter's ends with `_total`; a histogram's has `_bucket`, `_sum`, `_count`
    added. `kind`: COUNTER, GAUGE or HISTOGRAM."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


def _counter(name: str, meaning: str, *labels: str) -> MetricType:
    return MetricType(f"kafka_reassign_{name}_total", COUNTER, labels, meaning)


def _gauge(name: str, meaning: str, *labels: str) -> MetricType:
    return MetricType(f"kafka_reassign_{name}", GAUGE, labels, meaning)


def _histogram(name: str, meaning: str) -> MetricType:
    return MetricType(f"kafka_reassign_{name}_seconds", HISTOGRAM, (), meaning)


EVENTS = _counter("events", "Recorded events, by name.", "event")
MOVES = _counter("moves", "Partitions whose move was started, retargeted, completed, cancelled or refused.", "event")
MOVE_DURATION = _histogram("move_duration", "From the start of a move to its completion.")
ROUND_DURATION = _histogram("round_duration", "From the first decision of a round to its answers.")
COMMIT_DURATION = _histogram("commit_duration", "How long ZooKeeper took to make a round durable.")
LOOP_PAUSE = _histogram("loop_pause", "How late the event loop was, measured every tenth of a second.")
EVENT_LOG_LOST = _counter("event_log_lost", "Events that could not be written to the event log.")

WEBHOOK_SENT = _counter(
    "webhook_sent", "Notifications that a webhook has taken, by scheme, host and port of its URL.", "receiver"
)
WEBHOOK_FAILED = _counter("webhook_failed", "Attempts to notify a webhook that failed.", "receiver")
WEBHOOK_DROPPED = _counter(
    "webhook_dropped",
    "Events that a webhook was not told: too many waited, nobody took them in time (webhook.max.age.ms), or it refused"
    " them.",
    "receiver",
)

CONTROLLER_ACTIVE = _gauge("controller_active", "1 where this server is the controller.")
CONTROLLER_EPOCH = _gauge("controller_epoch", "Epoch of this server's term; -1 where it is not the controller.")
CONTROLLER_ID = _gauge("controller_id", "Id of the controller, as far as this server knows; -1: there is none.")
READY = _gauge("ready", "1 where this server is the controller or stands by for it.")
MOVES_IN_FLIGHT = _gauge("moves_in_flight", "Partitions that move.")
MOVES_BYTES_LEFT = _gauge(
    "moves_bytes_left",
    "Bytes that moves in flight still have to copy, of those whose bytes are known; absent where none are.",
)
MOVES_BYTES = _gauge("moves_bytes", "Bytes that the same moves have to copy in all; absent where none are known.")
MOVES_REMAINING = _gauge(
    "moves_remaining_seconds",
    "Until the slowest move in flight ends, at its present rate; 0: none is in flight; -1: nothing is known.",
)
ALL_DONE = _gauge(
    "all_done_seconds", "Until all moves are done, waiting ones included, at the present rates; -1: nobody can say."
)
COPIED_IN = _counter("broker_copied_in_bytes", "Bytes that moves have copied to a broker, as sampled.", "broker")
COPIED_OUT = _counter("broker_copied_out_bytes", "Bytes that moves have copied from a broker, as sampled.", "broker")
THROTTLES = _gauge(
    "broker_throttle_bytes_per_second",
    "Replication throttle of a broker, leader (out) and follower (in), for replicas in the lists of topics; -1: none."
    " `by`: `lease` (the controller removes it after the moves), `config` (of the broker),"
    " `unknown` (one of these: `watch` beside a server of ours does not know its leases), `default` (of all), `none`.",
    "broker",
    "side",
    "by",
)
CAPS = _gauge("cap", "Caps in force: moves_per_broker, moves_per_cluster, bytes_in_flight; -1: none.", "cap")
REASSIGNMENTS_ENABLED = _gauge(
    "reassignments_enabled", "0 where this server is the controller and no new move may start, else 1."
)
WINDOW_OPEN = _gauge(
    "window_open",
    "0 where this server is the controller and `reassignment.windows` lets no waiting move start but repairs, else 1.",
)
WINDOW_RATE = _gauge(
    "window_rate_bytes_per_second", "Rate that the window gives throttle leases and repairs; -1: they have their own."
)
WINDOW_CHANGES = _gauge(
    "window_changes_timestamp_seconds",
    "When another window of `reassignment.windows` holds, in seconds since 1970; absent where that is not in sight.",
)
UNDER_REPLICATED = _gauge(
    "partitions_under_replicated", "Partitions with fewer in-sync replicas than wanted; absent until counted."
)
OFFLINE = _gauge("partitions_offline", "Partitions without a leader; absent until they are counted.")
BUILD_INFO = _gauge("build_info", "1; the labels say what runs.", "version", "python")
MOVES_STALLED = _gauge("moves_stalled", "Moves that make no progress; absent before the first sample.")
MOVES_WAITING = _gauge("moves_waiting", "Moves that wait in the queue or in the batch, by route.", "route")
MOVES_HELD = _gauge(
    "moves_held", "Moves of `kafka_reassign_moves_waiting` that do not start before somebody releases them."
)
BROKERS_LIVE = _gauge("brokers_live", "Brokers that are registered.")
BROKERS_CORDONED = _gauge(
    "brokers_cordoned", "Registered brokers that get no new replica from the controller (KIP-1066); 0 on a standby."
)
CORDON_BROKEN = _counter(
    "cordoned_broker_replicas", "New replicas on cordoned brokers, by whatever way they came there (`cordon.broken`)."
)
BROKERS_MIGRATING = _gauge(
    "brokers_migrating",
    "Live brokers that were restarted for the migration to KRaft, as far as they have said; 0 on a standby.",
)
LEASES_REFUSED = _gauge(
    "leases_refused",
    "Configs of throttle leases that ZooKeeper refuses to write: they stay as they are, and are tried again"
    " within a minute; 0 on a standby.",
)
BROKERS_REFUSING = _gauge(
    "brokers_refusing",
    "Brokers that do not take this server: its login, its TLS or its right to CLUSTER_ACTION fails there, or they know"
    " a newer controller.",
)
HANDSHAKE_FAILS = _gauge(
    "tls_handshake_fails",
    "1 where a TLS handshake of this server with itself fails at a listener, as it then does for brokers and clients;"
    " it is tried before this server controls, each hour, and with each new certificate.",
    "listener",
)
CERTIFICATE_DAYS_LEFT = _gauge(
    "certificate_days_left",
    "Days until a certificate ends that this server shows or needs. `use`: `listener NAME`, `brokers`, `ZooKeeper`;"
    " `part`: `own`, or `ca` for the first to end of those above it.",
    "use",
    "part",
)
BROKERS_FAILED = _gauge(
    "brokers_failed", "Brokers that are gone and that replicas, or moves in flight or waiting, name."
)
FAILED_LOG_DIRS = _gauge("brokers_with_failed_log_dirs", "Registered brokers that have lost log dirs with replicas.")
LOG_DIR_OFFLINE = _gauge(
    "log_directory_offline",
    "1 for each log dir that a registered broker has lost, until it is good again or holds no replica any more,"
    " whatever its repair waits for; the log directory is empty where the broker has not named it.",
    "broker",
    "log_directory",
)
BROKERS_ALERTED = _gauge(
    "brokers_alerted",
    "Brokers of brokers_failed and of brokers_with_failed_log_dirs that have been so for longer than the alert"
    " interval.",
)
REPAIRS_WAITING = _gauge("repairs_waiting", "Moves of repairs that wait in the queue.")
REPAIRS_UNAPPROVED = _gauge(
    "repairs_unapproved",
    "Moves of repairs that start only once somebody has approved them (self.healing.approval); repairs_waiting has them"
    " too.",
)
REPAIRS_IN_FLIGHT = _gauge("repairs_in_flight", "Moves of repairs in flight.")
REPAIRS_IMPOSSIBLE = _gauge("repairs_impossible", "Partitions that repairs had to leave as they are.")
HEALING_PAUSED = _gauge(
    "healing_paused", "1 where an operator has paused self-healing, whether a broker is lost or not."
)
HEALING_HELD_BACK = _gauge("healing_held_back", "1 where something keeps failed brokers from being repaired.")
ZOOKEEPER_CONNECTED = _gauge("zookeeper_connected", "1 where the ZooKeeper session has a connection.")
ZOOKEEPER_ROUND_TRIP = _gauge("zookeeper_round_trip_seconds", "How long ZooKeeper took for its last answer.")

REQUESTS = _counter("requests", "Answered requests, by API.", "api")

SERVER_COUNTERS = {
    "connections_now": _gauge("connections", "Open client connections."),
    "connections_accepted": _counter("connections_accepted", "Connections that were accepted."),
    "connections_refused": _counter("connections_refused", "Connections that were refused: a limit was reached."),
    "connections_delayed": _counter("connections_delayed", "Connections that had to wait for the creation rate limit."),
    "connections_evicted": _counter(
        "connections_evicted",
        "Connections that were closed to make room for others (max.connections, max.connections.per.ip, descriptors).",
    ),
    "connections_idle_closed": _counter("connections_idle_closed", "Connections that were closed because they idled."),
    "connections_silent_closed": _counter(
        "connections_silent_closed",
        "Connections that were closed because they sent no request within slow.client.timeout.ms.",
    ),
    "connections_partial_closed": _counter(
        "connections_partial_closed",
        "Connections that were closed because they did not send the rest of a request within slow.client.timeout.ms.",
    ),
    "connections_unread_closed": _counter(
        "connections_unread_closed",
        "Connections that were closed because they did not read their answers: for longer than slow.client.timeout.ms,"
        " or more than all may leave together.",
    ),
    "connections_malformed": _counter("connections_malformed", "Connections that were closed for malformed input."),
    "connections_unauthenticated": _counter(
        "connections_unauthenticated", "Connections that were closed because their client did not authenticate itself."
    ),
    "connections_failed_tls": _counter(
        "connections_failed_tls", "Connections that were closed because their TLS handshake failed or took too long."
    ),
    "connections_expired": _counter(
        "connections_expired",
        "Connections that were closed because their session was over (connections.max.reauth.ms).",
    ),
    "connections_slow_closed": _counter(
        "connections_slow_closed",
        "Connections that were closed in the middle of a request or an answer, to get below queued.max.request.bytes.",
    ),
    "bytes_received": _counter("bytes_received", "Bytes received from clients."),
    "bytes_sent": _counter("bytes_sent", "Bytes sent to clients."),
    "requests_in_work_now": _gauge("requests_in_work", "Requests that are being handled."),
    "requests_waiting_now": _gauge("requests_waiting", "Connections whose next request waits (queued.max.requests)."),
    "requests_throttled": _counter(
        "requests_throttled", "Requests after which a connection was muted for a quota (request_percentage, KIP-599)."
    ),
    "request_bytes_now": _gauge("request_bytes", "Bytes of requests without an answer, and of unread answers."),
    "answer_bytes_now": _gauge("answer_bytes", "Bytes of answers that clients have not read yet."),
    "handler_failures": _counter("handler_failures", "Requests whose handler failed by a defect."),
}
"""The metrics of `server.server_stats.ServerStats`, by the names of its fields."""

PROCESS = (
    MetricType("process_virtual_memory_bytes", GAUGE, (), "Virtual memory of this process."),
    MetricType("process_resident_memory_bytes", GAUGE, (), "Resident memory of this process."),
    MetricType("process_start_time_seconds", GAUGE, (), "When this process started, in seconds since the epoch."),
    MetricType("process_cpu_seconds_total", COUNTER, (), "CPU time that this process has taken."),
    MetricType("process_open_fds", GAUGE, (), "Open file descriptors."),
    MetricType("process_max_fds", GAUGE, (), "Most file descriptors that may be open."),
)
"""What prometheus-client shows of a process, under names that it shares with other programs."""

METRICS: tuple[MetricType, ...] = (
    CONTROLLER_ACTIVE,
    CONTROLLER_EPOCH,
    CONTROLLER_ID,
    READY,
    MOVES_IN_FLIGHT,
    MOVES_WAITING,
    MOVES_HELD,
    MOVES_STALLED,
    MOVES_BYTES,
    MOVES_BYTES_LEFT,
    MOVES_REMAINING,
    ALL_DONE,
    REASSIGNMENTS_ENABLED,
    WINDOW_OPEN,
    WINDOW_RATE,
    WINDOW_CHANGES,
    CAPS,
    MOVES,
    MOVE_DURATION,
    COPIED_IN,
    COPIED_OUT,
    THROTTLES,
    UNDER_REPLICATED,
    OFFLINE,
    BROKERS_LIVE,
    BROKERS_CORDONED,
    CORDON_BROKEN,
    BROKERS_REFUSING,
    HANDSHAKE_FAILS,
    CERTIFICATE_DAYS_LEFT,
    BROKERS_MIGRATING,
    LEASES_REFUSED,
    BROKERS_FAILED,
    FAILED_LOG_DIRS,
    LOG_DIR_OFFLINE,
    BROKERS_ALERTED,
    REPAIRS_WAITING,
    REPAIRS_IN_FLIGHT,
    REPAIRS_IMPOSSIBLE,
    REPAIRS_UNAPPROVED,
    HEALING_PAUSED,
    HEALING_HELD_BACK,
    ZOOKEEPER_CONNECTED,
    ZOOKEEPER_ROUND_TRIP,
    ROUND_DURATION,
    COMMIT_DURATION,
    LOOP_PAUSE,
    EVENTS,
    EVENT_LOG_LOST,
    WEBHOOK_SENT,
    WEBHOOK_FAILED,
    WEBHOOK_DROPPED,
    REQUESTS,
    *SERVER_COUNTERS.values(),
    BUILD_INFO,
    *PROCESS,
)
"""All metrics, in the order of `docs/metrics.md`."""
