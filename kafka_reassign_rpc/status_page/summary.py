"""`/api/v1/status`: who controls the cluster, sums over all moves, caps, self-healing. It costs nothing that grows with
the number of partitions."""

from kafka_reassign_rpc.core import reassignment_settings, restrictions
from kafka_reassign_rpc.core.state.cluster import BATCH
from kafka_reassign_rpc.status_page.documents import (
    Caps,
    Controller,
    FailedBroker,
    Healing,
    Repair,
    Status,
    Totals,
    known,
)
from kafka_reassign_rpc.status_page.server_view import ServerView, TermView

MOST_LISTED = 100
"""Failed brokers, repairs and problems in one document."""


def status_of(view: ServerView, *, at: int, version: str, rate: int | None, full: bool) -> Status:
    """`rate`: bytes per second of all moves. `full`: names and addresses may be told."""
    term = view.term
    disabled = None if term is None else restrictions.disabled_by(term.cluster)
    return Status(
        at=at,
        server=view.server,
        version=version,
        cluster=view.cluster_id or None,
        access="full" if full else "counts",
        role="controller" if view.role == "controller" else "standby" if view.role == "standby" else "none",
        reason=view.reason or None,
        controller=Controller(
            known(view.controller),
            known(view.epoch),
            known(view.since),
            view.pages.get(view.controller) if full else None,
        ),
        brokers_live=len(view.brokers),
        enabled=None if term is None else disabled is None,
        disabled_by=disabled,
        caps=None if term is None else _caps(term),
        totals=None if term is None else totals_of(term, rate),
        healing=None if term is None else _healing(term, full=full),
    )


def _caps(term: TermView) -> Caps:
    caps = reassignment_settings.caps_in_force(term.cluster, term.settings)
    return Caps(known(caps.per_broker), known(caps.per_cluster), known(caps.bytes_in_flight))


def totals_of(term: TermView, rate: int | None) -> Totals:
    """All moves together. `rate`: their bytes per second."""
    cluster, sampled = term.cluster, term.progress.totals
    in_flight = sum(map(len, cluster.moving.values()))
    waiting = {route: count for route, count in cluster.queue.routes.items() if count}
    if cluster.batch is not None and cluster.batch.waiting:
        waiting[BATCH] = waiting.get(BATCH, 0) + cluster.batch.waiting
    with_size = min(in_flight, sampled.moves - sampled.unknown)
    none_known = in_flight > 0 and with_size == 0
    sampled_some = not in_flight or sampled.moves > 0
    return Totals(
        in_flight=in_flight,
        waiting=waiting,
        stalled=sampled.stalled if in_flight and sampled_some else None if in_flight else 0,
        bytes_total=None if none_known else sampled.bytes_total if in_flight else 0,
        bytes_left=None if none_known else sampled.bytes_left if in_flight else 0,
        moves_without_size=in_flight - with_size,
        rate=rate,
        remaining_ms=known(sampled.remaining_ms) if in_flight else 0,
        under_replicated=None if term.unhealthy is None else term.unhealthy.under_replicated,
        offline=None if term.unhealthy is None else term.unhealthy.offline,
    )


def _healing(term: TermView, *, full: bool) -> Healing | None:
    found = term.healing
    if found is None:
        return None
    return Healing(
        interval_ms=found.interval_ms,
        paused=found.paused,
        held_back=found.held_back,
        failed=[FailedBroker(one.broker, one.since, one.heal_at, one.replicas) for one in found.failed[:MOST_LISTED]],
        repairs=[Repair(one.broker, one.waiting, one.moving) for one in found.repairs[:MOST_LISTED]],
        waiting=found.waiting,
        in_flight=found.moving,
        problems=list(found.problems[:MOST_LISTED]) if full else None,
    )
