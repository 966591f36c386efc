"""kr-2: topics and moves by ten thousands hold nothing up."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.protocol.messages import (
    DescribeLogDirsResponse,
    ListPartitionReassignmentsResponse,
    MetadataResponse,
)
from tests.longest_turn import tries
from tests.python_client.scripted_nodes import LIST, METADATA, ScriptedCluster, listening
from tests.waiting import eventually
from tests.watch.moving_nodes import LOG_DIRS, MovingNode
from tests.watch.watching import Watch, watching

MOVES = 10_000
TOPICS = [f"topic-{number:05}" for number in range(MOVES)]


class ManyMoves(MovingNode):
    """Partition 0 of each of many topics moves from node 1 to node 2."""

    def __init__(self, cluster: ScriptedCluster, node: int) -> None:
        super().__init__(cluster, node)
        self._made: dict[tuple[int, int], Any] = {}

    def _answer(self, key: int, version: int) -> Any:
        if key not in (METADATA, LIST, LOG_DIRS):
            return super()._answer(key, version)
        if (key, version) not in self._made:
            self._made[key, version] = self._many(key, version)
        return self._made[key, version]

    def _many(self, key: int, version: int) -> Any:
        if key == METADATA:
            answer = self.cluster.metadata(version)
            of = MetadataResponse.MetadataResponseTopic
            one = of.MetadataResponsePartition
            partitions = [
                one(
                    version=version,
                    error_code=0,
                    partition_index=0,
                    leader_id=1,
                    leader_epoch=0,
                    replica_nodes=[2, 1],
                    isr_nodes=[1],
                    offline_replicas=[],
                )
            ]
            answer.topics = [
                of(version=version, error_code=0, name=name, is_internal=False, partitions=partitions)
                for name in TOPICS
            ]
            return answer
        if key == LIST:
            move = ListPartitionReassignmentsResponse.OngoingTopicReassignment
            moves = [
                move.OngoingPartitionReassignment(
                    partition_index=0, replicas=[2, 1], adding_replicas=[2], removing_replicas=[1]
                )
            ]
            topics = [move(name=name, partitions=moves) for name in TOPICS]
            return ListPartitionReassignmentsResponse(version=version, error_code=0, error_message=None, topics=topics)
        result = DescribeLogDirsResponse.DescribeLogDirsResult
        of_topic = result.DescribeLogDirsTopic
        held = [
            of_topic.DescribeLogDirsPartition(
                partition_index=0, partition_size=1_000 // self.node, offset_lag=0, is_future_key=False
            )
        ]
        found = result(error_code=0, log_dir="/a", topics=[of_topic(name=name, partitions=held) for name in TOPICS])
        return DescribeLogDirsResponse(version=version, results=[found])


@asynccontextmanager
async def many_moves() -> AsyncIterator[str]:
    """The nodes work on a loop of their own, in a thread; gives the address of the first."""
    loop, over, address = asyncio.new_event_loop(), asyncio.Event(), asyncio.get_running_loop().create_future()
    caller = asyncio.get_running_loop()

    async def serve() -> None:
        cluster = ScriptedCluster()
        first, second = ManyMoves(cluster, 1), ManyMoves(cluster, 2)
        async with listening(first), listening(second):
            caller.call_soon_threadsafe(address.set_result, f"127.0.0.1:{first.port}")
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        yield await address
    finally:
        loop.call_soon_threadsafe(over.set)
        await asyncio.to_thread(thread.join)
        loop.close()


@pytest.mark.gate
async def test_kr_2_ten_thousand_moves_of_ten_thousand_topics_leave_others_their_turn(tmp_path: Path) -> None:
    async def are_measured(watch: Watch) -> bool:
        totals = (await watch.document("status"))["totals"]
        return totals is not None and (totals["in_flight"], totals["bytes_total"]) == (MOVES, 1_000 * MOVES)

    async with many_moves() as bootstrap:
        for measured in tries():
            async with (
                watching(bootstrap, tmp_path / "events", request_timeout_ms=30_000) as watch,
                measured,
            ):
                await eventually(partial(are_measured, watch))
