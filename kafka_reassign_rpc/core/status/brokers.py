"""`/api/v1/brokers`."""

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.config_values import MOST_BROKERS
from kafka_reassign_rpc.core.reassignment.remaining_time import CopyRates
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import error_name
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.broker_documents import Brokers, BrokerStatus, Disk, FailedLogDir, Throttle
from kafka_reassign_rpc.core.status.departures import Answers
from kafka_reassign_rpc.core.status.views import BrokerDisk, is_under_replicated
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_in_force

MOST_LOG_DIRS = 100
"""Failed ones of one broker."""
NO_DISKS: Mapping[int, BrokerDisk] = {}
NEVER_READ: Mapping[int, int] = {}


class ReplicaCounts(NamedTuple):
    """By broker. `under_replicated`: of the partitions that it leads."""

    replicas: Counter[int]
    leaders: Counter[int]
    under_replicated: Counter[int]
    out_of_sync: Counter[int]


def no_counts() -> ReplicaCounts:
    return ReplicaCounts(Counter(), Counter(), Counter(), Counter())


def count_replicas(cluster: Cluster, counts: ReplicaCounts) -> Iterator[None]:
    """Without topics in deletion."""
    for topic in list(cluster.topics.values()):
        if topic.deleting:
            continue
        for partition in list(topic.partitions.values()):
            for broker in partition.replicas:
                counts.replicas[broker] += 1
            if partition.leader >= 0:
                counts.leaders[partition.leader] += 1
            if is_under_replicated(partition):
                if partition.leader >= 0:
                    counts.under_replicated[partition.leader] += 1
                for broker in partition.sources:
                    counts.out_of_sync[broker] += broker not in partition.isr
            yield
        yield


def brokers_of(
    cluster: Cluster,
    counts: ReplicaCounts,
    rates: CopyRates,
    disks: Mapping[int, BrokerDisk] = NO_DISKS,
    silent: Collection[int] = (),
    closed: Mapping[int, bool | None] | None = None,
    *,
    hidden: Collection[str] = (),
    knows_leases: bool = True,
    throttles_at: Mapping[int, int] = NEVER_READ,
    at: int,
    counted_at: int,
) -> Generator[None, None, Brokers]:
    """`closed`, `hidden`, `knows_leases` and `throttles_at`: as in `TermView`."""

    def if_known(count: int) -> int | None:
        return None if hidden else count

    def throttle(broker: int, name: str) -> Throttle | None:
        return None if broker in silent else throttle_of(cluster, broker, name, knows_leases=knows_leases)

    moves, by_config = bool(cluster.moving), cordoned(cluster)
    found = []
    for broker in sorted(cluster.brokers.keys() | counts.replicas.keys())[:MOST_BROKERS]:
        yield
        registered = cluster.brokers.get(broker)
        rate_in, rate_out = rates.of(broker, moves=moves)
        found.append(
            BrokerStatus(
                id=broker,
                alive=registered is not None,
                shutting_down=broker in cluster.soft.shutting_down if closed is None else None,
                rack=None if registered is None else registered.rack,
                rate_in=rate_in,
                rate_out=None if hidden and moves else rate_out,
                throttle_in=throttle(broker, FOLLOWER_RATE),
                throttle_out=throttle(broker, LEADER_RATE),
                replicas=if_known(counts.replicas[broker]),
                leaders=if_known(counts.leaders[broker]),
                cordoned=broker in by_config or (False if closed is None else closed.get(broker)),
                under_replicated=if_known(counts.under_replicated[broker]),
                out_of_sync=if_known(counts.out_of_sync[broker]),
                disk=None if registered is None else _disk(disks.get(broker)),
                throttles_known=broker not in silent,
                throttles_at=throttles_at.get(broker),
            )
        )
    return Brokers(at, counted_at, found)


def with_departures(found: Brokers, answers: Answers | None) -> Generator[None, None, Brokers]:
    """`answers` None: not known."""
    if answers is None:
        return found
    judged = []
    for one in found.brokers:
        judged.append(replace(one, departure=answers.of_broker(one.id)))
        yield
    racks = []
    for rack in answers.racks():
        racks.append(rack)
        yield
    return replace(found, brokers=judged, racks=racks)


def _disk(found: BrokerDisk | None) -> Disk | None:
    if found is None:
        return None
    failed = [FailedLogDir(path, error_name(code)) for path, code in found.failed[:MOST_LOG_DIRS]]
    return Disk(found.at, found.replicas, found.capacity, found.free, failed)


def throttle_of(cluster: Cluster, broker: int, name: str, *, knows_leases: bool = True) -> Throttle | None:
    """`name`: FOLLOWER_RATE or LEADER_RATE. `knows_leases`: as in `TermView`."""
    own, leased = cluster.broker_configs.get(str(broker), {}), cluster.leases.rate(broker)
    found = rate_in_force(name, own, cluster.default_configs, leased)
    if found is None:
        return None
    return Throttle(found.rate, found.by if knows_leases or found.by == "default" else None)
