"""What AlterConfigs and IncrementalAlterConfigs have in common. Checks and messages follow
ConfigAdminManager.preprocess and ZkAdminManager of Kafka 3.9 in ZooKeeper mode: INVALID_REQUEST for a value that its
definition refuses, INVALID_CONFIG for an unknown topic config. The functions before `apply_change` are pure.

Changes of the cluster-wide broker configs (BROKER ""): every live broker must accept them. What a change says for
itself is judged here, from Kafka's table. Only brokers know the rest (their classes, threads and own configs), so the
node asks them: see docs/decisions/0007-brokers-judge-their-defaults.md.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol, TypeVar

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import code_of, is_visible, message_of
from kafka_reassign_rpc.api.api_definition import AclOperation, AclResource, Answer, RequestContext
from kafka_reassign_rpc.api.config_entries import (
    DEFINITIONS,
    in_server_form,
    refuse_in_defaults,
    refuse_mistyped,
)
from kafka_reassign_rpc.api.config_ports import ConfigChange, DefaultsChange
from kafka_reassign_rpc.api.large_requests import answer_with, map_bounded
from kafka_reassign_rpc.api.left_to_brokers import check_alter_config
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.brokers.cordon import ALL_LOG_DIRS, LOG_DIRS
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS, listed, parse_brokers
from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    UnknownConfigError,
    ignored_default,
    is_password,
    validate_broker_configs,
)
from kafka_reassign_rpc.core.configs.config_layers import TIERED_STORAGE, LiveBrokers
from kafka_reassign_rpc.core.configs.config_rules import validate_topic_configs
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.protocol.messages import AlterConfigsResponse, IncrementalAlterConfigsResponse
from kafka_reassign_rpc.support.slices import named_twice
from kafka_reassign_rpc.support.turns import in_turns, rest

RACES = 5
"""How often brokers are asked again after others have changed the configs in between."""
MOST_CHARACTERS = 1 << 20
"""Of all names and values together: ZooKeeper's jute.maxbuffer, beyond which no znode has them."""


class _Changed(Exception):
    """The configs are not those that brokers were asked about."""


async def alter_cluster_defaults(
    node: Node, change: ConfigChange, named: Collection[str], by: Requester, *, validate_only: bool
) -> None:
    """`named`: the configs that the request names. Raises KafkaError."""
    for _ in range(RACES):
        standing = dict(await node.configs.read(BROKERS, DEFAULT))
        wanted, asked = wanted_defaults(standing, change, named)
        if node.settings is not None:
            _check_settings(wanted, standing, node.node_id)
        if not asked.steps or not SERVER_SETTINGS.keys() >= set(asked.steps):  # brokers know none of them
            await node.accept_defaults(asked)
        if validate_only:
            return
        _refuse_passwords(asked.after)
        try:
            await node.configs.alter(BROKERS, DEFAULT, _instead_of(standing, wanted), by)
        except _Changed:
            continue
        return
    raise RequestTimedOut("Nothing is changed: others change the same configs all the time. Try again.")


def wanted_defaults(
    standing: Mapping[str, str], change: ConfigChange, named: Collection[str]
) -> tuple[Mapping[str, str], DefaultsChange]:
    """What would be in ZooKeeper after the change, and what brokers would see of it. Raises KafkaError.

    Brokers leave out what they cannot use. So that is judged if the request names it, and otherwise stays as it is.
    """
    ignored = {name for name, value in standing.items() if ignored_default(name, value) is not None}
    wanted = dict(change({name: value for name, value in standing.items() if name not in ignored.intersection(named)}))
    before = {name: value for name, value in standing.items() if name not in ignored}
    after = {name: value for name, value in wanted.items() if name in named or name not in ignored}
    if sum(len(name) + len(value) for name, value in wanted.items()) > MOST_CHARACTERS:
        raise InvalidRequest(f"All cluster-wide configs together have at most {MOST_CHARACTERS} characters.")
    try:
        validate_broker_configs(after, per_broker=False)
    except ConfigValueError as error:
        raise InvalidRequest(str(error)) from None
    return wanted, DefaultsChange(before, after)


def _check_settings(wanted: Mapping[str, str], standing: Mapping[str, str], own_id: int) -> None:
    """The defaults get no setting of servers, nor what looks like one."""
    try:
        refuse_mistyped(wanted.keys() - standing.keys())
        refuse_in_defaults(wanted, standing, own_id)
    except ConfigValueError as error:
        raise InvalidRequest(str(error)) from None


def _instead_of(standing: Mapping[str, str], wanted: Mapping[str, str]) -> ConfigChange:
    def change(current: Mapping[str, str]) -> Mapping[str, str]:
        if dict(current) != standing:
            raise _Changed
        return wanted

    return change


def _refuse_passwords(configs: Mapping[str, str]) -> None:
    """Kafka finds this when it writes, and not with validateOnly (DynamicBrokerConfig.toPersistentProps)."""
    if any(map(is_password, configs)):
        raise InvalidConfig(
            "Invalid config value for resource ConfigResource(type=BROKER, name=''): Password config can be defined"
            " only at broker level"
        )


log = logging.getLogger(__name__)

MOST_CONFIGS = 1000
"""Configs of one resource in a request: more than Kafka knows."""
DUPLICATE_RESOURCE = "Each resource must appear at most once."
_MAX_INT = 2**31


class ConfigResourceType(IntEnum):
    """Kafka's ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class OpType(IntEnum):
    """Kafka's AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfigOp(NamedTuple):
    name: str
    type: int
    value: str | None


class ConfigResource(NamedTuple):
    """A topic, a broker, or (name "") all brokers."""

    type: int
    name: str

    def __str__(self) -> str:
        known = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER"}
        return f"ConfigResource(type={known.get(self.type, 'UNKNOWN')}, name='{self.name}')"


def check_ops(ops: Sequence[AlterConfigOp]) -> None:
    """Checks what needs no current configs; raises InvalidRequest."""
    if len({op.name for op in ops}) < len(ops):
        raise InvalidRequest("Error due to duplicate config keys")
    null = [op.name for op in ops if op.type != OpType.DELETE and op.value is None]
    if null:
        raise InvalidRequest(f"Null value not supported for : {', '.join(null)}")


def check_broker_name(node_id: int, name: str) -> None:
    """Only the broker itself answers for its configs; raises InvalidRequest."""
    try:
        number = int(name)
    except ValueError:
        number = _MAX_INT
    if not -_MAX_INT <= number < _MAX_INT:
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if number != node_id:
        raise InvalidRequest(f"Unexpected broker id, expected {node_id}, but received {name}")


def incremental(ops: Sequence[AlterConfigOp], definitions: Mapping[str, ConfigDefinition]) -> ConfigChange:
    """ConfigAdminManager.prepareIncrementalConfigs."""

    def change(current: Mapping[str, str]) -> dict[str, str]:
        wanted = dict(current)
        for op in ops:
            _apply(op, wanted, definitions)
        return wanted

    return change


def replacing(configs: Mapping[str, str]) -> ConfigChange:
    """Configs that AlterConfigs does not name are deleted."""
    return lambda _current: dict(configs)


def _apply(op: AlterConfigOp, wanted: dict[str, str], definitions: Mapping[str, ConfigDefinition]) -> None:
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
        current = _items(wanted.get(op.name, definition.default or ""))
        given = _items(op.value or "")
        if op.type == OpType.APPEND:
            current += [item for item in given if item not in current]
        else:
            current = [item for item in current if item not in given]
        wanted[op.name] = ",".join(current)
    else:
        raise InvalidRequest(f"Unknown operations type {op.type}")


def _items(text: str) -> list[str]:
    return list(dict.fromkeys(item for item in text.split(",") if item))


def config_denial(resource: ConfigResource, operation: AclOperation, access: Access) -> KafkaError | None:
    """None also for a type of resources that has no configs here."""
    if resource.type == ConfigResourceType.TOPIC:
        may = access.may(operation, AclResource.TOPIC, resource.name)
        return None if may else TopicAuthorizationFailed()
    if resource.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        return None if access.may_on_cluster(operation) else ClusterAuthorizationFailed()
    return None


class WantedConfigs(NamedTuple):
    """What a request wants of one resource.

    named      the configs that the request names
    replaces   the request repeats what must stay (AlterConfigs); otherwise what it does not name stays
               (IncrementalAlterConfigs)
    """

    change: ConfigChange
    named: frozenset[str]
    replaces: bool = False

    def judged(self, current: Mapping[str, str], result: Mapping[str, str]) -> frozenset[str]:
        """The configs that the request is about: those that it only repeats block no other."""
        return frozenset(name for name, _ in current.items() ^ result.items()) if self.replaces else self.named


def cordon_of_broker(broker: str, wanted: WantedConfigs) -> WantedConfigs:
    """Kafka's `cordoned.log.dirs` of a broker, as a change of the setting that all servers share. As in Kafka, `*` is
    all log dirs, an empty value is none. Raises InvalidRequest.
    """
    number = parse_brokers(broker)
    if number is None or len(number) != 1:
        raise InvalidRequest(f"Node id must be an integer, but it is: {broker}")

    def change(current: Mapping[str, str]) -> Mapping[str, str]:
        before = parse_brokers(current.get(CORDONED_BROKERS, "")) or frozenset()
        asked = wanted.change({LOG_DIRS: ALL_LOG_DIRS} if number <= before else {}).get(LOG_DIRS, "").strip()
        if asked not in (ALL_LOG_DIRS, ""):
            raise InvalidRequest(
                f"Invalid value {asked} for configuration {LOG_DIRS}: this server cordons whole brokers: {ALL_LOG_DIRS}"
                " for all log dirs, or nothing for none"
            )
        after = before | number if asked else before - number
        left = {name: value for name, value in current.items() if name != CORDONED_BROKERS}
        return {**left, CORDONED_BROKERS: listed(after)} if after else left

    return WantedConfigs(change, frozenset({CORDONED_BROKERS}))


async def apply_change(
    node: Node,
    resource: ConfigResource,
    wanted: WantedConfigs,
    brokers: LiveBrokers,
    by: Requester,
    *,
    validate_only: bool,
) -> None:
    """Raises KafkaError."""
    if resource.type == ConfigResourceType.TOPIC:
        if not resource.name:
            raise InvalidRequest("Default topic resources are not allowed.")
        wanted.change({})  # what is wrong in itself is reported before a topic is looked for (ZkAdminManager)
        await _check_topic(node, resource.name)
        entity = (TOPICS, resource.name)
    elif resource.type == ConfigResourceType.BROKER:
        if not resource.name:
            await alter_cluster_defaults(node, wanted.change, wanted.named, by, validate_only=validate_only)
            return
        if node.settings is not None and wanted.named == {LOG_DIRS} and resource.name != str(node.node_id):
            broker = resource.name
            resource, wanted = ConfigResource(resource.type, str(node.node_id)), cordon_of_broker(broker, wanted)
        check_broker_name(node.node_id, resource.name)
        entity = (BROKERS, str(node.node_id))
    else:
        raise InvalidRequest(f"Unknown resource type {resource.type}")
    await check_alter_config(node)
    checked = _checked(node, resource, wanted, brokers)
    if validate_only:
        checked(await node.configs.read(*entity))
    else:
        await node.configs.alter(*entity, checked, by)


async def _check_topic(node: Node, name: str) -> None:
    known = node.topics_now()
    if known is None:
        known = await node.topics([name])
    if not is_visible(known.get(name)):
        raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")


def _checked(node: Node, resource: ConfigResource, wanted: WantedConfigs, brokers: LiveBrokers) -> ConfigChange:
    def checked(current: Mapping[str, str]) -> Mapping[str, str]:
        result = wanted.change(current)
        try:
            if resource.type == ConfigResourceType.TOPIC:
                return validate_topic_configs(result, brokers, wanted.judged(current, result))
            validate_broker_configs(result, per_broker=True)
            if node.settings is not None:
                refuse_mistyped(result.keys() - current.keys())
                return in_server_form(result, current)
        except UnknownConfigError as error:
            raise InvalidConfig(str(error)) from None
        except ConfigValueError as error:
            if resource.type == ConfigResourceType.TOPIC:
                raise InvalidConfig(f"Invalid config value for resource {resource}: {error}") from None
            raise InvalidRequest(str(error)) from None
        return result

    return checked


_OF_NODES: Mapping[str, ConfigDefinition] = {**DEFINITIONS, **BROKER_CONFIGS}


def definitions_for(resource: ConfigResource) -> Mapping[str, ConfigDefinition]:
    return TOPIC_CONFIGS if resource.type == ConfigResourceType.TOPIC else _OF_NODES


def as_kafka_error(error: Exception, resource: object) -> KafkaError:
    """An exception that is not a KafkaError is a defect or ZooKeeper's: it is logged, and the other resources go on."""
    if isinstance(error, KafkaError):
        return error.as_answer()
    log.error(
        "the configs of %s cannot be read or changed: the client gets UNKNOWN_SERVER_ERROR for them",
        resource,
        exc_info=error,
    )
    return UnknownServerError()


Response = TypeVar("Response", AlterConfigsResponse, IncrementalAlterConfigsResponse)


Config_co = TypeVar("Config_co", covariant=True)
"""A config in the request of either API."""


class AlteredResource(Protocol[Config_co]):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[Config_co]: ...


class AlterRequest(Protocol[Config_co]):
    @property
    def resources(self) -> Sequence[AlteredResource[Config_co]]: ...
    @property
    def validate_only(self) -> bool: ...


async def alter_resources(
    node: Node,
    request: AlterRequest[Config_co],
    response: type[Response],
    wanted: Callable[[ConfigResource, Sequence[Config_co]], WantedConfigs],
    ctx: RequestContext,
) -> Answer:
    """One result per resource. A resource that is named twice is refused both times.

    `wanted` makes the change from a resource's configs, or raises KafkaError. As in Kafka, a change of a broker's
    configs is checked before the caller's right to it.
    """
    resources = await _resources(request)
    twice = await in_turns(named_twice(resources))
    brokers = LiveBrokers()
    if any(one.type == ConfigResourceType.TOPIC for one in resources):
        await node.unknown_settings([TIERED_STORAGE])
        brokers = await node.live_brokers(answered=True)

    async def alter(asked: AlteredResource[Config_co]) -> KafkaError | None:
        resource = ConfigResource(asked.resource_type, asked.resource_name)
        if resource in twice:
            return InvalidRequest(DUPLICATE_RESOURCE)
        if len(asked.configs) > MOST_CONFIGS:
            return InvalidRequest(f"A resource has at most {MOST_CONFIGS} configs, not {len(asked.configs)}.")
        try:
            what = wanted(resource, asked.configs)
            denied = config_denial(resource, AclOperation.ALTER_CONFIGS, ctx.access)
            if denied is not None:
                return denied
            await apply_change(node, resource, what, brokers, ctx.requester, validate_only=request.validate_only)
        except Exception as error:
            return as_kafka_error(error, resource)
        return None

    outcomes = await map_bounded(alter, request.resources)
    return await _answer(response, ctx.api_version, resources, outcomes)


async def _resources(request: AlterRequest[Config_co]) -> list[ConfigResource]:
    resources = []
    for one in request.resources:
        resources.append(ConfigResource(one.resource_type, one.resource_name))
        await rest()
    return resources


async def _answer(
    response: type[Response], version: int, resources: Sequence[ConfigResource], outcomes: Sequence[KafkaError | None]
) -> Answer:
    results = (
        response.AlterConfigsResourceResponse(
            version=version,
            error_code=code_of(error),
            error_message=message_of(error),
            resource_type=resource.type,
            resource_name=resource.name,
        )
        for resource, error in zip(resources, outcomes, strict=True)
    )
    return await answer_with(response(version=version, throttle_time_ms=0), "responses", results, len(resources))
