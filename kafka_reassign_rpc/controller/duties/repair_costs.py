"""What repairs of lost brokers and of failed log dirs would cost, as brokers last told the sizes of their replicas."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.healing import repair_targets
from kafka_reassign_rpc.core.healing.repair_cost import Copy, CostSum, RepairCost
from kafka_reassign_rpc.core.healing.repair_rates import rates_of
from kafka_reassign_rpc.core.settings.healing_settings import HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.planner.plan_result import PlannedMove

ASK_EVERY_S = 60.0
"""Brokers tell the sizes of all their replicas so often while a broker is lost."""

Sizes = Mapping[TopicPartition, int]
"""Bytes of the leaders' replicas."""


def add_up(cluster: Cluster, sizes: Sizes, sums: defaultdict[int, CostSum]) -> Iterator[None]:
    """Fills `sums` by broker that is lost, in part or whole: what repairs that wait will copy, and what others
    would."""
    for topic in list(cluster.topics.values()):
        for index in list(topic.partitions):
            yield
            partition = cluster.get(topic.name, index)
            if topic.deleting or partition is None:
                continue
            place = cluster.queue.place(topic.name, index)
            queued = None if place is None else place.move
            size = sizes.get(TopicPartition(topic.name, index))
            wanted = repair_targets.wanted_replicas(cluster, partition, queued)
            for broker in wanted:
                if cluster.is_lost(broker, partition):
                    sums[broker].add(Copy(partition.leader, size))
            if queued is not None and queued.terms.route == HEAL:
                copy = Copy(partition.leader, size, repair_targets.still_to_copy(partition, queued.terms.target))
                for broker in repair_targets.repaired_brokers(queued.terms.reason, queued.terms.target):
                    sums[broker].add(copy)


def costs_of(
    cluster: Cluster, sums: Mapping[int, CostSum], throttle: HealingThrottle, fastest: int
) -> dict[int, RepairCost]:
    others, rate = cluster.brokers.keys() - cordoned(cluster), rates_of(cluster, throttle, fastest)
    return {broker: found.cost(others, rate) for broker, found in sums.items()}


def add_planned(found: CostSum, move: PlannedMove, sizes: Sizes) -> None:
    receivers = [broker for broker in move.target if broker not in move.original]
    if receivers:
        found.add(Copy(move.sender, sizes.get(TopicPartition(move.topic, move.partition)), receivers))
