"""AlterConfigs, the older API. Only the broker itself changes its own configs."""

from collections.abc import Sequence

from kafka_reassign_rpc.api.api_definition import MANY, Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_changes import (
    AlterConfigOp,
    ConfigResource,
    OpType,
    WantedConfigs,
    alter_resources,
    check_ops,
    replacing,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import each_element
from kafka_reassign_rpc.protocol.messages import AlterConfigsRequest, AlterConfigsResponse

_Config = AlterConfigsRequest.AlterConfigsResource.AlterableConfig


async def handle(node: Node, request: AlterConfigsRequest, ctx: RequestContext) -> Answer:
    return await alter_resources(node, request, AlterConfigsResponse, _wanted, ctx)


def _wanted(_resource: ConfigResource, configs: Sequence[_Config]) -> WantedConfigs:
    check_ops([AlterConfigOp(c.name, OpType.SET, c.value) for c in configs])
    wanted = {c.name: c.value for c in configs if c.value is not None}
    return WantedConfigs(replacing(wanted), frozenset(wanted), replaces=True)


API = served(
    AlterConfigsRequest,
    Acl(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER, "brokers"),
    Acl(AclOperation.ALTER_CONFIGS, AclResource.TOPIC, "topics"),
    handle=handle,
    fail=each_element("resource_type", "resource_name"),
    max_elements=MANY,
)
