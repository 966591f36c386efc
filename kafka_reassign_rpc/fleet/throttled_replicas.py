"""The replicas that configs throttle, and their rates, for all brokers of a process."""

from collections.abc import Callable

from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    Configs,
    Named,
    named_replicas,
    rate_of,
)


class ThrottledReplicas:
    def __init__(self) -> None:
        self._topics: dict[str, tuple[Named, Named]] = {}
        self._brokers: dict[str, Configs] = {}
        self.on_change: list[Callable[[], None]] = []

    def set_topic(self, topic: str, configs: Configs) -> None:
        leader, follower = named_replicas(configs.get(LEADER_REPLICAS)), named_replicas(configs.get(FOLLOWER_REPLICAS))
        if leader == {} and follower == {}:
            changed = self._topics.pop(topic, None) is not None
        else:
            changed = self._topics.get(topic) != (leader, follower)
            self._topics[topic] = (leader, follower)
        if changed:
            self._notify()

    def set_broker(self, name: str, configs: Configs) -> None:
        """`name`: a broker's id as text, or `<default>` for all."""
        if self._brokers.get(name, {}) != configs:
            self._brokers[name] = dict(configs)
            self._notify()

    def leader_throttled(self, broker: int, partition: TopicPartition) -> bool:
        return self._names(0, broker, partition)

    def follower_throttled(self, broker: int, partition: TopicPartition) -> bool:
        return self._names(1, broker, partition)

    def rate(self, name: str, broker: int) -> float | None:
        """Bytes/s; None: no limit."""
        return rate_of(name, self._brokers.get(str(broker), {}), self._brokers.get(DEFAULT, {}))

    def _names(self, side: int, broker: int, partition: TopicPartition) -> bool:
        lists = self._topics.get(partition.topic)
        if lists is None:
            return False
        named = lists[side]
        return named is None or partition.partition in named.get(broker, ())

    def _notify(self) -> None:
        for callback in self.on_change:
            callback()
