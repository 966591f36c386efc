"""Calls that read and change dynamic configs of topics and brokers, and read quotas of clients."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import error_of, raise_for
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import SHAPES, QuotaEntity
from kafka_reassign_rpc.protocol.messages import (
    DescribeClientQuotasRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_reassign_rpc.support.slices import pieces

TOPIC = 2
BROKER = 4
SET, DELETE, APPEND, SUBTRACT = range(4)
"""Operations of IncrementalAlterConfigs (KIP-339)."""

RESOURCES_PER_REQUEST = 500
"""Brokers handle the resources of a request one after the other before they answer."""

OF_BROKER, OF_ALL_BROKERS = 2, 3
"""ConfigSource of dynamic configs: of a broker, and of all brokers."""
_SET_BY_SOMEBODY = frozenset({1, OF_BROKER, OF_ALL_BROKERS, 4})
"""ConfigSource of values that are no defaults: of a topic, of a broker, of all brokers, in server.properties."""

NOTHING_TOLD = "The answer of a broker has nothing of its own configs."

Resource = tuple[int, str]
"""Kind (TOPIC or BROKER) and name. The BROKER "" means all brokers."""


class ListChange(NamedTuple):
    """To a config that is a list: APPEND entries, or SUBTRACT them. Others keep theirs, whenever they change it."""

    operation: int
    entries: str


Values = Mapping[str, str | ListChange | None]
"""None deletes a config."""
Changes = Mapping[Resource, Values]


class Config(NamedTuple):
    """`value` is None for a secret; `source` is Kafka's ConfigSource."""

    name: str
    value: str | None
    source: int | None = None


Configs = list[Config]


async def describe_configs(
    router: RequestRouter, resources: Sequence[Resource]
) -> dict[Resource, Configs | KafkaError]:
    """Those that are set, without defaults. A request about one broker goes to that broker, so `resources` then holds
    nothing else.
    """
    kinds = {kind for kind, _ in resources}
    brokers = {name for kind, name in resources if kind == BROKER and name}
    if len(brokers) > 1 or (brokers and len(kinds) > 1):
        raise ValueError("the configs of a broker are asked of it alone")
    node = int(brokers.pop()) if brokers else None
    found: dict[Resource, Configs | KafkaError] = {}
    for some in pieces(resources, RESOURCES_PER_REQUEST):
        found |= await _describe_configs(router, some, node)
    return found


async def describe_broker_configs(
    router: RequestRouter, brokers: Iterable[int], timeout_ms: int | None = None
) -> dict[int, Configs | KafkaError]:
    asked = list(brokers)
    calls = [partial(describe_configs, router, [(BROKER, str(broker))]) for broker in asked]
    answers = zip(asked, await router.at_once(calls, timeout_ms), strict=True)
    return {
        broker: one if isinstance(one, KafkaError) else one.get((BROKER, str(broker)), KafkaError(NOTHING_TOLD))
        for broker, one in answers
    }


async def _describe_configs(
    router: RequestRouter, resources: Sequence[Resource], node: int | None
) -> dict[Resource, Configs | KafkaError]:
    one = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest(
        resources=[one(resource_type=kind, resource_name=name, configuration_keys=None) for kind, name in resources],
        include_synonyms=False,
    )
    if node is not None:
        answer = await router.ask_node(node, always(request), DescribeConfigsRequest)
    else:
        answer = await router.ask_any(always(request), DescribeConfigsRequest)
    return {
        (found.resource_type, found.resource_name): error_of(found.error_code, found.error_message)
        or [
            Config(entry.name, entry.value, entry.config_source)
            for entry in found.configs
            if entry.config_source in _SET_BY_SOMEBODY
        ]
        for found in answer.results
    }


async def change_configs(router: RequestRouter, changes: Changes) -> dict[Resource, KafkaError | None]:
    """The result of each resource is None or its error. The changes for one broker go to that broker, as Kafka
    requires; all others go to any node. A failed request does not stop those after it.
    """
    by_node: dict[int | None, list[Resource]] = {}
    for resource in changes:
        by_node.setdefault(int(resource[1]) if resource[0] == BROKER and resource[1] else None, []).append(resource)
    results: dict[Resource, KafkaError | None] = {}
    requests = [(node, some) for node, asked in by_node.items() for some in pieces(asked, RESOURCES_PER_REQUEST)]
    for node, resources in requests:
        request = config_request({resource: changes[resource] for resource in resources})
        cls = IncrementalAlterConfigsRequest
        try:
            if node is None:
                answer = await router.ask_any(always(request), cls, changes=True)
            else:
                answer = await router.ask_node(node, always(request), cls, changes=True)
        except KafkaError as error:
            results |= dict.fromkeys(resources, error)
            continue
        for one in answer.responses:
            results[one.resource_type, one.resource_name] = error_of(one.error_code, one.error_message)
    return results


async def change_node(router: RequestRouter, node: int, changes: Values) -> None:
    """Its own configs. Raises KafkaError."""
    request = always(config_request({(BROKER, str(node)): changes}))
    answer = await router.ask_node(node, request, IncrementalAlterConfigsRequest, changes=True)
    [result] = answer.responses
    raise_for(result.error_code, result.error_message)


async def set_cluster_config(router: RequestRouter, name: str, value: str | None) -> None:
    """None deletes. It asks the controller: a stock broker would store this server's configs without checking them.
    Raises KafkaError.
    """
    request = always(config_request({(BROKER, ""): {name: value}}))
    answer = await router.ask_controller(request, IncrementalAlterConfigsRequest, changes=True, any_can=True)
    [result] = answer.responses
    raise_for(result.error_code, result.error_message)


def _operation(value: str | ListChange | None) -> tuple[int, str | None]:
    if isinstance(value, ListChange):
        return value
    return (DELETE if value is None else SET), value


def config_request(changes: Changes) -> IncrementalAlterConfigsRequest:
    resource_class = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[
            resource_class(
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource_class.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, (operation, value) in zip(configs, map(_operation, configs.values()), strict=True)
                ],
            )
            for (kind, name), configs in changes.items()
        ],
        validate_only=False,
    )


async def describe_client_quotas(router: RequestRouter) -> dict[QuotaEntity, Mapping[str, str]]:
    """All quotas (KIP-546), without those of entities that this version does not know. Raises KafkaError."""
    answer = await router.ask_any(
        always(DescribeClientQuotasRequest(components=[], strict=False)), DescribeClientQuotasRequest
    )
    raise_for(answer.error_code, answer.error_message)
    found: dict[QuotaEntity, Mapping[str, str]] = {}
    for entry in answer.entries or ():
        names = {one.entity_type: one.entity_name for one in entry.entity}
        for shape in SHAPES:
            if names.keys() == {*shape}:
                found[tuple((kind, names[kind]) for kind in shape)] = {one.key: repr(one.value) for one in entry.values}
    return found
