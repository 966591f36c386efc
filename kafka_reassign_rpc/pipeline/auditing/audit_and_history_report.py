"""Audit and history as HTML pages."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_reassign_rpc.client.text_format import duration, size
from kafka_reassign_rpc.pipeline.auditing.audit_job import MEASURES, SnapshotTaken
from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.pipeline.reports.result_tables import Shown, cell, time_of

_BUCKETS = 80
"""Points in time that moves are counted in."""
_SECONDS_UP_TO, _MINUTES_UP_TO = 1200, 86_400


def audit(taken: Sequence[SnapshotTaken], frames: Mapping[str, DataFrame], shown: Mapping[str, Shown]) -> str:
    first, last = taken[0].meta, taken[-1].meta
    page = HtmlPage("Audit", f"Cluster {last.cluster_id}: {len(taken)} snapshots from {time_of(first.at)} to "
                         f"{time_of(last.at)} UTC")  # fmt: skip
    findings = ("drift", "rack_violations", "under_replicated", "mixed")
    labels = ("changed replication factors", "rack violations", "under-replicated", "topics of mixed factors")
    page.tiles([(f"{shown[name].total:,}", label) for name, label in zip(findings, labels, strict=True)])
    page.heading("Skew over time", "The fullest live broker against the mean of all: 1.0 is even.")
    spread = [row.asDict() for row in frames["spread"].collect()]
    times = sorted({row["at"] for row in spread})
    worst = {(row["at"], row["measure"]): row["worst"] for row in spread}
    series = [svg_plots.Line(name, [worst[at, name] for at in times]) for name in MEASURES]
    page.figure(
        svg_plots.lines(times, series, "Fullest broker, times the mean", "{:.2f}".format, _clock(times)),
        "skew over time",
    )
    page.heading("Brokers now")
    brokers = frames["brokers"].where((F.col("at") == last.at) & F.col("live")).orderBy("broker").collect()
    panels = [
        svg_plots.Bars(
            name.capitalize(), None, [row[name] for row in brokers], None, size if name == "bytes" else _count
        )
        for name in MEASURES
    ]
    page.figure(svg_plots.bars([str(row["broker"]) for row in brokers], panels, "broker"), "brokers")
    for name, label in zip(findings, labels, strict=True):
        _findings(page, label.capitalize(), shown[name])
    return page.html()


def history(frames: Mapping[str, DataFrame], shown: Mapping[str, Shown]) -> str:
    moves = frames["moves"]
    bounds = moves.agg(F.min("started"), F.max(F.coalesce("ended", "started")), F.count("*")).first()
    assert bounds is not None
    start, end, count = bounds
    span = f"from {time_of(start)} to {time_of(end)} UTC" if start is not None else "none of them begun"
    page = HtmlPage("History of moves", f"{count:,} moves, {span}")
    by_outcome = {row["outcome"]: row["n"] for row in moves.groupBy("outcome").agg(F.count("*").alias("n")).collect()}
    order = ("completed", "cancelled", "moving", "stalled", "waiting", "withdrawn")
    page.tiles([(f"{by_outcome[name]:,}", name) for name in order if name in by_outcome])
    if start is not None:
        page.heading("Over time")
        times, in_flight = _in_flight(moves, start, end)
        page.figure(
            svg_plots.lines(
                times, [svg_plots.Line("moves", in_flight)], "Moves in flight", _count, _clock(times), steps=True
            ),
            "in flight",
        )
        lengths = _lengths(moves)
        if lengths:
            names, counts = zip(*lengths, strict=True)
            bars = svg_plots.Bars("How long moves took", None, counts, None, _count)
            page.figure(svg_plots.bars(names, [bars], "up to"), "durations")
    for name in ("outcomes", "slowest", "stalled", "throttles", "refusals"):
        _findings(page, name.capitalize(), shown[name])
    return page.html()


def _in_flight(moves: DataFrame, start: int, end: int) -> tuple[list[float], list[float]]:
    """How many moves were in flight at `_BUCKETS` points in time."""
    step = max(1, (end - start) // _BUCKETS)
    changes = (
        moves.where("started is not null")
        .select(F.explode(F.array(
            F.struct(F.col("started").alias("at"), F.lit(1).alias("change")),
            F.struct(F.col("ended").alias("at"), F.lit(-1).alias("change")),
        )).alias("one"))
        .where("one.at is not null")
        .groupBy((F.ceil((F.col("one.at") - start) / step) * step + start).alias("at"))
        .agg(F.sum("one.change").alias("change"))
        .orderBy("at")
    )  # fmt: skip
    times, counts, running = [float(start)], [0.0], 0
    for row in changes.collect():
        running += row["change"]
        times.append(float(row["at"]))
        counts.append(float(running))
    return times, counts


def _lengths(moves: DataFrame) -> list[tuple[str, int]]:
    """Durations in classes that double."""
    doubled = F.ceil(F.log2(F.greatest(F.col("seconds"), F.lit(1.0)))).alias("power")
    rows = moves.where("seconds is not null").groupBy(doubled).agg(F.count("*").alias("n")).orderBy("power").collect()
    found = {int(row["power"]): int(row["n"]) for row in rows}
    return [(duration(2**power), found.get(power, 0)) for power in range(min(found), max(found) + 1)] if found else []


def _findings(page: HtmlPage, title: str, shown: Shown) -> None:
    page.heading(title)
    if not shown.total:
        page.text("None.")
        return
    numbers = ("int", "float")
    kinds = [type(next((row[place] for row in shown.rows if row[place] is not None), "")).__name__
             for place in range(len(shown.columns))]  # fmt: skip
    text = [place for place, kind in enumerate(kinds) if kind not in numbers]
    rows = [[cell(column, value) for column, value in zip(shown.columns, row, strict=True)] for row in shown.rows]
    columns = [column.replace("_", " ") for column in shown.columns]
    page.table(columns, rows, text=text, more=shown.total - len(shown.rows))


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _clock(times: Sequence[float]) -> Callable[[float], str]:
    """Writes the times of an axis (ms since 1970 began): to the second, the minute or with the day, as it is long."""
    span = (times[-1] - times[0]) / 1000
    part = slice(11, 19) if span < _SECONDS_UP_TO else slice(11, 16) if span < _MINUTES_UP_TO else slice(5, 16)
    return lambda at: time_of(int(at))[part]
