"""Moves of a plan as text:

orders-0    [6,1]   → [5,1]   50.0 MB  batch 1  broker 6 is to be drained
orders-1    [6,1,2] → [5,1,2] 60.0 MB  batch 1  broker 6 is to be drained; broker 2 leads first
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from kafka_reassign_rpc.pipeline.plans.move_list import BrokerSums, GroupSums, ListedMove
from kafka_reassign_rpc.pipeline.plans.plan_summary import GainFigures, PlanSummary
from kafka_reassign_rpc.planner.scheduling.plan_simulation import WORTH
from kafka_reassign_rpc.support.bounded_text import printable, shortened
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import duration, size

_LOOK_AHEAD = 1000
"""So many texts decide how wide columns are."""
LONGEST_NAME, LONGEST_REASON = 249 + 12, 300
"""Kafka's longest topic name and a partition; a longer reason is cut."""


def replicas_text(replicas: Iterable[int]) -> str:
    return f"[{','.join(map(str, replicas))}]"


def plain(text: str, limit: int = LONGEST_REASON) -> str:
    return printable(shortened(text, limit))


def move_cells(move: ListedMove) -> list[str]:
    first = "" if move.first_leader is None else f"; broker {move.first_leader} leads first"
    return [
        plain(move.name, LONGEST_NAME),
        replicas_text(move.from_replicas),
        replicas_text(move.to_replicas),
        size(move.bytes),
        str(move.batch),
        plain(move.reason) + first,
    ]


def move_lines(moves: Iterable[tuple[ListedMove, str]]) -> Iterator[str]:
    """Lines as moves come. A state "" is unknown."""
    rows = (_texts(move, state) for move, state in moves)
    first = list(islice(rows, _LOOK_AHEAD))
    if not first:
        return
    widths = [max(len(row[place]) for row in first) for place in range(4)]
    for name, before, after, copied, rest in chain(first, rows):
        named = f"{name:{widths[0]}}  {before:{widths[1]}} → {after:{widths[2]}}"
        yield f"{named}  {copied:>{widths[3]}}  {rest}"


def _texts(move: ListedMove, state: str) -> tuple[str, str, str, str, str]:
    name, before, after, copied, batch, reason = move_cells(move)
    return name, before, after, copied, "  ".join(filter(None, (f"batch {batch}", plain(state), reason)))


def group_rows(by: str, groups: Sequence[tuple[str | int, GroupSums]]) -> list[list[str]]:
    rows = [[plain(str(name)), f"{sums.moves:,}", size(sums.bytes)] for name, sums in groups]
    return [[by.upper(), "MOVES", "BYTES"], *rows]


def broker_rows(groups: Sequence[tuple[int, BrokerSums]]) -> list[list[str]]:
    heading = ["BROKER", "REPLICAS IN", "BYTES IN", "REPLICAS OUT", "BYTES SENT"]
    rows = [
        [str(broker), f"{sums.gets:,}", size(sums.bytes_in), f"{sums.loses:,}", size(sums.bytes_out)]
        for broker, sums in groups
    ]
    return [heading, *rows]


def network_text(summary: PlanSummary) -> str:
    """`100.0 MB/s for each broker (4: 25.0 MB/s), throttled to 50.0 MB/s`"""
    text = f"{size(summary.bandwidth)}/s for each broker"
    if summary.broker_bandwidth:
        own = [f"{broker}: {size(rate)}/s" for broker, rate in sorted(summary.broker_bandwidth.items())]
        text += f" ({', '.join(own[:5])}{', …' if len(own) > 5 else ''})"
    return text + (f", throttled to {size(summary.throttle)}/s" if summary.throttle is not None else "")


def pace_text(summary: PlanSummary) -> str:
    at_a_time = summary.moves_at_a_time
    if at_a_time is None or at_a_time == summary.requested.moves_per_broker:
        return network_text(summary)
    return f"{network_text(summary)}, {counted(at_a_time, 'move')} to and as many from a broker at a time"


def time_lines(summary: PlanSummary) -> Iterator[tuple[str, str]]:
    """What is behind the expected time: least, batches, gain."""
    held = summary.bottleneck
    if held is None:
        return
    does = "sends" if held.sends else "receives"
    factor = summary.expected_seconds / summary.bound_seconds
    least = f"{duration(summary.bound_seconds)}: broker {held.broker} {does} {size(held.bytes)} at {size(held.rate)}/s"
    yield "least", f"{least}; the plan takes {factor:.2f} times as long"
    if len(summary.batches) > 1:
        yield "batches", f"{duration(summary.batches_seconds)} one after the other"
    for gain in summary.gains:
        if gain.seconds < WORTH * summary.expected_seconds:
            yield "gain", f"{duration(gain.seconds)} with {_other(gain)}"


def _other(gain: GainFigures) -> str:
    if gain.setting == "throttle":
        return f"{size(gain.value)}/s of throttle"
    return f"{counted(gain.value, 'move')} {'in all' if gain.setting == 'moves_per_batch' else 'per broker'}"
