"""Rounds of the queue: moves join it, are admitted, and what was decided becomes durable."""

from collections.abc import Iterable, Mapping
from itertools import count

from msgspec.structs import replace

from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.core.healing.failed_brokers import braked_caps
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.queue.in_flight_caps import (
    MovesInFlight,
)
from kafka_reassign_rpc.core.reassignment_algebra import completed
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    DEFAULT_SETTINGS,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import WaitingLine
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, SetData
from tests.core.build import TOPIC, write

ROOT = "/admin/reassign_partitions_queue"
Target = tuple[int, ...]


def through(steps: Iterable[None]) -> None:
    for _ in steps:
        pass


def queued(
    in_cluster: Cluster,
    targets: Mapping[int, Target],
    *,
    route: str = QUEUE,
    path: str = ROOT,
    own: Mapping[int, int] | None = None,
) -> None:
    """`own`: the caps that moves bring along, by partition."""
    entries = {
        (TOPIC, index): WaitingMove(MoveTerms(target, route, moves_per_broker=(own or {}).get(index)))
        for index, target in targets.items()
    }
    through(in_cluster.queue.put(QueuePart(ROOT, path, entries)))


def scheduled(view: RoundView, settings: ReassignmentSettings = DEFAULT_SETTINGS) -> MovesInFlight:
    """As under a server that was started with these settings."""
    write(view.cluster, started_with=settings)
    in_flight = MovesInFlight(view.cluster, braked_caps(view.cluster, view.cluster.soft.gone))
    through(in_flight.count(view))
    return in_flight


def admitted(in_cluster: Cluster, settings: ReassignmentSettings = DEFAULT_SETTINGS, most: int = 1000) -> RoundView:
    view = RoundView(in_cluster)
    through(queue_admission.start_waiting_moves(view, scheduled(view, settings), {}, most))
    return view


def waiting_for(view: RoundView) -> dict[WaitingLine, int]:
    """How many moves wait after the round, by place and own cap."""
    waiting = queue_admission.lines_of(view)
    return {(place, cap): len(waiting.blocked[cap][place]) for place, cap in waiting.lines()}


_zxids = count(1)


def durable(in_cluster: Cluster, view: RoundView) -> None:
    """Put the round into the cluster, as its commit would."""
    written: dict[str, replay.Written] = {}
    for op in (*znode_writes.queue_first(in_cluster, view), *znode_writes.queue_last(in_cluster, view)):
        zxid = next(_zxids)
        match op:
            case Create(path):
                assert path not in in_cluster.queue.parts
                written[path] = replay.Written(0, zxid, zxid)
            case SetData(path, _, version):
                known = in_cluster.queue.parts.get(path)
                assert version == (written[path].version if path in written else known and known.version)
                written[path] = replay.Written(version + 1, zxid, zxid)
            case Delete(path) | Check(path):
                assert path in in_cluster.queue.parts or path in written
    names = view.partitions
    durable = replay.Durable(
        {}, dict.fromkeys(names, 1), {name: (next(_zxids), 0) for name in names}, {}, parts=written
    )
    through(replay.replay(in_cluster, view, durable, 1, replay.ReplayedChanges()))


def complete(in_cluster: Cluster, name: TopicPartition) -> None:
    value = in_cluster.get(*name)
    assert value is not None
    done = completed(in_cluster, replace(value, isr=value.target))
    assert done is not None
    view = RoundView(in_cluster)
    view.add(PartitionChange(*name, replace(done, pending_deletion=())))
    durable(in_cluster, view)
