"""IncrementalAlterConfigs (KIP-339). Only the broker itself changes its own configs; this API does not change broker
loggers.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.api_definition import MANY, Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_changes import (
    AlterConfigOp,
    ConfigResource,
    WantedConfigs,
    alter_resources,
    check_ops,
    definitions_for,
    incremental,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import each_element
from kafka_reassign_rpc.protocol.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse

_Config = IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig


async def handle(node: Node, request: IncrementalAlterConfigsRequest, ctx: RequestContext) -> Answer:
    return await alter_resources(node, request, IncrementalAlterConfigsResponse, _wanted, ctx)


def _wanted(resource: ConfigResource, configs: Sequence[_Config]) -> WantedConfigs:
    ops = [AlterConfigOp(c.name, c.config_operation, c.value) for c in configs]
    check_ops(ops)
    return WantedConfigs(incremental(ops, definitions_for(resource)), frozenset(op.name for op in ops))


API = served(
    IncrementalAlterConfigsRequest,
    Acl(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER, "brokers"),
    Acl(AclOperation.ALTER_CONFIGS, AclResource.TOPIC, "topics"),
    handle=handle,
    fail=each_element("resource_type", "resource_name"),
    max_elements=MANY,
)
