"""What a broker knows of topics (Metadata)."""

from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.protocol.frame_codec import decode_body_in_slices
from kafka_reassign_rpc.protocol.messages import MetadataRequest, MetadataResponse
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.transport.rpc_client import RpcClient

AT_ONCE = 500
"""Topics of one request: its encoding is one step of the event loop."""
_WITH_IDS = 10
"""The first version of Metadata that has topic ids."""
_NO_ID = UUID(int=0)


async def known_topics(client: RpcClient, names: Iterable[str]) -> AsyncIterator[Any]:
    """The topics of a MetadataResponse that the broker knows by a name and an id, without an error. Raises as
    `RpcClient.call`, and NoCommonVersion."""
    version, left = await client.version(MetadataRequest), list(names)
    while left and version >= _WITH_IDS:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        topics = [MetadataRequest.MetadataRequestTopic(version=version, name=name, topic_id=_NO_ID) for name in some]
        request = MetadataRequest(version=version, topics=topics, allow_auto_topic_creation=False)
        body = await client.call(MetadataRequest, request, version, raw=True)
        answer = await in_turns(decode_body_in_slices(MetadataResponse, body, version=version))
        for one in answer.topics:
            if not one.error_code and one.name is not None and one.topic_id not in (None, _NO_ID):
                yield one
