"""kr-6: what one look costs each broker, in requests. The nodes are scripted, their sockets are real."""

from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

from kafka_reassign_rpc.client import polling_pace
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.upstream import Upstream
from kafka_reassign_rpc.kraft.upstream_cluster import ALL_CONFIGS_S, UpstreamCluster
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from tests.python_client.scripted_nodes import (
    API_VERSIONS,
    LIST,
    METADATA,
    SERVED,
    ScriptedCluster,
    ScriptedNode,
    addresses,
    listening,
)

CLUSTER, CONFIGS = ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_CONFIGS
OF_EACH = Counter[int]({LIST: 1, METADATA: 1, CLUSTER: 1})
"""Of each look: what moves, topics, brokers."""


class Broker(ScriptedNode):
    def _answer(self, key: int, version: int) -> Any:
        match key:
            case ApiKey.API_VERSIONS:
                served = [*SERVED, (CLUSTER, 0, 1), (CONFIGS, 1, 4)]
                return ApiVersionsResponse(version=version, error_code=0, api_keys=served)
            case ApiKey.DESCRIBE_CLUSTER:
                of = DescribeClusterResponse.DescribeClusterBroker
                brokers = [
                    of(version=version, broker_id=one, host="127.0.0.1", port=port, rack=None)
                    for one, port in self.cluster.members.items()
                ]
                return DescribeClusterResponse(
                    version=version, error_code=0, cluster_id="c", controller_id=1, brokers=brokers
                )
            case ApiKey.DESCRIBE_CONFIGS:
                return DescribeConfigsResponse(version=version, throttle_time_ms=0, results=[])
        return super()._answer(key, version)


async def test_kr_6_a_look_costs_each_broker_one_request_for_its_configs_and_the_cluster_four_more() -> None:
    """In all four and one for each broker every five seconds at rest, and three every second while something moves,
    whatever the number of brokers and moves."""
    members = ScriptedCluster()
    nodes = [Broker(members, one) for one in (1, 2, 3)]
    async with AsyncExitStack() as open_:
        for node in nodes:
            await open_.enter_async_context(listening(node))
        upstream = Upstream({"bootstrap_servers": addresses(nodes)}, lambda: True)
        await upstream.start()
        open_.push_async_callback(upstream.close)
        cluster = UpstreamCluster(upstream, "PLAINTEXT")
        for _ in range(2):  # connections to all, and the configs of all topics
            await cluster.look()

        async def costs(topics: list[str] | None) -> Counter[int]:
            for node in nodes:
                node.asked.clear()
            with polling_pace.counted() as counted:
                await cluster.look(topics)
            asked = [Counter(node.asked) for node in nodes]
            assert counted.requests == sum(map(Counter.total, asked)), "the budget of looks counts all of them"
            assert all(one[CONFIGS] >= (topics is None) for one in asked), "each broker tells its own"
            return sum(asked, Counter[int]())

        assert await costs(["t"]) == OF_EACH
        at_rest = await costs(None)
        assert at_rest == OF_EACH + Counter[int]({CONFIGS: 1 + len(nodes)})
    assert API_VERSIONS not in at_rest, "connections are kept"
    assert (LookPace(), ALL_CONFIGS_S) == (LookPace(moving=1.0, at_rest=5.0), 30.0)
