"""Calls that disable and enable reassignments, by a setting of all servers (KIP-236). `/admin/reassign_cancel` disables
them too, and only a ZooKeeper client can delete it.
"""

from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.settings_calls import switch
from kafka_reassign_rpc.client.vendor_calls import ask_document
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.vendor_bodies import SwitchState
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest

NO_SWITCH = (
    "The controller has no switch for reassignments (KIP-236): that needs a kafka-reassign-rpc server of this"
    " version. This request was not sent."
)


async def why_disabled(router: RequestRouter) -> str | None:
    return (await ask_document(router, "switch", SwitchState, NO_SWITCH)).disabled


async def set_enabled(router: RequestRouter, enabled: bool) -> str | None:
    """Returns why reassignments are disabled now, or None."""
    await require(router, DescribeReassignmentsRequest, NO_SWITCH)
    await switch(router, ENABLED, None if enabled else "false")
    return await why_disabled(router)
