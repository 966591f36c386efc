from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.pipeline.reports.page_sections import add_table, number_text, time_format
from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt
from kafka_reassign_rpc.support.counted import plural
from kafka_reassign_rpc.support.human_units import duration, utc_time

_TOO_WIDE = ("principal",)
"""`who` begins with it; Parquet and --json have it too."""
_POINTS = 80
"""The plot of moves in flight shows the most of each such stretch of time."""


def history_page(moves: DataFrame, shown: Mapping[str, TableExcerpt]) -> str:
    """`shown`: the first rows of each table."""
    bounds = moves.agg(F.min("started"), F.max(F.coalesce("ended", "started")), F.count("*")).first()
    assert bounds is not None
    start, end, count = bounds
    span = f"from {utc_time(start)} to {utc_time(end)} UTC" if start is not None else "none of them started"
    page = HtmlPage("History of moves", f"{count:,} move{plural(count)}, {span}")
    by_outcome = {row["outcome"]: row["n"] for row in moves.groupBy("outcome").agg(F.count("*").alias("n")).collect()}
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


def in_flight(moves: DataFrame, start: int, end: int) -> tuple[list[float], list[float]]:
    """Times (ms) of `_POINTS` stretches, and the most moves in flight at once in each. A move that ends and one that
    starts in the same ms are not in flight at once.
    """
    step = max(1, -(-(end - start + 1) // _POINTS))
    changes = (
        moves.where("started is not null")
        .select(F.explode(F.array(
            F.struct(F.col("started").alias("at"), F.lit(1).alias("change")),
            F.struct(F.col("ended").alias("at"), F.lit(-1).alias("change")),
        )).alias("one"))
        .where("one.at is not null")
        .groupBy(F.greatest("one.at", F.lit(start)).alias("at"))  # the clock of another server may be behind
        .agg(F.sum("one.change").alias("change"))
        .withColumn("stretch", F.floor((F.col("at") - start) / step))
    )  # fmt: skip
    so_far = F.sum("change").over(Window.partitionBy("stretch").orderBy("at"))
    rows = changes.withColumn("so_far", so_far).groupBy("stretch").agg(F.sum("change"), F.max("so_far")).collect()
    by_stretch = {int(stretch): (int(change), int(most)) for stretch, change, most in rows}
    times, counts, running = [], [], 0
    for stretch in range((end - start) // step + 1):
        change, most = by_stretch.get(stretch, (0, 0))
        times.append(float(start + stretch * step))
        counts.append(float(running + max(0, most)))
        running += change
    return [*times, float(end)], [*counts, float(running)]


def _durations(moves: DataFrame) -> list[tuple[str, int]]:
    """Moves that took up to 1 s, 2 s, 4 s, …"""
    doubled = F.ceil(F.log2(F.greatest(F.col("seconds"), F.lit(1.0)))).alias("power")
    rows = moves.where("seconds is not null").groupBy(doubled).agg(F.count("*").alias("n")).orderBy("power").collect()
    found = {int(row["power"]): int(row["n"]) for row in rows}
    return [(duration(2**power), found.get(power, 0)) for power in range(min(found), max(found) + 1)] if found else []
