"""Configs of topics at which every broker ends when it starts, or that no log of theirs can bear: the rules of the
table for them. A broker reads the configs of all topics when it starts, whether it has a replica or not.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.configs.config_definitions import (
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    Value,
    format_version,
    parse,
)
from kafka_reassign_rpc.core.configs.config_layers import Configs
from kafka_reassign_rpc.core.configs.live_brokers import MESSAGE_FORMAT
from kafka_reassign_rpc.core.configs.topic_config_rules import (
    COPY_DISABLE,
    DELETE_ON_DISABLE,
    INDEX_BYTES,
    LEAST_INDEX,
    REMOTE_STORAGE,
)
from kafka_reassign_rpc.core.java_values import trim
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.support.bounded_text import shortened, whole_number


class TopicTrouble(NamedTuple):
    """`configs`: without them a broker lives with the rest."""

    ending: Ending
    why: str
    configs: tuple[str, ...]


def topic_trouble(configs: Configs, tiered_storage: bool | None) -> TopicTrouble | None:
    """`tiered_storage`: whether every broker has it; None: that is not known."""
    found = [*_troubles(configs, tiered_storage)]
    return found[0]._replace(configs=tuple(one.configs[0] for one in found)) if found else None


def _troubles(configs: Configs, tiered_storage: bool | None) -> Iterator[TopicTrouble]:
    values: dict[str, Value] = {}
    for name, definition in TOPIC_CONFIGS.items():
        if name in configs:
            try:
                values[name] = parse(definition, configs[name])
            except ConfigValueError as error:
                ending = table.TOPIC_REPLICAS if definition.throttled_replicas else table.TOPIC_VALUES
                yield TopicTrouble(ending, str(error), (name,))
                continue
            unread = _unreadable(definition, configs[name])
            if unread is not None:
                text = f"{name} has a form that a broker cannot read: {shortened(configs[name])}"
                yield TopicTrouble(unread, text, (name,))
    for name in (DELETE_ON_DISABLE, COPY_DISABLE):
        if values.get(name):
            yield TopicTrouble(table.TOPIC_TIERED, f"{name}=true is possible under KRaft alone", (name,))
    if values.get(REMOTE_STORAGE) and tiered_storage is False:
        text = f"{REMOTE_STORAGE}=true, and a broker has no tiered storage"
        yield TopicTrouble(table.TOPIC_TIERED, text, (REMOTE_STORAGE,))
    index = values.get(INDEX_BYTES)
    if isinstance(index, int) and index < LEAST_INDEX:
        yield TopicTrouble(table.TOPIC_INDEX, f"{INDEX_BYTES}={index} has no room for an entry", (INDEX_BYTES,))


def _unreadable(definition: ConfigDefinition, text: str) -> Ending | None:
    """ConfigDef trims a value; TopicConfigHandler and LogManager do not when they read it again."""
    if definition.name == MESSAGE_FORMAT:
        return table.TOPIC_FORMAT if format_version(definition, text) is None else None
    trimmed = trim(text)
    if not definition.throttled_replicas or trimmed == "*":
        return None
    items = trimmed.split(",")
    while items and not items[-1]:  # as String.split does
        items.pop()
    numbers = (number for item in items for number in f"{item}:".split(":", 2)[:2])
    return None if all(whole_number(one, 0, INT32) is not None for one in numbers) else table.TOPIC_REPLICAS
