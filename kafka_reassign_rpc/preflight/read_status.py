"""Reads the status of a cluster: from ZooKeeper, or from its nodes over the Kafka protocol.

ZooKeeper knows every controller's epoch, and has no times of repairs. Over the protocol only a server of this product
tells its epoch: by its events.
"""

import asyncio
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.client import MOVING, AsyncReassignmentClient, KafkaError, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.event_calls import FROM_NOW_ON
from kafka_reassign_rpc.controller.loading import load_cluster
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.healing.failed_brokers import LostReplicas
from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import BATCH, HEAL, RPC
from kafka_reassign_rpc.core.status.brokers import brokers_of, count_replicas, no_counts
from kafka_reassign_rpc.core.status.moves import MoveFilter, page_of, select_moves
from kafka_reassign_rpc.core.status.partition_health import PartitionHealth
from kafka_reassign_rpc.core.status.problems import EMPTY_PLACE, lost_brokers
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import UNKNOWN as UNKNOWN_ID
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView, TermView
from kafka_reassign_rpc.preflight import read_state
from kafka_reassign_rpc.preflight.cluster_status import (
    BROKER,
    KRAFT,
    NO_CONTROLLER_THERE,
    SERVER,
    UNKNOWN_KIND,
    ClusterStatus,
    ControllerStatus,
    HealingCounts,
    LostBroker,
    StatusParts,
    without_controller,
)
from kafka_reassign_rpc.preflight.read_state import ControllerNow
from kafka_reassign_rpc.preflight.under_kraft_findings import ASK, NOT_KNOWN
from kafka_reassign_rpc.support.slices import finished, run_through
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import PLAIN, Access
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

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
    is_krafts = now.owner is not None and now.owner.kraft_epoch >= 0
    if not is_krafts:
        cluster = finished(_with_all_that_are_gone(cluster))
    moving = Counter(_route(cluster, topic, index) for topic, indexes in cluster.moving.items() for index in indexes)
    waiting = Counter(cluster.queue.routes)
    if cluster.batch is not None:
        waiting[BATCH] += sum(
            name.partition not in cluster.moving.get(name.topic, ()) and cluster.queue.place(*name) is None
            for name in cluster.batch.entries
        )
    return ClusterStatus(
        controller=_owner(now, cluster),
        seen=_parts(cluster, now, cluster_id),
        brokers=sorted(cluster.brokers),
        moving=moving,
        waiting=+waiting,
        deleting=len(marks),
        healing=None if is_krafts else HealingCounts(moving[HEAL], waiting[HEAL], None, None, cluster.queue.unapproved),
        lost=None
        if is_krafts
        else [
            LostBroker(broker, None if since < 0 else since, None)
            for broker, since in sorted(lost_brokers(cluster, None).items())
        ],
        hint=UNDER_KRAFT if is_krafts else None if cluster.brokers or cluster.topics else EMPTY_PLACE,
    )


def _with_all_that_are_gone(cluster: Cluster) -> Generator[None, None, Cluster]:
    """Nobody knows since when those are gone that have no failure (any more)."""
    losses = LostReplicas(cluster)
    for topic, index, partition in cluster.all_partitions():
        place = cluster.queue.place(topic, index)
        losses.count(partition, None if place is None else place.move)
        yield
    gone = dict.fromkeys(losses.repaired.keys() | losses.awaited.keys() | losses.replicas.keys(), UNKNOWN_ID)
    return replace(cluster, failed=gone | cluster.failed)


def _parts(cluster: Cluster, now: ControllerNow, cluster_id: str | None) -> StatusParts:
    """Nobody was asked what is copied, or how healing is."""
    if now.owner is not None and now.owner.kraft_epoch >= 0:
        controller = ControllerView(now.owner.id, now.epoch, now.since_ms)
        view = ServerView(UNKNOWN_ID, cluster_id or "", "", UNDER_KRAFT, controller, {}, None)
        return StatusParts(status_of(view, at=now_ms(), version="", full=True), (), ())
    health, counts, at = PartitionHealth(), no_counts(), now_ms()
    run_through(health.update(cluster))
    run_through(count_replicas(cluster, counts))
    term = TermView(cluster, ProgressTracker(float("inf")), health.now, None)
    owner = UNKNOWN_ID if now.owner is None else now.owner.id
    is_empty = not cluster.brokers and not cluster.topics
    of_owner = "watch" if owner in cluster.brokers else "controller"  # a stock controller does not know our rules
    role, reason = (of_owner, "") if owner >= 0 else ("", EMPTY_PLACE if is_empty else NO_CONTROLLER_THERE)
    controller = ControllerView(owner, now.epoch, now.since_ms)
    view = ServerView(owner, cluster_id or "", role, reason, controller, cluster.brokers, term)
    selection = finished(select_moves(term, MoveFilter()))
    return StatusParts(
        status_of(view, at=at, version="", full=True),
        page_of(term, selection, offset=0, limit=selection.size, at=at, listed_at=at).moves,
        finished(brokers_of(cluster, counts, term.progress.rates, at=at, counted_at=at)).brokers,
    )


def _route(cluster: Cluster, topic: str, index: int) -> str:
    """A move without a record is one of a stock controller."""
    partition = cluster.get(topic, index)
    return RPC if partition is None or partition.move is None else partition.move.terms.route


def _owner(now: ControllerNow, cluster: Cluster) -> ControllerStatus | None:
    owner = now.owner
    if owner is None:
        return None
    places = tuple(f"{one.host}:{one.port}" for one in owner.endpoints)
    kind = KRAFT if owner.kraft_epoch >= 0 else SERVER if places else UNKNOWN_KIND
    if owner.id in cluster.brokers:
        kind, endpoint = BROKER, cluster.brokers[owner.id].endpoint()
        places = (f"{endpoint.host}:{endpoint.port}",)
    return ControllerStatus(owner.id, kind, places, None if now.epoch < 0 else now.epoch, now.since_ms)


async def from_nodes(configs: Mapping[str, Any], seconds: float) -> ClusterStatus:
    """`configs`: of the client; its timeouts are `seconds`. Raises KafkaError, TimeoutError."""
    limit_ms = int(seconds * 1000)
    client = AsyncReassignmentClient(**{**configs, "request_timeout_ms": limit_ms, "bootstrap_timeout_ms": limit_ms})
    async with asyncio.timeout(3 * seconds), client:
        nodes = {node.id: node for node in await client.describe_cluster()}
        try:
            controller = await client.describe_controller()
        except Unreachable:  # a node has answered, and knows of no controller
            servers = await client.servers_among(nodes)
            named = {
                one.id: Broker(one.id, UNKNOWN_ID, (Endpoint("", "", one.host, one.port),), one.rack)
                for one in nodes.values()
                if one.id not in servers
            }
            last = None
            with suppress(KafkaError):  # no address may be that of a server
                here = await client.status_here()
                last = here.last if here.totals is None else here
            return without_controller(named, "", now_ms(), last)
        healing = await _healing(client)
        elected = None if healing is None else await _elected(client, controller)
        moves = await client.list_partition_reassignments()
        waiting: Mapping[str, int] = Counter(one.route for one in moves.values() if one.state != MOVING)
        with suppress(UnsupportedHere):  # the list lacks those that wait beside another move of their partition
            totals = (await client.status()).totals
            waiting = waiting if totals is None or totals.waiting is None else totals.waiting
        servers = set() if healing is None else await client.servers_among(nodes)
    brokers = sorted(nodes.keys() - servers)
    node = nodes.get(controller)
    status = ControllerStatus(
        controller,
        BROKER if healing is None else SERVER,
        () if node is None else (f"{node.host}:{node.port}",),
        *(elected or (None, None)),
    )
    return ClusterStatus(
        controller=status,
        brokers=brokers,
        moving=Counter(one.route for one in moves.values() if one.state == MOVING),
        waiting=waiting,
        deleting=None,
        healing=None
        if healing is None
        else HealingCounts(
            healing.moving,
            healing.waiting,
            healing.interval_ms is not None,
            healing.paused,
            healing.unapproved,
        ),
        lost=None
        if healing is None
        else [
            *(LostBroker(one.broker, one.since, one.heal_at) for one in healing.failed),
            *(LostBroker(one.broker, one.since, None) for one in healing.gone),
        ],
        hint=None if brokers or moves else EMPTY_PLACE,
    )


async def _healing(client: AsyncReassignmentClient) -> HealingStatus | None:
    """None where the controller is a stock broker."""
    try:
        return await client.healing_status()
    except UnsupportedHere:
        return None


async def _elected(client: AsyncReassignmentClient, controller: int) -> tuple[int, int | None] | None:
    """Epoch of the controller, and when it was elected, by its events; None where it keeps none. The epochs of a
    server's events rise, so bisection finds the first event of the last epoch: the election.
    """
    try:
        page = await client.event_page(FROM_NOW_ON, server=controller)
        low, high = page.oldest_seq, page.next_seq - 1
        if high < low:
            return None
        epoch = (await client.event_page(high, server=controller)).events[0]["epoch"]
        while low < high:
            middle = (low + high) // 2
            page = await client.event_page(middle, server=controller)
            if page.events[0]["epoch"] < epoch:
                low = middle + 1
            else:
                high = middle
        first = (await client.event_page(low, server=controller)).events[0]
    except KafkaError:
        return None
    return epoch, first["at"] if first["event"] == catalogue.CONTROLLER_ELECTED else None
