"""Changing configs: what AlterConfigs and IncrementalAlterConfigs have in common.

Checks and texts follow ConfigAdminManager.preprocess and ZkAdminManager of Kafka 3.9 in ZooKeeper mode: a value that
its definition refuses is INVALID_REQUEST there, an unknown topic config INVALID_CONFIG. Everything up to
`apply_change` is pure.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from kafka_reassign_rpc.api.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    UnknownConfigError,
    validate_broker_configs,
    validate_topic_configs,
)
from kafka_reassign_rpc.api.handler_helpers import shown
from kafka_reassign_rpc.api.ports import BROKERS, CLUSTER_DEFAULT, TOPICS, ConfigChange, Node
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    UnknownServerError,
    UnknownTopicOrPartition,
)

log = logging.getLogger(__name__)

DUPLICATE_RESOURCE = "Each resource must appear at most once."
_MAX_INT = 2**31


class ResourceType(IntEnum):
    """ConfigResource.Type"""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class OpType(IntEnum):
    """AlterConfigOp.OpType"""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Op(NamedTuple):
    """One change of one config."""

    name: str
    type: int
    value: str | None


class Resource(NamedTuple):
    """A topic, a broker, or (name "") all brokers."""

    type: int
    name: str

    def __str__(self) -> str:
        known = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER"}
        return f"ConfigResource(type={known.get(self.type, 'UNKNOWN')}, name='{self.name}')"


def duplicates(resources: Sequence[Resource]) -> set[Resource]:
    """Resources that a request names more than once: none of them is touched."""
    return {resource for resource, count in Counter(resources).items() if count > 1}


def check_ops(ops: Sequence[Op]) -> None:
    """What is wrong with a list of changes whatever stands now; raises InvalidRequest."""
    if len({op.name for op in ops}) < len(ops):
        raise InvalidRequest("Error due to duplicate config keys")
    null = [op.name for op in ops if op.type != OpType.DELETE and op.value is None]
    if null:
        raise InvalidRequest(f"Null value not supported for : {', '.join(null)}")


def check_broker_name(node_id: int, name: str) -> None:
    """A broker answers for itself alone; raises InvalidRequest."""
    try:
        number = int(name)
    except ValueError:
        number = _MAX_INT
    if not -_MAX_INT <= number < _MAX_INT:
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if number != node_id:
        raise InvalidRequest(f"Unexpected broker id, expected {node_id}, but received {name}")


def incremental(ops: Sequence[Op], definitions: Mapping[str, ConfigDefinition]) -> ConfigChange:
    """The change that a list of operations makes (ConfigAdminManager.prepareIncrementalConfigs)."""

    def change(current: Mapping[str, str]) -> dict[str, str]:
        wanted = dict(current)
        for op in ops:
            _apply(op, wanted, definitions)
        return wanted

    return change


def replacing(configs: Mapping[str, str]) -> ConfigChange:
    """The change that legacy AlterConfigs makes: what is not named is gone."""
    return lambda _current: dict(configs)


def _apply(op: Op, wanted: dict[str, str], definitions: Mapping[str, ConfigDefinition]) -> None:
    if op.type == OpType.SET:
        wanted[op.name] = op.value or ""
    elif op.type == OpType.DELETE:
        wanted.pop(op.name, None)
    elif op.type in (OpType.APPEND, OpType.SUBTRACT):
        verb = "append" if op.type == OpType.APPEND else "subtract"
        definition = definitions.get(op.name)
        if definition is None:
            raise InvalidConfig(f"Unknown config name: {op.name}")
        if definition.type != "LIST":
            raise InvalidConfig(f"Config value {verb} is not allowed for config key: {op.name}")
        standing = _items(wanted.get(op.name, definition.default or ""))
        given = _items(op.value or "")
        if op.type == OpType.APPEND:
            standing += [item for item in given if item not in standing]
        else:
            standing = [item for item in standing if item not in given]
        wanted[op.name] = ",".join(standing)
    else:
        raise InvalidRequest(f"Unknown operations type {op.type}")


def _items(text: str) -> list[str]:
    return list(dict.fromkeys(item for item in text.split(",") if item))


async def apply_change(node: Node, resource: Resource, change: ConfigChange, *, validate_only: bool) -> None:
    """Change a resource's configs, or only see whether that would be allowed. Raises KafkaError."""
    if resource.type == ResourceType.TOPIC:
        await _check_topic(node, resource.name)
        entity = (TOPICS, resource.name)
    elif resource.type == ResourceType.BROKER:
        if resource.name:
            check_broker_name(node.node_id, resource.name)
        entity = (BROKERS, str(node.node_id) if resource.name else CLUSTER_DEFAULT)
    else:
        raise InvalidRequest(f"Unknown resource type {resource.type}")
    checked = _checked(resource, change)
    if validate_only:
        checked(await node.configs.get(*entity))
    else:
        await node.configs.alter(*entity, checked)


async def _check_topic(node: Node, name: str) -> None:
    if not name:
        raise InvalidRequest("Default topic resources are not allowed.")
    known = node.topics_now()
    if known is None:
        known = await node.topics([name])
    if not shown(known.get(name)):
        raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")


def _checked(resource: Resource, change: ConfigChange) -> ConfigChange:
    """The same change, refused where its result is not allowed."""

    def checked(current: Mapping[str, str]) -> Mapping[str, str]:
        wanted = change(current)
        try:
            if resource.type == ResourceType.TOPIC:
                validate_topic_configs(wanted)
            else:
                validate_broker_configs(wanted, per_broker=bool(resource.name))
        except UnknownConfigError as error:
            raise InvalidConfig(str(error)) from None
        except ConfigValueError as error:
            if resource.type == ResourceType.TOPIC:
                raise InvalidConfig(f"Invalid config value for resource {resource}: {error}") from None
            raise InvalidRequest(str(error)) from None
        return wanted

    return checked


def definitions_for(resource: Resource) -> Mapping[str, ConfigDefinition]:
    return TOPIC_CONFIGS if resource.type == ResourceType.TOPIC else BROKER_CONFIGS


def as_kafka_error(error: Exception, resource: Resource) -> KafkaError:
    """One resource's failure. What is not a KafkaError is a defect, or ZooKeeper's: logged, and the others go on."""
    if isinstance(error, KafkaError):
        return error
    log.error("configs of %s", resource, exc_info=error)
    return UnknownServerError()
