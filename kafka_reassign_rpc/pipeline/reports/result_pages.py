"""The pages of the results of `audit` and `history`."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage, add_table, number_text, time_format
from kafka_reassign_rpc.pipeline.reports.result_tables import (
    RATE_COLUMNS,
    SIZE_COLUMNS,
    TableExcerpt,
    cell_text,
    column_title,
)
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from kafka_reassign_rpc.support.counted import counted, plural
from kafka_reassign_rpc.support.human_units import duration, utc_time

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


_TOO_WIDE = ("principal",)
"""`who` begins with it; Parquet and --json have it too."""
_POINTS = 80
"""The plot of moves in flight shows the most of each such stretch of time."""


def history_page(moves: pa.Table, shown: Mapping[str, TableExcerpt]) -> str:
    """`moves`: each with its outcome, `started`, `ended` and `seconds`; `shown`: the first rows of each table."""
    start = pc.min(moves["started"]).as_py()
    end = pc.max(pc.coalesce(moves["ended"], moves["started"])).as_py()
    count = len(moves)
    span = f"from {utc_time(start)} to {utc_time(end)} UTC" if start is not None else "none of them started"
    page = HtmlPage("History of moves", f"{count:,} move{plural(count)}, {span}")
    by_outcome = {one["values"]: one["counts"] for one in moves["outcome"].value_counts().to_pylist()}
    order = ("completed", "cancelled", "moving", "stalled", "waiting", "withdrawn")
    page.tiles([(f"{by_outcome[name]:,}", name) for name in order if name in by_outcome])
    if start is not None:
        page.heading("Over time")
        times, most = in_flight(moves, start, end)
        page.figure(
            svg_plots.line_plot(
                times,
                [svg_plots.Line("moves", most)],
                "Moves in flight",
                number_text,
                time_format(times),
                steps=True,
            ),
            "in flight",
        )
        durations = _durations(moves)
        if durations:
            names, counts = zip(*durations, strict=True)
            bars = svg_plots.Bars("How long moves took", None, counts, None, number_text)
            page.figure(svg_plots.bar_plots(names, [bars], "up to"), "durations")
    for name in ("outcomes", "slowest", "stalled", "throttles", "refusals"):
        add_table(page, name.capitalize(), shown[name], without=_TOO_WIDE)
    return page.html()


def in_flight(moves: pa.Table, start: int, end: int) -> tuple[list[float], list[float]]:
    """Times (ms) of `_POINTS` stretches, and the most moves in flight at once in each. A move that ends and one that
    starts in the same ms are not in flight at once.
    """
    step = max(1, -(-(end - start + 1) // _POINTS))
    of_moves = moves.select(["started", "ended"]).filter(pc.is_valid(moves["started"]))
    began, over = (np.asarray(of_moves[name].drop_null()) for name in ("started", "ended"))
    at, codes = np.unique(np.maximum(np.concatenate([began, over]), start), return_inverse=True)
    # the clock of another server may be behind
    change = np.bincount(codes[: len(began)], minlength=len(at)) - np.bincount(codes[len(began) :], minlength=len(at))
    after = change.cumsum()
    stretch, times = (at - start) // step, range((end - start) // step + 1)
    first = np.searchsorted(stretch, times)
    before = np.concatenate([[0], after])[first]
    counts = [
        float(max([running, *after[place:last].tolist()]))
        for place, last, running in zip(first, [*first[1:], len(at)], before.tolist(), strict=True)
    ]
    return [*(float(start + one * step) for one in times), float(end)], [*counts, float(after[-1])]


def _durations(moves: pa.Table) -> list[tuple[str, int]]:
    """Moves that took up to 1 s, 2 s, 4 s, …"""
    seconds = np.asarray(moves["seconds"].drop_null())
    found = Counter(np.ceil(np.log2(np.maximum(seconds, 1.0))).astype(int).tolist())
    return [(duration(2**power), found.get(power, 0)) for power in range(min(found), max(found) + 1)] if found else []
