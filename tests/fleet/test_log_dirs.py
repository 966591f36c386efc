"""Log dirs of a simulated broker: their replicas, and moves between them."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest_asyncio

from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE
from kafka_reassign_rpc.fleet.log_dirs import SimulatedLogDirs
from kafka_reassign_rpc.fleet.replica_table import Log, ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.fleet.throttled_replicas import ThrottledReplicas
from kafka_reassign_rpc.support.slices import finished
from tests.waiting import eventually

MIB = 1 << 20
NAME = TopicPartition("t", 0)


class Broker:
    """Broker 1 with the dirs /a and /b; t-0 has 8 MiB in /a."""

    def __init__(self) -> None:
        self.table = ReplicaTable(2)
        self.throttles = ThrottledReplicas()
        self.arrived = asyncio.Event()
        self.dirs = SimulatedLogDirs(1, ["/a", "/b"], self.table, self.throttles, None, self._written)
        log = self.table.create(NAME, None, 8 * MIB)
        self.table.online[NAME] = SimulatedReplica(NAME, log)

    def _written(self, name: TopicPartition, log: Log) -> None:
        self.arrived.set()

    def shown(self) -> dict[str, list[tuple[int, int, bool]]]:
        """By dir: (size, lag, is future) of what is in it."""
        return {
            found.path: [(one.size, one.offset_lag, one.is_future) for one in found.replicas]
            for found in finished(self.dirs.describe(None))
        }

    async def move(self, path: str, partition: int = 0) -> KafkaError | None:
        return (await self.dirs.move_replicas([(path, "t", partition)]))[0]


@pytest_asyncio.fixture
async def broker() -> AsyncIterator[Broker]:
    made = Broker()
    yield made
    await made.dirs.close()


async def test_a_replica_moves_to_another_dir(broker: Broker) -> None:
    assert await broker.move("/b") is None
    async with asyncio.timeout(60):
        await broker.arrived.wait()
    assert broker.shown() == {"/a": [], "/b": [(8 * MIB, 0, False)]}


async def test_l03_the_copy_keeps_to_its_throttle_and_shows_its_progress(broker: Broker) -> None:
    broker.throttles.set_broker("1", {LOG_DIRS_RATE: str(MIB)})
    began = time.monotonic()
    assert await broker.move("/b") is None
    await eventually(lambda: broker.shown()["/b"][0][0])
    shown = broker.shown()
    assert shown["/a"] == [(8 * MIB, 0, False)]
    [(size, lag, is_future)] = shown["/b"]
    assert is_future
    assert 0 < size < MIB * (1 + time.monotonic() - began)
    assert lag == 8 * MIB - size
    broker.throttles.set_broker("1", {})
    async with asyncio.timeout(60):
        await broker.arrived.wait()


async def test_going_back_to_the_dir_where_it_is_ends_the_copy(broker: Broker) -> None:
    broker.throttles.set_broker("1", {LOG_DIRS_RATE: "1"})
    await broker.move("/b")
    assert await broker.move("/a") is None
    assert broker.shown() == {"/a": [(8 * MIB, 0, False)], "/b": []}


async def test_dh_3_nothing_moves_to_a_lost_log_dir_and_copies_to_it_end(broker: Broker) -> None:
    broker.throttles.set_broker("1", {LOG_DIRS_RATE: "1"})
    await broker.move("/b")
    assert broker.table.lose(1) == []
    broker.dirs.lost(1)
    assert broker.shown() == {"/a": [(8 * MIB, 0, False)], "/b": []}
    refused = await broker.move("/b")
    assert refused is not None
    assert refused.code == 56
    assert broker.table.lose(0) == [NAME]
    offline = await broker.move("/a")
    assert offline is not None
    assert offline.code == 56


async def test_n11_an_unknown_dir_and_a_replica_that_is_not_here_yet_are_refused(broker: Broker) -> None:
    unknown = await broker.move("/c")
    assert unknown is not None
    assert unknown.code == 57
    missing = await broker.move("/b", partition=5)
    assert missing is not None
    assert missing.code == 9
    log = broker.table.create(TopicPartition("t", 5), None, 0)
    assert log.directory == 1


async def test_new_replicas_go_where_there_are_fewest(broker: Broker) -> None:
    where = [broker.table.create(TopicPartition("t", index), None, 0).directory for index in range(1, 6)]
    assert where == [1, 0, 1, 0, 1]


async def test_only_what_is_asked_for_is_described(broker: Broker) -> None:
    broker.table.create(TopicPartition("u", 1), None, 3)
    [a, b] = finished(broker.dirs.describe({"u": {1, 2}, "v": {0}}))
    assert list(a.replicas) == []
    assert [(one.topic, one.partition, one.size) for one in b.replicas] == [("u", 1, 3)]


async def test_sv_6_a_broker_asked_for_very_many_partitions_pauses_after_each(broker: Broker) -> None:
    broker.table.create(TopicPartition("u", 1), None, 3)
    for wanted, most in (({"u": set(range(100_000))}, 100_000), (None, 2)):
        assert sum(1 for _ in broker.dirs.describe(wanted)) >= most


def test_240_6_dirs_share_one_volume_of_which_bytes_are_left_until_it_is_full() -> None:
    table = ReplicaTable(2)
    dirs = SimulatedLogDirs(1, ["/a", "/b"], table, ThrottledReplicas(), None, lambda *_: None, 10)

    def volumes() -> list[tuple[int | None, int | None]]:
        return [(one.total_bytes, one.usable_bytes) for one in finished(dirs.describe(None))]

    assert volumes() == [(10, 10)] * 2
    table.create(NAME, None, 8)
    assert volumes() == [(10, 2)] * 2
    table.create(TopicPartition("t", 1), None, 8)
    assert (volumes(), dirs.free()) == ([(10, 0)] * 2, 0)
