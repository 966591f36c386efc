"""An HTML page that needs no network: style, tables and SVG plots are inside. Jinja2 escapes every text; only plots
are markup. Characters that nobody could read, or that turn texts around, become escapes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt, column_title, row_texts
from kafka_reassign_rpc.support.bounded_text import abridged, printable
from kafka_reassign_rpc.support.human_units import utc_time


@cache
def _templates() -> Environment:
    loader = PackageLoader(__package__, "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, finalize=_shown)
    made.filters["abridged"] = abridged
    return made


def _shown(value: Any) -> Any:
    return printable(value) if type(value) is str else value


class TableFilter(NamedTuple):
    """A box above a table: rows stay if one of `columns` has its text, or its number among theirs (`is_id`)."""

    name: str
    columns: Sequence[int]
    is_id: bool = False


class HtmlPage:
    def __init__(self, title: str, subtitle: str) -> None:
        self._title = title
        self._subtitle = subtitle
        self._sections: list[tuple[str, dict[str, Any]]] = []

    def tiles(self, tiles: Iterable[tuple[str, str]]) -> None:
        """The most important figures: (value, label)."""
        self._add("tiles", tiles=list(tiles))

    def heading(self, text: str, explanation: str = "") -> None:
        self._add("heading", text=text, explanation=explanation)

    def figure(self, svg: str, label: str) -> None:
        """`label` is for screen readers."""
        self._add("figure", svg=Markup(svg), label=label)  # noqa: S704 (made by svg_plots, which escapes texts)

    def notes(self, lines: Sequence[str]) -> None:
        if lines:
            self._add("notes", lines=lines)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        text: Collection[int] = (0,),
        more: int = 0,
        filters: Sequence[TableFilter] = (),
        keys: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """text     indexes of columns with text, the others hold numbers
        more     how many rows are omitted
        filters  what readers can filter by; then they can sort too
        keys     columns that sort by these numbers, one for each row; others sort by their text
        """
        self._add("table", columns=columns, rows=rows, text_columns=text, more=more, filters=filters, keys=keys or {})

    def text(self, line: str) -> None:
        self._add("text", line=line)

    def _add(self, kind: str, **arguments: Any) -> None:
        self._sections.append((kind, arguments))

    def html(self) -> str:
        template = _templates().get_template("page.html.j2")
        has_filters = any(arguments.get("filters") for _, arguments in self._sections)
        return (
            template.render(
                title=self._title, subtitle=self._subtitle, sections=self._sections, has_filters=has_filters
            )
            + "\n"
        )


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
