"""IncrementalAlterConfigs (key 44), versions 0-1: set, delete, append to and subtract from configs (KIP-339).

Behaviour   every resource is answered. Topics and the cluster default anywhere; a broker's configs at that broker
            alone. APPEND and SUBTRACT for lists only. A resource that is named twice is refused, both times.
            Broker loggers are not changed here.
ACL         ALTER_CONFIGS on the cluster or the topic.
"""

from collections.abc import Sequence
from typing import Any

from kafka_reassign_rpc.api.alter_configs_handling import alter_resources, refuse_all
from kafka_reassign_rpc.api.config_changes import Op, Resource, check_ops, definitions_for, incremental
from kafka_reassign_rpc.api.ports import Api, ConfigChange, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import IncrementalAlterConfigsResponse


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    return await alter_resources(node, request, IncrementalAlterConfigsResponse, ctx.api_version, _wanted)


def _wanted(resource: Resource, configs: Sequence[Any]) -> ConfigChange:
    ops = [Op(c.name, c.config_operation, c.value) for c in configs]
    check_ops(ops)
    return incremental(ops, definitions_for(resource))


def fail(request: Any, version: int, error: KafkaError) -> Any:
    return refuse_all(request, IncrementalAlterConfigsResponse, version, error)


API = Api(44, "IncrementalAlterConfigs", 0, 1, handle, fail)
