"""Asks a broker for its own configs (DescribeConfigs)."""

from collections.abc import Collection

from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_reassign_rpc.transport.rpc_client import RpcClient

_BROKER = 4
"""Kafka's ConfigResource.Type.BROKER."""


class ConfigsRefused(ConnectionError):
    """An error or an empty answer of a broker. `is_unauthorized`: its authorizer refuses this process."""

    is_unauthorized = False


ConfigEntry = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult


async def broker_configs(client: RpcClient, broker: int, names: Collection[str]) -> list[ConfigEntry]:
    """With synonyms; without those that the broker does not have. Raises ConfigsRefused and what `RpcClient.call`
    raises.
    """
    version = await client.version(DescribeConfigsRequest)
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        version=version, resource_type=_BROKER, resource_name=str(broker), configuration_keys=list(names)
    )
    request = DescribeConfigsRequest(
        version=version, resources=[asked], include_synonyms=True, include_documentation=False
    )
    results = (await client.call(DescribeConfigsRequest, request, version)).results
    if not results:
        raise ConfigsRefused("DescribeConfigs: an empty answer")
    if results[0].error_code:
        why = results[0].error_message or "no message"
        refused = ConfigsRefused(f"DescribeConfigs: error {results[0].error_code}, {why}")
        refused.is_unauthorized = results[0].error_code == ClusterAuthorizationFailed.code
        raise refused
    return [entry for entry in results[0].configs if entry.name in names]
