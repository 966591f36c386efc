"""The timeouts of CreateTopics, CreatePartitions and DeleteTopics: REQUEST_TIMED_OUT says that something was begun, and
is not done in time. Scenarios B09 and P04 of `tests/interop` compare it with stock Kafka.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest_asyncio

from kafka_reassign_rpc.controller.lifecycle import controller_service
from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut
from kafka_reassign_rpc.protocol.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import state_json, topic_json
from tests.controller.cluster import Cluster, cluster

LATE = RequestTimedOut.code
SOON_MS = 2_000


@pytest_asyncio.fixture
async def here(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, brokers=(1, 2)) as made:
        yield made


async def create(here: Cluster, timeout_ms: int, wanted: Mapping[str, Sequence[int]], *, dry: bool = False) -> Any:
    """Topics with one partition on these brokers."""
    kind = CreateTopicsRequest.CreatableTopic
    topics = [
        kind(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[kind.CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))],
            configs=[],
        )
        for name, replicas in wanted.items()
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=dry)
    return {one.name: one.error_code for one in (await here.ask(request, 5)).topics}


async def grow(here: Cluster, timeout_ms: int, name: str, replicas: Sequence[int]) -> Any:
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    one = kind(name=name, count=2, assignments=[kind.CreatePartitionsAssignment(broker_ids=list(replicas))])
    request = CreatePartitionsRequest(topics=[one], timeout_ms=timeout_ms, validate_only=False)
    return [one.error_code for one in (await here.ask(request, 3)).results]


async def test_sv_4_a_client_that_does_not_want_to_wait_hears_that_it_is_not_done_yet(here: Cluster) -> None:
    assert await create(here, 0, {"t": [1, 2]}, dry=True) == {"t": 0}
    assert await create(here, 0, {"t": [1, 2], "u": [1, 1]}) == {"t": LATE, "u": 39}
    assert (await topic_json(here.zk, "t"))["partitions"] == {"0": [1, 2]}
    assert await grow(here, -1, "t", [2, 1]) == [LATE]
    assert (await topic_json(here.zk, "t"))["partitions"].keys() == {"0", "1"}

    answer = await here.ask(DeleteTopicsRequest(topic_names=["t", "nope"], timeout_ms=0), 5)
    assert {one.name: (one.error_code, one.error_message) for one in answer.responses} == {
        "t": (LATE, None),
        "nope": (3, "This server does not host this topic-partition."),
    }
    assert await here.zk.exists(znode_paths.delete_topic("t")) is not None or (
        await here.zk.exists(znode_paths.topic("t")) is None
    )


async def test_sv_4_a_topic_that_gets_no_leader_in_time_is_answered_so_and_stays(here: Cluster) -> None:
    begun = time.monotonic()
    assert await create(here, SOON_MS, {"t": [3], "u": [1]}) == {"t": LATE, "u": 0}
    assert time.monotonic() - begun > 0.9 * SOON_MS / 1000
    assert (await topic_json(here.zk, "t"))["partitions"] == {"0": [3]}
    assert await grow(here, SOON_MS, "t", [1]) == [LATE], "partition 0 has no leader still"


async def test_sv_4_a_topic_whose_broker_comes_in_time_is_answered_then(here: Cluster) -> None:
    asked = asyncio.create_task(create(here, 30_000, {"t": [3]}))
    while await here.zk.exists(znode_paths.topic("t")) is None:
        await asyncio.sleep(0)
    assert not asked.done()
    await here.start_broker(3)
    assert await asked == {"t": 0}
    assert (await state_json(here.zk, ("t", 0)))["leader"] == 3


async def test_sv_4_no_request_waits_longer_than_others_can_bear(here: Cluster, monkeypatch: Any) -> None:
    monkeypatch.setattr(controller_service, "LONGEST_WAIT_MS", SOON_MS)
    assert await create(here, 2**31 - 1, {"t": [3]}) == {"t": LATE}
