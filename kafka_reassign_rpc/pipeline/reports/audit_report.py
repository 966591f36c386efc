"""The page of an audit: skew over time, the brokers now, and every finding."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_reassign_rpc.client.text_format import size
from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.pipeline.reports.page_sections import add_table, number_text, time_format
from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt, utc_time
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

_MEASURES = ("bytes", "replicas", "leaders")


def audit_page(
    snapshots: Sequence[SnapshotMeta], frames: Mapping[str, DataFrame], shown: Mapping[str, TableExcerpt]
) -> str:
    """The page. snapshots: the oldest first; frames: the tables of `audit_job`; shown: the first rows of each."""
    first, last = snapshots[0], snapshots[-1]
    page = HtmlPage("Audit", f"Cluster {last.cluster_id}: {len(snapshots)} snapshots from {utc_time(first.at)} to "
                         f"{utc_time(last.at)} UTC")  # fmt: skip
    findings = ("drift", "rack_violations", "under_replicated", "mixed")
    labels = ("changed replication factors", "rack violations", "under-replicated", "topics of mixed factors")
    page.tiles([(f"{shown[name].total:,}", label) for name, label in zip(findings, labels, strict=True)])
    page.heading("Skew over time", "The fullest live broker against the mean of all: 1.0 is even.")
    spread = [row.asDict() for row in frames["spread"].collect()]
    times = sorted({row["at"] for row in spread})
    worst = {(row["at"], row["measure"]): row["worst"] for row in spread}
    series = [svg_plots.Line(name, [worst[at, name] for at in times]) for name in _MEASURES]
    page.figure(
        svg_plots.line_plot(times, series, "Fullest broker, times the mean", "{:.2f}".format, time_format(times)),
        "skew over time",
    )
    page.heading("Brokers now")
    brokers = frames["brokers"].where((F.col("at") == last.at) & F.col("live")).orderBy("broker").collect()
    panels = [
        svg_plots.Bars(
            name.capitalize(), None, [row[name] for row in brokers], None, size if name == "bytes" else number_text
        )
        for name in _MEASURES
    ]
    page.figure(svg_plots.bar_plots([str(row["broker"]) for row in brokers], panels, "broker"), "brokers")
    for name, label in zip(findings, labels, strict=True):
        add_table(page, label.capitalize(), shown[name])
    return page.html()
