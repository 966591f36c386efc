"""`/api/v1/status`. Its cost does not grow with the number of partitions."""

from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.healing import self_healing_status as healing_status
from kafka_reassign_rpc.core.healing.brake import paused_who
from kafka_reassign_rpc.core.healing.repair_cost import UNKNOWN_COST, RepairCost
from kafka_reassign_rpc.core.state.partition import BATCH
from kafka_reassign_rpc.core.status import work
from kafka_reassign_rpc.core.status.documents import (
    ROLES,
    Caps,
    Controller,
    FailedBroker,
    FailedLogDirs,
    GoneBroker,
    Healing,
    Repair,
    StartWindow,
    Status,
    Totals,
    known,
)
from kafka_reassign_rpc.core.status.notes import notes_of
from kafka_reassign_rpc.core.status.problems import lost_brokers, problems_of, reason_of
from kafka_reassign_rpc.core.status.views import ServerView, TermView

MOST_LISTED = 100
"""Failed brokers, repairs and problems in one document."""


def status_of(view: ServerView, *, at: int, version: str, full: bool) -> Status:
    """`full`: names and addresses may be shown."""
    term, rules = view.term, view.rules
    totals = None if term is None else totals_of(term)
    disabled = None if rules is None else rules.cluster.soft.in_force.disabled_by
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
        work=None if term is None or totals is None else work.work_of(term, totals),
        groups=None if term is None or not full else work.groups_of(term, MOST_LISTED),
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
