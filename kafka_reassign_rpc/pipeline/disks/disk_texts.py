from collections.abc import Iterable, Iterator
from itertools import islice

from kafka_reassign_rpc.pipeline.disks.disk_plan import DirFigures, DiskSummary
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import PlannedDirMove
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import duration, size

_DIRS, _MOVES = 20, 5
"""So many log dirs and moves are named."""


def summary_lines(summary: DiskSummary, out: StorePath, first: Iterable[PlannedDirMove], how_to_show: str) -> list[str]:
    lines = []
    if not summary.complete:
        count = sum(one.replicas for one in summary.left_out)
        lines.append(f"{out}: incomplete: {counted(count, 'replica', 'stay')} in a log dir that is to be emptied")
    if not summary.moves:
        return [*lines, f"{out}: nothing to move among {counted(summary.replicas, 'replica')}"]
    between = f"log dirs of {counted(sum(one.moves > 0 for one in summary.brokers), 'broker')}"
    move, batches = agreeing(summary.moves, "move"), counted(len(summary.batches), "batch")
    lines += [
        f"{out}: {summary.moves} of {counted(summary.replicas, 'replica')} {move} between {between} in {batches}",
        f"  copied    {size(summary.bytes)}",
        f"  takes     {duration(summary.expected_seconds)} at {_pace(summary)}",
    ]
    changed = [
        one for one in summary.dirs if one.bytes_before != one.bytes_after or one.replicas_before != one.replicas_after
    ]
    named = [_dir_line(one) for one in changed[:_DIRS]]
    if len(changed) > _DIRS:
        named.append(f"and {len(changed) - _DIRS} more")
    if not summary.requested.empty:
        worst = max(summary.brokers, key=lambda one: (one.furthest_before, -one.broker))
        after = max(summary.brokers, key=lambda one: (one.furthest_after, -one.broker))
        named.append(
            f"furthest from its share {worst.furthest_before:.1%} (broker {worst.broker}), "
            f"then {after.furthest_after:.1%} (broker {after.broker})"
        )
    lines += [f"  {'' if place else 'log dirs':9} {line}" for place, line in enumerate(named)]
    moves = list(move_lines((move, "") for move in islice(first, _MOVES)))
    if summary.moves > _MOVES:
        moves.append(f"and {summary.moves - _MOVES:,} more: {how_to_show}")
    return [*lines, *(f"  {'' if place else 'moves':9} {line}" for place, line in enumerate(moves))]


def _pace(summary: DiskSummary) -> str:
    if summary.throttle is not None and summary.throttle <= summary.bandwidth:
        return f"the throttle of {size(summary.throttle)}/s on each broker"
    return f"{size(summary.bandwidth)}/s for each broker"


def _dir_line(one: DirFigures) -> str:
    before, after = (
        f"{size(held)} in {counted(replicas, 'replica')}"
        for held, replicas in ((one.bytes_before, one.replicas_before), (one.bytes_after, one.replicas_after))
    )
    of = f" on {size(one.volume_bytes)}" if one.volume_bytes is not None else ""
    return f"broker {one.broker} {one.log_dir}{of}: {before}, then {after}"


def move_lines(moves: Iterable[tuple[PlannedDirMove, str]]) -> Iterator[str]:
    """`orders-0 on broker 3  /d/1 → /d/2  50.0 MB  batch 1  done  /d/1 is to be emptied`"""
    for move, state in moves:
        name = f"{move.topic}-{move.partition} on broker {move.broker}"
        where = f"{move.from_log_dir} → {move.to_log_dir}"
        parts = (name, where, size(move.bytes), f"batch {move.batch}", state, move.reason)
        yield "  ".join(part for part in parts if part)
