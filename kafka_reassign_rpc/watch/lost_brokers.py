"""What KRaft tells of lost brokers and of moving partitions that nobody leads: asked where there are some."""

from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster
from kafka_reassign_rpc.core.state.kraft_facts import KRaftFacts
from kafka_reassign_rpc.support.counted import first_of

MOST_TOPICS = 100
"""Of which eligible replicas are asked for."""


async def facts(
    client: AsyncReassignmentClient, cluster: Cluster, quiet_s: Mapping[int, float]
) -> tuple[KRaftFacts, str]:
    """The facts, and what of them cannot be seen ("": nothing). `quiet_s`: as the quorum has told."""
    why: list[str] = []
    fenced: frozenset[int] = frozenset()
    if any(broker not in cluster.brokers for broker in cluster.failed):
        try:
            fenced = await client.fenced_brokers()
        except KafkaError as error:
            why.append(f"Which lost brokers are fenced is not seen: {error.message}")
    led_by_nobody = [topic for topic, _ in zip(_without_leader(cluster), range(MOST_TOPICS), strict=False)]
    eligible = {}
    if led_by_nobody:
        try:
            eligible = await client.eligible_replicas(led_by_nobody)
        except KafkaError as error:
            why.append(
                f"Eligible leader replicas are not seen (the operation DESCRIBE on topics tells them): {error.message}"
            )
    return KRaftFacts(fenced, quiet_s, eligible), first_of(why, 2, between="; ")


def _without_leader(cluster: Cluster) -> Iterator[str]:
    for topic, indexes in cluster.moving.items():
        partitions = cluster.topics[topic].partitions
        if any(partitions[index].leader == NO_LEADER for index in indexes):
            yield topic
