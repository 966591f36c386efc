"""`/api/v1/status`. Its cost does not grow with the number of partitions. Also what a server last knew, which it shows
with its age while it does not know the present.

All the work, and when it is done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.healing import self_healing_status as healing_status
from kafka_reassign_rpc.core.healing.failed_brokers import paused_who
from kafka_reassign_rpc.core.healing.repair_targets import UNKNOWN_COST, RepairCost
from kafka_reassign_rpc.core.reassignment.move_sums import GroupKey, Sums
from kafka_reassign_rpc.core.state.partition import BATCH, HEAL
from kafka_reassign_rpc.core.status.documents import (
    ROLES,
    Caps,
    Controller,
    FailedBroker,
    FailedLogDirs,
    Form,
    GoneBroker,
    Group,
    Healing,
    Note,
    Repair,
    StartWindow,
    Status,
    StatusProblem,
    Totals,
    Work,
    known,
    share,
)
from kafka_reassign_rpc.core.status.problems import disabled_text, lost_brokers, problems_of, reason_of
from kafka_reassign_rpc.core.status.views import ServerView, TermView
from kafka_reassign_rpc.support.counted import agreeing, counted, those
from kafka_reassign_rpc.support.human_units import duration, size, utc_time

NAMED = 5
"""Dead brokers that a text names."""


def work_of(term: TermView, totals: Totals) -> Work:
    sums = term.progress.sums.all
    left_moves = totals.in_flight + sum((totals.waiting or {}).values())
    # A move that has begun since the last sample counts with the size that it had while it waited.
    unsized = max(0, left_moves - sums.measured - (sums.waiting - sums.unsized))
    total, copied = _bytes(sums) if not unsized and not sums.unmeasured else (None, None)
    left = sums.total - sums.copied + sums.waiting_bytes if not unsized else None
    no_estimate = _no_estimate(term, totals, unsized, left) if left_moves else None
    done_ms = None if no_estimate is not None else _done_ms(term, totals) if left_moves else 0
    if done_ms is None and no_estimate is None:
        no_estimate = "how fast the moves copy is not known yet"
    return Work(
        sums.ended + left_moves, sums.ended, total, copied, left, unsized + sums.unmeasured, share(copied, total),
        done_ms, no_estimate,
    )  # fmt: skip


def groups_of(term: TermView, most: int) -> list[Group]:
    groups = term.progress.sums.groups.items()
    largest = nlargest(most, groups, key=lambda item: (item[1].moves + item[1].waiting, item[0]))
    return [_group(term, key, sums) for key, sums in largest if sums.moves or sums.waiting]


def _group(term: TermView, key: GroupKey, sums: Sums) -> Group:
    total, copied = (None, None) if sums.unknown or sums.unsized or sums.unmeasured else _bytes(sums)
    return Group(
        key.route if term.tells_routes else None, key.reason or None, sums.moves,
        sums.waiting if term.knows_waiting else None, sums.stalled, sums.ended, total, copied, share(copied, total),
    )  # fmt: skip


def _bytes(sums: Sums) -> tuple[int, int]:
    """What all moves copy, and what they have copied."""
    return sums.ended_bytes + sums.total + sums.waiting_bytes, sums.ended_bytes + sums.copied


def _done_ms(term: TermView, totals: Totals) -> int | None:
    """The slowest move in flight has its own estimate; waiting moves, and those that waited at the last sample, follow
    at the pace of the brokers.
    """
    slowest = term.progress.remaining_ms
    if not totals.waiting and not term.progress.sums.all.waiting:
        return None if term.progress.untimed else slowest
    seconds = term.progress.all_done_s
    return None if seconds is None else max(slowest or 0, int(seconds * 1000))


def _no_estimate(term: TermView, totals: Totals, unsized: int, left: int | None) -> str | None:
    by_route = totals.waiting or {}
    waiting = sum(by_route.values())
    if waiting and restrictions.why_disabled(term.cluster) is not None:
        return f"{counted(waiting, 'waiting move', 'do')} not start while reassignments are disabled"
    if held := term.cluster.queue.held:
        return f"{counted(held, 'waiting move', 'are')} held until {'it is' if held == 1 else 'they are'} released"
    if term.cluster.queue.unapproved:
        return f"{counted(term.cluster.queue.unapproved, 'move')} of repairs wait for approval"
    if (kept := waiting - by_route.get(HEAL, 0)) and term.cluster.soft.in_force.caps.closed:
        return f"{counted(kept, 'waiting move', 'wait')} for a window"
    healing = term.healing
    if healing is not None and by_route.get(HEAL) and (healing.paused or healing.held_back):
        return "repairs wait while self-healing is " + ("paused" if healing.paused else "held back")
    if (dead := _dead_receivers(term)) is not None:
        return dead
    if not term.progress.samples:
        return "no broker has reported yet how much is copied"
    if totals.stalled:
        return f"{counted(totals.stalled, 'move', 'are')} stalled"
    if unsized:
        return f"the bytes of {counted(unsized, 'move')} are not known"
    if left == 0 and totals.in_flight:
        return _why_not_over(term.progress.only_removing, totals.in_flight)
    if totals.rate == 0:
        return "nothing is being copied"
    return None


def _dead_receivers(term: TermView) -> str | None:
    """It is not known when a dead broker comes back."""
    receivers = term.progress.receivers
    dead = sorted(broker for broker in receivers if broker not in term.cluster.brokers)
    if not dead:
        return None
    who = counted(receivers[dead[0]], "move", "wait") if len(dead) == 1 else "moves wait"
    return f"{who} for {those(dead, most=NAMED)}, which {agreeing(len(dead), 'are')} dead"


def _why_not_over(only_removing: int, in_flight: int) -> str:
    """Nothing is left to copy."""
    if only_removing < in_flight:
        return "all is copied, and replicas still have to join the ISR"
    who = f"{counted(in_flight, 'move')} only {agreeing(in_flight, 'remove')} replicas"
    return f"{who}: those that stay are not all in the ISR"


_TEXTS: Mapping[Form, Callable[[Any], str]] = {
    "text": str,
    "bytes": size,
    "rate": lambda rate: f"{size(rate)}/s",
    "ms": lambda ms: duration(ms / 1000),
    "time": lambda at: f"{utc_time(at)} UTC",
}


def notes_of(document: msgspec.Struct) -> Iterator[Note]:
    """Of the document and the documents in it, in the order of their fields; what is not known is left out."""
    for name, hint in get_type_hints(type(document), include_extras=True).items():
        value = getattr(document, name)
        if isinstance(value, msgspec.Struct):
            yield from notes_of(value)
        elif value is not None and get_origin(hint) is Annotated:
            for shown in (one.extra for one in get_args(hint)[1:] if isinstance(one, msgspec.Meta) and one.extra):
                yield Note(shown["name"], _TEXTS[shown["form"]](value))


MOST_LISTED = 100
"""Failed brokers, repairs and problems in one document."""


def status_of(view: ServerView, *, at: int, version: str, full: bool) -> Status:
    """`full`: names and addresses may be shown."""
    term, rules = view.term, view.rules
    totals = None if term is None else totals_of(term)
    disabled = disabled_text(rules, full=full)
    healing = None if term is None else _healing(term, full=full)
    found = Status(
        at=at,
        server=view.server,
        version=version,
        cluster=view.cluster_id or None,
        access="full" if full else "counts",
        role=ROLES.get(view.role, "none"),
        reason=reason_of(view, full=full) or None,
        controller=Controller(
            view.controller.id,
            view.controller.epoch,
            view.controller.since,
            view.controller.page if full else None,
        ),
        problems=problems_of(view, totals, full=full),
        brokers_live=None if term is None and view.server is None and not view.brokers else len(view.brokers),
        brokers_lost=None if term is None else len(lost_brokers(term.cluster, term.healing)),
        enabled=None if rules is None else disabled is None,
        disabled_by=disabled,
        disabled_who=None if rules is None or not full else restrictions.disabled_who(rules.cluster),
        caps=None if rules is None else _caps(rules),
        totals=totals,
        work=None if term is None or totals is None else work_of(term, totals),
        groups=None if term is None or not full else groups_of(term, MOST_LISTED),
        healing=healing,
        window=None if rules is None else _window(rules),
    )
    return replace(found, notes=list(notes_of(found)))


def _window(term: TermView) -> StartWindow | None:
    window, caps = term.cluster.soft.in_force.window, term.cluster.soft.in_force.caps
    if window is None:
        return None
    lets_start = not caps.closed and 0 not in (caps.per_cluster, caps.per_broker)
    return StartWindow(lets_start, window.meaning, window.until, window.terms.rate)


def _caps(term: TermView) -> Caps:
    caps = term.cluster.soft.in_force.caps
    return Caps(known(caps.per_broker), known(caps.per_cluster), known(caps.bytes_in_flight))


def totals_of(term: TermView) -> Totals:
    """Those that began since the last sample are unknown."""
    cluster, sums = term.cluster, term.progress.sums.all
    in_flight = sum(map(len, cluster.moving.values()))
    waiting = {route: count for route, count in cluster.queue.routes.items() if count}
    if cluster.batch is not None and cluster.batch.waiting:
        waiting[BATCH] = waiting.get(BATCH, 0) + cluster.batch.waiting
    measured = min(in_flight, sums.measured)
    is_known = measured > 0 or not in_flight
    unhealthy = None if term.hidden else term.unhealthy
    return Totals(
        in_flight=in_flight,
        waiting=waiting if term.knows_waiting else None,
        stalled=sums.stalled if sums.moves or not in_flight else None,
        bytes_total=sums.total if is_known else None,
        bytes_left=sums.total - sums.copied if is_known else None,
        moves_without_size=in_flight - measured,
        rate=term.progress.rates.of_all(moves=in_flight > 0),
        remaining_ms=term.progress.remaining_ms if in_flight else 0,
        under_replicated=None if unhealthy is None else unhealthy.under_replicated,
        offline=None if unhealthy is None else unhealthy.offline,
        held=cluster.queue.held if term.knows_waiting else None,
    )


def _cost(of_repair: RepairCost | None) -> dict[str, Any]:
    found = of_repair or UNKNOWN_COST
    return {"bytes": found.bytes, "copy_ms": found.copy_ms, "unsized": found.unsized}


def _of_loss(one: healing_status.Lost) -> dict[str, Any]:
    return {**_cost(one.cost), "fate": one.fate, "command": one.command or None}


def _healing(term: TermView, *, full: bool) -> Healing | None:
    found = term.healing
    if found is None:
        return None
    return Healing(
        interval_ms=found.interval_ms,
        paused=found.paused,
        paused_who=paused_who(term.cluster) if full and found.paused else None,
        held_back=found.held_back,
        failed=[
            FailedBroker(one.broker, one.since, one.heal_at, one.replicas, impossible=one.impossible, **_of_loss(one))
            for one in found.failed[:MOST_LISTED]
        ],
        failed_log_dirs=[
            FailedLogDirs(
                one.broker,
                list(one.paths) if full else None,
                one.since,
                one.heal_at,
                one.replicas,
                impossible=one.impossible,
                **_of_loss(one),
            )
            for one in found.log_dirs[:MOST_LISTED]
        ],
        repairs=[
            Repair(one.broker, one.waiting, one.moving, one.unapproved, held=one.held, **_cost(one.cost))
            for one in found.repairs[:MOST_LISTED]
        ],
        waiting=found.waiting,
        in_flight=found.moving,
        problems=list(found.problems[:MOST_LISTED]) if full else None,
        approval=found.approval,
        gone=[
            GoneBroker(one.broker, one.since, one.repaired, one.awaited, **_of_loss(one))
            for one in found.gone[:MOST_LISTED]
        ],
    )


def newer(kept: Status | None, seen: Status | None) -> Status | None:
    """What to keep: a status without the moves does not replace one that has them."""
    return kept if seen is None or seen.totals is None else replace(seen, last=None)


def with_last(status: Status, kept: Status | None, *, full: bool) -> Status:
    if status.totals is not None or kept is None:
        return status
    return replace(status, last=kept if full else _counts_of(kept))


def _counts_of(status: Status) -> Status:
    """Without names, reasons, people and addresses."""
    counts = replace(
        status,
        access="counts",
        controller=replace(status.controller, page=None),
        problems=_without_texts(status.problems),
        disabled_by=None,
        disabled_who=None,
        groups=None,
        healing=None if status.healing is None else _without_people(status.healing),
    )
    return replace(counts, notes=list(notes_of(counts)))


def _without_people(healing: Healing) -> Healing:
    return replace(healing, paused_who=None, problems=None)


def _without_texts(problems: Sequence[StatusProblem]) -> list[StatusProblem]:
    return [replace(one, text=one.kind.replace("_", " ")) for one in problems]
