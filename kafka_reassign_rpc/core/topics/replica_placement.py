"""Kafka's placement of new replicas on brokers and racks (org.apache.kafka.admin.AdminUtils.assignReplicasToBrokers).

First replicas go round the brokers from a starting point; the others follow at a shift that grows with every round.
With racks, brokers are taken from the racks in turn, and a rack gets a second replica of a partition only when every
rack has one.
"""

from collections.abc import Iterable, Iterator, Sequence

from kafka_reassign_rpc.core.kafka_errors import InvalidPartitions, InvalidReplicationFactor, UnknownServerError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.support.counted import counted

Placed = tuple[int, tuple[int, ...]]
"""A partition's number and its replicas."""


def placements(
    brokers: Iterable[Broker],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
    cordoned: int = 0,
) -> Iterator[Placed]:
    """The replicas of new partitions, one by one, since they may be many.

    start, shift    random numbers for a new topic, the same ones for all partitions of a growing topic
    cordoned        how many brokers are left out of `brokers`, for the error

    Raises InvalidPartitions, InvalidReplicationFactor, and UnknownServerError (as Kafka) if only some brokers have a
    rack.
    """
    found = sorted(brokers, key=lambda broker: broker.id)
    if partitions <= 0:
        raise InvalidPartitions("Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0.")
    if replication_factor > len(found):
        raise InvalidReplicationFactor(
            f"Replication factor: {replication_factor} larger than available brokers: {len(found)}."
            + (f" {counted(cordoned, 'other', 'are')} cordoned." if cordoned else "")
        )
    racks = {broker.id: broker.rack for broker in found if broker.rack is not None}
    if racks and len(racks) < len(found):
        raise UnknownServerError("Not all brokers have rack information for replica rack aware assignment.")
    order = alternated(racks) if racks else [broker.id for broker in found]
    return _placements(
        order, racks, range(first_partition, first_partition + partitions), replication_factor, start, shift
    )


def _placements(
    order: Sequence[int], racks: dict[int, str], indexes: range, replication_factor: int, start: int, shift: int
) -> Iterator[Placed]:
    for index in indexes:
        if index > 0 and index % len(order) == 0:
            shift += 1
        first = (index + start) % len(order)
        if racks:
            yield index, _over_racks(order, racks, first, shift, replication_factor)
        else:
            others = [order[_follower(first, shift, turn, len(order))] for turn in range(replication_factor - 1)]
            yield index, (order[first], *others)


def alternated(racks: dict[int, str]) -> list[int]:
    """Racks in turn: r1 with 0, 1 and r2 with 2, 3, 4 give 0, 2, 1, 3, 4."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    queues = [by_rack[rack] for rack in sorted(by_rack)]
    return [queue[turn] for turn in range(max(map(len, queues))) for queue in queues if turn < len(queue)]


def _over_racks(
    order: Sequence[int], racks: dict[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    replicas = [order[first]]
    count = len(set(racks.values()))
    used = {racks[order[first]]}
    turn = 0
    while len(replicas) < replication_factor:
        broker = order[_follower(first, shift * count, turn, len(order))]
        turn += 1
        if broker not in replicas and (racks[broker] not in used or len(used) == count):
            replicas.append(broker)
            used.add(racks[broker])
    return tuple(replicas)


def _follower(first: int, shift: int, turn: int, brokers: int) -> int:
    return (first + 1 + (shift + turn) % (brokers - 1)) % brokers
