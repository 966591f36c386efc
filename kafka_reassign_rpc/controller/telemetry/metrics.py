"""What a server shows of itself over HTTP: metrics in Prometheus' format, its health, and whether it is ready.

Events and durations are counted as they happen. Gauges are read at each scrape, which never walks over partitions.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from kafka_reassign_rpc.controller.telemetry import metric_catalogue
from kafka_reassign_rpc.controller.telemetry.event_recorder import COMMIT, ROUND
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import GAUGE, METRICS, SERVER_COUNTERS, MetricType
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus, or_none
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.server.http_server import HttpPage
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.support.turns import Steps

SHORT = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LONG = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 43200.0, 86400.0)
PAUSE = "pause"
_OF_PROCESS = "process_"
_LINES_OF_HEAD = 2
"""# HELP and # TYPE, of each metric once."""

COUNTED_MOVES = (
    catalogue.MOVE_STARTED,
    catalogue.MOVE_RETARGETED,
    catalogue.MOVE_COMPLETED,
    catalogue.MOVE_CANCELLED,
    catalogue.MOVE_REFUSED,
)
"""Events whose partitions `kafka_reassign_moves_total` counts."""


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._events = self._counter(metric_catalogue.EVENTS)
        self._partitions = self._counter(metric_catalogue.MOVES)
        self._cordon_broken = self._counter(metric_catalogue.CORDON_BROKEN)
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
        if name == catalogue.CORDON_BROKEN:
            self._cordon_broken.inc(event.count or 1)
        if name == catalogue.MOVE_COMPLETED and event.started is not None:
            self._durations.observe(max(0, at - event.started) / 1000)

    def observe_duration(self, what: str, seconds: float) -> None:
        """`what`: a ROUND, a COMMIT or a PAUSE of the event loop."""
        self._times[what].observe(seconds)

    def show(
        self, status: Callable[[], ServerStatus], stats: Callable[[], ServerStats], api_names: Mapping[int, str]
    ) -> None:
        """`api_names` is by API key."""
        self.registry.register(_ReadAtScrape(status, stats, api_names))

    def page(self) -> HttpPage:
        return HttpPage(generate_latest(_WithoutCreationTimes(self.registry)), CONTENT_TYPE_PLAIN_0_0_4)


class _WithoutCreationTimes(Collector):
    """Without the time at which each counter was made: those are half of all lines."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


def metrics_of_clusters(of_each: Mapping[str, Metrics]) -> Steps[HttpPage]:
    """Each sample has the label `cluster`; those of the process come once, without it. Of fifty clusters it is long
    work."""
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
        """The registry would have to read the values to learn the names."""
        return ()

    def collect(self) -> Iterable[Metric]:
        status = self._status()
        for metric in METRICS:
            if metric.read is not None:
                yield _family(metric, metric.values(status))
        stats = self._stats()
        counted: Mapping[int, int] = {**dict.fromkeys(self._api_names, 0), **stats.requests}
        requests: dict[tuple[str, ...], float] = {
            (self._api_names.get(key, str(key)),): count for key, count in sorted(counted.items())
        }
        yield _family(metric_catalogue.REQUESTS, requests)
        for field, metric in SERVER_COUNTERS.items():
            yield _family(metric, {(): getattr(stats, field)})


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
        shown = {"ready": True, "role": document.role, "controller": or_none(document.controller.id)}
        return HttpPage(msgspec.json.encode(shown))
    return HttpPage(msgspec.json.encode({"ready": False, "reason": document.reason or ""}), status=503)
