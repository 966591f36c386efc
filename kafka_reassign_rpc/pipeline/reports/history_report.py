from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
