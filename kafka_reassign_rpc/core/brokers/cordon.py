"""Cordoned brokers (KIP-1066) keep what they hold and lead, and the controller places no new replica on them. As in
Kafka 4.3, a client may still name them.

The setting of all servers names them, not `/config/brokers/<id>`: brokers before 4.3 do not know Kafka's
`cordoned.log.dirs`, show it as a secret, and stock tools then refuse to change any other config of that broker. Where
it is set on a broker anyway, it counts.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.state.broker import Broker, FailedLogDirs
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.bounded_text import whole_number

LOG_DIRS = "cordoned.log.dirs"
"""Kafka's name, for one broker."""
ALL_LOG_DIRS = "*"

Configs = Mapping[str, str]


def cordoned(cluster: Cluster) -> frozenset[int]:
    """The cordoned brokers, registered or not."""
    return cluster.soft.in_force.cordoned | cordoned_by_themselves(cluster)


def cordoned_by_themselves(cluster: Cluster) -> frozenset[int]:
    """The brokers that are cordoned by Kafka's own config: all log dirs that have not failed are."""
    return frozenset(
        int(name)
        for name, configs in cluster.broker_configs.items()
        if configs.get(LOG_DIRS)
        and whole_number(name, 0, INT32) is not None
        and _takes_nothing_new(configs, cluster.failed_log_dirs.get(int(name)))
    )


def _takes_nothing_new(configs: Configs, failed: FailedLogDirs | None) -> bool:
    """A broker takes only paths that it has, and tells those it was started with (`log.dirs`; `log.dir` where that is
    not set)."""
    closed = _paths(configs[LOG_DIRS])
    if ALL_LOG_DIRS in closed:
        return True
    working = _paths(configs.get("log.dirs") or configs.get("log.dir", "")) - set(
        () if failed is None else failed.paths
    )
    return bool(working) and working <= closed


def _paths(text: str) -> frozenset[str]:
    return frozenset(one.strip() for one in text.split(",")) - {""}


class Destinations(NamedTuple):
    """`brokers` are registered and may get new replicas; `closed` counts the other registered ones."""

    brokers: list[Broker]
    closed: int


def destinations(cluster: Cluster) -> Destinations:
    closed = cordoned(cluster)
    found = [broker for broker in cluster.brokers.values() if broker.id not in closed]
    return Destinations(found, len(cluster.brokers) - len(found))
