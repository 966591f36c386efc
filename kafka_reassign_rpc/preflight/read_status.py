"""Reads the status of a cluster from ZooKeeper, which also has it while there is no controller: who controls, as the
envelope of the status document (`core.status`), and the document.

ZooKeeper knows every controller's epoch, and has no times of repairs.
"""

import asyncio
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.controller.loading import load_cluster
from kafka_reassign_rpc.core.healing.failed_brokers import LostReplicas
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus
from kafka_reassign_rpc.core.status.brokers import brokers_of, count_replicas, no_counts
from kafka_reassign_rpc.core.status.documents import Move, Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, page_of, select_moves
from kafka_reassign_rpc.core.status.problems import EMPTY_PLACE
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ControllerView, PartitionHealth, ServerView, TermView
from kafka_reassign_rpc.preflight import read_state
from kafka_reassign_rpc.preflight.read_state import ControllerNow
from kafka_reassign_rpc.preflight.under_kraft_findings import ASK, NOT_KNOWN
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.slices import finished, run_through
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import PLAIN, Access
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

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


UNDER_KRAFT = f"a KRaft controller has the cluster; {NOT_KNOWN}. What to do: {ASK}"


async def from_zookeeper(connect: str, seconds: float, access: Access = PLAIN) -> ClusterStatus:
    """Raises ZkError, TimeoutError."""
    zk = ZooKeeper(connect, access=access)
    await zk.start(seconds)
    try:
        async with asyncio.timeout(seconds):
            cluster = (await load_cluster.read_cluster(zk)).cluster
            now = await read_state.read_controller(zk)
            marks = await read_state.children(zk, znode_paths.DELETE_TOPICS)
            cluster_id = await read_state.cluster_id(zk)
    finally:
        await zk.close()
    is_krafts = now.owner is not None and now.owner.kraft_epoch is not None
    if not is_krafts:
        cluster = finished(_with_all_that_are_gone(cluster))
    return ClusterStatus(
        controller=_owner(now, cluster),
        seen=_parts(cluster, now, cluster_id),
        deleting=len(marks),
        hint=UNDER_KRAFT if is_krafts else None if cluster.brokers or cluster.topics else EMPTY_PLACE,
    )


def _with_all_that_are_gone(cluster: Cluster) -> Generator[None, None, Cluster]:
    """Since when a broker is gone is unknown where it has no failure (any more)."""
    losses = LostReplicas(cluster)
    for topic, index, partition in cluster.all_partitions():
        place = cluster.queue.place(topic, index)
        losses.count(partition, None if place is None else place.move)
        yield
    gone: dict[int, int | None] = dict.fromkeys(losses.repaired.keys() | losses.awaited.keys() | losses.replicas.keys())
    return replace(cluster, failed=gone | cluster.failed)


def _parts(cluster: Cluster, now: ControllerNow, cluster_id: str | None) -> StatusParts:
    """Without what is copied, and how healing is: no controller was asked."""
    if now.owner is not None and now.owner.kraft_epoch is not None:
        controller = ControllerView(now.owner.id, now.epoch, now.since_ms)
        view = ServerView(None, cluster_id or "", "", UNDER_KRAFT, controller, {}, None)
        return StatusParts(status_of(view, at=now_ms(), version="", full=True), (), ())
    owner = None if now.owner is None else now.owner.id
    is_empty = not cluster.brokers and not cluster.topics
    of_owner = "watch" if owner in cluster.brokers else "controller"  # a stock controller does not know our rules
    role, reason = (of_owner, "") if owner is not None else ("", EMPTY_PLACE if is_empty else NO_CONTROLLER_THERE)
    controller = ControllerView(owner, now.epoch, now.since_ms)
    return parts_of(cluster, cluster_id or "", controller, role, reason)


def parts_of(cluster: Cluster, cluster_id: str, controller: ControllerView, role: str, reason: str) -> StatusParts:
    """As the store of the cluster has it. `role` and `reason`: see `ServerView`."""
    health, counts, at = PartitionHealth(), no_counts(), now_ms()
    run_through(health.update(cluster))
    run_through(count_replicas(cluster, counts))
    term = TermView(cluster, ProgressTracker(float("inf")), health.now, None)
    view = ServerView(controller.id, cluster_id, role, reason, controller, cluster.brokers, term)
    selection = finished(select_moves(term, MoveFilter()))
    return StatusParts(
        status_of(view, at=at, version="", full=True),
        page_of(term, selection, offset=0, limit=selection.size, at=at, listed_at=at).moves,
        finished(brokers_of(cluster, counts, term.progress.rates, at=at, counted_at=at)).brokers,
    )


def _owner(now: ControllerNow, cluster: Cluster) -> ControllerStatus | None:
    owner = now.owner
    if owner is None:
        return None
    places = tuple(str(Address(one.host, one.port)) for one in owner.endpoints)
    kind = KRAFT if owner.kraft_epoch is not None else SERVER if places else UNKNOWN_KIND
    if owner.id in cluster.brokers:
        kind, endpoint = BROKER, cluster.brokers[owner.id].endpoint()
        places = (str(Address(endpoint.host, endpoint.port)),)
    return ControllerStatus(owner.id, kind, places, now.epoch, now.since_ms)
