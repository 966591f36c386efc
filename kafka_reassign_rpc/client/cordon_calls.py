"""Calls that cordon brokers and open them again (KIP-1066)."""

from collections.abc import Iterable

from kafka_reassign_rpc.client.client_errors import Unreachable, raise_for
from kafka_reassign_rpc.client.config_calls import BROKER
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.client.settings_calls import settings
from kafka_reassign_rpc.core.config_values import listed, parse_brokers
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest, IncrementalAlterConfigsRequest

NO_CORDON = (
    "The controller cannot cordon brokers: that needs a kafka-reassign-rpc server of this version."
    " This request was not sent."
)
_APPEND, _SUBTRACT = 2, 3


async def cordoned(router: RequestRouter) -> frozenset[int]:
    found = {one.name: one.value for one in await settings(router)}
    return parse_brokers(found.get(CORDONED_BROKERS, "")) or frozenset()


async def can_cordon(router: RequestRouter) -> bool:
    if await router.controller_serves(DescribeReassignmentsRequest) < 0:
        return False
    return any(one.name == CORDONED_BROKERS for one in await settings(router))


async def cordon(router: RequestRouter, brokers: Iterable[int], uncordon: bool) -> frozenset[int]:
    """A change that somebody else makes to others in the meantime stays. Returns the cordoned brokers afterwards.
    Raises KafkaError, UnsupportedHere.
    """
    await require(router, DescribeReassignmentsRequest, NO_CORDON)
    node = await router.controller()
    one = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = one.AlterableConfig(
        name=CORDONED_BROKERS, config_operation=_SUBTRACT if uncordon else _APPEND, value=listed(brokers)
    )
    request = IncrementalAlterConfigsRequest(
        resources=[one(resource_type=BROKER, resource_name=str(node), configs=[config])], validate_only=False
    )
    answer = await router.ask_node(node, always(request), IncrementalAlterConfigsRequest, changes=True)
    [result] = answer.responses
    raise_for(result.error_code, result.error_message)
    try:
        return await cordoned(router)
    except KafkaError as error:
        done = "open" if uncordon else "cordoned"
        raise Unreachable(
            f"The brokers are {done}. All that are cordoned could not be read: {error.message}"
        ) from error
