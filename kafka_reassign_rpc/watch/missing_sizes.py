"""What brokers answer about sizes, and which answers are missing, in words."""

from collections.abc import Mapping
from enum import Enum

from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic, names_in
from kafka_reassign_rpc.support.counted import first_of, plural, those
from kafka_reassign_rpc.support.human_units import utc_time

NAMED = 5


class Heard(Enum):
    ALL = "all"
    WRONG = "wrong"
    SILENT = "silent"
    REFUSED = "refused"


def heard(answer: BrokerLogDirs | KafkaError | None) -> Heard:
    if isinstance(answer, ClusterAuthorizationFailed):
        return Heard.REFUSED
    if answer is None or isinstance(answer, KafkaError):
        return Heard.SILENT
    return Heard.WRONG if any(one.size < 0 for one in answer.replicas) else Heard.ALL


def lacking(found: Mapping[int, Heard], heard_at: Mapping[int, int]) -> str:
    """What is not known of sizes, and why; "": nothing. `heard_at`: when each broker has answered
    last, ms since 1970.
    """
    of = {kind: sorted(broker for broker, one in found.items() if one is kind) for kind in Heard}
    if of[Heard.REFUSED]:
        return "Bytes, rates and remaining times are not seen: they need the operation DESCRIBE on the cluster"
    if silent := of[Heard.SILENT]:
        named = [f"{one} ({_last(heard_at.get(one))})" for one in silent]
        return f"Broker{plural(len(silent))} {first_of(named, NAMED)}: sizes are not known, there is no answer"
    if wrong := of[Heard.WRONG]:
        return f"{those(wrong, 'Broker', most=NAMED)}: sizes below 0 were reported, and count as unknown"
    return ""


def _last(at: int | None) -> str:
    return "has never answered" if at is None else f"last answer {utc_time(at)} UTC"


def to_ask(cluster: Cluster) -> dict[int, dict[str, list[int]]]:
    asked: dict[int, list[TopicPartition]] = {}
    for name in names_in(cluster.moving):
        for broker in cluster.topics[name.topic].partitions[name.partition].replicas:
            if broker in cluster.brokers:
                asked.setdefault(broker, []).append(name)
    return {broker: by_topic(some) for broker, some in asked.items()}
