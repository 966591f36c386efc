"""What a server shows of itself: metrics as Prometheus reads them, whether it lives, whether it is ready.

What happens is counted when it happens; what stands is asked for when somebody looks. Nothing here walks over
partitions: the cluster knows how many of them move.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from kafka_reassign_rpc.controller.telemetry.event_recorder import COMMIT, ROUND
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing.lost_brokers import NO_REPAIRS, Repairs
from kafka_reassign_rpc.core.reassignment.progress import NO_TOTALS, Totals
from kafka_reassign_rpc.core.state.cluster import ROUTES
from kafka_reassign_rpc.server.http_page import HttpPage
from kafka_reassign_rpc.server.server_counters import ServerStats

SHORT = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LONG = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 43200.0, 86400.0)
PREFIX = "kafka_reassign_"
PAUSE = "pause"


class ServerStatus(NamedTuple):
    """How a server stands.

    role            "controller", "standby", or "" while it is neither: then `reason` says why
    controller      the controller's id as far as this server knows, -1: nobody
    epoch           of the controller while it is this server, else -1
    moving          partitions with a move in flight
    waiting         moves that wait in the queue or the batch, by the route by which they came
    brokers         how many live
    round_trip      seconds that ZooKeeper took for its last answer
    events_lost     events that could not be written to the event log
    progress        bytes that moves still have to copy, and moves that do not get on, as of the last sample
    healing         what the last look at lost brokers has found
    """

    role: str
    reason: str
    controller: int
    epoch: int
    moving: int
    waiting: Mapping[str, int]
    brokers: int
    connected: bool
    round_trip: float
    events_lost: int
    progress: Totals = NO_TOTALS
    healing: Repairs = NO_REPAIRS


class Metrics:
    """Counts, and shows. Has a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._events = Counter(f"{PREFIX}events", "Recorded events.", ["event"], registry=self.registry)
        self._partitions = Counter(
            f"{PREFIX}moves", "Partitions of events about moves.", ["event"], registry=self.registry
        )
        self._durations = self._histogram("move_duration_seconds", "From a move's record to its completion.", LONG)
        self._times = {
            ROUND: self._histogram("round_duration_seconds", "Rounds of the controller's loop, to the answer.", SHORT),
            COMMIT: self._histogram("commit_duration_seconds", "What a round took to be durable.", SHORT),
            PAUSE: self._histogram("loop_pause_seconds", "How late the event loop was, every tenth second.", SHORT),
        }
        self._event_counts: dict[str, Counter] = {}
        self._move_counts: dict[str, Counter] = {}
        for what in ("started", "retargeted", "completed", "cancelled", "refused"):  # shown before the first one too
            self._move_counts[f"move.{what}"] = self._partitions.labels(what)
        ProcessCollector(registry=self.registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(PREFIX + name, what, buckets=buckets, registry=self.registry)

    def event(self, event: Event, at: int) -> None:
        """An event was recorded at `at` (ms)."""
        name = event.event
        count = self._event_counts.get(name)
        if count is None:
            count = self._event_counts[name] = self._events.labels(name)
        count.inc()
        of_moves = self._move_counts.get(name)
        if of_moves is not None:
            of_moves.inc(event.count or 1)
        if name == "move.completed" and event.started is not None:
            self._durations.observe(max(0, at - event.started) / 1000)

    def took(self, what: str, seconds: float) -> None:
        """ROUND, COMMIT or PAUSE."""
        self._times[what].observe(seconds)

    def show(
        self, standing: Callable[[], ServerStatus], stats: Callable[[], ServerStats], names: Mapping[int, str]
    ) -> None:
        """From now on also how the server stands. `names`: of the APIs, by key."""
        self.registry.register(_Asked(standing, stats, names))

    def page(self) -> HttpPage:
        return HttpPage(generate_latest(_WithoutBirthdays(self.registry)), CONTENT_TYPE_PLAIN_0_0_4)


class _WithoutBirthdays(Collector):
    """What is in a registry but for when each counter was made, which is half of all lines."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


class _Asked(Collector):
    """What is asked for when somebody looks."""

    def __init__(
        self, standing: Callable[[], ServerStatus], stats: Callable[[], ServerStats], names: Mapping[int, str]
    ) -> None:
        self._standing = standing
        self._stats = stats
        self._names = names

    def describe(self) -> Iterable[Metric]:
        """Nothing to compare names with at registration: that would ask."""
        return ()

    def collect(self) -> Iterable[Metric]:
        now = self._standing()
        for name, what, value in (
            ("controller_active", "1 where this server is the controller.", now.role == "controller"),
            ("controller_epoch", "Of this server's term; -1 where it is not the controller.", now.epoch),
            ("controller_id", "Who is the controller, as far as this server knows; -1: nobody.", now.controller),
            ("ready", "1 where this server is the controller or stands by for it.", bool(now.role)),
            ("moves_in_flight", "Partitions that move.", now.moving),
            ("moves_bytes_left", "Bytes that moves have still to copy, as far as known.", now.progress.bytes_left),
            ("moves_stalled", "Moves that have got nowhere for a while.", now.progress.stalled),
            ("brokers_failed", "Brokers that are gone, with replicas that nobody has moved yet.", now.healing.failed),
            ("brokers_alerted", "Those of them that are gone for longer than the alert interval.", now.healing.alerted),
            ("repairs_waiting", "Moves of repairs that wait to be started.", now.healing.waiting),
            ("repairs_in_flight", "Moves of repairs in flight.", now.healing.moving),
            ("repairs_impossible", "Partitions that repairs had to leave as they are.", now.healing.impossible),
            ("healing_held_back", "1 where something keeps lost brokers from being healed.", now.healing.held_back),
            ("brokers_live", "Brokers that are registered.", now.brokers),
            ("zookeeper_connected", "1 where the session has a connection.", now.connected),
            ("zookeeper_round_trip_seconds", "What ZooKeeper took for its last answer.", now.round_trip),
        ):
            yield GaugeMetricFamily(PREFIX + name, what, value=float(value))
        waiting = GaugeMetricFamily(f"{PREFIX}moves_waiting", "Moves that wait to be started.", labels=["route"])
        for route in ROUTES:
            waiting.add_metric([route], now.waiting.get(route, 0))
        yield waiting
        lost = "Events that the event log has not taken."
        yield CounterMetricFamily(f"{PREFIX}event_log_lost", lost, value=now.events_lost)
        yield from self._of_server()

    def _of_server(self) -> Iterable[Metric]:
        stats = self._stats()
        requests = CounterMetricFamily(f"{PREFIX}requests", "Answered requests.", labels=["api"])
        for key, count in sorted(stats.requests.items()):
            requests.add_metric([self._names.get(key, str(key))], count)
        yield requests
        for field in stats.__struct_fields__:
            value = getattr(stats, field)
            if isinstance(value, int):
                what = f"{field.removesuffix('_now').replace('_', ' ').capitalize()}."
                kind = GaugeMetricFamily if field.endswith("_now") else CounterMetricFamily
                yield kind(PREFIX + field.removesuffix("_now"), what, value=value)


def health() -> HttpPage:
    """Whether the process works: whoever reads this knows."""
    return HttpPage(b'{"status":"ok"}')


def readiness(standing: ServerStatus) -> HttpPage:
    """200 as controller or standing by for it, else 503 with the reason."""
    if standing.role:
        shown = {"ready": True, "role": standing.role, "controller": standing.controller}
        return HttpPage(msgspec.json.encode(shown))
    return HttpPage(msgspec.json.encode({"ready": False, "reason": standing.reason}), status=503)
