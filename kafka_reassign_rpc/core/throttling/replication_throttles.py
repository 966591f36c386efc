"""Replication throttles, as topic and broker configs set them (KIP-73). A throttle applies if the topic's list names
the replica (`0:101,1:102`, `*` for all) *and* its broker, or all brokers (`<default>`), have a rate.
kafka.server.TopicConfigHandler.parseThrottledPartitions, BrokerConfigHandler, ReplicationQuotaManager.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from kafka_reassign_rpc.core.config_values import DEFAULT, INT32
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.bounded_text import whole_number

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"

NO_THROTTLE = 2**63 - 1
"""KIP-240 reports this where no throttle applies, bytes/s."""

Configs = Mapping[str, str]
Named = Mapping[int, frozenset[int]] | None
"""Throttled partitions by broker; None: all."""


def names_all(value: str) -> bool:
    """Kafka's validator accepts empty entries next to `*`, as in `*,`."""
    return value.strip(", \t\n") == "*"


def named_replicas(value: str | None) -> Named:
    """Skips invalid entries, which Kafka's validator refuses."""
    text = value or ""
    if names_all(text):
        return None
    found: dict[int, set[int]] = {}
    for entry in text.split(","):
        first, _, second = entry.strip().partition(":")
        partition, broker = whole_number(first, 0, INT32), whole_number(second, 0, INT32)
        if partition is not None and broker is not None:
            found.setdefault(broker, set()).add(partition)
    return {broker: frozenset(partitions) for broker, partitions in found.items()}


def rate_of(name: str, own: Configs, default: Configs) -> float | None:
    """Bytes/s: the broker's own config, else that of all brokers, else None (no limit)."""
    for configs in (own, default):
        value = whole_number(configs.get(name, "").strip(), 0, NO_THROTTLE)
        if value is not None:
            return float(value)
    return None


class RateInForce(NamedTuple):
    """The rate that holds on one side of a broker, bytes/s, and what has set it.

    by   "lease": the controller, for moves; "config": others, for the broker; "default": others, for all brokers, which
         those before Kafka 3.9 do not heed (KAFKA-10190)
    """

    rate: int
    by: Literal["lease", "config", "default"]


def rate_in_force(name: str, own: Configs, default: Configs, leased: int | None) -> RateInForce | None:
    """The rate that holds, or None. Kafka reads these rates from dynamic configs alone (BrokerConfigHandler).

    leased   the rate of the leases on the broker: while they last, the lower one of it and of the former one holds
    """
    for_broker, for_all = rate_of(name, own, {}), rate_of(name, {}, default)
    if for_broker is None:
        return None if for_all is None else RateInForce(int(for_all), "default")
    rate = int(for_broker)
    if rate == leased:
        return RateInForce(rate, "lease")
    has_lease = leased is not None and leased >= 0
    return RateInForce(rate, "default" if has_lease and for_all == for_broker else "config")


_NO_CONFIGS: Configs = {}


class TopicThrottles:
    """Of one topic's replicas. It parses each list at most once."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._configs: Configs = cluster.topic_configs.get(topic, _NO_CONFIGS)
        self._of_brokers: Mapping[str, Configs] = dict(cluster.broker_configs)

    @cached_property
    def _leaders(self) -> Named:
        return named_replicas(self._configs.get(LEADER_REPLICAS))

    @cached_property
    def _followers(self) -> Named:
        return named_replicas(self._configs.get(FOLLOWER_REPLICAS))

    def is_same(self, other: "TopicThrottles") -> bool:
        """Whether both come from the same config objects, which never change."""
        return (
            self._configs is other._configs
            and self._of_brokers.keys() == other._of_brokers.keys()
            and all(configs is other._of_brokers[name] for name, configs in self._of_brokers.items())
        )

    def leader(self, partition: int, broker: int) -> int:
        """Bytes/s that the leader sends to replicas out of sync, or NO_THROTTLE."""
        return self._rate(LEADER_RATE, self._leaders, partition, broker)

    def follower(self, partition: int, broker: int) -> int:
        """Bytes/s, or NO_THROTTLE."""
        return self._rate(FOLLOWER_RATE, self._followers, partition, broker)

    def _rate(self, name: str, named: Named, partition: int, broker: int) -> int:
        if named is not None and partition not in named.get(broker, ()):
            return NO_THROTTLE
        configs = self._of_brokers
        rate = rate_of(name, configs.get(str(broker), {}), configs.get(DEFAULT, {}))
        return NO_THROTTLE if rate is None else int(rate)
