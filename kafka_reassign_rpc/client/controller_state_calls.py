"""The call for what only the controller knows of itself and of brokers."""

from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.vendor_calls import ask_document
from kafka_reassign_rpc.core.status.controller_state import ControllerState

NO_STATE = (
    "The controller does not report its version, leases and shutdowns: that needs a kafka-reassign-rpc server of this"
    " version."
)


async def controller_state(router: RequestRouter) -> ControllerState:
    return await ask_document(router, "controller", ControllerState, NO_STATE)
