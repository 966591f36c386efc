"""What a command says of the targets of moves before they start: warnings, no refusals, as the stock tool starts them.
With fewer replicas than min.insync.replicas producers with acks=all cannot write there once the move has ended. A
throttle that is already set holds moves without one of their own where a topic's lists name their replicas, and a
broker, or all of them, have a rate.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client.blocking_client import ReassignmentClient
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.client.standing_rates import standing_rates
from kafka_reassign_rpc.client.text_format import named
from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.core.reassignment_algebra import MIN_INSYNC_REPLICAS
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Configs,
    Named,
    named_replicas,
)
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES, StandingRates, limit_texts
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.counted import counted

Replicas = Mapping[TopicPartition, Iterable[int]]


def target_warnings(
    client: ReassignmentClient, targets: Replicas, before: Replicas, *, have_throttle: bool
) -> list[str]:
    """What cannot be read causes no warning. `have_throttle`: the moves get one of their own. `before`: the replicas of
    partitions that do not move yet; of others it is unknown whether lists name them for the throttle of the move
    that is under way.
    """
    try:
        configs = topic_configs(client, {name.topic for name in targets})
        found = [few_replicas_warning(targets, configs)]
        if not have_throttle:
            found.append(held_warning(targets, before, configs, lambda brokers: standing_rates(client, brokers)))
    except KafkaError:
        return []
    return [text for text in found if text is not None]


def topic_configs(client: ReassignmentClient, topics: Iterable[str]) -> dict[str, Configs]:
    """Configs in force, without Kafka's defaults. Topics without an answer are absent."""
    found = client.describe_configs([(TOPIC, topic) for topic in sorted(topics)])
    return {
        topic: {one.name: one.value for one in configs if one.value is not None}
        for (_, topic), configs in found.items()
        if not isinstance(configs, KafkaError)
    }


def few_replicas_warning(targets: Replicas, configs: Mapping[str, Configs]) -> str | None:
    few = []
    for name, target in targets.items():
        needed = whole_number(configs.get(name.topic, {}).get(MIN_INSYNC_REPLICAS, "").strip(), 1, INT32)
        if needed is not None and len([*target]) < needed:
            few.append(name)
    if not few:
        return None
    return (
        f"warning: {counted(len(few), 'move', 'leave')} fewer replicas than {MIN_INSYNC_REPLICAS} asks for: "
        f"{named(few)}; producers with acks=all cannot write there then"
    )


class _Held(NamedTuple):
    name: TopicPartition
    broker: int
    rate: str


def held_warning(
    targets: Replicas, before: Replicas, configs: Mapping[str, Configs], rates: Callable[[list[int]], StandingRates]
) -> str | None:
    """`rates`: what is set on brokers. It is asked only where lists of a topic name replicas of a move."""
    lists: dict[str, Mapping[str, Named]] = {
        topic: {
            LEADER_RATE: named_replicas(found.get(LEADER_REPLICAS)),
            FOLLOWER_RATE: named_replicas(found.get(FOLLOWER_REPLICAS)),
        }
        for topic, found in configs.items()
    }
    listed = [
        one
        for name, target in targets.items()
        if name.topic in lists and name in before
        for one in _listed(name, [*target], [*before[name]], lists[name.topic])
    ]
    if not listed:
        return None
    standing = rates(sorted({one.broker for one in listed}))
    sides: dict[int, dict[str, None]] = {}
    held: dict[TopicPartition, None] = {}
    for one in listed:
        rate = standing.rates.get(one.broker, {}).get(one.rate)
        if rate is not None and rate.by != "lease":  # the move keeps the lease that it has
            sides.setdefault(one.broker, {})[one.rate] = None
            held[one.name] = None
    if not held:
        return None
    limits = {
        broker: {name: rate for name in SIDES if name in found and (rate := standing.rates[broker][name]) is not None}
        for broker, found in sides.items()
    }
    return (
        f"warning: {counted(len(held), 'move', 'are')} held by a throttle that is already set: {named(held)}; "
        f"{'; '.join(limit_texts(limits))}. --throttle sets another one"
    )


def _listed(name: TopicPartition, target: list[int], before: list[int], lists: Mapping[str, Named]) -> Iterator[_Held]:
    """The brokers that get a copy, and those that may send it, where a list names them."""
    adding = [broker for broker in target if broker not in before]
    for rate, brokers in ((LEADER_RATE, before), (FOLLOWER_RATE, adding)):
        found = lists[rate]
        for broker in brokers if adding else ():
            if found is None or name.partition in found.get(broker, ()):
                yield _Held(name, broker, rate)


def loses_racks(before: Iterable[int], after: Iterable[int], racks: Mapping[int, str | None]) -> bool:
    """By the racks of live brokers. Those without a rack count as one more rack."""
    old, new = (count_by_rack(replicas, racks).values() for replicas in (before, after))
    return len(new) < len(old) or (sum(new) == sum(old) and not is_as_even(new, old))


def rack_warning(losing: list[TopicPartition]) -> str:
    leave = "leaves its partition" if len(losing) == 1 else "leave their partitions"
    return f"warning: {counted(len(losing), 'move')} {leave} on fewer racks, or less even over them: {named(losing)}"
