"""Random requests of all kinds to stock Kafka 3.9.1 and to our server, side by side: each entry gets the same error."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from kafka.protocol.admin import AlterClientQuotasRequest, ListPartitionReassignmentsRequest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.stock.jars import BROKER_VERSION, require
from tests.waiting import eventually

from .clusters import ComparedCluster, Ours, StockKafka
from .random_requests import SEEDS, Drawn, codes, requests, succeeded
from .wire import Closed

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
]


NO_ANSWER = "no answer"
NO_LIMIT = AlterClientQuotasRequest(
    entries=[([("user", "ANONYMOUS")], [("request_percentage", 1e6, False)])], validate_only=False
)
"""Else the first quota that is drawn for any user holds up each request that follows for a second."""
PATIENCE_S = {"AlterConfigs": 5.0}
"""How long an answer is waited for, where stock Kafka may give none: else as long as `Wire` waits."""


class Wanted(NamedTuple):
    """What this server answers otherwise than stock Kafka, on purpose."""

    kinds: frozenset[str]
    applies: Callable[[Drawn, Any, Any], bool]
    """(the request, what ours answered, what stock answered)"""
    reason: str


def _fails(answer: Any) -> bool:
    return "'error_code': -1" in str(answer)


DIFFERENCES = (
    Wanted(
        frozenset({"CreatePartitions", "DescribeClientQuotas", "IncrementalAlterConfigs"}),
        lambda _drawn, ours, stock: _fails(stock) and not _fails(ours),
        "an exception that Kafka does not expect is UNKNOWN_SERVER_ERROR there, of the whole request or of an entry: a"
        " name that no znode can have, a filter without a name, SUBTRACT from an unknown config. Ours says what it is",
    ),
    Wanted(
        frozenset({"AlterConfigs"}),
        lambda _drawn, ours, stock: stock == NO_ANSWER != ours,
        "a resource that is named twice: stock Kafka fails before its answer, and the client waits; ours answers",
    ),
    Wanted(
        frozenset({"InitProducerId"}),
        lambda _drawn, ours, stock: (stock, ours) == ({"error_code": 14}, {"error_code": 0}),
        "a stock broker has no block of ids at first, and asks its controller for one; ours is the controller",
    ),
    Wanted(
        frozenset({"IncrementalAlterConfigs", "AlterConfigs"}),
        lambda drawn, _ours, _stock: any(name in {".", ".."} for _, name, _ in drawn.request.resources),
        "ZooKeeper's refusal of the path counts as a bad config there; ours says that there is no such topic",
    ),
)


class Clusters(NamedTuple):
    ours: ComparedCluster
    stock: ComparedCluster


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("random-requests")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        both = Clusters(
            Ours(f"{zookeeper.address}/ours", directory / "ours"),
            StockKafka(f"{zookeeper.address}/stock", directory / "stock"),
        )
        for cluster in both:
            stack.push_async_callback(cluster.end)
        await asyncio.gather(*(cluster.start() for cluster in both))
        for cluster in both:
            [entry] = (await cluster.ask(NO_LIMIT, 1))["entries"]
            assert entry["error_code"] == 0
        yield both


async def answered(cluster: ComparedCluster, drawn: Drawn) -> Any:
    """What of the answer is compared, once what the request began is over."""
    try:
        async with asyncio.timeout(PATIENCE_S.get(drawn.kind)):
            answer = await cluster.ask(drawn.request, drawn.version)
    except Closed:
        return "the connection is closed"
    except TimeoutError:
        return NO_ANSWER
    if drawn.kind == "DeleteTopics":
        for name in succeeded(answer):
            await eventually(partial(_is_gone, cluster, name), within=60)
    elif drawn.kind == "CreateTopics" and not drawn.request.validate_only:
        for topic in drawn.request.topics:
            if topic[0] in succeeded(answer):
                await cluster.until_led(topic[0], len(topic[3]))
    elif drawn.kind == "AlterPartitionReassignments":
        await eventually(lambda: _moves_nothing(cluster), within=60)
    return codes(answer)


async def _is_gone(cluster: ComparedCluster, name: str) -> bool:
    left = await asyncio.gather(
        cluster.znodes.exists(f"/brokers/topics/{name}"), cluster.znodes.exists(f"/admin/delete_topics/{name}")
    )
    return not any(left)


async def _moves_nothing(cluster: ComparedCluster) -> bool:
    answer = await cluster.ask(ListPartitionReassignmentsRequest(timeout_ms=9_000, topics=None), 0)
    return not answer["topics"]


@pytest.mark.parametrize("seed", SEEDS)
async def test_hm_4_each_entry_of_random_requests_gets_the_error_that_stock_kafka_gives(
    seed: int, clusters: Clusters
) -> None:
    unlike = []
    for number, drawn in enumerate(requests(seed)):
        ours, stock = await asyncio.gather(*(answered(cluster, drawn) for cluster in clusters))
        wanted = (one.applies(drawn, ours, stock) for one in DIFFERENCES if drawn.kind in one.kinds)
        if ours != stock and not any(wanted):
            unlike.append(f"seed {seed}, request {number}: {drawn}\n  stock {stock}\n  ours  {ours}")
    assert not unlike, "\n".join(unlike)
