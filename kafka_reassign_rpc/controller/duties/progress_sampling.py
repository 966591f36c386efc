"""Samples the progress of moves: asks brokers for the sizes of replicas, from time to time.

It asks only the brokers that get replicas and the leaders that they copy from, for the topics concerned, on connections
of its own: a large answer does not delay LeaderAndIsr. A sample does without brokers that do not answer.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.controller.commands.cluster_commands import Reported
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing.failed_brokers import DescribedLogDirs
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.queue import in_flight_caps
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import BrokerDisk
from kafka_reassign_rpc.core.writers.facts import SizesReported
from kafka_reassign_rpc.planner.brokers.log_dir_volumes import LogDirSpace, volumes
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, Volume
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.log_dirs_reader import MAX_VERSION, LogDirsReader
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient

log = logging.getLogger(__name__)

INTERVAL = "reassignment.progress.interval.ms"
STALL_TIMEOUT = "reassignment.stall.timeout.ms"

WAIT_S = 1.0
"""How long a sample waits for brokers. Later answers are in the next sample."""
EVERYTHING_WAIT_S = 5.0
"""How long `everything` waits for brokers: one that hangs must not hold up the repair of others."""
ANSWER_TIMEOUT_S = 15.0
"""Without an answer for this long, a broker gets a new connection."""
PARTITIONS_PER_REQUEST = 5_000
"""With this many, a request takes a few ms to encode."""
MOVES_PER_INTERVAL = 4_000
"""With more moves, samples are taken less often, so that sampling takes about 2 % of the processor at most."""


class Sampling(msgspec.Struct, frozen=True):
    """Seconds between samples (0: no samples), and seconds without progress after which a move is stalled."""

    interval_s: float = 5.0
    stall_s: float = 60.0


Wanted = dict[str, list[int]]


class Disk(NamedTuple):
    """The volumes of a broker's online log dirs, and their bytes together; None: unknown."""

    capacity: int | None = None
    free: int | None = None
    volumes: tuple[Volume, ...] = ()
    failed: tuple[tuple[str, int], ...] = ()
    """Path and error code of the log dirs that do not work."""


class Sample(NamedTuple):
    sizes: Mapping[TopicPartition, int]
    disks: Mapping[int, Disk]
    held: Mapping[int, int] = {}
    """What all replicas of each broker take."""


class ProgressSampler:
    """`tracker` has the figures. `record` takes the events of moves that stall or resume."""

    def __init__(
        self,
        loop: ControllerLoop,
        settings: Sampling,
        client_id: str,
        links: BrokerLinks,
        record: Record,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tracker = ProgressTracker(settings.stall_s)
        self._loop = loop
        self._settings = settings
        self._client_id = client_id
        self._links = links
        self._record = record
        self._clock = clock
        self._brokers: dict[int, _AskedBroker] = {}

    async def run(self) -> None:
        try:
            while self._settings.interval_s > 0:
                began = self._clock()
                cluster = self._loop.cluster
                waiting = in_flight_caps.partitions_to_measure(cluster)
                if cluster.moving or not self.tracker.is_idle or cluster.soft.sizes or waiting:
                    await self._sample(cluster, waiting)
                if not cluster.moving and not waiting:
                    await self._disconnect(self._brokers)
                pause = self._settings.interval_s * max(1.0, self.tracker.sums.all.moves / MOVES_PER_INTERVAL)
                await asyncio.sleep(max(pause / 2, began + pause - self._clock()))
        except NotController:
            return
        finally:
            await self._disconnect(self._brokers)

    async def everything(self) -> Sample:
        return await sample_everything(self._loop.cluster, self._client_id, self._links, EVERYTHING_WAIT_S)

    async def failed_log_dirs(self, brokers: Collection[int]) -> Mapping[int, DescribedLogDirs]:
        """Nothing is asked of replicas: the answers are short."""
        cluster = self._loop.cluster
        asked = [one for id_ in sorted(brokers) if (one := cluster.brokers.get(id_)) is not None]
        answers = await _ask_all(asked, {"": []}, self._client_id, self._links, WAIT_S)
        return {one.id: DescribedLogDirs(one.epoch, _failed(answers.get(one.id))) for one in asked}

    async def _sample(self, cluster: Cluster, waiting: Collection[TopicPartition]) -> None:
        wanted: dict[int, Wanted] = {}
        await Pace().through(_partitions_to_ask_for(cluster, wanted, waiting))
        await self._disconnect([broker for broker in self._brokers if broker not in wanted])
        for broker, partitions in wanted.items():
            registered = cluster.brokers[broker]
            asked = self._brokers.get(broker)
            if asked is None or asked.broker != registered:
                await self._disconnect([broker])
                asked = self._brokers[broker] = _AskedBroker(registered, self._client_id, self._links)
            asked.ask(partitions)
        under_way = [asked.task for asked in self._brokers.values() if asked.task is not None]
        if under_way:
            await asyncio.wait(under_way, timeout=min(WAIT_S, self._settings.interval_s))
        answers = {broker: asked.answer() for broker, asked in self._brokers.items()}
        events: list[Event] = []
        sizes: dict[TopicPartition, int | None] = {}
        await Pace().through(self.tracker.update(self._clock(), cluster, answers, events, sizes, waiting))
        if events:
            self._record(events)
        if sizes:
            await self._loop.submit(Reported(SizesReported(sizes)))

    async def _disconnect(self, brokers: Iterable[int]) -> None:
        for broker in list(brokers):
            asked = self._brokers.pop(broker, None)
            if asked is not None:
                await asked.close()


async def sample_everything(cluster: Cluster, client_id: str, links: BrokerLinks, seconds: float) -> Sample:
    """What all registered brokers report of their log dirs within this time, on connections that are closed then."""
    answers = await _ask_all(cluster.brokers.values(), None, client_id, links, seconds)
    sizes: dict[TopicPartition, int] = {}
    held: Counter[int] = Counter()
    await Pace().through(_leader_sizes(cluster, answers, sizes, held))
    return Sample(sizes, {broker: disk_of(dirs) for broker, dirs in answers.items()}, held)


async def _ask_all(
    brokers: Iterable[Broker], wanted: Wanted | None, client_id: str, links: BrokerLinks, seconds: float
) -> dict[int, list[SampledLogDir]]:
    asked = [_AskedBroker(broker, client_id, links) for broker in brokers]
    try:
        for one in asked:
            one.ask(wanted)
        tasks = [one.task for one in asked if one.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        return {one.broker.id: found for one in asked if (found := one.answer()) is not None}
    finally:
        for one in asked:
            await one.close()


def _failed(dirs: Collection[SampledLogDir] | None) -> tuple[str, ...] | None:
    """None also if the broker names no log dir: each has one, and may have refused to report it."""
    return tuple(sorted(one.path for one in dirs if one.error)) if dirs else None


def _partitions_to_ask_for(
    cluster: Cluster, wanted: dict[int, Wanted], waiting: Collection[TopicPartition]
) -> Iterator[None]:
    for topic in list(cluster.moving):
        for index in list(cluster.moving.get(topic, ())):
            partition = cluster.get(topic, index)
            if partition is not None:
                for broker in {partition.leader, *partition.adding}:
                    if broker in cluster.brokers:
                        wanted.setdefault(broker, {}).setdefault(topic, []).append(index)
            yield
    for name in waiting:
        partition = cluster.get(*name)
        if partition is not None and not partition.is_moving and partition.leader in cluster.brokers:
            wanted.setdefault(partition.leader, {}).setdefault(name.topic, []).append(name.partition)
        yield


def _leader_sizes(
    cluster: Cluster,
    answers: Mapping[int, list[SampledLogDir]],
    sizes: dict[TopicPartition, int],
    held: Counter[int],
) -> Iterator[None]:
    for broker, dirs in answers.items():
        for one in dirs:
            for topic, of_topic in one.sizes.items():
                for index, size in of_topic.items():
                    if size is None:
                        continue
                    held[broker] += size
                    partition = cluster.get(topic, index)
                    if partition is not None and partition.leader == broker:
                        sizes[TopicPartition(topic, index)] = size
                    yield


def disk_of(dirs: Collection[SampledLogDir]) -> Disk:
    if not dirs:
        return Disk()
    failed = tuple((one.path, one.error) for one in dirs if one.error)
    found = volumes([_space(one) for one in dirs if not one.error])
    if found is None:
        return Disk(failed=failed) if len(failed) < len(dirs) else Disk(0, 0, failed=failed)
    return Disk(sum(one.size for one in found), sum(one.free for one in found), found, failed)


def _space(log_dir: SampledLogDir) -> LogDirSpace:
    """As the planner has it."""
    size, free = (UNKNOWN if one is None else one for one in (log_dir.total, log_dir.usable))
    return LogDirSpace(log_dir.path, size, free)


class _AskedBroker:
    """One registration of a broker, and the request that it has not answered yet (`task`)."""

    def __init__(self, broker: Broker, client_id: str, links: BrokerLinks) -> None:
        self.broker = broker
        self.task: asyncio.Task[list[SampledLogDir] | None] | None = None
        self._client_id = client_id
        self._links = links
        self._client: RpcClient | None = None

    def ask(self, wanted: Mapping[str, list[int]] | None) -> None:
        """`wanted` None: all. Does nothing while an earlier request has no answer."""
        if self.task is None:
            self.task = asyncio.create_task(self._ask(wanted), name=f"progress-{self.broker.id}")

    def answer(self) -> list[SampledLogDir] | None:
        if self.task is None or not self.task.done():
            return None
        task, self.task = self.task, None
        return task.result()

    async def close(self) -> None:
        if self.task is not None:
            await end(self.task)
        self._drop()

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    async def _ask(self, wanted: Mapping[str, list[int]] | None) -> list[SampledLogDir] | None:
        try:
            if self._client is None:
                self._client = await self._links.open(self.broker, self._client_id, ANSWER_TIMEOUT_S)
            return await self._all_of(self._client, wanted)
        except (OSError, TimeoutError, EOFError, ProtocolError) as error:
            log.debug(
                "broker %d does not report sizes, so the progress of its moves stays as it was: %s",
                self.broker.id,
                error or type(error).__name__,
            )
        except Exception:
            log.exception("a defect while broker %d was asked for sizes; the next sample asks again", self.broker.id)
        self._drop()
        return None

    async def _all_of(self, client: RpcClient, wanted: Mapping[str, list[int]] | None) -> list[SampledLogDir] | None:
        version = min(await client.version(DescribeLogDirsRequest), MAX_VERSION)
        found: dict[str, SampledLogDir] = {}
        pace = Pace()
        for topics in _requests(wanted):
            request = DescribeLogDirsRequest(version=version, topics=topics)
            body = await client.call(DescribeLogDirsRequest, request, version, raw=True)
            reader = LogDirsReader(body, version)
            await pace.through(reader.read())
            if reader.error:
                log.debug(
                    "broker %d does not report sizes, so the progress of its moves stays as it was: error %d",
                    self.broker.id,
                    reader.error,
                )
                return None
            for one in reader.dirs:
                known = found.get(one.path)
                sizes = one.sizes if known is None else _joined(known.sizes, one.sizes)
                found[one.path] = SampledLogDir(one.path, one.error, one.total, one.usable, sizes)
        return list(found.values())


def _requests(wanted: Mapping[str, list[int]] | None) -> Iterator[list[tuple[str, list[int]]] | None]:
    if wanted is None:
        yield None
        return
    piece: list[tuple[str, list[int]]] = []
    room = PARTITIONS_PER_REQUEST
    for topic, indexes in wanted.items():
        for at in range(0, max(1, len(indexes)), PARTITIONS_PER_REQUEST):  # one without partitions is asked for too
            part = indexes[at : at + PARTITIONS_PER_REQUEST]
            if len(part) > room:
                yield piece
                piece, room = [], PARTITIONS_PER_REQUEST
            piece.append((topic, part))
            room -= len(part)
    if piece:
        yield piece


def _joined(
    one: Mapping[str, Mapping[int, int | None]], other: Mapping[str, Mapping[int, int | None]]
) -> dict[str, Mapping[int, int | None]]:
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in one.keys() | other.keys()}


INTERVAL_S = 15.0
REPLICAS_PER_S = 2_000
"""With more replicas brokers are asked less often, so that their answers take about 1 % of the processor."""


class DiskSurvey:
    """disks  of the brokers that have answered. A silent one keeps its last answer, with its time"""

    def __init__(self, ask: Callable[[], Awaitable[Sample]], now_ms: Callable[[], int]) -> None:
        self._ask = ask
        self._now_ms = now_ms
        self._wanted = asyncio.Event()
        self.disks: Mapping[int, BrokerDisk] = {}

    def viewed(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            found, at = await self._ask(), self._now_ms()
            self.disks = {**self.disks, **described_disks(found, at)}
            await asyncio.sleep(max(INTERVAL_S, len(found.sizes) / REPLICAS_PER_S))


def described_disks(found: Sample, at: int) -> dict[int, BrokerDisk]:
    """`at`: ms since 1970."""
    return {
        broker: BrokerDisk(at, found.held.get(broker, 0), disk.capacity, disk.free, disk.failed)
        for broker, disk in found.disks.items()
    }
