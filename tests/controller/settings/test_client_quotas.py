"""A client sets its own quota at the server, and meets it."""

from typing import Any

from kafka_reassign_rpc.protocol.messages import AlterClientQuotasRequest, CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually

CLUSTER_AUTHORIZATION_FAILED, THROTTLING_QUOTA_EXCEEDED = 31, 89


async def set_rate(world: Cluster, client_id: str | None, rate: float) -> int:
    kind = AlterClientQuotasRequest.EntryData
    entry = kind(
        entity=[kind.EntityData(entity_type="client-id", entity_name=client_id)],
        ops=[kind.OpData(key="controller_mutation_rate", value=rate, remove=False)],
    )
    answer = await world.ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
    (code,) = [one.error_code for one in answer.entries]
    return int(code)


async def create(world: Cluster, **counts: int) -> Any:
    kind = CreateTopicsRequest.CreatableTopic
    topics = [
        kind(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
        for name, count in counts.items()
    ]
    return await world.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=False), 7)


async def test_sv_5_a_controller_mutation_quota_in_zookeeper_holds_at_the_next_request(zk_connect: str) -> None:
    async with cluster(zk_connect) as world:

        async def is_set() -> bool:  # refused until every broker has said that it has no authorizer
            code = await set_rate(world, None, 0.01)
            assert code in (0, CLUSTER_AUTHORIZATION_FAILED)
            return code == 0

        await eventually(is_set)
        answer = await create(world, first=2, second=1)
        assert [one.error_code for one in answer.topics] == [0, THROTTLING_QUOTA_EXCEEDED]
        assert answer.throttle_time_ms > 100_000
        assert await world.zk.exists(znode_paths.topic("second")) is None

        assert await set_rate(world, "test", 1e6) == 0, "the client's own quota comes before the default"
        answer = await create(world, second=1)
        assert [one.error_code for one in answer.topics] == [0]
        assert await world.zk.exists(znode_paths.topic("second")) is not None
