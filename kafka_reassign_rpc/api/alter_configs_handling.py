"""What AlterConfigs and IncrementalAlterConfigs share: resource by resource, every one of them answered."""

from collections.abc import Callable, Sequence
from typing import Any

from kafka_reassign_rpc.api.config_changes import (
    DUPLICATE_RESOURCE,
    Resource,
    apply_change,
    as_kafka_error,
    duplicates,
)
from kafka_reassign_rpc.api.handler_helpers import code_of, message_of, side_by_side
from kafka_reassign_rpc.api.ports import ConfigChange, Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError

Wanted = Callable[[Resource, Sequence[Any]], ConfigChange]
"""(resource, its configs in the request) -> the change; raises KafkaError where the request makes no sense."""


async def alter_resources(node: Node, request: Any, response: Any, version: int, wanted: Wanted) -> Any:
    """The answer to `request`, of class `response`. A resource that is named twice is refused, both times."""
    resources = [Resource(r.resource_type, r.resource_name) for r in request.resources]
    twice = duplicates(resources)

    async def alter(resource: Resource, configs: Sequence[Any]) -> KafkaError | None:
        if resource in twice:
            return InvalidRequest(DUPLICATE_RESOURCE)
        try:
            await apply_change(node, resource, wanted(resource, configs), validate_only=request.validate_only)
        except Exception as error:
            return as_kafka_error(error, resource)
        return None

    outcomes = await side_by_side(
        [alter(resource, asked.configs) for resource, asked in zip(resources, request.resources, strict=True)]
    )
    return _answer(response, version, resources, outcomes)


def refuse_all(request: Any, response: Any, version: int, error: KafkaError) -> Any:
    """The answer in which every resource has failed with `error`."""
    resources = [Resource(r.resource_type, r.resource_name) for r in request.resources]
    return _answer(response, version, resources, [error] * len(resources))


def _answer(response: Any, version: int, resources: Sequence[Resource], outcomes: Sequence[KafkaError | None]) -> Any:
    return response(
        version=version,
        throttle_time_ms=0,
        responses=[
            response.AlterConfigsResourceResponse(
                version=version,
                error_code=code_of(error),
                error_message=message_of(error),
                resource_type=resource.type,
                resource_name=resource.name,
            )
            for resource, error in zip(resources, outcomes, strict=True)
        ],
    )
