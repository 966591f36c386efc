"""Numbers and lists in the texts of commands."""

from collections.abc import Iterable

from kafka_reassign_rpc.client.move_progress import Progress
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import NO_THROTTLE
from kafka_reassign_rpc.support.human_units import duration, size

__all__ = ["amounts", "bar", "duration", "first_lines", "named", "size", "throttle"]

NAMED_PARTITIONS = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


def first_lines(lines: list[str]) -> list[str]:
    """Counts the rest in one more line."""
    if len(lines) <= NAMED_PARTITIONS:
        return lines
    return [*lines[:NAMED_PARTITIONS], f"… and {len(lines) - NAMED_PARTITIONS} more"]


def named(partitions: Iterable[TopicPartition]) -> str:
    """The first by name, and how many more there are."""
    return ", ".join(first_lines([str(one) for one in sorted(partitions)]))


def throttle(bytes_per_second: int) -> str:
    """Such as 5.0 MB/s, or "no throttle"."""
    return "no throttle" if bytes_per_second >= NO_THROTTLE else f"{size(bytes_per_second)}/s"


def bar(share: float | None, width: int) -> str:
    """Question marks if the share is unknown."""
    if share is None:
        return "?" * width
    eighths = int(share * width * 8)
    full, rest = divmod(eighths, 8)
    partial = _EIGHTHS[rest] if full < width else ""
    return ("█" * full + partial).ljust(width)


def amounts(progress: Progress) -> str:
    """For example `12.0 MB of 30.0 MB (40 %), 3.0 MB/s, 6 s left`."""
    done = "unknown" if progress.done is None else size(progress.done)
    if progress.total is None and progress.done is None:
        text = "size unknown"
    elif progress.total is None:
        text = f"{done} of an unknown size"
    elif progress.share is None:
        text = f"{done} of {size(progress.total)}"
    else:
        # Rounded down: only a finished copy shows 100 %.
        text = f"{done} of {size(progress.total)} ({int(100 * progress.share):d} %)"
    left = progress.remaining_seconds
    if progress.waits_for is not None:
        left = left or None  # all is copied
        text += f", waits for {progress.waits_for}"
    elif progress.rate is not None:
        text += f", {size(progress.rate)}/s"
    if left is not None:
        text += f", {duration(left)} left"
    elif progress.no_estimate is not None:
        text += f", no estimate: {progress.no_estimate}"
    return text + _stalled(progress)


def _stalled(progress: Progress) -> str:
    return "" if progress.stalled is None else f"; stalled: {progress.stalled}"
