"""The guard of KIP-236, as a switch: whether new moves may start. For the loop of kafka-python's network thread.

It is a dynamic config of the whole cluster; `/admin/reassign_cancel` in ZooKeeper closes the same guard, and only a
ZooKeeper client takes that away.
"""

from typing import Any

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.cluster_calls import set_cluster_config
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import Link
from kafka_reassign_rpc.core.restrictions import ENABLED
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest

NO_SWITCH = (
    "The controller has no switch for reassignments (KIP-236): that needs a kafka-reassign-rpc server. "
    "Nothing was changed."
)


async def why_disabled(link: Link, timeout_ms: int) -> str | None:
    await require(link, DescribeReassignmentsRequest, NO_SWITCH)

    def build(_version: int) -> Any:
        return DescribeReassignmentsRequest(topic_reassignments=[], timeout_ms=timeout_ms)

    answer = await link.ask_controller(build, DescribeReassignmentsRequest)
    raise_for(answer.error_code, answer.error_message)
    closed: str | None = answer.closed
    return closed


async def set_enabled(link: Link, enabled: bool, timeout_ms: int) -> str | None:
    await require(link, DescribeReassignmentsRequest, NO_SWITCH)
    await set_cluster_config(link, ENABLED, None if enabled else "false")
    return await why_disabled(link, timeout_ms)
