"""The page of a plan, for those who approve it and carry it out."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter, read_moves
from kafka_reassign_rpc.pipeline.plans.move_texts import move_cells, network_text, pace_text, time_lines
from kafka_reassign_rpc.pipeline.plans.plan_impact import impact_lines
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    BrokerFigures,
    LoadFigures,
    PlanSummary,
    RackFigures,
    imbalance_texts,
    incomplete_text,
    known_imbalance,
    topic_lines,
)
from kafka_reassign_rpc.pipeline.plans.why_not_better import shortfall_lines
from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage, TableFilter
from kafka_reassign_rpc.pipeline.reports.result_tables import RATE_COLUMNS, SIZE_COLUMNS, cell_text, column_title
from kafka_reassign_rpc.pipeline.store_paths import StorePath, write_file
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, GoalWeights, PlanOptions
from kafka_reassign_rpc.support.bounded_text import abridged
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, plural, those
from kafka_reassign_rpc.support.human_units import duration, size, utc_time
from kafka_reassign_rpc.support.typed_commands import command

_MOST_NAMED = 10
_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def plan_title(summary: PlanSummary) -> str:
    """`Brokers 4, 5 are drained (--headroom 0.1 --throttle 50MB)`"""
    flags = " ".join(changed_flags(summary))
    return f"{_what(summary)} ({flags})" if flags else _what(summary)


def _what(summary: PlanSummary) -> str:
    return {
        "rebalance": "Load is spread evenly over all brokers",
        "racks": "Partitions come to lie on as many racks as possible",
        "set-rf": f"Replication factors change to {summary.requested.factor}",
    }.get(summary.kind) or "; ".join(_of_brokers(summary))


def _of_brokers(summary: PlanSummary) -> Iterator[str]:
    healed, drained, new = (summary.brokers_of(goal) for goal in ("heal", "drain", "expand"))
    if healed is not None:
        lost = healed or [one.broker for one in summary.brokers if not one.live]
        yield f"Replicas of {_named('lost broker', lost)} move to live ones"
    if drained:
        yield f"{_named('broker', drained)} {agreeing(len(drained), 'are')} drained".capitalize()
    if demoted := summary.brokers_of("demote"):
        yield f"{_named('broker', demoted)} {agreeing(len(demoted), 'lead')} nothing".capitalize()
    if new:
        takes = "takes its" if len(new) == 1 else "take their"
        yield f"{_named('new broker', new)} {takes} share".capitalize()


def _named(word: str, brokers: list[int]) -> str:
    return those(brokers, word, most=_MOST_NAMED).rstrip()


def changed_flags(summary: PlanSummary) -> Iterator[str]:
    requested, options, limits = summary.requested, PlanOptions(), BatchLimits()
    if requested.topics:
        few = len(requested.topics) <= _MOST_NAMED
        yield "--topics " + (
            shlex.quote(",".join(requested.topics)) if few else first_of(requested.topics, _MOST_NAMED)
        )
    for text, given in (
        (f"--to {','.join(map(str, requested.to))}", requested.to),
        (f"--within {requested.within}s", requested.within is not None),
        ("--racks", requested.racks),
        ("--leaders-stay", requested.leaders_stay),
        ("--locality", requested.locality),
        ("--allow-fewer-racks", requested.allow_fewer_racks),
    ):
        if given:
            yield text
    for flag, value, default in (
        ("seed", requested.seed, options.seed),
        ("tolerance", requested.tolerance, options.tolerance),
        ("headroom", requested.headroom, options.headroom),
        ("max-moves-per-broker", requested.moves_per_broker, limits.moves_per_broker),
        ("max-moves-per-batch", requested.moves_per_batch, limits.moves_per_batch),
    ):
        if value != default:
            yield f"--{flag} {value:g}" if isinstance(value, float) else f"--{flag} {value}"
    weights = GoalWeights()
    for name, weight in requested.weights.items():
        if weight != getattr(weights, name, weight):
            yield f"--weight {name}={weight:g}"
    for flag, limit, default in (
        ("max-bytes", requested.max_bytes, options.max_bytes),
        ("least-bytes", requested.least_bytes, 0),
        ("max-bytes-per-broker", requested.bytes_per_broker, limits.bytes_per_broker),
        ("max-bytes-per-batch", requested.bytes_per_batch, limits.bytes_per_batch),
        ("bandwidth", summary.bandwidth, options.network.bandwidth),
        ("throttle", -1 if summary.throttle is None else summary.throttle, -1),
    ):
        if limit != default:
            yield f"--{flag} {_amount(limit)}"
    if requested.broker_weights:
        yield "--broker-weights FILE"
    for name, of_brokers in requested.broker_max.items():
        yield from _broker_limits(name, of_brokers, len(summary.brokers))
    for broker, rate in sorted(summary.broker_bandwidth.items()):
        yield f"--broker-bandwidth {broker}={_amount(rate)}"


def _broker_limits(measure: str, limits: Mapping[int, int], brokers: int) -> Iterator[str]:
    flag, values = f"--broker-max-{measure.replace('_', '-')}", set(limits.values())
    if len(values) == 1 and len(limits) == brokers:
        yield f"{flag} {_amount(values.pop())}"
    else:
        yield from (f"{flag} {broker}={_amount(most)}" for broker, most in sorted(limits.items()))


def _amount(size: int) -> str:
    return next((f"{size // unit}{name}" for unit, name in _UNITS if size and size % unit == 0), str(size))


NAME = "report.html"
_ALWAYS = ("bytes", "replicas", "leaders")
"""Drawn even if all are zero, as in an empty cluster."""
_TABLE_ROWS = 20
_LONGEST_TITLE = 300
_MOVES = 2_000
_MOVE_FILTERS = (TableFilter("Topic", (0,)), TableFilter("Broker", (1, 2), is_id=True), TableFilter("Reason", (5,)))
_BATCHES_AS_BARS = 60
"""More batches become a curve of copied bytes."""


def write(plan: StorePath) -> StorePath:
    """Writes report.html into a plan's directory. Raises BadInput."""
    summary = plan_writer.check(plan)
    file = plan / NAME
    write_file(file, _page(plan, summary).html().encode())
    return file


def _page(plan: StorePath, summary: PlanSummary) -> HtmlPage:
    page = HtmlPage(
        abridged(plan_title(summary), _LONGEST_TITLE),
        f"Plan “{summary.kind}” for cluster {summary.cluster_id}, made from the snapshot of {utc_time(summary.at)} UTC",
    )
    page.tiles(_tiles(summary))
    page.notes([*filter(None, (incomplete_text(summary),)), *summary.notes])
    page.heading("What changes")
    page.notes([*impact_lines(summary)])
    if summary.moves:
        page.heading("To carry it out, and to undo it", "With the address of a broker or server as HOST:PORT.")
        page.table(["what", "command"], [*_commands(plan, summary)], text=(0, 1))
    page.heading("Brokers", "The load of each broker before and after; the line is its fair share.")
    brokers, names = summary.brokers, [*dict.fromkeys((*_ALWAYS, *known_imbalance(summary)))]
    page.figure(
        svg_plots.bar_plots([str(one.broker) for one in brokers], _load_panels(brokers, names), "broker"), "brokers"
    )
    page.table(*_imbalance(summary))
    page.notes(topic_lines(summary))
    if summary.why_not_better:
        page.heading("Why not better", "The broker furthest from its target after the plan, and what keeps it there.")
        page.notes(shortfall_lines(summary))
    if len(summary.racks) > 1:
        page.heading("Racks")
        racks = [one.rack or "no rack" for one in summary.racks]
        page.figure(svg_plots.bar_plots(racks, _load_panels(summary.racks, names), "rack"), "racks")
    _add_time(page, summary)
    page.heading("Batches", f"At {network_text(summary)}, one batch after the other.")
    if summary.batches:
        page.figure(_timeline(summary.batches), "timeline of the batches")
        first = [_batch_row(one) for one in summary.batches[:_TABLE_ROWS]]
        columns = ["batch", "moves", "bytes", "starts after", "takes"]
        page.table(columns, first, more=len(summary.batches) - len(first))
    else:
        page.text("Nothing has to move.")
    _add_moves(page, plan, summary)
    _add_reasons(page, plan)
    _add_left_out(page, summary)
    return page


def _commands(plan: StorePath, summary: PlanSummary) -> Iterator[list[str]]:
    submit = partial(command, "kafka-reassign-rpc submit", "--plan", plan)
    throttle = () if summary.throttle is None else ("--throttle", summary.throttle)
    yield ["see how far it is, and whether it fits still", submit()]
    yield ["carry it out", submit("--execute", *throttle)]
    yield ["undo what was moved, and cancel what moves", submit("--undo", "--execute", *throttle)]


def _add_time(page: HtmlPage, summary: PlanSummary) -> None:
    timeline = summary.timeline
    if timeline is None:
        return
    page.heading("Time", f"At {pace_text(summary)}: moves start as others end.")
    page.notes([f"{name}: {text}" for name, text in time_lines(summary)])
    spans = len(timeline.brokers[0].sent)

    def rates(of: list[list[int]]) -> list[list[float]]:
        return [[value / timeline.seconds for value in row] for row in of]

    panels = [
        svg_plots.HeatMap("Sent", rates([one.sent for one in timeline.brokers])),
        svg_plots.HeatMap("Received", rates([one.received for one in timeline.brokers])),
    ]
    names = [str(one.broker) for one in timeline.brokers]
    drawn = svg_plots.heat_maps(names, panels, spans * timeline.seconds, "broker", _rate, duration)
    page.figure(drawn, "what each broker sends and receives over time")


def _rate(value: float) -> str:
    return f"{size(value)}/s"


def _tiles(summary: PlanSummary) -> list[tuple[str, str]]:
    over = f"{summary.bytes / summary.lower_bound:.2f} times" if summary.lower_bound else "-"
    left_out = sum(one.partitions for one in summary.left_out)
    return [
        (f"{summary.moves:,}", f"move{plural(summary.moves)} of {counted(summary.partitions, 'partition')}"),
        (size(summary.bytes), "copied"),
        (over, f"the least possible ({size(summary.lower_bound)})"),
        (f"{len(summary.batches):,}", f"batch{plural(len(summary.batches), 'batch')}"),
        (duration(summary.expected_seconds), f"expected time ({duration(summary.batches_seconds)} in batches)"),
        (f"{left_out:,}", f"partition{plural(left_out)} left out"),
    ]


def _load_panels(rows: list[BrokerFigures] | list[RackFigures], known: Sequence[str]) -> list[svg_plots.Bars]:
    def values(name: str, loads: list[LoadFigures]) -> list[float]:
        return [getattr(load, name) for load in loads]

    before, after = [one.before for one in rows], [one.after for one in rows]
    targets = [one.target for one in rows if isinstance(one, BrokerFigures)] or None
    return [
        svg_plots.Bars(
            column_title(name).capitalize(),
            values(name, before),
            values(name, after),
            None if targets is None else values(name, targets),
            partial(cell_text, name) if name in (*SIZE_COLUMNS, *RATE_COLUMNS) else _count,
        )
        for name in known
    ]


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _imbalance(summary: PlanSummary) -> tuple[list[str], list[list[str]]]:
    rows = [[name, *imbalance_texts(summary, name)] for name in known_imbalance(summary)]
    return ["the broker furthest from its target, by", "before", "after"], rows


def _timeline(batches: list[BatchFigures]) -> str:
    if len(batches) <= _BATCHES_AS_BARS:
        starts, lengths = [one.starts_after_seconds for one in batches], [one.expected_seconds for one in batches]
        return svg_plots.timeline(starts, lengths, "When each batch runs", "batch", duration)
    times, done, total = [0.0], [0.0], 0.0
    for one in batches:
        total += one.bytes
        times.append(one.starts_after_seconds + one.expected_seconds)
        done.append(total)
    return svg_plots.line_plot(times, [svg_plots.Line("bytes", done)], "Bytes copied over time", size, duration)


def _batch_row(one: BatchFigures) -> list[str]:
    return [
        str(one.batch),
        _count(one.moves),
        size(one.bytes),
        duration(one.starts_after_seconds),
        duration(one.expected_seconds),
    ]


def _add_moves(page: HtmlPage, plan: StorePath, summary: PlanSummary) -> None:
    moves = [one.move for one in read_moves(plan, MoveFilter(), limit=_MOVES)]
    if moves:
        page.heading(
            "Moves", "In the order in which they start. The command kafka-reassign-rpc plan show lists and sorts all."
        )
        page.table(
            ["partition", "replicas", "then", "bytes", "batch", "reason"],
            [move_cells(one) for one in moves],
            text=(0, 1, 2, 5),
            more=summary.moves - len(moves),
            filters=_MOVE_FILTERS,
            keys={3: [one.bytes for one in moves]},
        )


def _add_reasons(page: HtmlPage, plan: StorePath) -> None:
    moves: Counter[tuple[str, str]] = Counter()
    copied: Counter[tuple[str, str]] = Counter()
    for batch in parquet_files.record_batches(plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA):
        columns = (batch.column(name).to_pylist() for name in ("rule", "reason", "bytes"))
        for rule, reason, bytes_ in zip(*columns, strict=True):
            moves[rule, reason] += 1
            copied[rule, reason] += bytes_
    if not moves:
        return
    page.heading("Reasons", "The hard rule or the soft goal that moves a partition.")
    shown = sorted(moves, key=lambda key: (-moves[key], key))[:_TABLE_ROWS]
    rows = [[rule, reason, _count(moves[rule, reason]), size(copied[rule, reason])] for rule, reason in shown]
    page.table(["rule", "reason", "moves", "bytes"], rows, text=(0, 1), more=len(moves) - len(shown))


def _add_left_out(page: HtmlPage, summary: PlanSummary) -> None:
    if not summary.left_out:
        return
    page.heading("Left out", "Partitions that the goal concerns and that cannot move.")
    rows = [
        [one.reason, ", ".join(one.first), _count(one.partitions), "" if one.bytes is None else size(one.bytes)]
        for one in summary.left_out
    ]
    page.table(["reason", "first of them", "partitions", "bytes"], rows, text=(0, 1))
