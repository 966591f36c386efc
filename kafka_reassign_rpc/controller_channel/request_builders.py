"""What the controller's requests say (Kafka's AbstractControllerBrokerRequestBatch), and StopReplica as a message.
Pure.

LeaderAndIsr and UpdateMetadata are packed straight into bytes, in the versions of brokers since 2.8. A partition's
state takes 30 us as a message object, and 2 us with a format compiled once for each shape. Layouts: their files in
`schemas/`; every structure ends with its tagged fields, here none.
"""

import struct
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import compact_ids, compact_string, uvarint
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, StopReplicaRequest

LEADER_DURING_DELETE = -2
"""The leader in an UpdateMetadata that makes a broker forget the partition (Kafka's
LeaderAndIsr.LeaderDuringDelete)."""

ZERO_UUID = UUID(int=0)

_Hosted = tuple[int, Partition, bool]

AT_ONCE = 500
"""How many partitions are built before the event loop runs other tasks."""


class Sender(NamedTuple):
    """The controller, with one endpoint per listener at which brokers reach it. `elected`: the zxid of its election."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    elected: int = LAST_ZXID


def live_nodes_of(cluster: Cluster, sender: Sender) -> Iterator[tuple[int, tuple[Endpoint, ...], str | None]]:
    """Id, endpoints and rack of live brokers, and of the controller. It claims the rack of most brokers: if it alone
    had none, brokers could not create topics such as those of groups and transactions ("Not all brokers have rack
    information"), and there they choose it for a replica least often, since one broker of each rack gets one.
    """
    for broker in cluster.brokers.values():
        yield broker.id, broker.endpoints, broker.rack
    if sender.id not in cluster.brokers:
        racks = Counter(broker.rack for broker in cluster.brokers.values() if broker.rack is not None)
        yield sender.id, sender.endpoints, max(sorted(racks), key=racks.__getitem__, default=None)


def all_partitions(cluster: Cluster) -> Iterator[tuple[str, Collection[int]]]:
    """Topics may change meanwhile."""
    return ((topic.name, topic.partitions) for topic in list(cluster.topics.values()))


def visible_partitions(
    cluster: Cluster, partitions: Iterable[tuple[str, Iterable[int]]]
) -> Iterator[tuple[Topic, Iterator[list[tuple[int, Partition]]]]]:
    """Those that brokers may see, in slices of at most `AT_ONCE`, some of them empty: of no topic in deletion, and with
    a readable state.
    """
    for name, indexes in partitions:
        topic = cluster.topics.get(name)
        if topic is not None and not topic.deleting:
            yield topic, _visible(topic, list(indexes))


def _visible(topic: Topic, indexes: Sequence[int]) -> Iterator[list[tuple[int, Partition]]]:
    known, unreadable = topic.partitions, topic.unreadable
    for start in range(0, len(indexes), AT_ONCE):
        yield [
            (index, value)
            for index in indexes[start : start + AT_ONCE]
            if (value := known.get(index)) is not None and value.partition_epoch >= 0 and index not in unreadable
        ]


def forgotten_partitions(
    cluster: Cluster, deleted: Mapping[str, Iterable[int]]
) -> Iterator[tuple[str, Collection[int]]]:
    """The deleted partitions that do not exist again when the request goes."""
    for name, indexes in deleted.items():
        known = visible_partitions(cluster, [(name, indexes)])
        shown = {index for _, slices in known for found in slices for index, _ in found}
        yield name, [index for index in indexes if index not in shown]


def hosted_partitions(
    cluster: Cluster, broker: Broker, partitions: Mapping[str, Mapping[int, bool]], *, is_complete: bool
) -> Iterator[tuple[Topic, Iterator[list[tuple[int, Partition, bool]]]]]:
    """As `visible_partitions`, those with a replica on `broker`, and whether each replica is new there, as `partitions`
    says. `is_complete` adds all others of the broker, as not new.

    A broker creates the log of a new replica in any log directory, that of another one only while none is offline,
    which may have the log (LogManager's isNew).
    """
    own, known = broker.id, partitions

    def hosted(topic: Topic, slices: Iterator[list[tuple[int, Partition]]]) -> Iterator[list[_Hosted]]:
        new = known.get(topic.name, {})
        for found in slices:
            yield [
                (index, value, new.get(index, False) or (own in value.adding and _may_be_new(broker, value)))
                for index, value in found
                if own in value.replicas
            ]

    wanted: Iterable[tuple[str, Iterable[int]]] = all_partitions(cluster) if is_complete else partitions.items()
    return ((topic, hosted(topic, slices)) for topic, slices in visible_partitions(cluster, wanted))


def _may_be_new(broker: Broker, value: Partition) -> bool:
    """One in the ISR has data. One on a broker that registered after the move began may have copied some before. (Kafka
    treats all replicas of a starting broker as old ones: onBrokerStartup.)
    """
    began = None if value.move is None else value.move.id
    return broker.id not in value.isr and began is not None and began > broker.epoch


def stop_replica(
    sender: Sender, broker: Broker, stops: Mapping[TopicPartition, StopReplicaState], version: int
) -> StopReplicaRequest:
    states = StopReplicaRequest.StopReplicaTopicState
    topics: dict[str, list[StopReplicaRequest.StopReplicaTopicState.StopReplicaPartitionState]] = {}
    for name, stop in stops.items():
        state = states.StopReplicaPartitionState(
            version=version,
            partition_index=name.partition,
            leader_epoch=stop.leader_epoch,
            delete_partition=stop.delete,
        )
        topics.setdefault(name.topic, []).append(state)
    return StopReplicaRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        topic_states=[
            states(version=version, topic_name=topic, partition_states=found) for topic, found in topics.items()
        ],
    )


class StopEpochs(NamedTuple):
    leader_epoch: int
    partition_epoch: int


def stop_epochs(cluster: Cluster, name: TopicPartition, value: Partition) -> StopEpochs:
    """The epochs in which a broker stops a replica that is not assigned to it: those of the partition, or above what it
    knows of a former topic of the name."""
    other = cluster.soft.former.of_other(cluster.topics[name.topic], name.partition)
    if other is None:
        return StopEpochs(value.leader_epoch, value.partition_epoch)
    return StopEpochs(
        max(value.leader_epoch, other.leader_epoch + 1), max(value.partition_epoch, other.partition_epoch)
    )


def follow(
    cluster: Cluster, sender: Sender, broker: Broker, leaders: Mapping[TopicPartition, Broker], version: int
) -> LeaderAndIsrRequest:
    """Makes the broker a follower of these leaders, though it is no replica (`stop_unassigned`): it takes
    only a state that names it as one. Topics have no ids here, since the replica may be of a topic that had the name
    before. Then its epochs count.
    """
    states = LeaderAndIsrRequest.LeaderAndIsrTopicState
    topics: dict[str, list[LeaderAndIsrRequest.LeaderAndIsrTopicState.LeaderAndIsrPartitionState]] = {}
    for name, leader in leaders.items():
        value = cluster.get(*name)
        if value is not None:
            epochs = stop_epochs(cluster, name, value)
            state = states.LeaderAndIsrPartitionState(
                version=version,
                partition_index=name.partition,
                controller_epoch=sender.epoch,
                leader=leader.id,
                leader_epoch=epochs.leader_epoch,
                isr=list(value.isr),
                partition_epoch=epochs.partition_epoch,
                replicas=[*value.replicas, broker.id],
            )
            topics.setdefault(name.topic, []).append(state)
    live = LeaderAndIsrRequest.LeaderAndIsrLiveLeader
    return LeaderAndIsrRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        topic_states=[
            states(version=version, topic_name=topic, topic_id=ZERO_UUID, partition_states=found)
            for topic, found in topics.items()
        ],
        live_leaders=[
            live(version=version, broker_id=id_, host_name=one.endpoints[0].host, port=one.endpoints[0].port)
            for id_, one in {one.id: one for one in leaders.values()}.items()
        ],
    )


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
