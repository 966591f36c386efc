"""Draws plots as SVG with matplotlib. The same input gives the same SVG: no time, no random ids, the reader's fonts."""

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from kafka_reassign_rpc.support.bounded_text import abridged, printable

BEFORE, AFTER, TARGET = "#b4bfcc", "#0f766e", "#d97706"
SERIES = ("#0f766e", "#d97706", "#4f46e5", "#be185d", "#0284c7", "#65a30d")
_INK, _SOFT, _LINE = "#1c2733", "#5b6876", "#e3e8ee"
_LONGEST_NAME, _NAMES = 20, 150
"""In characters: a name below a bar, and all names with their gaps. If they need more, only some bars get one."""
_FEW_BATCHES = 12
_NAMED_ROWS = 45
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kafka-reassign-rpc",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "text.parse_math": False,
    "text.color": _INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _SOFT,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": _LINE,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "legend.frameon": False,
}
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_LEGEND_ORDER = {"now": 0, "before": 1, "after": 2, "fair share": 3}

Format = Callable[[float], str]


class _Ticks(FuncFormatter):
    """Of two neighbours with the same text, as short times have, one shows it."""

    def format_ticks(self, values: Any) -> list[str]:
        texts: list[str] = super().format_ticks(values)
        return [text if not place or text != texts[place - 1] else "" for place, text in enumerate(texts)]


class Bars(NamedTuple):
    title: str
    before: Sequence[float] | None
    after: Sequence[float]
    target: Sequence[float] | None
    format: Format


def bar_plots(names: Sequence[str], panels: Sequence[Bars], label: str) -> str:
    """Above one another with the same names; `label` is the axis of the names."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10, 2.3 * len(panels) + 0.4), layout="constrained")
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        places = range(len(names))
        for axis, panel in zip(axes, panels, strict=True):
            _draw_bars(axis, places, panel)
        _label_names(axes[-1], names, label)
        handles = dict(
            sorted(zip(*axes[0].get_legend_handles_labels()[::-1], strict=True), key=lambda one: _LEGEND_ORDER[one[0]])
        )
        if len(handles) > 1:
            axes[0].legend(
                handles.values(),
                handles,
                loc="lower right",
                bbox_to_anchor=(1.0, 1.0),
                ncols=len(handles),
                borderaxespad=0.2,
            )
        return _svg(figure)


def _draw_bars(axis: Any, places: Sequence[int], panel: Bars) -> None:
    width = 0.8 if panel.before is None else 0.4
    shift = 0.0 if panel.before is None else width / 2
    if panel.before is not None:
        axis.bar([place - shift for place in places], panel.before, width, color=BEFORE, label="before")
    after = "now" if panel.before is None else "after"
    axis.bar([place + shift for place in places], panel.after, width, color=AFTER, label=after)
    if panel.target is not None:
        for place, target in zip(places, panel.target, strict=True):
            axis.plot(
                [place - 0.45, place + 0.45], [target, target], color=TARGET, linewidth=1.3,
                label="fair share" if place == 0 else None,
            )  # fmt: skip
    axis.set_title(panel.title)
    axis.yaxis.set_major_formatter(_Ticks(lambda value, _: panel.format(value)))
    axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.tick_params(length=0)
    axis.margins(x=0.01)


def _label_names(axis: Any, names: Sequence[str], label: str) -> None:
    short = [abridged(printable(name), _LONGEST_NAME) for name in names]
    needed = len(names) * (1 + max(map(len, short), default=0))
    named = range(0, len(names), max(1, -(-needed // _NAMES)))
    axis.set_xticks(list(named), [short[place] for place in named])
    axis.set_xlabel(label)


def timeline(starts: Sequence[float], lengths: Sequence[float], title: str, label: str, format_time: Format) -> str:
    """A horizontal bar for each span of time, the first at the top."""
    with mpl.rc_context({**_STYLE, "axes.grid.axis": "x"}):
        height = max(1.6, min(6.0, 0.9 + 0.16 * len(starts)))
        figure = Figure(figsize=(10, height), layout="constrained")
        axis = figure.subplots()
        least = 0.002 * max((start + length for start, length in zip(starts, lengths, strict=True)), default=1.0)
        axis.barh(
            range(1, len(starts) + 1), [max(length, least) for length in lengths], 0.7, left=list(starts), color=AFTER
        )
        axis.set_ylim(len(starts) + 0.6, 0.4)
        few = len(starts) <= _FEW_BATCHES
        axis.yaxis.set_major_locator(FixedLocator(range(1, len(starts) + 1)) if few else MaxNLocator(12, integer=True))
        axis.xaxis.set_major_formatter(_Ticks(lambda value, _: format_time(value)))
        axis.set_title(title)
        axis.set_ylabel(label)
        axis.tick_params(length=0)
        return _svg(figure)


class HeatMap(NamedTuple):
    """Steps of time are equal. The colour is a value's share of the largest of all."""

    title: str
    rows: Sequence[Sequence[float]]


def heat_maps(
    names: Sequence[str], panels: Sequence[HeatMap], end: float, label: str, form: Format, time: Format
) -> str:
    """Beside one another with the same names and colours, from 0 to `end` seconds."""
    most = max((value for panel in panels for row in panel.rows for value in row), default=1.0) or 1.0
    with mpl.rc_context({**_STYLE, "axes.grid": False}):
        height = max(2.0, min(7.0, 1.2 + 0.14 * len(names)))
        figure = Figure(figsize=(10, height), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        colours = LinearSegmentedColormap.from_list("busy", ["#f3f6f9", AFTER, "#0b2e2b"])
        place = (0, end, len(names) - 0.5, -0.5)
        for axis, panel in zip(axes, panels, strict=True):
            drawn = axis.imshow(
                panel.rows, cmap=colours, vmin=0, vmax=most, aspect="auto", interpolation="nearest", extent=place
            )
            axis.set_title(panel.title)
            axis.xaxis.set_major_formatter(_Ticks(lambda value, _: time(value)))
            axis.xaxis.set_major_locator(MaxNLocator(4))
            axis.tick_params(length=0)
        step = max(1, -(-len(names) // _NAMED_ROWS))
        axes[0].set_yticks(list(range(0, len(names), step)), names[::step])
        axes[0].set_ylabel(label)
        figure.colorbar(drawn, ax=axes, format=_Ticks(lambda value, _: form(value)), ticks=MaxNLocator(4))
        return _svg(figure)


class Line(NamedTuple):
    name: str
    values: Sequence[float]


def line_plot(
    times: Sequence[float],
    series: Sequence[Line],
    title: str,
    format_value: Format,
    format_time: Format,
    *,
    steps: bool = False,
) -> str:
    """`steps`: the values are whole numbers, and each holds until the next."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10, 2.8), layout="constrained")
        axis = figure.subplots()
        for colour, line in zip(SERIES, series, strict=False):
            style = {"drawstyle": "steps-post"} if steps else {"marker": "o", "markersize": 3}
            axis.plot(times, line.values, color=colour, linewidth=1.6, label=line.name, **style)
        axis.set_title(title)
        axis.yaxis.set_major_formatter(_Ticks(lambda value, _: format_value(value)))
        if steps:
            axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axis.xaxis.set_major_formatter(_Ticks(lambda value, _: format_time(value)))
        axis.xaxis.set_major_locator(MaxNLocator(6))
        axis.tick_params(length=0)
        if len(series) > 1:
            axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(series), borderaxespad=0.2)
        return _svg(figure)


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's fonts are used
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace("'DejaVu Sans', sans-serif", _FONTS).replace("'DejaVu Sans'", _FONTS)
    # Several plots share a page: keep only the ids that something refers to; these are hashes of their content.
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", text)
    return text.strip()
