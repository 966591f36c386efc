"""AlterConfigs (key 33), versions 0-2: replace all configs of a resource (the older way).

Behaviour   every resource is answered; what is not named goes back to its default. Topics and the cluster default
            anywhere; a broker's configs at that broker alone.
ACL         ALTER_CONFIGS on the cluster or the topic.
"""

from collections.abc import Sequence
from typing import Any

from kafka_reassign_rpc.api.alter_configs_handling import alter_resources, refuse_all
from kafka_reassign_rpc.api.config_changes import Op, OpType, Resource, check_ops, replacing
from kafka_reassign_rpc.api.ports import Api, ConfigChange, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import AlterConfigsResponse


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    return await alter_resources(node, request, AlterConfigsResponse, ctx.api_version, _wanted)


def _wanted(_resource: Resource, configs: Sequence[Any]) -> ConfigChange:
    check_ops([Op(c.name, OpType.SET, c.value) for c in configs])
    return replacing({c.name: c.value for c in configs})


def fail(request: Any, version: int, error: KafkaError) -> Any:
    return refuse_all(request, AlterConfigsResponse, version, error)


API = Api(33, "AlterConfigs", 0, 2, handle, fail)
