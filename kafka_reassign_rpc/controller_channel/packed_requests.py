"""LeaderAndIsr and UpdateMetadata packed straight into bytes, in the versions of brokers since 2.8. A partition's state
takes 30 us as a message object, and 2 us with a format compiled once for each shape. Layouts: their files in
`schemas/`; every structure ends with its tagged fields, here none.
"""

import struct
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from functools import cache
from typing import TypeVar

from kafka_reassign_rpc.controller_channel.request_builders import (
    LEADER_DURING_DELETE,
    ZERO_UUID,
    Sender,
    forgotten_partitions,
    hosted_partitions,
    live_nodes_of,
    visible_partitions,
)
from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.protocol.flexible_encoding import compact_ids, compact_string, uvarint

_T = TypeVar("_T")
Packing = Generator[None, None, _T]
"""A body in the making: it yields after each item and returns the bytes."""

_MANY = 0x7F
"""From this many replicas on, a length takes more than one byte."""
_NO_TAGS = b"\0"
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")


def leader_and_isr(
    cluster: Cluster,
    sender: Sender,
    broker: Broker,
    partitions: Mapping[str, Mapping[int, bool]],
    version: int,
    *,
    is_complete: bool = False,
) -> Packing[bytes | None]:
    """None if the broker has no replica of the partitions any more. See `hosted_partitions`."""
    topics = bytearray()
    count = 0
    leaders: set[int] = set()
    for topic, slices in hosted_partitions(cluster, broker, partitions, is_complete=is_complete):
        states: list[bytes] = []
        held = 0
        for part in slices:
            leaders.update([value.leader for _, value, _ in part])
            states.append(b"".join([_leader_and_isr_state(*one, sender, version) for one in part]))
            held += len(part)
            yield
        if held:
            count += 1
            topic_id = (topic.id or ZERO_UUID).bytes
            topics += b"".join((compact_string(topic.name), topic_id, uvarint(held + 1), *states, _NO_TAGS))
    if not count:
        return None
    live = [found for found in map(cluster.brokers.get, sorted(leaders)) if found is not None]
    parts: list[bytes | bytearray] = [
        *_head(sender, broker, is_kraft=version >= 7),
        b"\0",  # request type
        uvarint(count + 1),
        topics,
        uvarint(len(live) + 1),
    ]
    for leader in live:
        first = leader.endpoints[0]
        parts += (_INT.pack(leader.id), compact_string(first.host), _INT.pack(first.port), _NO_TAGS)
    parts.append(_NO_TAGS)
    return b"".join(parts)


def update_metadata(
    cluster: Cluster,
    sender: Sender,
    broker: Broker,
    partitions: Mapping[str, Iterable[int]],
    deleted: Mapping[str, Iterable[int]],
    version: int,
) -> Packing[bytes]:
    """The broker replaces its set of live brokers with these."""
    live = cluster.brokers.keys() - cluster.soft.shutting_down
    states: dict[str, list[bytes]] = {}
    counts: dict[str, int] = {}
    ids = {name: topic.id for name in deleted if (topic := cluster.topics.get(name)) is not None}
    for known, slices in visible_partitions(cluster, partitions.items()):
        name = known.name
        states[name], counts[name], ids[name] = [], 0, known.id
        for shown in slices:
            packed = [_metadata_state(index, value, live, sender.epoch) for index, value in shown]
            states[name].append(b"".join(packed))
            counts[name] += len(packed)
            yield
    for name, indexes in forgotten_partitions(cluster, deleted):
        forgotten = [_forget_state(index, sender.epoch) for index in indexes]
        states.setdefault(name, []).extend(forgotten)
        counts[name] = counts.get(name, 0) + len(forgotten)
    counts = {name: count for name, count in counts.items() if count}
    parts = [*_head(sender, broker, is_kraft=version >= 8), uvarint(len(counts) + 1)]
    for name, count in counts.items():
        topic_id = (ids.get(name) or ZERO_UUID).bytes
        parts += (compact_string(name), topic_id, uvarint(count + 1), *states[name], _NO_TAGS)
    live_nodes = [_live_broker(*node) for node in live_nodes_of(cluster, sender)]
    parts += (uvarint(len(live_nodes) + 1), *live_nodes, _NO_TAGS)
    return b"".join(parts)


def _head(sender: Sender, broker: Broker, *, is_kraft: bool) -> tuple[bytes, ...]:
    return (
        _INT.pack(sender.id),
        b"\0" if is_kraft else b"",
        _INT.pack(sender.epoch),
        _LONG.pack(broker.epoch),
    )


def _live_broker(broker_id: int, endpoints: Sequence[Endpoint], rack: str | None) -> bytes:
    parts = [_INT.pack(broker_id), uvarint(len(endpoints) + 1)]
    for endpoint in endpoints:
        parts += (
            _INT.pack(endpoint.port),
            compact_string(endpoint.host),
            compact_string(endpoint.listener),
            struct.pack(">h", SECURITY_PROTOCOLS.index(endpoint.security_protocol)),
            _NO_TAGS,
        )
    parts += (b"\0" if rack is None else compact_string(rack), _NO_TAGS)
    return b"".join(parts)


@cache
def _format(end: str, isr: int, *lists: int) -> struct.Struct:
    return struct.Struct(f">iiiiB{isr}ii{''.join(f'B{ids}i' for ids in lists)}{end}")


def _long_state(index: int, controller_epoch: int, value: Partition, *lists: Sequence[int]) -> bytes:
    """What both requests say of a partition, up to its last list, where a length takes more than one byte."""
    head = struct.pack(">iiii", index, controller_epoch, value.leader, value.leader_epoch)
    return b"".join((head, compact_ids(value.isr), _INT.pack(value.partition_epoch), *map(compact_ids, lists)))


def _leader_and_isr_state(index: int, value: Partition, is_new: bool, sender: Sender, version: int) -> bytes:
    isr, replicas, adding, removing = value.isr, value.replicas, value.adding, value.removing
    epoch = value.controller_epoch or sender.epoch
    end = bytes((value.leader_recovery_state, 0)) if version >= 6 else _NO_TAGS
    sizes = len(isr), len(replicas), len(adding), len(removing)
    if max(sizes) >= _MANY:
        return _long_state(index, epoch, value, replicas, adding, removing) + bytes((is_new,)) + end
    return (
        _format("?", *sizes).pack(
            index,
            epoch,
            value.leader,
            value.leader_epoch,
            sizes[0] + 1,
            *isr,
            value.partition_epoch,
            sizes[1] + 1,
            *replicas,
            sizes[2] + 1,
            *adding,
            sizes[3] + 1,
            *removing,
            is_new,
        )
        + end
    )


def _metadata_state(index: int, value: Partition, live: Collection[int], controller_epoch: int) -> bytes:
    isr, replicas, failed = value.isr, value.replicas, value.offline
    offline = [replica for replica in replicas if replica not in live or replica in failed]
    if max(len(isr), len(replicas)) >= _MANY:
        return _long_state(index, controller_epoch, value, replicas, offline) + _NO_TAGS
    return _format("x", len(isr), len(replicas), len(offline)).pack(
        index,
        controller_epoch,
        value.leader,
        value.leader_epoch,
        len(isr) + 1,
        *isr,
        value.partition_epoch,
        len(replicas) + 1,
        *replicas,
        len(offline) + 1,
        *offline,
    )


def _forget_state(index: int, controller_epoch: int) -> bytes:
    return _format("x", 0, 0, 0).pack(index, controller_epoch, LEADER_DURING_DELETE, LEADER_DURING_DELETE, 1, 0, 1, 1)
