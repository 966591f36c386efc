"""Where a broker finds the value of a config, which layer wins, and what the registered brokers make of the configs of
topics, according to their answers.

A single broker that cannot use a topic's config decides, unlike in `core.settings.broker_settings`, where the majority
counts. One that has not answered counts as the oldest supported release, with unknown tiered storage.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.config_values import flag
from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    broker_synonyms,
    format_version,
)
from kafka_reassign_rpc.core.settings.broker_settings import PROTOCOL_VERSION

Configs = Mapping[str, str]


_NONE: Configs = MappingProxyType({})


class ConfigLayers(NamedTuple):
    """A broker's dynamic configs, those of the cluster, and what it was started with: the strongest first."""

    own: Configs = _NONE
    defaults: Configs = _NONE
    static: Configs = _NONE

    def effective(self) -> dict[str, str]:
        """DynamicBrokerConfig.overrideProps: a value hides all its synonyms in weaker layers.

        One for a single listener hides no value for all: other listeners may use that.
        """
        found = dict(self.static)
        for layer in (self.defaults, self.own):
            for name, value in layer.items():
                for synonym in broker_synonyms(name) if name in BROKER_CONFIGS else (name,):
                    found.pop(synonym, None)
                found[name] = value
        return found


def common(of_brokers: Collection[Configs]) -> dict[str, str]:
    """What more than half of the brokers have."""
    counts = Counter(pair for configs in of_brokers for pair in configs.items())
    return {name: value for (name, value), count in counts.items() if 2 * count > len(of_brokers)}


TIERED_STORAGE = "remote.log.storage.system.enable"
MESSAGE_FORMAT = "message.format.version"

_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    name: broker_synonyms(definition.synonym)
    for name, definition in TOPIC_CONFIGS.items()
    if definition.synonym is not None
}
NEW_IN_3_9 = "controller.quorum.bootstrap.servers"
"""A broker with this config knows every message format version of 3.9."""
_OLDEST_RELEASE = "2.8-IV1"

ASKED: tuple[str, ...] = (
    *dict.fromkeys(synonym for synonyms in _SYNONYMS.values() for synonym in synonyms),
    TIERED_STORAGE,
    PROTOCOL_VERSION,
    NEW_IN_3_9,
)
"""Configs that this server reads from brokers."""


class BrokerAnswer(msgspec.Struct, frozen=True):
    """known      the configs that it has
    static     what it was started with, unless that is the default
    protocol   its inter.broker.protocol.version
    """

    known: frozenset[str] = frozenset()
    static: Configs = {}
    protocol: str = ""


class LiveBrokers(msgspec.Struct, frozen=True):
    """configs          the broker configs in force, each combination once
    tiered_storage   whether all brokers have it, None if unknown
    lacking          topic configs that some broker does not know, with one such broker
    newest_format    index of the newest message format that all know, None if they know all
    """

    configs: tuple[Configs, ...] = ()
    tiered_storage: bool | None = None
    lacking: Mapping[str, int] = {}
    newest_format: int | None = None


def live_brokers(
    answers: Mapping[int, BrokerAnswer | None], defaults: Configs, own: Mapping[int, Configs]
) -> LiveBrokers:
    """answers         of all registered brokers, None: it has not answered
    defaults, own   the dynamic configs of the cluster, and of single brokers
    """
    configs: dict[tuple[tuple[str, str], ...], Configs] = {}
    lacking: dict[str, int] = {}
    for broker, answer in answers.items():
        static = {} if answer is None else {**answer.static, PROTOCOL_VERSION: answer.protocol}
        found = ConfigLayers(own.get(broker, {}), defaults, static).effective()
        relevant = {name: found[name] for name in ASKED if name in found}
        configs[tuple(relevant.items())] = relevant
        if answer is not None:
            lacking.update((name, broker) for name in _lacking(answer))
    return LiveBrokers(
        configs=tuple(configs.values()),
        tiered_storage=tiered_storage(None if one is None else one.static for one in answers.values()),
        lacking=lacking,
        newest_format=_newest_format(answers.values()),
    )


def common_layers(
    answers: Mapping[int, BrokerAnswer | None], defaults: Configs, own: Mapping[int, Configs]
) -> ConfigLayers:
    """The layers of a typical broker: the values that most have."""
    static = [{} if answer is None else answer.static for answer in answers.values()]
    return ConfigLayers(common([own.get(broker, {}) for broker in answers]), defaults, common(static))


def _lacking(answer: BrokerAnswer) -> Iterable[str]:
    return (name for name, synonyms in _SYNONYMS.items() if not answer.known.intersection(synonyms))


def tiered_storage(answers: Iterable[Configs | None]) -> bool | None:
    """Of all brokers, by what each is started with. None while it is not known of every one."""
    found = [None if one is None else flag(one.get(TIERED_STORAGE, "false")) is True for one in answers]
    if False in found:
        return False
    return None if None in found or not found else True


def _newest_format(answers: Iterable[BrokerAnswer | None]) -> int | None:
    definition = TOPIC_CONFIGS[MESSAGE_FORMAT]
    oldest = format_version(definition, _OLDEST_RELEASE)
    known: list[int] = []
    for one in answers:
        if one is None or NEW_IN_3_9 not in one.known:
            spoken = None if one is None else format_version(definition, one.protocol)
            known.append(max(place for place in (oldest, spoken, 0) if place is not None))
    return min(known, default=None)
