"""The catalogue of metrics is exactly what a server shows."""

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from kafka_reassign_rpc.controller.telemetry.cluster_figures import ClusterFigures
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import COUNTER, HISTOGRAM, METRICS, SERVER_COUNTERS
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.notifications import WebhookCounts
from kafka_reassign_rpc.core.status.broker_documents import Throttle
from kafka_reassign_rpc.core.status.documents import FailedLogDirs, Healing, StartWindow
from kafka_reassign_rpc.core.status.own_certificates import ListenerHandshake, OwnCertificates
from kafka_reassign_rpc.server.server_stats import ServerStats
from tests.controller.telemetry.test_metrics import DOCUMENT

FIGURES = ClusterFigures(throttles={1: (Throttle(5, "config"), None)}, copied={1: (7, 8)})
LOST = Healing(60_000, False, None, None, [], [FailedLogDirs(3, ["/data/2"], 1, None, 5)], [], 0, 0, None)
IN_A_WINDOW = replace(DOCUMENT, window=StartWindow(True, "in a window", 30_000, 5), healing=LOST)
OWN = OwnCertificates([ListenerHandshake("SSL", True, "no such name")], {("listener SSL", "own"): 5.0})
STATUS = ServerStatus(
    IN_A_WINDOW, True, 0.002, 4, figures=FIGURES, webhooks={"https://a": WebhookCounts(1)}, certificates=OWN
)


def test_sv_7_the_page_shows_the_metrics_of_the_catalogue_and_no_others() -> None:
    metrics = Metrics()
    metrics.event(Event(catalogue.MOVE_STARTED, "t", 0), 1000)
    stats = ServerStats()
    stats.requests[45] = 1
    metrics.show(lambda: STATUS, lambda: stats, {45: "AlterPartitionReassignments"})
    shown = {}
    for family in text_string_to_metric_families(metrics.page().body.decode()):
        assert family.samples, family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        name = f"{family.name}_total" if family.type == COUNTER else family.name
        shown[name] = (family.type, labels, family.documentation)
    for metric in METRICS:
        kind, labels, meaning = shown.pop(metric.name)
        assert (kind, labels) == (metric.kind, set(metric.labels)), metric.name
        assert meaning == metric.meaning or metric.name.startswith("process_")
    assert shown == {}


def test_sv_7_names_in_the_catalogue_are_unique_and_of_prometheus_form() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert metric.name.startswith(("kafka_reassign_", "process_"))
        assert metric.name.endswith("_total") == (metric.kind == COUNTER)
        assert metric.kind != HISTOGRAM or metric.name.endswith("_seconds")
        assert metric.meaning.endswith(".")


def test_sv_7_every_counter_of_the_server_is_in_the_catalogue() -> None:
    assert {*SERVER_COUNTERS, "requests"} == set(ServerStats.__struct_fields__)
