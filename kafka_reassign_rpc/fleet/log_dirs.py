"""A broker's log dirs: their replicas, and moves of replicas from one dir to another (KIP-113)."""

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from kafka_reassign_rpc.api.ports import LogDir, LogDirReplica
from kafka_reassign_rpc.core.kafka_errors import KafkaError, KafkaStorageError, LogDirNotFound, ReplicaNotAvailable
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE
from kafka_reassign_rpc.fleet.replica_table import Log, ReplicaTable
from kafka_reassign_rpc.fleet.throttled_replicas import UNLIMITED, ThrottledReplicas, TokenBucket
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.turns import Steps

_FILE = re.compile(r"broker-(\d{1,10})-dir-(\d{1,4})\.failed")


def lost_log_dirs(data_dir: Path | None) -> Mapping[int, set[int]]:
    """By broker id: the numbers of its lost log dirs, as files in the data directory say. Raises OSError.

    `broker-3-dir-1.failed` takes log dir 1 of broker 3 away, as a disk that fails under a running broker. Like that of
    a stock broker it stays away, if the file is deleted, until the broker's next start.
    """
    found: dict[int, set[int]] = {}
    if data_dir is not None and data_dir.exists():
        for path in data_dir.iterdir():
            if match := _FILE.fullmatch(path.name):
                found.setdefault(int(match[1]), set()).add(int(match[2]))
    return found


log = logging.getLogger(__name__)

TICK_S = 0.05


class Copy(msgspec.Struct):
    """A replica's future log, which has `size` bytes so far."""

    directory: int
    size: int = 0


class SimulatedLogDirs:
    """The LogDirsPort of a simulated broker. A copy between dirs takes time, not space.

    bandwidth   bytes/s that all copies share, None for no limit; the throttle of the configs comes on top
    written     called with (name, log) when a replica has arrived in its new dir
    disk        bytes that all dirs can hold together, as on one volume; None for no limit
    """

    def __init__(
        self,
        broker_id: int,
        paths: Sequence[str],
        table: ReplicaTable,
        throttles: ThrottledReplicas,
        bandwidth: float | None,
        written: Callable[[TopicPartition, Log], None],
        disk: int | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self._broker_id = broker_id
        self._table = table
        self._throttles = throttles
        self._bandwidth = bandwidth
        self._disk = disk
        self._written = written
        self._copies: dict[TopicPartition, Copy] = {}
        self._task: asyncio.Task[None] | None = None

    def free(self) -> int:
        return UNLIMITED if self._disk is None else max(0, self._disk - self._table.size)

    def describe(self, wanted: Mapping[str, Collection[int]] | None) -> Steps[list[LogDir]]:
        found: list[list[LogDirReplica]] = [[] for _ in self.paths]
        if wanted is None:
            for name, held in list(self._table.logs.items()):
                found[held.directory].append(self._described(name, held))
                yield
        else:
            for topic, partitions in wanted.items():
                for partition in partitions:
                    yield
                    one = self._table.logs.get(TopicPartition(topic, partition))
                    if one is not None:
                        found[one.directory].append(self._described(TopicPartition(topic, partition), one))
        for name, copy in list(self._copies.items()):
            yield
            held_now = self._table.logs.get(name)
            if held_now is not None and (wanted is None or name.partition in wanted.get(name.topic, ())):
                lag = held_now.size - copy.size
                found[copy.directory].append(LogDirReplica(*name, copy.size, offset_lag=lag, is_future=True))
        volume = (None, None) if self._disk is None else (self._disk, self.free())
        return [
            LogDir(path, (), KafkaStorageError())
            if directory in self._table.lost
            else LogDir(path, replicas, None, *volume)
            for directory, (path, replicas) in enumerate(zip(self.paths, found, strict=True))
        ]

    def _described(self, name: TopicPartition, held: Log) -> LogDirReplica:
        """Only a replica has a lag (ReplicaManager.getLogEndOffsetLag)."""
        return LogDirReplica(*name, held.size, offset_lag=0 if name in self._table.online else -1)

    async def move_replicas(self, moves: Sequence[tuple[str, str, int]]) -> list[KafkaError | None]:
        return [self._move(path, TopicPartition(topic, partition)) for path, topic, partition in moves]

    def lost(self, directory: int) -> None:
        """The replicas that were to be moved there stay where they are."""
        self._copies = {name: copy for name, copy in self._copies.items() if copy.directory != directory}

    def _move(self, path: str, name: TopicPartition) -> KafkaError | None:
        if path not in self.paths:
            return LogDirNotFound()
        directory = self.paths.index(path)
        if directory in self._table.lost or name in self._table.offline:
            return KafkaStorageError()
        if name not in self._table.online:
            self._table.preferred[name] = directory
            return ReplicaNotAvailable()
        if self._table.logs[name].directory == directory:
            self._copies.pop(name, None)
            return None
        copy = self._copies.get(name)
        if copy is None or copy.directory != directory:
            self._copies[name] = Copy(directory)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._copy(), name=f"log-dirs-{self._broker_id}")
        return None

    async def close(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def _copy(self) -> None:
        loop = asyncio.get_running_loop()
        bandwidth = TokenBucket(self._bandwidth, loop.time())
        throttle = TokenBucket(None, loop.time())
        while self._copies:
            now = loop.time()
            throttle.set_rate(self._throttles.rate(LOG_DIRS_RATE, self._broker_id), now)
            budget = min(bandwidth.available(now), throttle.available(now))
            for name, copy in list(self._copies.items()):
                held = self._table.logs.get(name)
                if held is None:
                    del self._copies[name]  # The replica was deleted meanwhile, or its log dir is lost.
                    continue
                amount = min(budget, held.size - copy.size)
                budget -= amount
                copy.size += amount
                bandwidth.take(amount, now)
                throttle.take(amount, now)
                if copy.size >= held.size:
                    del self._copies[name]
                    self._table.move(name, copy.directory)
                    self._written(name, held)
            await asyncio.sleep(TICK_S)
