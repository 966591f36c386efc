"""The guard of KIP-236, as a switch: whether new moves may start. For the loop of kafka-python's network thread.

It is a dynamic config of the whole cluster; `/admin/reassign_cancel` in ZooKeeper closes the same guard, and only a
ZooKeeper client takes that away.
"""

from typing import Any

from kafka_reassign_rpc.client.cluster import BROKER, config_request
from kafka_reassign_rpc.client.errors import error_of, raise_for
from kafka_reassign_rpc.client.link import Link, always
from kafka_reassign_rpc.client.moves import require
from kafka_reassign_rpc.core.guard import ENABLED
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest, IncrementalAlterConfigsRequest

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
    request = config_request({(BROKER, ""): {ENABLED: None if enabled else "false"}})
    # A stock broker would store it as well, but does not know what it may be.
    answer = await link.ask_controller(always(request), IncrementalAlterConfigsRequest, changes=True, any_can=True)
    [result] = answer.responses
    error = error_of(result.error_code, result.error_message)
    if error is not None:
        raise error
    return await why_disabled(link, timeout_ms)
