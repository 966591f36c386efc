"""What a server shows of itself over HTTP: metrics in Prometheus' format, its health, and whether it is ready.

Events and durations are counted as they happen. Gauges are read from the server at each scrape, which never walks over
partitions: the cluster knows how many of them move. `metric_catalogue` has the names.
"""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import NamedTuple

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from kafka_reassign_rpc.controller.telemetry import metric_catalogue
from kafka_reassign_rpc.controller.telemetry.cluster_figures import NO_FIGURES, ClusterFigures
from kafka_reassign_rpc.controller.telemetry.event_recorder import COMMIT, ROUND
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import GAUGE, SERVER_COUNTERS, MetricType
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.notifications import WebhookCounts
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, RepairCounts
from kafka_reassign_rpc.core.state.cluster import ROUTES
from kafka_reassign_rpc.core.status.documents import Caps, Status, Totals
from kafka_reassign_rpc.server.http_server import HttpPage
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.support.turns import Steps

SHORT = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LONG = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 43200.0, 86400.0)
PAUSE = "pause"
_OF_PROCESS = "process_"
_LINES_OF_HEAD = 2
"""# HELP and # TYPE, of each metric once."""
NOTHING = Totals(0, {}, 0, 0, 0, 0, 0, None, 0, 0, 0)
NO_CAPS = Caps(None, None, None)
"""Of a server that is not the controller."""

COUNTED_MOVES = (
    catalogue.MOVE_STARTED,
    catalogue.MOVE_RETARGETED,
    catalogue.MOVE_COMPLETED,
    catalogue.MOVE_CANCELLED,
    catalogue.MOVE_REFUSED,
)
"""Events whose partitions `kafka_reassign_moves_total` counts."""


class ServerStatus(NamedTuple):
    """The state of a server, as metrics and `/ready` show it.

    document        the status document
    connected       whether the ZooKeeper session has a connection
    round_trip      seconds that ZooKeeper took for its last answer
    events_lost     events that could not be written to the event log
    healing         failed brokers and their repairs, as last diagnosed
    refusing        brokers that do not take this server
    figures         throttles, bytes copied, cordoned brokers
    webhooks        what became of notifications, by receiver
    """

    document: Status
    connected: bool
    round_trip: float
    events_lost: int
    healing: RepairCounts = NO_REPAIRS
    refusing: int = 0
    figures: ClusterFigures = NO_FIGURES
    webhooks: Mapping[str, WebhookCounts] = {}


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._events = self._counter(metric_catalogue.EVENTS)
        self._partitions = self._counter(metric_catalogue.MOVES)
        self._durations = self._histogram(metric_catalogue.MOVE_DURATION, LONG)
        self._times = {
            ROUND: self._histogram(metric_catalogue.ROUND_DURATION, SHORT),
            COMMIT: self._histogram(metric_catalogue.COMMIT_DURATION, SHORT),
            PAUSE: self._histogram(metric_catalogue.LOOP_PAUSE, SHORT),
        }
        self._event_counts = {name: self._events.labels(name) for name in catalogue.EVENTS}
        """A rate needs the first zero: the page shows all events before they have happened."""
        self._move_counts: dict[str, Counter] = {
            name: self._partitions.labels(name.removeprefix(catalogue.MOVE_PREFIX)) for name in COUNTED_MOVES
        }
        ProcessCollector(registry=self.registry)

    def _counter(self, metric: MetricType) -> Counter:
        return Counter(metric.name, metric.meaning, metric.labels, registry=self.registry)

    def _histogram(self, metric: MetricType, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(metric.name, metric.meaning, buckets=buckets, registry=self.registry)

    def event(self, event: Event, at: int) -> None:
        name = event.event
        self._event_counts[name].inc()
        of_moves = self._move_counts.get(name)
        if of_moves is not None:
            of_moves.inc(event.count or 1)
        if name == catalogue.MOVE_COMPLETED and event.started is not None:
            self._durations.observe(max(0, at - event.started) / 1000)

    def observe_duration(self, what: str, seconds: float) -> None:
        """A ROUND, a COMMIT or a PAUSE of the event loop took so many seconds."""
        self._times[what].observe(seconds)

    def show(
        self, status: Callable[[], ServerStatus], stats: Callable[[], ServerStats], api_names: Mapping[int, str]
    ) -> None:
        """From now on the page also shows the server's status and counters. `api_names` is by API key."""
        self.registry.register(_ReadAtScrape(status, stats, api_names))

    def page(self) -> HttpPage:
        return HttpPage(generate_latest(_WithoutCreationTimes(self.registry)), CONTENT_TYPE_PLAIN_0_0_4)


class _WithoutCreationTimes(Collector):
    """A registry's metrics without the time at which each counter was made: those are half of all lines."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


def metrics_of_clusters(of_each: Mapping[str, Metrics]) -> Steps[HttpPage]:
    """The metrics of several clusters by their names, each sample with the label `cluster`; those of the process once,
    without it. Of fifty clusters it is long work."""
    families: dict[str, list[bytes]] = {}
    for cluster, metrics in of_each.items():
        for metric in _WithoutCreationTimes(metrics.registry).collect():
            texts = families.setdefault(metric.name, [])
            is_of_process = metric.name.startswith(_OF_PROCESS)
            if not is_of_process:
                metric.samples = [one._replace(labels={"cluster": cluster, **one.labels}) for one in metric.samples]
            text = generate_latest(_One(metric))
            if not texts:
                texts.append(text)
            elif not is_of_process:
                texts.append(text.split(b"\n", _LINES_OF_HEAD)[_LINES_OF_HEAD])
            yield
    return HttpPage(b"".join(chain.from_iterable(families.values())), CONTENT_TYPE_PLAIN_0_0_4)


class _One(Collector):
    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        return (self._metric,)


class _ReadAtScrape(Collector):
    def __init__(
        self, status: Callable[[], ServerStatus], stats: Callable[[], ServerStats], api_names: Mapping[int, str]
    ) -> None:
        self._status = status
        self._stats = stats
        self._api_names = api_names

    def describe(self) -> Iterable[Metric]:
        """Yields nothing: the registry would have to read the values to learn the names."""
        return ()

    def collect(self) -> Iterable[Metric]:
        status = self._status()
        document, healing = status.document, status.healing
        totals = NOTHING if document.totals is None else document.totals
        for metric, value in (
            (metric_catalogue.CONTROLLER_ACTIVE, document.role == "controller"),
            (metric_catalogue.CONTROLLER_EPOCH, _or_none(document.controller.epoch)),
            (metric_catalogue.CONTROLLER_ID, _or_none(document.controller.id)),
            (metric_catalogue.READY, document.role != "none"),
            (metric_catalogue.MOVES_IN_FLIGHT, totals.in_flight),
            (metric_catalogue.MOVES_HELD, totals.held),
            (metric_catalogue.MOVES_BYTES_LEFT, totals.bytes_left),
            (metric_catalogue.MOVES_BYTES, totals.bytes_total),
            (metric_catalogue.MOVES_REMAINING, _seconds(totals.remaining_ms)),
            (metric_catalogue.ALL_DONE, _seconds(None if document.work is None else document.work.done_ms)),
            (metric_catalogue.REASSIGNMENTS_ENABLED, document.enabled is not False),
            (metric_catalogue.WINDOW_OPEN, document.window is None or document.window.open),
            (metric_catalogue.UNDER_REPLICATED, totals.under_replicated),
            (metric_catalogue.OFFLINE, totals.offline),
            (metric_catalogue.MOVES_STALLED, totals.stalled),
            (metric_catalogue.BROKERS_FAILED, healing.failed),
            (metric_catalogue.FAILED_LOG_DIRS, healing.log_dirs),
            (metric_catalogue.BROKERS_ALERTED, healing.alerted),
            (metric_catalogue.REPAIRS_WAITING, healing.waiting),
            (metric_catalogue.REPAIRS_UNAPPROVED, healing.unapproved),
            (metric_catalogue.REPAIRS_IN_FLIGHT, healing.moving),
            (metric_catalogue.REPAIRS_IMPOSSIBLE, healing.impossible),
            (metric_catalogue.HEALING_PAUSED, healing.paused),
            (metric_catalogue.HEALING_HELD_BACK, healing.held_back),
            (metric_catalogue.BROKERS_LIVE, document.brokers_live),
            (metric_catalogue.BROKERS_CORDONED, status.figures.cordoned),
            (metric_catalogue.BROKERS_REFUSING, status.refusing),
            (metric_catalogue.ZOOKEEPER_CONNECTED, status.connected),
            (metric_catalogue.ZOOKEEPER_ROUND_TRIP, status.round_trip),
            (metric_catalogue.EVENT_LOG_LOST, status.events_lost),
        ):
            yield _family(metric, {} if value is None else {(): value})
        yield _family(metric_catalogue.MOVES_WAITING, {(route,): totals.waiting.get(route, 0) for route in ROUTES})
        yield _family(metric_catalogue.CAPS, _caps(document.caps))
        yield from _of_figures(status.figures)
        for place, metric in enumerate(
            (metric_catalogue.WEBHOOK_SENT, metric_catalogue.WEBHOOK_FAILED, metric_catalogue.WEBHOOK_DROPPED)
        ):
            yield _family(metric, {(receiver,): counts[place] for receiver, counts in status.webhooks.items()})
        yield _family(metric_catalogue.BUILD_INFO, {_BUILD: 1})
        stats = self._stats()
        counted: Mapping[int, int] = {**dict.fromkeys(self._api_names, 0), **stats.requests}
        requests: dict[tuple[str, ...], float] = {
            (self._api_names.get(key, str(key)),): count for key, count in sorted(counted.items())
        }
        yield _family(metric_catalogue.REQUESTS, requests)
        for field, metric in SERVER_COUNTERS.items():
            yield _family(metric, {(): getattr(stats, field)})


def _of_figures(figures: ClusterFigures) -> Iterator[Metric]:
    """The families with a label for each broker."""
    for place, metric in enumerate((metric_catalogue.COPIED_IN, metric_catalogue.COPIED_OUT)):
        yield _family(metric, {(str(broker),): copied[place] for broker, copied in figures.copied.items()})
    rates: dict[tuple[str, ...], float] = {
        (str(broker), side, "none" if rate is None else rate.by): -1 if rate is None else rate.rate
        for broker, both in figures.throttles.items()
        for side, rate in zip(("leader", "follower"), both, strict=True)
    }
    yield _family(metric_catalogue.THROTTLES, rates)


def _caps(caps: Caps | None) -> dict[tuple[str, ...], float]:
    caps = NO_CAPS if caps is None else caps
    return {(name,): _or_none(getattr(caps, name)) for name in caps.__struct_fields__}


def _or_none(value: int | None) -> int:
    """-1 stands for what is not there."""
    return -1 if value is None else value


def _seconds(ms: int | None) -> float:
    return -1 if ms is None else ms / 1000


@cache
def build_version() -> str:
    try:
        return version("kafka-reassign-rpc")
    except PackageNotFoundError:
        return "unknown"


_BUILD = (build_version(), platform.python_version())


def _family(metric: MetricType, values: Mapping[tuple[str, ...], float]) -> Metric:
    cls = GaugeMetricFamily if metric.kind == GAUGE else CounterMetricFamily
    family = cls(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in values.items():
        family.add_metric(labels, float(value))
    return family


def health() -> HttpPage:
    return HttpPage(b'{"status":"ok"}')


def readiness(status: ServerStatus) -> HttpPage:
    document = status.document
    if document.role != "none":
        shown = {"ready": True, "role": document.role, "controller": _or_none(document.controller.id)}
        return HttpPage(msgspec.json.encode(shown))
    return HttpPage(msgspec.json.encode({"ready": False, "reason": document.reason or ""}), status=503)
