"""Cordoned brokers (KIP-1066) keep what they hold and lead, and the controller places no new replica on them. As in
Kafka 4.3, a client may still name them.

The setting of all servers names them, not `/config/brokers/<id>`: brokers before 4.3 do not know Kafka's
`cordoned.log.dirs`, show it as a secret, and stock tools then refuse to change any other config of that broker. Where
somebody has set it on a broker all the same, it counts.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.settings.settings_in_force import in_force
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.bounded_text import whole_number

CORDONED_BROKERS = "cordoned.brokers"
LOG_DIRS = "cordoned.log.dirs"
"""Kafka's name, for one broker."""
ALL_LOG_DIRS = "*"
MOST_BROKERS = 5_000
EXPECTED = f"ids of brokers with commas between them, at most {MOST_BROKERS}"


@lru_cache(maxsize=4)
def parse_brokers(text: str) -> frozenset[int] | None:
    """None: no list of broker ids. Each new topic needs it, so it is cached."""
    return broker_ids([item for item in text.split(",") if item.strip()])


def broker_ids(items: Collection[str]) -> frozenset[int] | None:
    """An id has one form: taking 3 out of a list (AlterConfigOp.SUBTRACT) would leave 03 there."""
    if len(items) > MOST_BROKERS:
        return None
    ids: set[int] = set()
    for item in map(str.strip, items):
        number = whole_number(item, 0, INT32)
        if number is None or str(number) != item:
            return None
        ids.add(number)
    return frozenset(ids)


def listed(brokers: Iterable[int]) -> str:
    """As `parse_brokers` reads it."""
    return ",".join(map(str, sorted(brokers)))


def cordoned(cluster: Cluster) -> frozenset[int]:
    """Registered or not."""
    none: frozenset[int] = frozenset()
    return in_force(cluster.setting_layers, CORDONED_BROKERS, parse_brokers, none) | cordoned_by_themselves(cluster)


def cordoned_by_themselves(cluster: Cluster) -> frozenset[int]:
    """By Kafka's own config."""
    return frozenset(
        int(name)
        for name, configs in cluster.broker_configs.items()
        if configs.get(LOG_DIRS, "").strip() == ALL_LOG_DIRS and whole_number(name, 0, INT32) is not None
    )


class Destinations(NamedTuple):
    """`brokers` are registered and may get new replicas; `closed` counts the other registered ones."""

    brokers: list[Broker]
    closed: int


def destinations(cluster: Cluster) -> Destinations:
    closed = cordoned(cluster)
    found = [broker for broker in cluster.brokers.values() if broker.id not in closed]
    return Destinations(found, len(cluster.brokers) - len(found))
