from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.pipeline.reports.page_sections import add_table, number_text, time_format
from kafka_reassign_rpc.pipeline.reports.result_tables import (
    RATE_COLUMNS,
    SIZE_COLUMNS,
    TableExcerpt,
    cell_text,
    column_title,
)
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import utc_time

_LEAST_FOR_A_TREND = 3


def audit_page(
    snapshots: Sequence[SnapshotMeta],
    spread: Sequence[Mapping[str, Any]],
    now: Sequence[Mapping[str, Any]],
    targets: Mapping[str, Mapping[int, float]],
    shown: Mapping[str, TableExcerpt],
) -> str:
    """`snapshots`: the oldest first. `now`: the live brokers of the last snapshot; `targets`: theirs, by measure.
    `shown`: the first rows of each table.
    """
    first, last = snapshots[0], snapshots[-1]
    page = HtmlPage("Audit", f"Cluster {last.cluster_id}: {counted(len(snapshots), 'snapshot')} from "
                         f"{utc_time(first.at)} to {utc_time(last.at)} UTC")  # fmt: skip
    findings = ("drift", "rack_violations", "under_replicated", "mixed", "ending_configs")
    labels = (
        "changed replication factors",
        "rack violations",
        "under-replicated",
        "topics of mixed factors",
        "configs that brokers cannot live with",
    )
    page.tiles([(f"{shown[name].total:,}", label) for name, label in zip(findings, labels, strict=True)])
    page.heading("Skew over time", "The fullest live broker beside its target: 1.0 is even.")
    _add_skew(page, spread)
    page.heading("Brokers now", "The load of each live broker; the line is its target: its share of all load.")
    panels = [_bars(name, now, targets[name]) for name in _in_order(targets)]
    page.figure(svg_plots.bar_plots([str(row["broker"]) for row in now], panels, "broker"), "brokers")
    for name, label in zip(findings, labels, strict=True):
        add_table(page, label.capitalize(), shown[name])
    if "log_dirs" in shown:
        add_table(page, "Log dirs", shown["log_dirs"])
    return page.html()


def _add_skew(page: HtmlPage, spread: Sequence[Mapping[str, Any]]) -> None:
    """A table if snapshots are too few for a trend. Only measures that all snapshots know."""
    times = sorted({row["at"] for row in spread})
    worst = {(row["at"], row["measure"]): row["worst"] for row in spread}
    measures = _in_order({name for name in MEASURES if all((at, name) in worst for at in times)})
    if len(times) < _LEAST_FOR_A_TREND:
        rows = [[utc_time(at), *(f"{worst[at, name]:.2f}" for name in measures)] for at in times]
        page.table(["snapshot", *map(column_title, measures)], rows)
        return
    series = [svg_plots.Line(column_title(name), [worst[at, name] for at in times]) for name in measures]
    page.figure(
        svg_plots.line_plot(times, series, "Fullest broker, times its target", "{:.2f}".format, time_format(times)),
        "skew over time",
    )


def _in_order(known: Collection[str]) -> list[str]:
    return [name for name in MEASURES if name in known]


def _bars(name: str, now: Sequence[Mapping[str, Any]], targets: Mapping[int, float]) -> svg_plots.Bars:
    write = partial(cell_text, name) if name in (*SIZE_COLUMNS, *RATE_COLUMNS) else number_text
    fair = [targets[row["broker"]] for row in now]
    return svg_plots.Bars(column_title(name).capitalize(), None, [row[name] or 0 for row in now], fair, write)
