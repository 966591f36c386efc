"""The state of a server as `/metrics` and `/ready` show it. What nobody knows has no value: 0 would be a claim."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller.telemetry import metric_catalogue
from kafka_reassign_rpc.controller.telemetry.cluster_figures import NO_FIGURES, ClusterFigures
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import MetricType
from kafka_reassign_rpc.core.events.notifications import WebhookCounts
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, RepairCounts
from kafka_reassign_rpc.core.state.partition import ROUTES
from kafka_reassign_rpc.core.status.documents import Caps, Healing, StartWindow, Status, Totals
from kafka_reassign_rpc.core.status.own_certificates import NO_CERTIFICATES, OwnCertificates

NOTHING = Totals(0, {}, 0, 0, 0, 0, 0, None, 0, 0, 0)
NO_CAPS = Caps(None, None, None)
"""Of a server that is not the controller."""

Values = Mapping[tuple[str, ...], float]
"""By the values of the metric's labels."""


class ServerStatus(NamedTuple):
    """connected       whether the ZooKeeper session, or the cluster that is watched, answers
    round_trip      seconds that ZooKeeper took for its last answer
    events_lost     events that could not be written to the event log
    healing         failed brokers and their repairs, as last diagnosed
    refusing        brokers that do not take this server
    certificates    who would take those of this server, and when they end
    webhooks        what became of notifications, by receiver
    only_looks      it is `watch`: nobody tells it what only a controller knows, and while it does not see the cluster
                    it knows nothing of it, where a standby of the cluster has none of the controller's moves
    """

    document: Status
    connected: bool
    round_trip: float
    events_lost: int
    healing: RepairCounts = NO_REPAIRS
    refusing: int = 0
    figures: ClusterFigures = NO_FIGURES
    webhooks: Mapping[str, WebhookCounts] = {}
    only_looks: bool = False
    certificates: OwnCertificates = NO_CERTIFICATES


def values_of(status: ServerStatus) -> Iterator[tuple[MetricType, Values]]:
    """A gauge has no values where they are not known."""
    document = status.document
    yield from _single(_of_process(status), is_known=True)
    is_seen = not status.only_looks or document.totals is not None
    totals = NOTHING if document.totals is None else document.totals
    yield from _single(_of_cluster(status, totals), is_known=is_seen)
    yield from _of_figures(status.figures)
    yield from _single(_of_controller(status, totals), is_known=not status.only_looks)
    yield metric_catalogue.LOG_DIR_OFFLINE, _log_dirs_offline(document.healing)
    waiting: Values = {} if totals.waiting is None else {(route,): totals.waiting.get(route, 0) for route in ROUTES}
    yield metric_catalogue.MOVES_WAITING, {} if status.only_looks else waiting
    yield metric_catalogue.CAPS, {} if status.only_looks else _caps(document.caps)
    certificates = status.certificates
    yield metric_catalogue.HANDSHAKE_FAILS, {(one.listener,): one.fails for one in certificates.handshakes}
    yield metric_catalogue.CERTIFICATE_DAYS_LEFT, certificates.days_left(document.at / 1000)
    for place, metric in enumerate(
        (metric_catalogue.WEBHOOK_SENT, metric_catalogue.WEBHOOK_FAILED, metric_catalogue.WEBHOOK_DROPPED)
    ):
        yield metric, {(receiver,): counts[place] for receiver, counts in status.webhooks.items()}


Pairs = tuple[tuple[MetricType, float | None], ...]


def _single(pairs: Pairs, *, is_known: bool) -> Iterator[tuple[MetricType, Values]]:
    for metric, value in pairs:
        yield metric, {(): value} if is_known and value is not None else {}


def _of_process(status: ServerStatus) -> Pairs:
    document = status.document
    return (
        (metric_catalogue.CONTROLLER_ACTIVE, document.role == "controller"),
        (metric_catalogue.CONTROLLER_EPOCH, or_none(document.controller.epoch)),
        (metric_catalogue.CONTROLLER_ID, or_none(document.controller.id)),
        (metric_catalogue.READY, document.role != "none"),
        (metric_catalogue.ZOOKEEPER_CONNECTED, status.connected),
        (metric_catalogue.EVENT_LOG_LOST, status.events_lost),
    )


def _of_cluster(status: ServerStatus, totals: Totals) -> Pairs:
    work = status.document.work
    # Settings of servers, which cordon brokers too, are not told to who only looks.
    cordoned = status.figures.cordoned or (None if status.only_looks else 0)
    return (
        (metric_catalogue.MOVES_IN_FLIGHT, totals.in_flight),
        (metric_catalogue.MOVES_BYTES_LEFT, totals.bytes_left),
        (metric_catalogue.MOVES_BYTES, totals.bytes_total),
        (metric_catalogue.MOVES_REMAINING, _seconds(totals.remaining_ms)),
        (metric_catalogue.ALL_DONE, _seconds(None if work is None else work.done_ms)),
        (metric_catalogue.UNDER_REPLICATED, totals.under_replicated),
        (metric_catalogue.OFFLINE, totals.offline),
        (metric_catalogue.MOVES_STALLED, totals.stalled),
        (metric_catalogue.BROKERS_LIVE, status.document.brokers_live),
        (metric_catalogue.BROKERS_CORDONED, cordoned),
    )


def _of_controller(status: ServerStatus, totals: Totals) -> Pairs:
    document, healing = status.document, status.healing
    return (
        (metric_catalogue.MOVES_HELD, totals.held),
        (metric_catalogue.REASSIGNMENTS_ENABLED, document.enabled is not False),
        (metric_catalogue.WINDOW_OPEN, document.window is None or document.window.open),
        (metric_catalogue.WINDOW_RATE, or_none(None if document.window is None else document.window.rate)),
        (metric_catalogue.WINDOW_CHANGES, _changes_at(document.window)),
        (metric_catalogue.BROKERS_FAILED, healing.failed),
        (metric_catalogue.FAILED_LOG_DIRS, healing.log_dirs),
        (metric_catalogue.BROKERS_ALERTED, healing.alerted),
        (metric_catalogue.REPAIRS_WAITING, healing.waiting),
        (metric_catalogue.REPAIRS_UNAPPROVED, healing.unapproved),
        (metric_catalogue.REPAIRS_IN_FLIGHT, healing.moving),
        (metric_catalogue.REPAIRS_IMPOSSIBLE, healing.impossible),
        (metric_catalogue.HEALING_PAUSED, healing.paused),
        (metric_catalogue.HEALING_HELD_BACK, healing.held_back),
        (metric_catalogue.BROKERS_REFUSING, status.refusing),
        (metric_catalogue.BROKERS_MIGRATING, status.figures.migrating),
        (metric_catalogue.LEASES_REFUSED, status.figures.refused),
        (metric_catalogue.ZOOKEEPER_ROUND_TRIP, status.round_trip),
    )


def _of_figures(figures: ClusterFigures) -> Iterator[tuple[MetricType, Values]]:
    for place, metric in enumerate((metric_catalogue.COPIED_IN, metric_catalogue.COPIED_OUT)):
        known = ((broker, copied[place]) for broker, copied in figures.copied.items())
        yield metric, {(str(broker),): size for broker, size in known if size is not None}
    rates: dict[tuple[str, ...], float] = {
        (str(broker), side, "none" if rate is None else rate.by or "unknown"): -1 if rate is None else rate.rate
        for broker, both in figures.throttles.items()
        for side, rate in zip(("leader", "follower"), both, strict=True)
    }
    yield metric_catalogue.THROTTLES, rates


def _log_dirs_offline(healing: Healing | None) -> Values:
    lost = () if healing is None else healing.failed_log_dirs
    return {(str(one.broker), path): 1 for one in lost for path in one.log_dirs or ("",)}


def _caps(caps: Caps | None) -> Values:
    caps = NO_CAPS if caps is None else caps
    return {(name,): or_none(getattr(caps, name)) for name in caps.__struct_fields__}


def or_none(value: int | None) -> int:
    """-1 stands for what is not there."""
    return -1 if value is None else value


def _changes_at(window: StartWindow | None) -> float | None:
    return None if window is None or window.until is None else window.until / 1000


def _seconds(ms: int | None) -> float:
    return -1 if ms is None else ms / 1000
