"""Where replicas go that came to a drained broker after the snapshot."""

from collections.abc import Collection, Iterable

from kafka_reassign_rpc.client import ClusterNode, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import InMemoryPlanner
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition, PlannerTopic

MOST = 1_000
"""More need another plan, which first shows what they cost."""


def moves_of(
    nodes: Iterable[ClusterNode],
    topics: Iterable[TopicInfo],
    drained: Collection[int],
    to: Collection[int],
    cordoned: Collection[int],
    staying: Collection[TopicPartition],
) -> dict[TopicPartition, PlanEntry]:
    """The first MOST moves; empty where nobody may take them.

    nodes     live brokers
    to        the only brokers that get replicas; empty: any
    staying   partitions that move or wait, whoever asked for it; and those that the plan left out
    """
    there = {node.id: PlannerBroker(node.id, node.rack, cordoned=node.id in cordoned) for node in nodes}
    ids: dict[str, str] = {}
    found = []
    for topic in topics:
        ids[topic.name] = topic.topic_id
        partitions = [
            PlannerPartition(
                index, one.replicas, one.leader, one.isr, moving=TopicPartition(topic.name, index) in staying
            )
            for index, one in sorted(topic.partitions.items())
        ]
        found.append(PlannerTopic(topic.name, partitions))
    held = {broker for topic in found for one in topic.partitions for broker in one.replicas}
    lost = [PlannerBroker(broker, live=False) for broker in sorted(held - there.keys())]
    try:
        goal = Goal(GoalKind.DRAIN, tuple(sorted(drained)), to=tuple(sorted(to)))
        planner = InMemoryPlanner(PlannerCluster([*there.values(), *lost], found), goal, PlanOptions(lead_first=False))
        for _ in planner.steps():
            pass
    except PlanError:
        return {}
    entries = [
        PlanEntry(move.topic, move.partition, move.target, move.original, topic_id=ids[move.topic])
        for move in planner.plan.moves[:MOST]
    ]
    return {entry.topic_partition: entry for entry in entries}
