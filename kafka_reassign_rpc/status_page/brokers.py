"""`/api/v1/brokers`: the brokers, what moves copy to and from them, their throttles, replicas and leaders."""

from collections import Counter
from collections.abc import Generator, Iterator
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_of, set_by
from kafka_reassign_rpc.status_page.copy_rates import CopyRateTracker
from kafka_reassign_rpc.status_page.documents import Brokers, BrokerStatus, Throttle
from kafka_reassign_rpc.support.slices import SliceCounter, in_slices

SLICE = 500
"""Partitions between two `yield`s."""
BROKERS = 50
"""Brokers between two `yield`s."""
MOST_BROKERS = 5_000
"""In one answer."""


class ReplicaCounts(NamedTuple):
    """Replicas and led partitions by broker."""

    replicas: Counter[int]
    leaders: Counter[int]


def no_counts() -> ReplicaCounts:
    return ReplicaCounts(Counter(), Counter())


def count_replicas(cluster: Cluster, counts: ReplicaCounts) -> Iterator[None]:
    """Fill `counts` with all partitions, with a `yield` every `SLICE`. Topics in deletion are left out."""
    slices = SliceCounter(SLICE)
    for topic in list(cluster.topics.values()):
        if topic.deleting:
            continue
        for partition in list(topic.partitions.values()):
            for broker in partition.replicas:
                counts.replicas[broker] += 1
            if partition.leader != NO_LEADER:
                counts.leaders[partition.leader] += 1
            if slices.step():
                yield
        if slices.step():
            yield


def brokers_of(
    cluster: Cluster, counts: ReplicaCounts, rates: CopyRateTracker, *, at: int, counted_at: int
) -> Generator[None, None, Brokers]:
    """The brokers now, with a `yield` every `BROKERS`."""
    moves = bool(cluster.moving)
    found = []
    for broker, pause in in_slices(sorted(cluster.brokers.keys() | counts.replicas.keys())[:MOST_BROKERS], BROKERS):
        if pause:
            yield
        registered = cluster.brokers.get(broker)
        rate_in, rate_out = rates.of(broker, moves=moves)
        found.append(
            BrokerStatus(
                id=broker,
                alive=registered is not None,
                shutting_down=broker in cluster.soft.shutting_down,
                rack=None if registered is None else registered.rack,
                rate_in=rate_in,
                rate_out=rate_out,
                throttle_in=_throttle(cluster, broker, FOLLOWER_RATE),
                throttle_out=_throttle(cluster, broker, LEADER_RATE),
                replicas=counts.replicas[broker],
                leaders=counts.leaders[broker],
            )
        )
    return Brokers(at, counted_at, found)


def _throttle(cluster: Cluster, broker: int, name: str) -> Throttle | None:
    found = rate_of(name, cluster.broker_configs.get(str(broker), {}), cluster.default_configs)
    if found is None:
        return None
    return Throttle(int(found), set_by(int(found), cluster.leases.rate(broker)))
