"""Who controls a cluster, since when, and what is under way: values, as text and as JSON."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kafka_reassign_rpc.support.counted import agreeing, counted

BROKER, SERVER, UNKNOWN_KIND = "broker", "server", "unknown"
"""Kinds of controllers: a stock broker, a kafka-reassign-rpc server, or what cannot be told."""


class ControllerStatus(NamedTuple):
    """The controller. `epoch` and `since_ms` (ms since 1970) are None where they cannot be found out."""

    id: int
    kind: str
    at: tuple[str, ...]
    epoch: int | None
    since_ms: int | None


class LostBroker(NamedTuple):
    """A broker that holds replicas and is gone. `heal_at_ms` None: it is not healed, or that cannot be found out."""

    broker: int
    since_ms: int
    heal_at_ms: int | None


class HealingCounts(NamedTuple):
    """Moves of repairs, and whether self-healing is on; None where that cannot be found out."""

    moving: int
    waiting: int
    on: bool | None
    paused: bool | None


class ClusterStatus(NamedTuple):
    """controller   None: there is none
    brokers      ids of the registered brokers
    moving       moves in flight by route
    waiting      moves that wait, by route
    deleting     topics marked for deletion; None where that cannot be found out
    """

    controller: ControllerStatus | None
    brokers: Sequence[int]
    moving: Mapping[str, int]
    waiting: Mapping[str, int]
    deleting: int | None
    healing: HealingCounts
    lost: Sequence[LostBroker]


def utc(milliseconds: int) -> str:
    """A time as text."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def lines(status: ClusterStatus) -> list[str]:
    """For people."""
    found = [_controller_line(status.controller)]
    found.append(f"brokers: {', '.join(map(str, status.brokers)) or 'none is registered'}")
    found.append(f"moves in flight: {_by_route(status.moving)}")
    found.append(f"moves that wait: {_by_route(status.waiting)}")
    if status.deleting is not None:
        found.append(f"topics in deletion: {status.deleting}")
    found.append(f"self-healing: {_healing_text(status.healing)}")
    for one in status.lost:
        healed = "" if one.heal_at_ms is None else f", healed at {utc(one.heal_at_ms)}"
        found.append(f"broker {one.broker}: gone since {utc(one.since_ms)}{healed}")
    return found


def _controller_line(controller: ControllerStatus | None) -> str:
    if controller is None:
        return "controller: none"
    if controller.id < 0:
        return "controller: unknown, since /controller cannot be understood; `kafka-reassign-rpc check` says what to do"
    place = f" at {', '.join(controller.at)}" if controller.at else ""
    kind = "" if controller.kind == UNKNOWN_KIND else f"{controller.kind} "
    epoch = "" if controller.epoch is None else f", epoch {controller.epoch}"
    since = "" if controller.since_ms is None else f", since {utc(controller.since_ms)}"
    return f"controller: {kind}{controller.id}{place}{epoch}{since}"


def _by_route(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count} by {route}" for route, count in sorted(counts.items()) if count)
    return f"{sum(counts.values())} ({parts})" if parts else "0"


def _healing_text(healing: HealingCounts) -> str:
    switch = {None: "", True: "on, ", False: "off, "}[healing.on]
    paused = "paused, " if healing.paused else ""
    waiting = f"{healing.waiting} {agreeing(healing.waiting, 'wait')}"
    return f"{switch}{paused}{counted(healing.moving, 'move')} in flight, {waiting}"


def document(status: ClusterStatus) -> dict[str, Any]:
    """For programs. Times are in ms since 1970; null is what cannot be found out."""
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
        "brokers": list(status.brokers),
        "moving": dict(status.moving),
        "waiting": dict(status.waiting),
        "deleting": status.deleting,
        "healing": status.healing._asdict(),
        "lost": [{"broker": one.broker, "since": one.since_ms, "healAt": one.heal_at_ms} for one in status.lost],
    }
