"""Where replicas lie now, for JSON that brings them back: as Kafka's tool from 4.3 on.

Source: ReassignPartitionsCommand.getReplicaToLogDir. There a broker that refuses ends the command; here its replicas
count as `any`, so that a command about other things does not fail for it.
"""

from collections.abc import Collection, Mapping, Sequence

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, Replica, TopicPartition
from kafka_reassign_rpc.reassign_command.leader_sizes import ANSWER_MS


def present_log_dirs(
    client: ReassignmentClient, assignment: Mapping[TopicPartition, Sequence[int]], live: Collection[int]
) -> dict[Replica, str]:
    """Waits two seconds for live brokers to report them."""
    asked: dict[int, list[TopicPartition]] = {}
    for name, replicas in assignment.items():
        for broker in replicas:
            if broker in live:
                asked.setdefault(broker, []).append(name)
    try:
        answers = client.describe_log_dirs(asked, timeout_ms=ANSWER_MS) if asked else []
    except KafkaError:
        return {}
    return {
        Replica(one.broker, *name): found.current
        for one in answers
        if one.error is None
        for name, found in one.replicas.items()
        if found.current is not None
    }
