"""By a setting of all servers (KIP-236). `/admin/reassign_cancel` disables reassignments too, and only a ZooKeeper
client can delete it.
"""

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.settings_calls import switch
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest

NO_SWITCH = (
    "The controller has no switch for reassignments (KIP-236): that needs a kafka-reassign-rpc server. "
    "This request was not sent."
)


async def why_disabled(router: RequestRouter, timeout_ms: int) -> str | None:
    await require(router, DescribeReassignmentsRequest, NO_SWITCH)

    def build(_version: int) -> DescribeReassignmentsRequest:
        return DescribeReassignmentsRequest(topic_reassignments=[], timeout_ms=timeout_ms)

    answer = await router.ask_controller(build, DescribeReassignmentsRequest)
    raise_for(answer.error_code, answer.error_message)
    return answer.disabled_reason


async def set_enabled(router: RequestRouter, enabled: bool, timeout_ms: int) -> str | None:
    """Returns why reassignments are disabled now, or None."""
    await require(router, DescribeReassignmentsRequest, NO_SWITCH)
    await switch(router, ENABLED, None if enabled else "false")
    return await why_disabled(router, timeout_ms)
