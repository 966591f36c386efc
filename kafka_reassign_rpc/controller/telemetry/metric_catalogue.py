"""Every metric that `/metrics` shows: its name, its kind, its labels, what it means, and its value where it is read at
each scrape. The page and `docs/metrics.md` follow.
"""

import platform
from collections.abc import Callable
from typing import NamedTuple

from kafka_reassign_rpc.controller.telemetry.server_status import (
    ServerStatus,
    Values,
    caps,
    changes_at,
    copied,
    log_dirs_offline,
    of_webhooks,
    or_none,
    seconds,
    throttles,
    waiting,
)
from kafka_reassign_rpc.support.product_version import product_version

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
Value = float | None | Values
"""None, or no values: what is not known has no sample."""


class MetricType(NamedTuple):
    """`name` is as Prometheus shows it: a counter's ends with `_total`; a histogram's has `_bucket`, `_sum`, `_count`
    added. `kind`: COUNTER, GAUGE or HISTOGRAM. `read`: its value at a scrape; None: it is counted as things happen."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str
    read: Callable[[ServerStatus], Value] | None = None

    def values(self, status: ServerStatus) -> Values:
        found = None if self.read is None else self.read(status)
        if found is None:
            return {}
        return {(): found} if isinstance(found, int | float) else found


_DECLARED: list[MetricType] = []
"""In the order of `docs/metrics.md`."""


def _metric(
    name: str, kind: str, meaning: str, labels: tuple[str, ...], read: Callable[[ServerStatus], Value] | None
) -> MetricType:
    end = {COUNTER: "_total", GAUGE: "", HISTOGRAM: "_seconds"}[kind]
    found = MetricType(f"kafka_reassign_{name}{end}", kind, labels, meaning, read)
    _DECLARED.append(found)
    return found


def _counter(name: str, meaning: str, *labels: str) -> MetricType:
    return _metric(name, COUNTER, meaning, labels, None)


def _gauge(name: str, meaning: str) -> MetricType:
    return _metric(name, GAUGE, meaning, (), None)


def _histogram(name: str, meaning: str) -> MetricType:
    return _metric(name, HISTOGRAM, meaning, (), None)


def _of_process(
    name: str, meaning: str, read: Callable[[ServerStatus], Value], *labels: str, kind: str = GAUGE
) -> MetricType:
    """What every process knows, `watch` too."""
    return _metric(name, kind, meaning, labels, read)


def _of_cluster(name: str, meaning: str, read: Callable[[ServerStatus], Value]) -> MetricType:
    """What a server knows always, and `watch` while it sees the cluster."""
    return _metric(name, GAUGE, meaning, (), lambda one: read(one) if one.sees_the_cluster else None)


def _of_controller(name: str, meaning: str, read: Callable[[ServerStatus], Value], *labels: str) -> MetricType:
    """What only a controller knows. A standby has none of it, and `watch` no value."""
    return _metric(name, GAUGE, meaning, labels, lambda one: None if one.only_looks else read(one))


_BUILD: Values = {(product_version(), platform.python_version()): 1.0}

_of_process(
    "controller_active", "1 where this server is the controller.", lambda one: one.document.role == "controller"
)
_of_process(
    "controller_epoch",
    "Epoch of this server's term; -1 where it is not the controller.",
    lambda one: or_none(one.document.controller.epoch),
)
_of_process(
    "controller_id",
    "Id of the controller, as far as this server knows; -1: there is none.",
    lambda one: or_none(one.document.controller.id),
)
_of_process("ready", "1 where this server is the controller or a standby.", lambda one: one.document.role != "none")
_of_cluster("moves_in_flight", "Partitions that move.", lambda one: one.totals.in_flight)
_of_controller(
    "moves_waiting", "Moves that wait in the queue or in the batch, by route.", lambda one: waiting(one.totals), "route"
)
_of_controller(
    "moves_held",
    "Moves of `kafka_reassign_moves_waiting` that do not start before they are released.",
    lambda one: one.totals.held,
)
_of_cluster(
    "moves_stalled", "Moves that make no progress; absent before the first sample.", lambda one: one.totals.stalled
)
_of_cluster(
    "moves_bytes",
    "Bytes that the same moves have to copy in all; absent where none are known.",
    lambda one: one.totals.bytes_total,
)
_of_cluster(
    "moves_bytes_left",
    "Bytes that moves in flight still have to copy, of those whose bytes are known; absent where none are.",
    lambda one: one.totals.bytes_left,
)
_of_cluster(
    "moves_remaining_seconds",
    "Until the slowest move in flight ends, at its present rate; 0: none is in flight; -1: nothing is known.",
    lambda one: seconds(one.totals.remaining_ms),
)
_of_cluster(
    "all_done_seconds",
    "Until all moves are done, waiting ones included, at the present rates; -1: not known.",
    lambda one: seconds(None if one.document.work is None else one.document.work.done_ms),
)
_of_controller(
    "reassignments_enabled",
    "0 where this server is the controller and no new move may start, else 1.",
    lambda one: one.document.enabled is not False,
)
_of_controller(
    "window_open",
    "0 where this server is the controller and `reassignment.windows` lets no waiting move start but repairs, else 1.",
    lambda one: one.document.window is None or one.document.window.open,
)
_of_controller(
    "window_rate_bytes_per_second",
    "Rate that the window gives throttle leases and repairs; -1: they have their own.",
    lambda one: or_none(None if one.document.window is None else one.document.window.rate),
)
_of_controller(
    "window_changes_timestamp_seconds",
    "When another window of `reassignment.windows` holds, in seconds since 1970; absent where that is not in sight.",
    lambda one: changes_at(one.document.window),
)
_of_controller(
    "cap",
    "Caps in force: moves_per_broker, moves_per_cluster, bytes_in_flight; -1: none.",
    lambda one: caps(one.document.caps),
    "cap",
)
MOVES = _counter("moves", "Partitions whose move was started, retargeted, completed, cancelled or refused.", "event")
MOVE_DURATION = _histogram("move_duration", "From the start of a move to its completion.")
_of_process(
    "broker_copied_in_bytes",
    "Bytes that moves have copied to a broker, as sampled.",
    lambda one: copied(one.figures, 0),
    "broker",
    kind=COUNTER,
)
_of_process(
    "broker_copied_out_bytes",
    "Bytes that moves have copied from a broker, as sampled.",
    lambda one: copied(one.figures, 1),
    "broker",
    kind=COUNTER,
)
_of_process(
    "broker_throttle_bytes_per_second",
    "Replication throttle of a broker, leader (out) and follower (in), for replicas in the lists of topics;"
    " -1: none. `by`: `lease` (the controller removes it after the moves), `config` (of the broker),"
    " `unknown` (one of these: a `watch` does not know the leases of a server of ours), `default` (of all),"
    " `none`.",
    lambda one: throttles(one.figures),
    "broker",
    "side",
    "by",
)
_of_cluster(
    "partitions_under_replicated",
    "Partitions with fewer in-sync replicas than wanted; absent until counted.",
    lambda one: one.totals.under_replicated,
)
_of_cluster(
    "partitions_offline", "Partitions without a leader; absent until they are counted.", lambda one: one.totals.offline
)
_of_cluster("brokers_live", "Brokers that are registered.", lambda one: one.document.brokers_live)
_of_cluster(
    "brokers_cordoned",
    "Registered brokers that get no new replica from the controller (KIP-1066); 0 on a standby.",
    lambda one: one.cordoned,
)
CORDON_BROKEN = _counter(
    "cordoned_broker_replicas", "New replicas on cordoned brokers, however they came there (`cordon.broken`)."
)
_of_controller(
    "brokers_refusing",
    "Brokers that do not take this server: its login, its TLS or its right to CLUSTER_ACTION fails there, or"
    " they know a newer controller.",
    lambda one: one.refusing,
)
_of_process(
    "tls_handshake_fails",
    "1 where a TLS handshake of this server with itself fails at a listener, as it then does for brokers and"
    " clients; it is tried before this server controls, each hour, and with each new certificate.",
    lambda one: {(each.listener,): each.fails for each in one.certificates.handshakes},
    "listener",
)
_of_process(
    "certificate_days_left",
    "Days until a certificate ends that this server shows or needs. `use`: `listener NAME`, `brokers`,"
    " `ZooKeeper`; `part`: `own`, or `ca` for the first to end of those above it.",
    lambda one: one.certificates.days_left(one.document.at / 1000),
    "use",
    "part",
)
_of_controller(
    "brokers_migrating",
    "Live brokers that were restarted for the migration to KRaft, as far as they have said; 0 on a standby.",
    lambda one: one.figures.migrating,
)
_of_controller(
    "leases_refused",
    "Configs of throttle leases that ZooKeeper refuses to write: they stay as they are, and are tried again"
    " within a minute; 0 on a standby.",
    lambda one: one.figures.refused,
)
_of_controller(
    "brokers_failed",
    "Brokers that are gone and that replicas, or moves in flight or waiting, name.",
    lambda one: one.healing.failed,
)
_of_controller(
    "brokers_with_failed_log_dirs",
    "Registered brokers that have lost log dirs with replicas.",
    lambda one: one.healing.log_dirs,
)
_of_process(
    "log_directory_offline",
    "1 for each log dir that a registered broker has lost, until it is good again or no longer holds a replica,"
    " whatever its repair waits for; the log directory is empty where the broker has not named it.",
    lambda one: log_dirs_offline(one.document.healing),
    "broker",
    "log_directory",
)
_of_controller(
    "brokers_alerted",
    "Brokers of brokers_failed and of brokers_with_failed_log_dirs that have been so for longer than the"
    " alert interval.",
    lambda one: one.healing.alerted,
)
_of_controller("repairs_waiting", "Moves of repairs that wait in the queue.", lambda one: one.healing.waiting)
_of_controller("repairs_in_flight", "Moves of repairs in flight.", lambda one: one.healing.moving)
_of_controller(
    "repairs_impossible", "Partitions that repairs had to leave as they are.", lambda one: one.healing.impossible
)
_of_controller(
    "repairs_unapproved",
    "Moves of repairs that start only once they are approved (self.healing.approval); repairs_waiting has them too.",
    lambda one: one.healing.unapproved,
)
_of_controller(
    "healing_paused",
    "1 where an operator has paused self-healing, whether a broker is lost or not.",
    lambda one: one.healing.paused,
)
_of_controller(
    "healing_held_back",
    "1 where something keeps failed brokers from being repaired.",
    lambda one: one.healing.held_back,
)
_of_process(
    "zookeeper_connected",
    "1 where the ZooKeeper session has a connection; in front of KRaft, where a server is heard to lead.",
    lambda one: one.connected,
)
_of_controller(
    "zookeeper_round_trip_seconds",
    "How long ZooKeeper took for its last answer; absent in front of KRaft.",
    lambda one: one.round_trip,
)
ROUND_DURATION = _histogram("round_duration", "From the first decision of a round to its answers.")
COMMIT_DURATION = _histogram("commit_duration", "How long ZooKeeper took to make a round durable.")
LOOP_PAUSE = _histogram("loop_pause", "How late the event loop was, measured every tenth of a second.")
EVENTS = _counter("events", "Recorded events, by name.", "event")
_of_process(
    "event_log_lost", "Events that could not be written to the event log.", lambda one: one.events_lost, kind=COUNTER
)
_of_process(
    "webhook_sent",
    "Notifications that a webhook has taken, by scheme, host and port of its URL.",
    lambda one: of_webhooks(one, 0),
    "receiver",
    kind=COUNTER,
)
_of_process(
    "webhook_failed",
    "Attempts to notify a webhook that failed.",
    lambda one: of_webhooks(one, 1),
    "receiver",
    kind=COUNTER,
)
_of_process(
    "webhook_dropped",
    "Events that a webhook did not get: too many waited, it did not take them in time (webhook.max.age.ms), or"
    " it refused them.",
    lambda one: of_webhooks(one, 2),
    "receiver",
    kind=COUNTER,
)

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
"""The metrics of `server.server_limits.ServerStats`, by the names of its fields."""

_of_process("build_info", "1; the labels say what runs.", lambda _: _BUILD, "version", "python")

PROCESS = (
    MetricType("process_virtual_memory_bytes", GAUGE, (), "Virtual memory of this process."),
    MetricType("process_resident_memory_bytes", GAUGE, (), "Resident memory of this process."),
    MetricType("process_start_time_seconds", GAUGE, (), "When this process started, in seconds since the epoch."),
    MetricType("process_cpu_seconds_total", COUNTER, (), "CPU time that this process has taken."),
    MetricType("process_open_fds", GAUGE, (), "Open file descriptors."),
    MetricType("process_max_fds", GAUGE, (), "Most file descriptors that may be open."),
)
"""What prometheus-client shows of a process, under names that it shares with other programs."""

METRICS: tuple[MetricType, ...] = (*_DECLARED, *PROCESS)
