"""What a broker holds although it is not assigned to it: somebody has edited a topic's znode, has put an older one
back, or has created the topic again; or a former controller has not stopped the replica. Such a leader goes on taking
records, with acks=1 into a log that nobody reads.

Only the broker knows what it holds: a new controller cannot know what former ones have sent it, and a broker that was
cut off may have started again since. So it is asked (DescribeLogDirs): a log that is no replica's has the lag -1
(ReplicaManager.getLogEndOffsetLag). Logs whose topic is not in ZooKeeper stay as they are (`duties.propagation`), and
what waits for its deletion has its StopReplica.

StopReplica without deletion is not enough: it ends the fetcher of a follower, and a leader goes on as before
(ReplicaManager.stopPartitions). UpdateMetadata changes no replica at all, and a LeaderAndIsr of type FULL counts only
from a KRaft controller, and renames the logs as strays for deletion. So the broker becomes a follower first, by a
LeaderAndIsr in the present leader epoch that counts it among the replicas, since it takes no other; then StopReplica
ends the fetcher. The log stays as it is, since no one has asked for its deletion.

All this goes over the channel's own connection, so that no other request comes between the answer and what follows
from it: a LeaderAndIsr for a replica that is gone would create an empty log.
"""

import logging
from collections.abc import Callable, Collection, Container, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kafka_reassign_rpc.controller_channel import request_builders
from kafka_reassign_rpc.controller_channel.pending_requests import Review, StopReplicaState
from kafka_reassign_rpc.core.kafka_errors import UnknownServerError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.log_dirs_reader import MAX_VERSION, Dir, LogDirsReader
from kafka_reassign_rpc.protocol.messages import (
    DescribeLogDirsRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion, RpcClient


class Unassigned(NamedTuple):
    """held   the broker leads or follows them
    logs   only the log is there
    """

    held: list[TopicPartition]
    logs: list[TopicPartition]


def unassigned(
    cluster: Cluster, broker: int, dirs: Collection[Dir], refused: Container[TopicPartition] = ()
) -> Generator[None, None, Unassigned]:
    """Of the topics in ZooKeeper. `refused`: assigned ones that the broker does not take, since it holds those of a
    former topic of the name. Yields after each log.
    """
    found = Unassigned([], [])
    for one in dirs:
        for topic, sizes in one.sizes.items():
            idle = one.idle.get(topic, ())
            for index in sizes:
                name = TopicPartition(topic, index)
                if is_unassigned(cluster, broker, name, is_refused=name in refused):
                    (found.logs if index in idle else found.held).append(name)
                yield
    return found


def is_unassigned(cluster: Cluster, broker: int, name: TopicPartition, *, is_refused: bool = False) -> bool:
    """A topic in deletion stops its replicas itself. While a znode is unreadable nothing counts as unassigned; nor
    where the leader is no replica, since an edit that was just read may not be followed (`round.changed_by_others`).
    """
    topic = cluster.topics.get(name.topic)
    if topic is None or topic.deleting or name.topic in cluster.unreadable or name.partition in topic.unreadable:
        return False
    value = topic.partitions.get(name.partition)
    if value is None or value.partition_epoch < 0 or broker in value.pending_deletion:
        return False
    if value.leader not in (NO_LEADER, *value.replicas):
        return False
    if broker in value.replicas:
        return is_refused and cluster.soft.former.of_other(topic, name.partition) is not None
    return True


def leader_to_follow(cluster: Cluster, broker: int, name: TopicPartition) -> Broker | None:
    """A broker takes no follower's part without a live leader (ReplicaManager.makeFollowers). Where the partition has
    none, any other broker will do: it refuses to be fetched from. None: there is no other.
    """
    live = [one for one in cluster.brokers.values() if one.id != broker and one.id not in cluster.soft.shutting_down]
    value = cluster.get(*name)
    leader = None if value is None else value.leader
    return next((one for one in live if one.id == leader), live[0] if live else None)


log = logging.getLogger(__name__)

_T = TypeVar("_T")

AT_ONCE = 100
"""How many replicas are stopped with one pair of requests, which are built in one turn of the event loop."""

UNKNOWN = "so it may lead replicas that are no longer assigned to it, and take records that nobody reads"


class InTurns(Protocol):
    async def __call__(self, steps: Generator[None, None, _T]) -> _T: ...


class Reviewed(NamedTuple):
    """stopped  replicas that the broker has stopped now, for the first time
    logs     logs that no replica has, if they are others than at the last review
    failed   what it has yet to stop
    """

    stopped: Sequence[TopicPartition] = ()
    logs: Sequence[TopicPartition] = ()
    failed: Sequence[TopicPartition] = ()


class Reviews:
    """The reviews of one registration of a broker."""

    def __init__(
        self,
        broker: Broker,
        cluster: Callable[[], Cluster],
        sender: request_builders.Sender,
        in_turns: InTurns,
        refused: Callable[[], Container[TopicPartition]],
    ) -> None:
        self._broker = broker
        self._cluster = cluster
        self._sender = sender
        self._in_turns = in_turns
        self._refused = refused
        self._stopped: dict[TopicPartition, int] = {}
        """In which leader epoch. A broker that has stopped a replica goes on naming it."""
        self._logs: list[TopicPartition] = []

    async def review(self, client: RpcClient, request: Review) -> Reviewed:
        found = await self._ask(client, request)
        if found is None:
            return Reviewed()
        held = await self._in_turns(self._not_stopped(found.held))
        stopped: list[TopicPartition] = []
        failed: list[TopicPartition] = []
        for at in range(0, len(held), AT_ONCE):
            part = held[at : at + AT_ONCE]
            done = await self._stop(client, part)
            failed += [name for name in part if name not in done]
            stopped += [name for name in done if name not in self._stopped]
            self._stopped |= done
        if request.partitions is not None:
            return Reviewed(stopped, (), failed)
        self._stopped = {name: self._stopped[name] for name in found.held if name in self._stopped}
        before, self._logs = self._logs, found.logs
        return Reviewed(stopped, () if found.logs == before else found.logs, failed)

    def stopped(self, topic: str, indexes: Collection[int]) -> Iterator[int]:
        """Those that the broker has stopped: their logs are still there."""
        if len(self._stopped) < len(indexes):
            return (name.partition for name in self._stopped if name.topic == topic and name.partition in indexes)
        return (index for index in indexes if (topic, index) in self._stopped)

    def _not_stopped(self, held: Sequence[TopicPartition]) -> Generator[None, None, list[TopicPartition]]:
        names = []
        for name in held:
            if self._stopped.get(name) != _epoch(self._cluster(), name):
                names.append(name)
            yield
        return names

    async def _ask(self, client: RpcClient, request: Review) -> Unassigned | None:
        try:
            version = min(await client.version(DescribeLogDirsRequest), MAX_VERSION)
        except NoCommonVersion as error:
            log.warning("broker %d does not say what it holds, %s: %s", self._broker.id, UNKNOWN, error)
            return None
        wanted = None if request.partitions is None else [(name, [*on]) for name, on in request.partitions.items()]
        question = DescribeLogDirsRequest(version=version, topics=wanted)
        reader = LogDirsReader(await client.call(DescribeLogDirsRequest, question, version, raw=True), version)
        await self._in_turns(_read(reader))
        if reader.error or not reader.dirs:
            log.warning(
                "broker %d does not say what it holds, %s: %s. Give this server DESCRIBE on the cluster",
                self._broker.id,
                UNKNOWN,
                # Before Kafka 3.2 a refusal has no code.
                f"error {reader.error}" if reader.error else "it names no log dir",
            )
            return None
        return await self._in_turns(unassigned(self._cluster(), self._broker.id, reader.dirs, self._refused()))

    async def _stop(self, client: RpcClient, names: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Which of them the broker has stopped, and in which leader epoch."""
        cluster, kept = self._cluster(), self._refused()
        leaders = {
            name: leader
            for name in names
            if is_unassigned(cluster, self._broker.id, name, is_refused=name in kept)
            and (leader := leader_to_follow(cluster, self._broker.id, name)) is not None
        }
        if not leaders:
            return {}
        to = (cluster, self._sender, self._broker)
        epochs = {name: _epoch(cluster, name) for name in leaders}
        follow = await _versioned(client, LeaderAndIsrRequest, lambda v: request_builders.follow(*to, leaders, v))
        stops = {name: StopReplicaState(epoch, delete=False) for name, epoch in epochs.items()}
        stop = await _versioned(
            client, StopReplicaRequest, lambda v: request_builders.stop_replica(self._sender, self._broker, stops, v)
        )
        # The broker follows only a leader that lives, as far as it knows.
        version = await client.version(UpdateMetadataRequest)
        live = await self._in_turns(request_builders.update_metadata(*to, {}, {}, version))
        answers: list[Any] = [await client.call(UpdateMetadataRequest, live, version)]
        for request_class, body, version in (follow, stop):
            answers.append(await client.call(request_class, body, version))
        codes = {
            TopicPartition(one.topic_name, one.partition_index): one.error_code for one in answers[-1].partition_errors
        }
        whole = next((answer.error_code for answer in answers if answer.error_code), 0)
        # One that knows a higher leader epoch has refused both requests.
        failed = {name: code for name in epochs if (code := whole or codes.get(name, UnknownServerError.code))}
        if failed:
            name, code = next(iter(failed.items()))
            log.warning(
                "broker %d did not stop %s that it holds and that %s not assigned to it: it may take records that"
                " nobody reads, and is asked again; the first of them %s: error %d. Its next start ends that",
                self._broker.id, counted(len(failed), "replica"), "is" if len(failed) == 1 else "are", name, code,
            )  # fmt: skip
        return {name: epoch for name, epoch in epochs.items() if name not in failed}


async def _versioned(client: RpcClient, request_class: Any, build: Callable[[int], Any]) -> tuple[Any, Any, int]:
    version = await client.version(request_class)
    return request_class, build(version), version


def _epoch(cluster: Cluster, name: TopicPartition) -> int:
    value = cluster.get(*name)
    return -1 if value is None else request_builders.stop_epochs(cluster, name, value).leader_epoch


def _read(reader: LogDirsReader) -> Generator[None, None, None]:
    yield from reader.read()
