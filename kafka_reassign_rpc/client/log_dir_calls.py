"""Calls about log dirs: the sizes of replicas, and moves of replicas between log dirs of a broker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import error_of, raise_for
from kafka_reassign_rpc.client.request_routing import RequestRouter, always, in_thread_if_many
from kafka_reassign_rpc.client.result_values import LogDirs, Replica, ReplicaLogDir
from kafka_reassign_rpc.client.vendor_calls import Connected
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.protocol.messages import (
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

_TELLS_CORDONED = 5
"""The version of DescribeLogDirs."""


class HeldReplica(NamedTuple):
    """`future`: the copy moves here from another log dir of the broker."""

    topic: str
    partition: int
    size: int
    log_dir: str
    future: bool


class LogDir(NamedTuple):
    """`online`: the broker can use it. Bytes are those of its volume, on which several log dirs may lie; None before
    Kafka 3.3. `cordoned`: it gets no new replica; None before Kafka 4.3 (KIP-1066).
    """

    path: str
    online: bool = True
    total_bytes: int | None = None
    usable_bytes: int | None = None
    cordoned: bool | None = None


@dataclass(frozen=True)
class BrokerLogDirs:
    replicas: Sequence[HeldReplica]
    log_dirs: Sequence[LogDir]


NO_RIGHTS = "Cluster authorization failed: DescribeLogDirs needs the operation DESCRIBE on the cluster."
"""Without this right Kafka answers with no log dirs, and from version 3 (Kafka 3.2) on also with the error
(KafkaApis.handleDescribeLogDirsRequest).
"""


class LogDirCalls(Connected):
    """Calls of the client."""

    async def describe_log_dirs(
        self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]], *, timeout_ms: int | None = None
    ) -> list[LogDirs]:
        """The sizes and places of replicas on each broker, or the error of a broker that does not answer.

        All brokers are asked at the same time, for `timeout_ms` at most (default: the request timeout).
        """
        router = self._connected
        calls = [partial(_ask, router, broker, by_topic(some)) for broker, some in partitions_by_broker.items()]
        answers = zip(partitions_by_broker, await router.at_once(calls, timeout_ms), strict=True)
        return [
            LogDirs(broker, error=found.message)
            if isinstance(found, KafkaError)
            else LogDirs(broker, _replicas(found.results))
            for broker, found in answers
        ]

    async def describe_brokers(
        self, partitions_by_broker: Mapping[int, Mapping[str, Sequence[int]]], *, timeout_ms: int | None = None
    ) -> dict[int, BrokerLogDirs | KafkaError]:
        """The brokers' replicas of these partitions (topic -> indexes), and the sizes of their volumes. A broker that
        does not answer, or refuses, has its error as the result. The time is as in `describe_log_dirs`.
        """
        router = self._connected
        calls = [partial(_describe_broker, router, broker, some) for broker, some in partitions_by_broker.items()]
        return dict(zip(partitions_by_broker, await router.at_once(calls, timeout_ms), strict=True))

    async def alter_replica_log_dirs(self, replicas: Mapping[Replica, str]) -> dict[Replica, KafkaError | None]:
        """Move replicas to other log dirs (absolute paths) of their brokers. Returns None or an error for each."""
        router, by_broker = self._connected, dict[int, dict[str, list[Replica]]]()
        for replica, path in replicas.items():
            by_broker.setdefault(replica.broker, {}).setdefault(path, []).append(replica)
        results: dict[Replica, KafkaError | None] = {}
        dir_class = AlterReplicaLogDirsRequest.AlterReplicaLogDir
        for broker, paths in by_broker.items():
            dirs = [
                dir_class(
                    path=path,
                    topics=[
                        dir_class.AlterReplicaLogDirTopic(name=name, partitions=ids)
                        for name, ids in by_topic(replica.topic_partition for replica in some).items()
                    ],
                )
                for path, some in paths.items()
            ]
            try:
                request = AlterReplicaLogDirsRequest(dirs=dirs)
                answer = await router.ask_node(broker, always(request), AlterReplicaLogDirsRequest, changes=True)
            except KafkaError as error:
                results |= {replica: error for some in paths.values() for replica in some}
                continue
            for topic in answer.results:
                for one in topic.partitions:
                    replica = Replica(broker, topic.topic_name, one.partition_index)
                    results[replica] = error_of(one.error_code, None)
        return results


async def _ask(router: RequestRouter, broker: int, partitions: Mapping[str, Sequence[int]]) -> DescribeLogDirsResponse:
    """Raises the broker's error, ClusterAuthorizationFailed if the answer is empty, Unreachable."""

    def build(_version: int) -> DescribeLogDirsRequest:
        topic = DescribeLogDirsRequest.DescribableLogDirTopic
        return DescribeLogDirsRequest(
            topics=[topic(topic=name, partitions=list(ids)) for name, ids in partitions.items()]
        )

    answer = await router.ask_node(broker, build, DescribeLogDirsRequest, names=sum(map(len, partitions.values())))
    code = getattr(answer, "error_code", 0) or 0
    if code == ClusterAuthorizationFailed.code or not (code or answer.results):  # a broker has one log dir at least
        raise ClusterAuthorizationFailed(NO_RIGHTS)
    raise_for(code, None)
    return answer


def _replicas(
    log_dirs: Iterable[DescribeLogDirsResponse.DescribeLogDirsResult],
) -> dict[TopicPartition, ReplicaLogDir]:
    current: dict[TopicPartition, tuple[str, int, int]] = {}
    future: dict[TopicPartition, str] = {}
    for log_dir in log_dirs:
        if log_dir.error_code:
            continue
        for topic in log_dir.topics:
            for one in topic.partitions:
                partition = TopicPartition(topic.name, one.partition_index)
                if one.is_future_key:
                    future[partition] = log_dir.log_dir
                else:
                    current[partition] = (log_dir.log_dir, one.partition_size, one.offset_lag)
    return {
        partition: ReplicaLogDir(path, future.get(partition), size, lag)
        for partition in current.keys() | future.keys()
        for path, size, lag in [current.get(partition, (None, 0, 0))]
    }


async def _describe_broker(
    router: RequestRouter, broker: int, partitions: Mapping[str, Sequence[int]]
) -> BrokerLogDirs:
    answer = await _ask(router, broker, partitions)
    return await in_thread_if_many(sum(map(len, partitions.values())), partial(_held, answer))


def _held(answer: DescribeLogDirsResponse) -> BrokerLogDirs:
    replicas = [
        HeldReplica(topic.name, one.partition_index, one.partition_size, log_dir.log_dir, one.is_future_key)
        for log_dir in answer.results
        if not log_dir.error_code
        for topic in log_dir.topics
        for one in topic.partitions
    ]
    log_dirs = [
        LogDir(
            log_dir.log_dir,
            not log_dir.error_code,
            _told(getattr(log_dir, "total_bytes", None)),
            _told(getattr(log_dir, "usable_bytes", None)),
            log_dir.is_cordoned if (answer.version or 0) >= _TELLS_CORDONED else None,
        )
        for log_dir in answer.results
    ]
    return BrokerLogDirs(replicas, log_dirs)


def _told(size: int | None) -> int | None:
    return None if size is None or size < 0 else size
