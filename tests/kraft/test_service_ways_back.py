"""Ways back on a stock cluster: what stock tools and clients cancel before it is told, and the original replicas as a
target of a move that goes on or has just ended."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.kraft.stock_cluster import StockCluster
from tests.kraft.test_service import Service, client_of
from tests.processes import processes
from tests.stock.jars import EACH_TOOL
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate]


@pytest_asyncio.fixture
async def service(cluster: StockCluster, tmp_path: Path) -> AsyncIterator[Service]:
    async with processes(tmp_path) as started:
        made = Service(cluster, started, tmp_path)
        await made.unthrottled()
        yield made


@pytest.mark.parametrize("release", EACH_TOOL)
async def test_kr_7_the_stock_tool_cancels_another_order_that_waits_or_is_held(service: Service, release: str) -> None:
    [topic] = await service.cluster.create({"order": [[1, 2], [1, 2]]})
    names = [TopicPartition(topic, index) for index in range(2)]
    server = await service.start()
    plan = service.folder / "plan.json"
    entries = [{"topic": topic, "partition": index, "replicas": [2, 1]} for index in range(2)]
    plan.write_text(json.dumps({"version": 1, "partitions": entries}))
    args = ["--bootstrap-server", server.ready_value("bootstrap"), "--reassignment-json-file", str(plan)]
    async with client_of(server) as client:
        await client.change_settings({ENABLED: "false"})
        for name, reason in zip(names, ("waits", "held"), strict=True):
            terms = MoveTerms((2, 1), route=QUEUE, reason=reason)
            assert await client.alter_partition_reassignments({name: terms}) == {name: None}
        assert (await client.hold(requests=["held"])).changed == 1
        listed = await client.list_partition_reassignments()
        assert {one.target for one in listed.values()} == {(2, 1)}
        assert {one.adding_replicas for one in listed.values()} == {()}
        with Tools(release) as tools:
            found = await tools.run("reassign-partitions", *args, "--cancel")
        assert found.code == 0, found
        assert f"Successfully cancelled partition reassignments for: {topic}-0,{topic}-1" in found.out
        assert service.named(catalogue.MOVE_WITHDRAWN) == dict.fromkeys(names, 1)
        await client.change_settings({ENABLED: None})
        assert await client.list_partition_reassignments() == {}
    assert await service.replicas(topic) == {0: (1, 2), 1: (1, 2)}


async def test_kr_6_the_original_replicas_as_a_target_come_whether_the_move_goes_on_or_has_just_ended(
    service: Service,
) -> None:
    [slow, quick] = [
        *await service.cluster.create({"slow": [[2, 1]]}, records=200, slow=True),
        *await service.cluster.create({"quick": [[2, 1]]}, records=20),
    ]
    goes_on, ends = TopicPartition(slow, 0), TopicPartition(quick, 0)
    server = await service.start()
    async with client_of(server) as client:
        assert await client.alter_partition_reassignments({goes_on: (3, 1)}) == {goes_on: None}
        assert await client.alter_partition_reassignments({goes_on: (2, 1)}) == {goes_on: None}
        assert await service.moving() == set(), "the cluster has cancelled it"
        assert await client.alter_partition_reassignments({ends: (3, 1)}) == {ends: None}
        while ends in await service.moving():
            await asyncio.sleep(0)
        assert await client.alter_partition_reassignments({ends: (2, 1)}) == {ends: None}, "no look has seen its end"

        async def are_back() -> bool:
            now = await service.replicas(slow), await service.replicas(quick)
            return now == ({0: (2, 1)}, {0: (2, 1)}) and not await service.moving()

        await eventually(are_back)
        await eventually(lambda: service.named(catalogue.MOVE_COMPLETED).total() >= 2)
        assert await client.list_partition_reassignments() == {}
    assert service.named(catalogue.MOVE_CANCELLED) == {}
