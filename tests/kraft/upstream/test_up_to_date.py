"""kr-6 and 860-5: a look that has all which the controllers have committed goes to a broker that says it has read so
far. The nodes are scripted, their sockets are real.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kafka_reassign_rpc.client import kraft_calls
from kafka_reassign_rpc.client.client_errors import Unreachable
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.kraft import upstream
from kafka_reassign_rpc.kraft.upstream import Upstream
from kafka_reassign_rpc.protocol.messages import ApiVersionsResponse, DescribeQuorumResponse
from kafka_reassign_rpc.protocol.versions import ApiKey
from tests.python_client.scripted_nodes import METADATA, SERVED, ScriptedCluster, ScriptedNode, addresses, listening

COMMITTED = 10
READ_ALL = COMMITTED - 1


class Broker(ScriptedNode):
    """`offsets`: what it has read, each time it is asked; the last one from then on."""

    committed = COMMITTED
    tells_quorum = True

    def __init__(self, cluster: ScriptedCluster, node: int, *offsets: int) -> None:
        super().__init__(cluster, node)
        self.offsets = list(offsets)

    def _answer(self, key: int, version: int) -> Any:
        if key == ApiKey.API_VERSIONS:
            served = [*SERVED, (ApiKey.DESCRIBE_QUORUM, 0, 1)] if self.tells_quorum else SERVED
            answer = ApiVersionsResponse(version=version, error_code=0, api_keys=served)
            if version >= 3:
                answer.finalized_features_epoch = self.offsets.pop(0) if len(self.offsets) > 1 else self.offsets[0]
            return answer
        if key == ApiKey.DESCRIBE_QUORUM:
            of = DescribeQuorumResponse.TopicData
            told = of.PartitionData(
                version=version,
                leader_id=9,
                leader_epoch=1,
                high_watermark=self.committed,
                current_voters=[],
                observers=[],
            )
            topics = [of(version=version, topic_name="__cluster_metadata", partitions=[told])]
            return DescribeQuorumResponse(version=version, error_code=0, topics=topics)
        return super()._answer(key, version)


async def asked_for_topics(*nodes: Broker) -> list[int] | KafkaError:
    """The nodes that were asked for the topics of a look that is up to date; or why there is none."""
    async with AsyncExitStack() as open_:
        for node in nodes:
            await open_.enter_async_context(listening(node))
        up = Upstream({"bootstrap_servers": addresses(nodes)}, lambda: True)
        await up.start()
        open_.push_async_callback(up.close)
        for node in nodes:
            node.asked.clear()
        moves, found = await up.assignments(["t"], up_to_date=True)
        assert moves == {}
        return found if isinstance(found, KafkaError) else [one.node for one in nodes if METADATA in one.asked]


@pytest.mark.parametrize(
    "offsets",
    [{1: (READ_ALL - 1,), 2: (READ_ALL,)}, {1: (READ_ALL - 1,), 2: (3, 5, READ_ALL)}, {1: (0,), 2: (READ_ALL + 5,)}],
    ids=["one lags", "all lag for a while", "one has read more"],
)
async def test_860_5_a_broker_that_has_read_what_is_committed_is_asked(offsets: Mapping[int, tuple[int, ...]]) -> None:
    cluster = ScriptedCluster()
    assert await asked_for_topics(*(Broker(cluster, node, *some) for node, some in offsets.items())) == [2]


async def test_860_5_where_no_broker_catches_up_or_nobody_knows_what_is_committed_there_is_no_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kraft_calls, "_CAUGHT_UP_S", 0.05)
    assert isinstance(await asked_for_topics(Broker(ScriptedCluster(), 1, 0)), Unreachable)
    elected = Broker(ScriptedCluster(), 1, 0)
    elected.committed = -1
    assert isinstance(await asked_for_topics(elected), Unreachable), "a controller that has just been elected"


@pytest.mark.parametrize("tells_quorum", [False, True])
async def test_860_5_where_brokers_do_not_tell_what_they_have_read_a_while_passes_before_the_look(
    monkeypatch: pytest.MonkeyPatch, tells_quorum: bool
) -> None:
    monkeypatch.setattr(upstream, "LAGS_S", 0.0)
    node = Broker(ScriptedCluster(), 1, -1)
    node.tells_quorum = tells_quorum
    assert await asked_for_topics(node) == [1]
