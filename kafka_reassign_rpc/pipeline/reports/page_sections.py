"""What the pages of audit and history share."""

from collections.abc import Callable, Collection, Sequence

from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt, column_title, row_texts
from kafka_reassign_rpc.support.human_units import utc_time

_SECONDS_UP_TO, _MINUTES_UP_TO = 1200, 86_400
"""An axis of up to so many seconds shows seconds, or minutes; a longer one shows the day."""


def add_table(page: HtmlPage, title: str, table: TableExcerpt, *, without: Collection[str] = ()) -> None:
    """Without columns that make the table too wide for a screen."""
    places = [place for place, column in enumerate(table.columns) if column not in without]
    shown = TableExcerpt(
        [table.columns[place] for place in places],
        [tuple(row[place] for place in places) for row in table.rows],
        table.total,
    )
    page.heading(title)
    if not shown.total:
        page.text("None.")
        return
    numbers = ("int", "float")
    kinds = [type(next((row[place] for row in shown.rows if row[place] is not None), "")).__name__
             for place in range(len(shown.columns))]  # fmt: skip
    text = [place for place, kind in enumerate(kinds) if kind not in numbers]
    rows = [row_texts(shown.columns, row) for row in shown.rows]
    columns = [column_title(column) for column in shown.columns]
    page.table(columns, rows, text=text, more=shown.total - len(shown.rows))


def number_text(value: float) -> str:
    return f"{value:,.0f}"


def time_format(times: Sequence[float]) -> Callable[[float], str]:
    """`times`: ms since the epoch."""
    span = (times[-1] - times[0]) / 1000
    part = slice(11, 19) if span < _SECONDS_UP_TO else slice(11, 16) if span < _MINUTES_UP_TO else slice(5, 16)
    return lambda at: utc_time(int(at))[part]
