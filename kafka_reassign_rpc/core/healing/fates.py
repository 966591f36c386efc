"""What happens next to each lost broker and failed log dir, and when, or the command that makes it happen: one line for
each, on every screen. And the partitions that repairs had to leave as they are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import NamedTuple, TypeVar

from kafka_reassign_rpc.core.healing.self_healing_status import (
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    awaited_text,
    left_to_moves,
    repaired_text,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.typed_commands import command

REASONS = 5
"""How many reasons why partitions cannot be repaired are reported one by one."""

NAMED = 3
"""How many of the partitions are named with each reason: topics have long names, and a report is one line."""


class UnrepairedPartition(NamedTuple):
    brokers: frozenset[int]
    reason: str


def impossible_texts(found: Mapping[TopicPartition, UnrepairedPartition]) -> Iterator[str]:
    names: dict[str, list[TopicPartition]] = {}
    for name, left in found.items():
        names.setdefault(left.reason, []).append(name)
    by_count = sorted(names.items(), key=lambda one: -len(one[1]))
    for reason, of_reason in by_count[:REASONS]:
        yield f"{_stay(of_reason)}: {reason}"
    rest = [name for _, of_reason in by_count[REASONS:] for name in of_reason]
    if rest:
        yield f"{_stay(rest)} for other reasons"


def _stay(names: Sequence[TopicPartition]) -> str:
    """The first by name, so that the same report is recognized when it comes again."""
    named = ", ".join(map(str, nsmallest(NAMED, names))) + (" …" if len(names) > NAMED else "")
    if len(names) == 1:
        return f"1 partition stays as it is ({named})"
    return f"{len(names)} partitions stay as they are ({named})"


Left = Mapping[TopicPartition, UnrepairedPartition]
NOTHING_LEFT: Left = {}
Failure = TypeVar("Failure", FailedBroker, LogDirFailure)


class Fate(NamedTuple):
    """`command`: what an operator types for it, or ""."""

    fate: str = ""
    command: str = ""


def with_fates(found: HealingStatus, enable: str | None = None, left: Left = NOTHING_LEFT) -> HealingStatus:
    """enable     where no move starts, the command that changes that, "" if none does; else None
    left       the partitions that the last repairs could not move
    """
    repairs = {one.broker: one for one in found.repairs}

    def of_failure(one: Failure) -> Failure:
        reasons = Counter(what.reason for what in left.values() if one.broker in what.brokers)
        impossible = min(reasons.total(), one.replicas or 0)
        why = reasons.most_common(1)[0][0] if impossible else ""
        own = _of_replicas(one, found, enable, impossible, why) if one.replicas != 0 else Fate()
        repair = _of_repair(repairs.get(one.broker), found, enable)
        if one.replicas == 0 and not repair.fate:
            own = Fate(left_to_moves(one))
        return replace(one, impossible=impossible, **_both(own, repair)._asdict())

    def of_gone(one: GoneBroker) -> GoneBroker:
        repair = _of_repair(repairs.get(one.broker), found, enable)
        if not repair.fate:
            repair = Fate(repaired_text(one))
        return replace(one, **_both(repair, Fate(awaited_text(one.awaited)))._asdict())

    return replace(
        found,
        failed=[of_failure(one) for one in found.failed],
        log_dirs=[of_failure(one) for one in found.log_dirs],
        gone=[of_gone(one) for one in found.gone],
        repairs=[replace(one, **_of_repair(one, found, enable)._asdict()) for one in found.repairs],
    )


def _both(first: Fate, second: Fate) -> Fate:
    return Fate("; ".join(filter(None, (first.fate, second.fate))), first.command or second.command)


def _of_replicas(
    one: FailedBroker | LogDirFailure, found: HealingStatus, enable: str | None, impossible: int, why: str
) -> Fate:
    if impossible:
        which = "none of them can" if impossible == one.replicas else f"{impossible} of them cannot"
        again = "" if one.heal_at is None else f"; tried again at {utc_time(one.heal_at)} UTC"
        return Fate(f"{which} be moved now: {why}{again}")
    if one.heal_at is not None:
        return Fate(f"{'ready for approval' if found.approval else 'healed'} at {utc_time(one.heal_at)} UTC")
    if found.paused:
        then = ", and then only by heal --now" if found.interval_ms is None else ""
        return Fate(f"not healed before self-healing is resumed{then}", _RESUME)
    if one.replicas is None:
        return Fate()
    if found.interval_ms is None:
        return Fate("never healed by itself", command("kafka-reassign heal", "--now", one.broker))
    # Every other failure has a time, except while nothing may start.
    if found.held_back is not None:
        return Fate("not healed while self-healing is held back")
    return Fate("not healed while reassignments are disabled", enable or "")


_RESUME = command("kafka-reassign heal", "--resume")
ENABLE = command("kafka-reassign", "--enable")


def _of_repair(repair: BrokerRepair | None, found: HealingStatus, enable: str | None) -> Fate:
    if repair is None:
        return Fate()
    kept = [f"{count} {how}" for count, how in ((repair.unapproved, "for approval"), (repair.held, "held")) if count]
    which = f" ({', '.join(kept)})" if kept else ""
    state = "it is back, its repair goes on" if repair.is_back else "its repair is under way"
    text = f"{state}: {counted(repair.moving, 'move')} in flight, {repair.waiting} waiting{which}"
    if not repair.waiting:
        return Fate(text)
    waits = f"{text}, until"
    if found.paused:
        return Fate(f"{waits} self-healing is resumed", _RESUME)
    if found.held_back is not None:
        return Fate(f"{waits} self-healing is no longer held back")
    if enable is not None:
        return Fate(f"{waits} reassignments are enabled", enable)
    if repair.unapproved:
        return Fate(text, command("kafka-reassign heal", "--approve", "--brokers", repair.broker))
    if repair.held:
        return Fate(text, command("kafka-reassign release", "--broker", repair.broker))
    return Fate(text)
