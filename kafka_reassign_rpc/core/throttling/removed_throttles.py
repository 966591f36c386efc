"""Throttles of leases that somebody else has removed again, and that are left so (`leased_configs`)."""

from typing import NamedTuple

from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, ListMemory, TopicMemory, entries_of
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.typed_commands import command

NAMED = 5
"""Entries of a list that a text names."""


class Removed(NamedTuple):
    """`topic`: None for a broker's; `rate`: bytes/s of its leases."""

    topic: str | None
    broker: int | None
    what: str
    rate: int

    def __str__(self) -> str:
        return f"topic {self.topic} ({self.what})" if self.topic is not None else f"broker {self.broker} ({self.what})"


def sets_again(rate: int, topic: str | None = None) -> str:
    """The command; "" where no rate is known: one of 0 would end the leases."""
    if rate <= 0:
        return ""
    return command("kafka-reassign throttle", f"{rate}B", *(() if topic is None else ("--topics", topic)))


def removed_of_topic(topic: str, memory: TopicMemory, rate: int) -> Removed | None:
    left = {name: one.left for name, one in lists_of(memory) if one is not None and one.left}
    return Removed(topic, None, named(left), rate) if left else None


def removed_of_broker(broker: int, memory: BrokerMemory) -> Removed | None:
    sides = (LEADER_RATE, memory.leader), (FOLLOWER_RATE, memory.follower)
    left = {name: one.lease for name, one in sides if one is not None and one.left}
    if not left:
        return None
    return Removed(None, broker, ", ".join(SIDES[name] for name in left), min(left.values()))


def lists_of(memory: TopicMemory) -> tuple[tuple[str, ListMemory | None], ...]:
    return (LEADER_REPLICAS, memory.leader), (FOLLOWER_REPLICAS, memory.follower)


def named(lists: dict[str, str]) -> str:
    texts = {name: list(entries_of(text)) for name, text in lists.items()}
    return ", ".join(f"{name}={first_of(some, NAMED, between=',')}" for name, some in texts.items() if some)
