"""Who controls a cluster, since when, and what is under way: what stands around the status document (`core.status`), as
text and as JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import to_builtins

from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus
from kafka_reassign_rpc.core.status.documents import Move, Status
from kafka_reassign_rpc.core.status.last_status import with_last
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import UNKNOWN as UNKNOWN_ID
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView
from kafka_reassign_rpc.support.counted import agreeing, counted

UNKNOWN = "unknown"
BROKER, SERVER, KRAFT, UNKNOWN_KIND = "broker", "server", "KRaft controller", "unknown"
"""Kinds of controllers: a stock broker, a kafka-reassign-rpc server, one to which the cluster migrates, or what cannot
be told."""


class ControllerStatus(NamedTuple):
    """`epoch` and `since_ms` (ms since 1970) are None where they cannot be found out."""

    id: int
    kind: str
    at: tuple[str, ...]
    epoch: int | None
    since_ms: int | None


class LostBroker(NamedTuple):
    """A broker that is gone and that partitions or moves name. `since_ms` None: not known; `heal_at_ms` None: it is not
    healed, or that cannot be found out.
    """

    broker: int
    since_ms: int | None
    heal_at_ms: int | None


class HealingCounts(NamedTuple):
    """None where it cannot be found out. `unapproved` counts those of `waiting` that need approval."""

    moving: int
    waiting: int
    on: bool | None
    paused: bool | None
    unapproved: int | None = None


class StatusParts(NamedTuple):
    status: Status
    moves: Sequence[Move]
    brokers: Sequence[BrokerStatus]


class ClusterStatus(NamedTuple):
    """controller   None: there is none
    brokers      ids of the registered brokers
    moving       moves in flight by route
    waiting      moves that wait, by route
    deleting     topics marked for deletion
    hint         why there may be more than this shows
    seen         the status document

    None where something cannot be found out.
    """

    controller: ControllerStatus | None
    brokers: Sequence[int] | None
    moving: Mapping[str, int] | None
    waiting: Mapping[str, int] | None
    deleting: int | None
    healing: HealingCounts | None
    lost: Sequence[LostBroker] | None
    hint: str | None = None
    seen: StatusParts | None = None


NO_CONTROLLER_ASKED = "only a controller tells that: ask ZooKeeper with --zookeeper-connect"
NO_CONTROLLER_KNOWN = "the nodes know of no controller"
NO_CONTROLLER_THERE = "there is no controller: /controller does not exist"


def without_controller(named: Mapping[int, Broker], cluster_id: str, at: int, last: Status | None) -> ClusterStatus:
    """What a node tells that knows of no controller. It names the brokers in `named`; a server may know none.
    `last` is what a server last knew."""
    view = ServerView(UNKNOWN_ID, cluster_id, "", NO_CONTROLLER_KNOWN, ControllerView(), named, None)
    parts = StatusParts(with_last(status_of(view, at=at, version="", full=True), last, full=True), (), ())
    return ClusterStatus(None, sorted(named) or None, None, None, None, None, None, NO_CONTROLLER_ASKED, parts)


def with_document(status: ClusterStatus, seen: StatusParts) -> ClusterStatus:
    """The document's counts replace those that were read a moment before it."""
    totals, moving = seen.status.totals, Counter[str]()
    if totals is None:
        return status._replace(seen=seen)
    for group in seen.status.groups or ():
        moving[group.route or RPC] += group.in_flight
    in_flight = +moving if moving.total() == totals.in_flight else status.moving
    return status._replace(seen=seen, moving=in_flight, waiting=totals.waiting)


def utc(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def around(status: ClusterStatus) -> list[str]:
    found = []
    brokers = None if status.brokers is None else ", ".join(map(str, status.brokers)) or "none is registered"
    found.append(f"brokers: {brokers or UNKNOWN}")
    found.append(f"moves in flight: {_by_route(status.moving)}")
    found.append(f"moves that wait: {_by_route(status.waiting)}")
    if status.deleting is not None:
        found.append(f"topics in deletion: {status.deleting}")
    if status.healing is not None or status.controller is None:  # a stock controller heals nothing
        found.append(f"self-healing: {_healing_text(status.healing)}")
    return found if status.hint is None else [*found, f"note: {status.hint}"]


def controller_line(controller: ControllerStatus | None) -> str:
    if controller is None:
        return "controller: none"
    if controller.id < 0:
        return "controller: unknown, since /controller cannot be understood; `kafka-reassign-rpc check` says what to do"
    place = f" at {', '.join(controller.at)}" if controller.at else ""
    kind = "" if controller.kind == UNKNOWN_KIND else f"{controller.kind} "
    epoch = "" if controller.epoch is None else f", epoch {controller.epoch}"
    since = "" if controller.since_ms is None else f", since {utc(controller.since_ms)}"
    return f"controller: {kind}{controller.id}{place}{epoch}{since}"


def _by_route(counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return UNKNOWN
    parts = ", ".join(f"{count} by {route}" for route, count in sorted(counts.items()) if count)
    return f"{sum(counts.values())} ({parts})" if parts else "0"


def _healing_text(healing: HealingCounts | None) -> str:
    if healing is None:
        return UNKNOWN
    switch = {None: "", True: "on, ", False: "off, "}[healing.on]
    paused = "paused, " if healing.paused else ""
    waiting = f"{healing.waiting} {agreeing(healing.waiting, 'wait')}"
    unapproved = f", {healing.unapproved} of them for approval" if healing.unapproved else ""
    return f"{switch}{paused}{counted(healing.moving, 'move')} in flight, {waiting}{unapproved}"


def document(status: ClusterStatus) -> dict[str, Any]:
    """Times are in ms since 1970; null is what cannot be found out."""
    controller = status.controller
    return {
        "controller": None
        if controller is None
        else {
            "id": controller.id,
            "kind": controller.kind,
            "at": list(controller.at),
            "epoch": controller.epoch,
            "since": controller.since_ms,
        },
        "brokers": None if status.brokers is None else list(status.brokers),
        "moving": None if status.moving is None else dict(status.moving),
        "waiting": None if status.waiting is None else dict(status.waiting),
        "deleting": status.deleting,
        "healing": None if status.healing is None else status.healing._asdict(),
        "lost": None
        if status.lost is None
        else [{"broker": one.broker, "since": one.since_ms, "healAt": one.heal_at_ms} for one in status.lost],
        "hint": status.hint,
        "status": None if status.seen is None else to_builtins(status.seen.status),
    }
