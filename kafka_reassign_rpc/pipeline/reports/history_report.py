"""The page of a history of moves: moves in flight over time, how long moves took, and every table."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_reassign_rpc.client.text_format import duration
from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.pipeline.reports.page_sections import add_table, number_text, time_format
from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt, utc_time

_POINTS = 80
"""Times at which the plot counts the moves in flight."""


def history_page(frames: Mapping[str, DataFrame], shown: Mapping[str, TableExcerpt]) -> str:
    """The page. frames: the tables of `history_job`; shown: the first rows of each."""
    moves = frames["moves"]
    bounds = moves.agg(F.min("started"), F.max(F.coalesce("ended", "started")), F.count("*")).first()
    assert bounds is not None
    start, end, count = bounds
    span = f"from {utc_time(start)} to {utc_time(end)} UTC" if start is not None else "none of them started"
    page = HtmlPage("History of moves", f"{count:,} moves, {span}")
    by_outcome = {row["outcome"]: row["n"] for row in moves.groupBy("outcome").agg(F.count("*").alias("n")).collect()}
    order = ("completed", "cancelled", "moving", "stalled", "waiting", "withdrawn")
    page.tiles([(f"{by_outcome[name]:,}", name) for name in order if name in by_outcome])
    if start is not None:
        page.heading("Over time")
        times, in_flight = _in_flight(moves, start, end)
        page.figure(
            svg_plots.line_plot(
                times,
                [svg_plots.Line("moves", in_flight)],
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
        add_table(page, name.capitalize(), shown[name])
    return page.html()


def _in_flight(moves: DataFrame, start: int, end: int) -> tuple[list[float], list[float]]:
    """How many moves were in flight, at `_POINTS` times."""
    step = max(1, (end - start) // _POINTS)
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


def _durations(moves: DataFrame) -> list[tuple[str, int]]:
    """How many moves took up to 1 s, 2 s, 4 s, …"""
    doubled = F.ceil(F.log2(F.greatest(F.col("seconds"), F.lit(1.0)))).alias("power")
    rows = moves.where("seconds is not null").groupBy(doubled).agg(F.count("*").alias("n")).orderBy("power").collect()
    found = {int(row["power"]): int(row["n"]) for row in rows}
    return [(duration(2**power), found.get(power, 0)) for power in range(min(found), max(found) + 1)] if found else []
