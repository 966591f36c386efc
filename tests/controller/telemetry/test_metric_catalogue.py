"""The catalogue of metrics is exactly what a server shows."""

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from kafka_reassign_rpc.controller.telemetry.metric_catalogue import COUNTER, HISTOGRAM, METRICS, SERVER_COUNTERS
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics
from kafka_reassign_rpc.controller.telemetry.server_status import ClusterFigures, ServerStatus, Values
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.notifications import WebhookCounts
from kafka_reassign_rpc.core.status.broker_documents import Throttle
from kafka_reassign_rpc.core.status.documents import FailedLogDirs, Healing, StartWindow
from kafka_reassign_rpc.core.status.own_certificates import ListenerHandshake, OwnCertificates
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.server.server_limits import ServerStats
from tests.controller.telemetry.test_metrics import DOCUMENT
from tests.status_page.views import server_of
from tests.tables import for_each

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


def read(name: str, status: ServerStatus) -> Values:
    [metric] = [one for one in METRICS if one.name == f"kafka_reassign_{name}"]
    return metric.values(status)


def test_sv_7_a_standby_shows_0_where_the_catalogue_says_so() -> None:
    standby = ServerStatus(status_of(server_of(None), at=1, version="1", full=True), True, 0.002, 0)
    shown = {metric.name: metric.values(standby) for metric in METRICS if "0 on a standby" in metric.meaning}
    assert len(shown) == 3
    assert all(values == {(): 0} for values in shown.values()), shown


@for_each(
    "window, opened, rate, changes",
    [
        (None, 1, -1, {}),
        (StartWindow(True, "no end in sight", None, None), 1, -1, {}),
        (StartWindow(True, "with a rate of its own", 30_000, 5), 1, 5, {(): 30}),
        (StartWindow(False, "between windows", 60_000, None), 0, -1, {(): 60}),
    ],
)
def test_dh_5_metrics_show_whether_a_window_is_open_its_rate_and_when_it_changes(
    window: StartWindow | None, opened: int, rate: int, changes: Values
) -> None:
    status = STATUS._replace(document=replace(DOCUMENT, window=window))
    assert read("window_open", status) == {(): opened}
    assert read("window_rate_bytes_per_second", status) == {(): rate}
    assert read("window_changes_timestamp_seconds", status) == changes


def test_sv_7_metrics_of_brokers_show_throttles_and_copied_bytes_of_each_side() -> None:
    assert read("broker_throttle_bytes_per_second", STATUS) == {
        ("1", "leader", "config"): 5,
        ("1", "follower", "none"): -1,
    }
    unknown = FIGURES._replace(throttles={2: (Throttle(7, None), None)}, copied={1: (7, None), 2: (0, 0)})
    found = STATUS._replace(figures=unknown)
    assert read("broker_throttle_bytes_per_second", found)["2", "leader", "unknown"] == 7
    into, out_of = (one.values(found) for one in METRICS if "copied" in one.name and one.labels == ("broker",))
    assert (into, out_of) == ({("1",): 7, ("2",): 0}, {("2",): 0})


def test_sv_7_moves_that_wait_are_counted_for_each_route_and_absent_where_that_is_not_known() -> None:
    assert read("moves_waiting", STATUS) == {("queue",): 2, ("rpc",): 0, ("batch",): 0, ("request",): 0, ("heal",): 0}
    assert DOCUMENT.totals is not None
    unknown = replace(DOCUMENT, totals=replace(DOCUMENT.totals, waiting=None))
    assert read("moves_waiting", STATUS._replace(document=unknown)) == {}
