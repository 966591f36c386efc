"""DescribeConfigs (key 32), versions 0-4: configs of topics, of this broker, of the cluster.

Behaviour   per resource; null (or no) keys ask for all. Version 1 adds where a value comes from and what else is
            set, 3 types and documentation (of which we have none). A broker's configs at that broker alone, those
            set for the whole cluster anywhere. Broker loggers: an empty list, for this is no Java process.
ACL         DESCRIBE_CONFIGS on the cluster or the topic.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_reassign_rpc.api.config_changes import Resource, ResourceType, as_kafka_error, check_broker_name
from kafka_reassign_rpc.api.config_entries import (
    DEFAULT_CONFIG,
    ConfigEntry,
    broker_entries,
    cluster_entries,
    topic_entries,
)
from kafka_reassign_rpc.api.handler_helpers import in_thread, shown, side_by_side
from kafka_reassign_rpc.api.ports import BROKERS, CLUSTER_DEFAULT, TOPICS, Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, InvalidTopic, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import DescribeConfigsResponse

ON_LOOP = 3
"""Resources that are put together on the loop; more of them in a thread (a topic is some 0.3 ms)."""

_Result = DescribeConfigsResponse.DescribeConfigsResult
_Entry = _Result.DescribeConfigsResourceResult
_Synonym = _Entry.DescribeConfigsSynonym


class _Layers(NamedTuple):
    """What the configs of this node's topics and of itself are made of."""

    own: Mapping[str, str]
    defaults: Mapping[str, str]
    static: Mapping[str, str]


class _Asked(NamedTuple):
    resource: Resource
    keys: Collection[str] | None
    configs: Mapping[str, str]
    """What a topic sets itself."""
    error: KafkaError | None


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    layers = _Layers(
        own=dict(await node.configs.get(BROKERS, str(node.node_id))),
        defaults=dict(await node.configs.get(BROKERS, CLUSTER_DEFAULT)),
        static=node.static_configs,
    )
    asked = await side_by_side([_ask(node, r) for r in request.resources])

    def answer() -> Any:
        results = [_result(ctx.api_version, one, layers, synonyms=request.include_synonyms) for one in asked]
        return DescribeConfigsResponse(version=ctx.api_version, throttle_time_ms=0, results=results)

    if len(asked) <= ON_LOOP:
        return answer()
    return await in_thread(answer, ctx.api_version)


async def _ask(node: Node, wanted: Any) -> _Asked:
    """What is needed to answer for one resource, fetched and checked."""
    resource = Resource(wanted.resource_type, wanted.resource_name)
    keys = frozenset(wanted.configuration_keys) if wanted.configuration_keys else None
    try:
        return _Asked(resource, keys, await _configs(node, resource), None)
    except Exception as error:
        return _Asked(resource, keys, {}, as_kafka_error(error, resource))


async def _configs(node: Node, resource: Resource) -> Mapping[str, str]:
    name = resource.name
    if resource.type == ResourceType.TOPIC:
        if not is_valid_name(name):
            raise InvalidTopic(f"Topic name is invalid: '{name}'")
        known = node.topics_now()
        if known is None:
            known = await node.topics([name])
        if not shown(known.get(name)):
            raise UnknownTopicOrPartition
        return dict(await node.configs.get(TOPICS, name))
    if resource.type == ResourceType.BROKER:
        if name:
            _check_broker(node.node_id, name, " or empty string")
    elif resource.type == ResourceType.BROKER_LOGGER:
        if not name:
            raise InvalidRequest("Broker id must not be empty")
        _check_broker(node.node_id, name, "")
    else:
        raise InvalidRequest(f"Unsupported resource type: {resource.type}")
    return {}


def _check_broker(node_id: int, name: str, hint: str) -> None:
    try:
        check_broker_name(node_id, name)
    except InvalidRequest as error:
        if error.message.startswith("Node id"):
            raise InvalidRequest(f"Broker id must be an integer, but it is: {name}") from None
        raise InvalidRequest(f"Unexpected broker id, expected {node_id}{hint}, but received {name}") from None


def _entries(asked: _Asked, layers: _Layers) -> Sequence[ConfigEntry]:
    if asked.resource.type == ResourceType.TOPIC:
        return topic_entries(asked.configs, layers.own, layers.defaults, layers.static, asked.keys)
    if asked.resource.type == ResourceType.BROKER_LOGGER:
        return ()
    if not asked.resource.name:
        return cluster_entries(layers.defaults, asked.keys)
    return broker_entries(layers.own, layers.defaults, layers.static, asked.keys)


def _result(version: int, asked: _Asked, layers: _Layers, *, synonyms: bool) -> Any:
    if asked.error is not None:
        return _failed(version, asked.resource, asked.error)
    return _Result(
        version=version,
        error_code=0,
        error_message=None,
        resource_type=asked.resource.type,
        resource_name=asked.resource.name,
        configs=[_entry(version, entry, synonyms=synonyms) for entry in _entries(asked, layers)],
    )


def _entry(version: int, entry: ConfigEntry, *, synonyms: bool) -> Any:
    return _Entry(
        version=version,
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_default=entry.source == DEFAULT_CONFIG,
        is_sensitive=entry.sensitive,
        synonyms=[_Synonym(version=version, name=s.name, value=s.value, source=s.source) for s in entry.synonyms]
        if synonyms and version >= 1
        else [],
        config_type=entry.type_id,
        documentation=None,
    )


def _failed(version: int, resource: Resource, error: KafkaError) -> Any:
    return _Result(
        version=version,
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[],
    )


def fail(request: Any, version: int, error: KafkaError) -> Any:
    return DescribeConfigsResponse(
        version=version,
        throttle_time_ms=0,
        results=[_failed(version, Resource(r.resource_type, r.resource_name), error) for r in request.resources],
    )


API = Api(32, "DescribeConfigs", 0, 4, handle, fail)
