"""Who controls a cluster by what ZooKeeper holds: the envelope of the status document (`core.status`)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus
from kafka_reassign_rpc.core.status.documents import Move, Status

BROKER, SERVER, KRAFT, UNKNOWN_KIND = "broker", "server", "KRaft controller", "unknown"
"""Kinds of controllers: a stock broker, a kafka-reassign-rpc server, one to which the cluster migrates, or
an unknown one."""


class ControllerStatus(NamedTuple):
    """`id`, `epoch` and `since_ms` (ms since 1970) are None where they cannot be found out."""

    id: int | None
    kind: str
    at: tuple[str, ...]
    epoch: int | None
    since_ms: int | None


class StatusParts(NamedTuple):
    status: Status
    moves: Sequence[Move]
    brokers: Sequence[BrokerStatus]


class ClusterStatus(NamedTuple):
    """controller   None: there is none
    seen         the status document
    deleting     topics marked for deletion; None: nothing says so
    hint         why there may be more than this shows
    """

    controller: ControllerStatus | None
    seen: StatusParts
    deleting: int | None
    hint: str | None


NO_CONTROLLER_THERE = "there is no controller: /controller does not exist"


def utc(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def notes(status: ClusterStatus) -> list[str]:
    found = [] if status.deleting is None else [f"topics in deletion: {status.deleting}"]
    return found if status.hint is None else [*found, f"note: {status.hint}"]


def controller_line(controller: ControllerStatus | None) -> str:
    if controller is None:
        return "controller: none"
    if controller.id is None:
        return "controller: unknown, since /controller cannot be understood; `kafka-reassign-rpc check` says what to do"
    place = f" at {', '.join(controller.at)}" if controller.at else ""
    kind = "" if controller.kind == UNKNOWN_KIND else f"{controller.kind} "
    epoch = "" if controller.epoch is None else f", epoch {controller.epoch}"
    since = "" if controller.since_ms is None else f", since {utc(controller.since_ms)}"
    return f"controller: {kind}{controller.id}{place}{epoch}{since}"


def controller_document(controller: ControllerStatus | None) -> dict[str, Any] | None:
    if controller is None:
        return None
    return {
        "id": controller.id,
        "kind": controller.kind,
        "at": list(controller.at),
        "epoch": controller.epoch,
        "since": controller.since_ms,
    }
