"""What happens next to each lost broker and failed log dir, and when, or the command that makes it happen: one line for
each, on every screen.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
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
from kafka_reassign_rpc.core.healing.unrepaired_partitions import UnrepairedPartition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.typed_commands import command

Left = Mapping[TopicPartition, UnrepairedPartition]
NOTHING_LEFT: Left = {}
Failure = TypeVar("Failure", FailedBroker, LogDirFailure)


class Fate(NamedTuple):
    """`command`: what an operator types for it, or ""."""

    fate: str = ""
    command: str = ""


def with_fates(found: HealingStatus, disabled: str | None = None, left: Left = NOTHING_LEFT) -> HealingStatus:
    """disabled   why no move starts, or None
    left       the partitions that the last repairs could not move
    """
    repairs = {one.broker: one for one in found.repairs}

    def of_failure(one: Failure) -> Failure:
        reasons = Counter(what.reason for what in left.values() if one.broker in what.brokers)
        impossible = min(reasons.total(), one.replicas or 0)
        why = reasons.most_common(1)[0][0] if impossible else ""
        own = _of_replicas(one, found, disabled, impossible, why) if one.replicas != 0 else Fate()
        repair = _of_repair(repairs.get(one.broker), found, disabled)
        if one.replicas == 0 and not repair.fate:
            own = Fate(left_to_moves(one))
        return replace(one, impossible=impossible, **_both(own, repair)._asdict())

    def of_gone(one: GoneBroker) -> GoneBroker:
        repair = _of_repair(repairs.get(one.broker), found, disabled)
        if not repair.fate:
            repair = Fate(repaired_text(one))
        return replace(one, **_both(repair, Fate(awaited_text(one.awaited)))._asdict())

    return replace(
        found,
        failed=[of_failure(one) for one in found.failed],
        log_dirs=[of_failure(one) for one in found.log_dirs],
        gone=[of_gone(one) for one in found.gone],
        repairs=[replace(one, **_of_repair(one, found, disabled)._asdict()) for one in found.repairs],
    )


def _both(first: Fate, second: Fate) -> Fate:
    return Fate("; ".join(filter(None, (first.fate, second.fate))), first.command or second.command)


def _of_replicas(
    one: FailedBroker | LogDirFailure, found: HealingStatus, disabled: str | None, impossible: int, why: str
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
    return Fate("not healed while reassignments are disabled", "" if disabled is None else _ENABLE)


_RESUME = command("kafka-reassign heal", "--resume")
_ENABLE = command("kafka-reassign", "--enable")


def _of_repair(repair: BrokerRepair | None, found: HealingStatus, disabled: str | None) -> Fate:
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
    if disabled is not None:
        return Fate(f"{waits} reassignments are enabled", _ENABLE)
    if repair.unapproved:
        return Fate(text, command("kafka-reassign heal", "--approve", "--brokers", repair.broker))
    if repair.held:
        return Fate(text, command("kafka-reassign release", "--broker", repair.broker))
    return Fate(text)
