"""The configs that throttle replication now, by leases or by others. Pure."""

from collections.abc import Container, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.preflight.findings import fine
from kafka_reassign_rpc.support.bounded_text import word

_LONGEST = 100
"""Characters of a value that are shown: a list of replicas may be long."""
_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LEADER_REPLICAS, FOLLOWER_REPLICAS)


class Throttled(NamedTuple):
    """A config entity, such as `brokers/1`, and its configs that throttle. As text it has the values too."""

    entity: str
    configs: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.entity} ({', '.join(f'{name}={word(value, _LONGEST)}' for name, value in self.configs.items())})"


class StandingThrottles(NamedTuple):
    leased: list[Throttled]
    others: list[Throttled]


NO_THROTTLE = fine("throttles", "no replication throttle is set")


def standing_throttles(cluster: Cluster, kept: Container[str]) -> StandingThrottles:
    """`kept`: the entities whose former configs leases of ours keep."""
    found = [
        Throttled(f"{kind}/{name}", throttles)
        for kind, configs in ((BROKERS, cluster.broker_configs), (TOPICS, cluster.topic_configs))
        for name, values in configs.items()
        if (throttles := {one: values[one] for one in _THROTTLES if one in values})
    ]
    leased = [one for one in found if one.entity in kept]
    return StandingThrottles(leased, [one for one in found if one not in leased])
