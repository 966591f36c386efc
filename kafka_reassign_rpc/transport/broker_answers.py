"""Asks a broker for its own configs (DescribeConfigs), and what it knows of topics (Metadata)."""

from collections.abc import AsyncIterator, Collection, Iterable
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.protocol.frame_codec import decode_body_in_slices
from kafka_reassign_rpc.protocol.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka_reassign_rpc.support.turns import in_turns
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


TOPICS_AT_ONCE = 500
"""Topics of one request: its encoding is one step of the event loop."""
_WITH_IDS = 10
"""The first version of Metadata that has topic ids."""
_NO_ID = UUID(int=0)


async def known_topics(client: RpcClient, names: Iterable[str]) -> AsyncIterator[Any]:
    """The topics of a MetadataResponse that the broker knows by a name and an id, without an error. Raises as
    `RpcClient.call`, and NoCommonVersion."""
    version, left = await client.version(MetadataRequest), list(names)
    while left and version >= _WITH_IDS:
        some, left = left[:TOPICS_AT_ONCE], left[TOPICS_AT_ONCE:]
        topics = [MetadataRequest.MetadataRequestTopic(version=version, name=name, topic_id=_NO_ID) for name in some]
        request = MetadataRequest(version=version, topics=topics, allow_auto_topic_creation=False)
        body = await client.call(MetadataRequest, request, version, raw=True)
        answer = await in_turns(decode_body_in_slices(MetadataResponse, body, version=version))
        for one in answer.topics:
            if not one.error_code and one.name is not None and one.topic_id not in (None, _NO_ID):
                yield one
