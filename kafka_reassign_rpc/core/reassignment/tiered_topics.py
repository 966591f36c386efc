"""What a new replica copies of a topic in tiered storage (KIP-405).

A new replica begins where the leader's local log begins, and brokers report the sizes of local segments. With
`follower.fetch.last.tiered.offset.enable` (KIP-1023, Kafka 4.3) an empty replica begins at what is not tiered yet; no
API reports how many bytes that is.
"""

from collections.abc import Iterable

from kafka_reassign_rpc.core.state.cluster import Cluster

TIERED = "remote.storage.enable"
FROM_LAST_TIERED = "follower.fetch.last.tiered.offset.enable"


def copies_only_untiered(cluster: Cluster, topic: str, followers: Iterable[int]) -> bool:
    """Whether one of these followers skips what is both in tiered storage and with the leader."""
    if not _is_on(cluster.topic_configs.get(topic, {}).get(TIERED)):
        return False
    for_all = cluster.default_configs.get(FROM_LAST_TIERED)
    own = (cluster.broker_configs.get(str(one), {}).get(FROM_LAST_TIERED, for_all) for one in followers)
    return any(map(_is_on, own))


def _is_on(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "true"
