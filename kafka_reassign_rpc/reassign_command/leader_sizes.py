"""How large partitions are, as their leaders report it."""

from collections.abc import Mapping

from kafka_reassign_rpc.client import ReassignmentClient, TopicPartition

ANSWER_MS = 2_000
"""How long brokers may take to report sizes. Of one that does not, nothing is known."""


def leader_sizes(client: ReassignmentClient, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Sizes in bytes, where the leader reports them."""
    asked: dict[int, list[TopicPartition]] = {}
    for name, leader in leaders.items():
        if leader >= 0:
            asked.setdefault(leader, []).append(name)
    answers = client.describe_log_dirs(asked, timeout_ms=ANSWER_MS) if asked else []
    return {name: found.size for one in answers if one.error is None for name, found in one.replicas.items()}
