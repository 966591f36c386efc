"""Why commands do not find a partition."""

from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnknownServerError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.cluster import Cluster


def not_found(cluster: Cluster, topic: str, partition: int) -> KafkaError:
    """Names path and reason where the state cannot be read, as the answer about an unreadable topic does."""
    why = cluster.why_unreadable(topic, partition)
    if why is None:
        return UnknownTopicOrPartition("The partition does not exist.")
    return UnknownServerError(f"{why}. Repair this znode: nothing is done about the partition until it can be read")
