"""DescribeConfigs of topics, of this broker, of the cluster.

Null or empty keys ask for all configs. Only settings of servers have documentation here. Only the broker itself answers
for its own configs; those of a server include its settings. Broker loggers are an empty list, since this is no Java
process.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import is_visible
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_changes import (
    ConfigResource,
    ConfigResourceType,
    as_kafka_error,
    check_broker_name,
    config_denial,
)
from kafka_reassign_rpc.api.config_entries import (
    DEFAULT_CONFIG,
    ConfigEntry,
    broker_entries,
    cluster_entries,
    setting_entries,
    topic_entries,
)
from kafka_reassign_rpc.api.large_requests import SMALL, answer_with, map_bounded
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, InvalidTopic, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_reassign_rpc.support.turns import rest

ENTRIES = 30
"""About how many configs a topic has."""
RESOURCES = 20_000
"""Array elements of a request: more topics than clusters of 200,000 partitions have, all of which
`kafka-topics.sh --describe` asks for at once."""

_Result = DescribeConfigsResponse.DescribeConfigsResult
_Entry = _Result.DescribeConfigsResourceResult
_Synonym = _Entry.DescribeConfigsSynonym


class _Layers(NamedTuple):
    """The configs of this node, and those from which topics have their values. `of_server`: settings of servers may be
    among them.
    """

    broker: ConfigLayers
    topics: ConfigLayers
    of_server: bool


_Wanted = tuple[ConfigResource, frozenset[str] | None]
"""A resource, and the names of the configs that the answer is to have; None for all."""


class _RequestedResource(NamedTuple):
    resource: ConfigResource
    keys: Collection[str] | None
    configs: Mapping[str, str]
    """The configs that the topic sets itself."""
    error: KafkaError | None


async def handle(node: Node, request: DescribeConfigsRequest, ctx: RequestContext) -> Answer:
    of_broker = ConfigLayers(
        own=dict(await node.configs.get(BROKERS, str(node.node_id))),
        defaults=dict(await node.configs.get(BROKERS, DEFAULT)),
        static=node.static_configs,
    )
    wanted = await _wanted(request)
    allowed, denied = await _divided(wanted, ctx.access)
    asks_topics = any(resource.type == ConfigResourceType.TOPIC for resource, _ in allowed)
    of_topic = await node.topic_layers() if asks_topics else ConfigLayers()
    layers = _Layers(of_broker, of_topic, of_server=node.settings is not None)
    asked = [*await map_bounded(partial(_ask, node), allowed), *denied]
    of_topics: dict[None, list[_Entry]] = {}

    def results() -> Iterator[_Result]:
        for one in asked:
            yield _result(request, ctx.api_version, one, layers, of_topics)

    answer = DescribeConfigsResponse(version=ctx.api_version, throttle_time_ms=0)
    return await answer_with(answer, "results", results(), len(asked), len(asked) * ENTRIES)


async def _wanted(request: DescribeConfigsRequest) -> list[_Wanted]:
    """Keeps each of many resources once: every mention of one costs some kilobytes of answer."""
    wanted: list[_Wanted] = []
    for one in request.resources:
        keys = frozenset(one.configuration_keys) if one.configuration_keys else None
        wanted.append((ConfigResource(one.resource_type, one.resource_name), keys))
        await rest()
    return wanted if len(wanted) <= SMALL else list(dict.fromkeys(wanted))


async def _divided(wanted: Sequence[_Wanted], access: Access) -> tuple[list[_Wanted], list[_RequestedResource]]:
    allowed: list[_Wanted] = []
    denied: list[_RequestedResource] = []
    for one in wanted:
        error = config_denial(one[0], AclOperation.DESCRIBE_CONFIGS, access)
        if error is None:
            allowed.append(one)
        else:
            denied.append(_RequestedResource(one[0], None, {}, error))
        await rest()
    return allowed, denied


async def _ask(node: Node, wanted: _Wanted) -> _RequestedResource:
    resource, keys = wanted
    try:
        return _RequestedResource(resource, keys, await _configs(node, resource), None)
    except Exception as error:
        return _RequestedResource(resource, keys, {}, as_kafka_error(error, resource))


async def _configs(node: Node, resource: ConfigResource) -> Mapping[str, str]:
    name = resource.name
    if resource.type == ConfigResourceType.TOPIC:
        if not is_valid_name(name):
            raise InvalidTopic(f"Topic name is invalid: '{name}'")
        known = node.topics_now()
        if known is None:
            known = await node.topics([name])
        if not is_visible(known.get(name)):
            raise UnknownTopicOrPartition
        return dict(await node.configs.get(TOPICS, name))
    if resource.type == ConfigResourceType.BROKER:
        if name:
            _check_broker(node.node_id, name, " or empty string")
    elif resource.type == ConfigResourceType.BROKER_LOGGER:
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


def _entries(asked: _RequestedResource, layers: _Layers) -> Sequence[ConfigEntry]:
    if asked.resource.type == ConfigResourceType.TOPIC:
        return topic_entries(asked.configs, layers.topics, asked.keys)
    if asked.resource.type == ConfigResourceType.BROKER_LOGGER:
        return ()
    if not layers.of_server:
        return _of_brokers(asked, layers.broker)
    own, defaults, static = (divided(one) for one in layers.broker)
    found = _of_brokers(asked, ConfigLayers(own[1], defaults[1], static[1]))
    if asked.resource.name:
        found += setting_entries(layers.broker, asked.keys)
    else:
        keys = defaults[0].keys() if asked.keys is None else defaults[0].keys() & set(asked.keys)
        entries = setting_entries(ConfigLayers(defaults=layers.broker.defaults), keys)
        found += [one._replace(synonyms=one.synonyms[:1]) for one in entries]
    return sorted(found)


def _of_brokers(asked: _RequestedResource, layers: ConfigLayers) -> list[ConfigEntry]:
    if not asked.resource.name:
        return cluster_entries(layers.defaults, asked.keys)
    return broker_entries(layers, asked.keys)


def _result(
    request: DescribeConfigsRequest,
    version: int,
    asked: _RequestedResource,
    layers: _Layers,
    of_topics: dict[None, list[_Entry]],
) -> _Result:
    """`of_topics` keeps the configs that are shared by all topics that set none themselves."""
    if asked.error is not None:
        return _failed(version, asked.resource, asked.error)
    shared = asked.resource.type == ConfigResourceType.TOPIC and not asked.configs and asked.keys is None
    configs = of_topics.get(None) if shared else None
    if configs is None:
        configs = [_entry(request, version, entry) for entry in _entries(asked, layers)]
        if shared:
            of_topics[None] = configs
    return _Result(
        version=version,
        error_code=0,
        error_message=None,
        resource_type=asked.resource.type,
        resource_name=asked.resource.name,
        configs=configs,
    )


def _entry(request: DescribeConfigsRequest, version: int, entry: ConfigEntry) -> _Entry:
    return _Entry(
        version=version,
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_default=entry.source == DEFAULT_CONFIG,
        is_sensitive=entry.sensitive,
        synonyms=[_Synonym(version=version, name=s.name, value=s.value, source=s.source) for s in entry.synonyms]
        if request.include_synonyms and version >= 1
        else [],
        config_type=entry.type_id,
        documentation=entry.documentation if request.include_documentation and version >= 3 else None,
    )


def _failed(version: int, resource: ConfigResource, error: KafkaError) -> _Result:
    return _Result(
        version=version,
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[],
    )


async def fail(request: DescribeConfigsRequest, version: int, error: KafkaError) -> Answer:
    failed = (_failed(version, ConfigResource(r.resource_type, r.resource_name), error) for r in request.resources)
    answer = DescribeConfigsResponse(version=version, throttle_time_ms=0)
    return await answer_with(answer, "results", failed, len(request.resources))


API = served(
    DescribeConfigsRequest,
    Acl(AclOperation.DESCRIBE_CONFIGS, AclResource.CLUSTER, "brokers"),
    Acl(AclOperation.DESCRIBE_CONFIGS, AclResource.TOPIC, "topics"),
    handle=handle,
    fail=fail,
    max_elements=RESOURCES,
)
