"""What brokers have answered about configs, and what is not known of them, in words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.client.config_calls import BROKER, OF_ALL_BROKERS, TOPIC, Config, Resource
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.support.counted import first_of, those

NAMED = 5
Answer = Sequence[Config] | KafkaError
Configs = dict[str, Mapping[str, str]]


class Told(NamedTuple):
    """brokers   configs of brokers by their ids, and those of all brokers
    known     brokers whose throttles are known
    lacking   what is not known, and why; "": nothing
    """

    brokers: Configs
    topics: Configs
    known: frozenset[int]
    lacking: str


def told(brokers: Mapping[int, Answer], others: Mapping[Resource, Answer]) -> Told:
    """The answers of brokers about themselves, and those about topics and all brokers. A topic that a broker does not
    know was deleted, or is known to it a little later.
    """
    of_brokers: Configs = {
        str(broker): {one.name: one.value for one in some if one.value and one.source != OF_ALL_BROKERS}
        for broker, some in brokers.items()
        if not isinstance(some, KafkaError)
    }
    topics: Configs = {}
    for (kind, name), some in others.items():
        if not isinstance(some, KafkaError):
            values = {one.name: one.value for one in some if one.value}
            if kind == TOPIC:
                topics[name] = values
            else:
                of_brokers[DEFAULT] = values
    are_defaults_known = not isinstance(others.get((BROKER, ""), KafkaError()), KafkaError)
    known = frozenset(one for one, some in brokers.items() if are_defaults_known and not isinstance(some, KafkaError))
    return Told(of_brokers, topics, known, lacking(brokers, others))


def lacking(brokers: Mapping[int, Answer], others: Mapping[Resource, Answer]) -> str:
    """Who has not answered, or which right is missing."""
    refused, silent = set[str](), dict[str, list[int]]()
    for broker, one in [*sorted(brokers.items()), *((None, one) for one in others.values())]:
        if isinstance(one, ClusterAuthorizationFailed | TopicAuthorizationFailed):
            refused.add(one.message.rstrip("."))
        elif isinstance(one, KafkaError) and not isinstance(one, UnknownTopicOrPartition):
            silent.setdefault(one.message.rstrip("."), []).extend(() if broker is None else [broker])
    why = [f"{those(some, most=NAMED)}: {text}" if some else text for text, some in silent.items()]
    if not refused:
        return f"Throttles are not all seen: {first_of(why, 2, between='; ')}" if why else ""
    right = "the operation DESCRIBE_CONFIGS on the cluster and on topics shows them"
    return f"Throttles are not all seen ({right}): {first_of([*sorted(refused), *why], 2, between='; ')}"
