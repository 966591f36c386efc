from kafka_reassign_rpc.client.client_errors import UnsupportedHere, raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.status.controller_state import BrokerState, ControllerState
from kafka_reassign_rpc.core.status.documents import known
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest

NO_STATE = "The controller does not tell its version, leases and shutdowns: that needs a kafka-reassign-rpc server."


async def controller_state(router: RequestRouter, timeout_ms: int) -> ControllerState:
    cls = DescribeReassignmentsRequest
    await require(router, cls, NO_STATE)
    request = cls(topic_reassignments=[], timeout_ms=timeout_ms, include_state=True)
    answer = await router.ask_controller(always(request), cls)
    raise_for(answer.error_code, answer.error_message)
    if answer.server_version is None:  # an earlier version, which passes over the tag
        raise UnsupportedHere(NO_STATE)
    states = {one.broker_id: BrokerState(known(one.leased_rate), one.shutting_down) for one in answer.brokers}
    return ControllerState(answer.server_version, answer.controller_epoch, answer.controller_since, states)
