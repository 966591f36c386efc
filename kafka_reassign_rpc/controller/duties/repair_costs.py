"""What repairs of lost brokers and of failed log dirs would cost, by the sizes that brokers last reported of their
replicas. The replicas are counted where their bytes are added (`LostReplicas`), so that both are of one moment.
"""

from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.healing.failed_brokers import names_lost
from kafka_reassign_rpc.core.healing.repair_cost import Copy, CostSum, RepairCost
from kafka_reassign_rpc.core.healing.repair_rates import rates_of
from kafka_reassign_rpc.core.settings.healing_settings import HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.planner.plan_result import PlannedMove

ASK_EVERY_S = 60.0
"""How often brokers are asked for the sizes of all their replicas while a broker is lost."""

Sizes = Mapping[TopicPartition, int]
"""Bytes of the leaders' replicas."""


def of_lost(cluster: Cluster, sizes: Sizes, found: dict[TopicPartition, int]) -> Iterator[None]:
    """Fills `found` with the sizes of partitions that repairs may concern: all others would only take room."""
    for topic in list(cluster.topics.values()):
        for index in list(topic.partitions):
            yield
            partition, place = cluster.get(topic.name, index), cluster.queue.place(topic.name, index)
            name = TopicPartition(topic.name, index)
            queued = None if place is None else place.move
            if partition is not None and name in sizes and names_lost(cluster.brokers, partition, queued):
                found[name] = sizes[name]


def costs_of(
    cluster: Cluster, sums: Mapping[int, CostSum], throttle: HealingThrottle, fastest: int
) -> dict[int, RepairCost]:
    others, rate = cluster.brokers.keys() - cordoned(cluster), rates_of(cluster, throttle, fastest)
    costs = {broker: found.cost(others, rate) for broker, found in sums.items()}
    return {broker: cost for broker, cost in costs.items() if cost.bytes is not None}


def add_planned(found: CostSum, move: PlannedMove, sizes: Sizes) -> None:
    receivers = [broker for broker in move.target if broker not in move.original]
    if receivers:
        found.add(Copy(move.sender, sizes.get(TopicPartition(move.topic, move.partition)), receivers))
