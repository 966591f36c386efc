"""What a broker has answered: confirmed stops, refusals, and about its replicas failed log dirs and logs of other
topics. Of these each new answer checks two old ones, and forgets those whose replica or topic is gone: so there are
never many more than the broker has replicas."""

import logging
from collections.abc import Callable, Collection, Container, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, StopReplicaState
from kafka_reassign_rpc.core.kafka_errors import InconsistentTopicId, KafkaStorageError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, names_in
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrResponse

REFUSALS = (KafkaStorageError.code, InconsistentTopicId.code)
"""Errors that say something about a replica. Others do not: STALE_CONTROLLER_EPOCH, say, is also the answer to a leader
epoch that the broker has seen already."""


class HostedReplica(NamedTuple):
    """`topic_id`: the one that the broker means, if topics have ids."""

    name: TopicPartition
    topic_id: UUID | None


def errors(answer: LeaderAndIsrResponse, cluster: Cluster) -> Iterator[tuple[HostedReplica, int]]:
    """Error codes of replicas that the broker hosts or should host: 0 or one of `REFUSALS`."""
    for name, topic in _known(answer, cluster):
        for one in topic.partition_errors:
            if one.error_code in (0, *REFUSALS):
                yield HostedReplica(TopicPartition(name, one.partition_index), topic.topic_id), one.error_code


def refusals(answer: LeaderAndIsrResponse, cluster: Cluster) -> Generator[None, None, list[tuple[HostedReplica, int]]]:
    """Of the answer to a complete request, which has an entry for each replica of the broker: yields after each."""
    found = []
    for name, topic in _known(answer, cluster):
        for one in topic.partition_errors:
            if one.error_code in REFUSALS:
                found.append((HostedReplica(TopicPartition(name, one.partition_index), topic.topic_id), one.error_code))
            yield
    return found


def _known(
    answer: LeaderAndIsrResponse, cluster: Cluster
) -> Iterator[tuple[str, LeaderAndIsrResponse.LeaderAndIsrTopicError]]:
    for topic in answer.topics or ():
        name = None if topic.topic_id is None else cluster.topic_names.get(topic.topic_id)
        if name is not None:
            yield name, topic


def may_be_replaced(
    replica: HostedReplica, broker: int, cluster: Cluster, elected: int, *, has_proof: Callable[[], bool]
) -> bool:
    """Whether the broker's log, which is not of the present topic of its name, may be deleted for a new replica.

    Such a log is of a deleted topic: the replica was dropped while the broker was away. (Kafka's controller leaves it,
    and the broker refuses the new replica from then on.) If partition and topic id are of this term, it was never this
    partition's. Otherwise it may be the right one: somebody restored ZooKeeper, or wrote the znode without the id. Then
    an in-sync replica is not replaced, and another only with proof. So too if a topic of the name has vanished without
    a deletion mark: the log may be of that one.

    elected    the zxid of this controller's election
    has_proof  another broker has accepted the topic's id for its in-sync replica
    """
    topic = cluster.topics.get(replica.name.topic)
    value = _hosted(replica, cluster)
    if topic is None or value is None or broker not in value.replicas:
        return False
    if cluster.soft.broker_settings.delete_topic_enable is False:
        return False
    if _has_its_first_id(topic, value, elected) and not cluster.soft.former.has_other(topic):
        return True
    return broker not in (*value.isr, value.leader) and has_proof()


def in_sync_elsewhere(replica: HostedReplica, broker: int, cluster: Cluster) -> list[int]:
    value = _hosted(replica, cluster)
    if value is None:
        return []
    return [other for other in value.isr if other != broker and cluster.is_online(other, value)]


def cannot_be_in_sync(replica: HostedReplica, broker: int, cluster: Cluster) -> bool:
    """Whether the replica counts as in sync though its broker has refused it and never had a record of this topic: it
    was registered before the partition was created. (After somebody has restored ZooKeeper, every registration is newer
    than the restored partitions.)
    """
    value = _hosted(replica, cluster)
    registered = cluster.brokers.get(broker)
    return (
        value is not None
        and registered is not None
        and value.created >= registered.epoch
        and broker in value.isr
        and broker not in value.offline
    )


def _hosted(replica: HostedReplica, cluster: Cluster) -> Partition | None:
    topic = cluster.topics.get(replica.name.topic)
    if topic is None or topic.deleting or replica.topic_id is None or topic.id != replica.topic_id:
        return None
    return topic.partitions.get(replica.name.partition)


def _has_its_first_id(topic: Topic, value: Partition, elected: int) -> bool:
    return value.created > elected and (topic.id_since == topic.created or topic.id_since < value.created)


class LogDirAnswer(NamedTuple):
    """topic_id  the one that the broker meant, if topics have ids
    in_sync   the log dir works but has the log of an earlier topic: the replica counts as offline only while this
              broker has an in-sync one
    """

    name: TopicPartition
    topic_id: UUID | None
    is_offline: bool
    in_sync: int | None = None


class BrokerReports(Protocol):
    def stopped(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """The broker has confirmed these stops, or is away: then they count as confirmed."""

    def obeys(self) -> None:
        """A broker has taken a request of this controller's epoch."""

    def knows_newer_controller(self) -> None: ...

    def log_dirs_answered(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool = False) -> None:
        """`is_complete`: the log dirs of all other replicas work."""

    def leader_and_isr_refused(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        """The leader epochs of these partitions have to rise; None: of all of the broker's own."""

    def unassigned_found(self, broker: int, stopped: Sequence[TopicPartition], logs: Sequence[TopicPartition]) -> None:
        """It has stopped these replicas, which are not assigned to it; their logs stay. `logs`: others that it has on
        disk."""


log = logging.getLogger(__name__)

_Replicas = dict[TopicPartition, HostedReplica]


class ReplicaAnswers:
    """During one registration of a broker.

    elected             the zxid of this controller's election
    accepted_elsewhere  another broker has accepted an in-sync replica of the same partition
    replace             deletes a replica's log by this stop, then starts the replica again
    review              has it found out whether the broker holds a replica that is not assigned to it
    """

    def __init__(
        self,
        broker: Broker,
        cluster: Callable[[], Cluster],
        elected: int,
        reports: BrokerReports,
        accepted_elsewhere: Callable[[int, HostedReplica], bool],
        replace: Callable[[TopicPartition, StopReplicaState], None],
        review: Callable[[TopicPartition], None],
    ) -> None:
        self._broker = broker
        self._cluster = cluster
        self._elected = elected
        self._reports = reports
        self._accepted_elsewhere = accepted_elsewhere
        self._replace = replace
        self._review = review
        self._offline: _Replicas = {}
        """Replicas that count as offline: the broker last answered KAFKA_STORAGE_ERROR, or see `refused_in_sync`."""
        self._replaced: _Replicas = {}
        self._kept_logs: _Replicas = {}
        """Replicas whose logs are of other topics, as the broker says, and stay: they count as in sync, or no other
        broker has accepted the topic's id."""

    def answered(self, found: Iterable[tuple[HostedReplica, int]], *, is_complete: bool) -> None:
        """`is_complete`: `found` lists only those of the broker's replicas that it refuses. Source:
        KafkaController.processLeaderAndIsrResponseReceived.
        """
        failed, refused, accepted = [], [], []
        for replica, code in found:
            if code == KafkaStorageError.code:
                failed.append(replica)
            elif code == InconsistentTopicId.code:
                refused.append(replica)
                self._replace_log(replica)
            elif self.remembers(replica):
                accepted.append(replica)
        if is_complete:
            accepted = [*{*self._offline.values(), *self._kept_logs.values()}.difference(failed, refused)]
        working = [replica for replica in accepted if _take(self._offline, replica)]
        for replica in accepted:
            _take(self._kept_logs, replica)
        for replica in failed:
            self._remember(self._offline, replica)
        answers = [LogDirAnswer(*replica, is_offline=True) for replica in failed]
        answers += [LogDirAnswer(*replica, is_offline=False) for replica in working]
        if answers or is_complete:
            self._reports.log_dirs_answered(self._broker, answers, is_complete=is_complete)

    def remembers(self, replica: HostedReplica) -> bool:
        return replica in (self._offline.get(replica.name), self._kept_logs.get(replica.name))

    @property
    def kept(self) -> Container[TopicPartition]:
        """Refused replicas whose logs stay."""
        return self._kept_logs.keys()

    def kept_of(self, partitions: Mapping[str, Iterable[int]] | None) -> list[HostedReplica]:
        """The refused replicas of these partitions (None: of all) whose logs stay."""
        if not self._kept_logs or partitions is None:
            return list(self._kept_logs.values())
        return [self._kept_logs[name] for name in names_in(partitions) if name in self._kept_logs]

    def refused_in_sync(self, replicas: Mapping[HostedReplica, int]) -> None:
        """Other brokers have accepted what this one has refused: its replicas count as on a failed log dir until their
        logs are replaced. `replicas`: each with a broker whose in-sync replica is of the right topic.
        """
        for replica in replicas:
            self._remember(self._offline, replica)
        answers = [LogDirAnswer(*replica, is_offline=True, in_sync=other) for replica, other in replicas.items()]
        self._reports.log_dirs_answered(self._broker, answers)

    def reconsider(self, topic: str, index: int) -> None:
        """The replica is out of sync now, or another broker has accepted one."""
        replica = self._kept_logs.get(TopicPartition(topic, index))
        if replica is not None:
            self._replace_log(replica)

    def _replace_log(self, replica: HostedReplica) -> None:
        """Once for each replica."""
        name, cluster = replica.name, self._cluster()
        if self._replaced.get(name) == replica:
            return
        if not may_be_replaced(
            replica,
            self._broker.id,
            cluster,
            self._elected,
            has_proof=lambda: self._accepted_elsewhere(self._broker.id, replica),
        ):
            if name not in self._kept_logs:
                log.warning(
                    "broker %d has the log of another topic for %s: it stays, and the broker serves no replica there",
                    self._broker.id,
                    name,
                )
            self._remember(self._kept_logs, replica)
            self._review(name)  # it goes on with the replica of that other topic
            return
        self._remember(self._replaced, replica)
        self._kept_logs.pop(name, None)
        log.warning(
            "broker %d has the log of an earlier topic for %s: it is deleted, and the replica starts empty",
            self._broker.id,
            name,
        )
        self._replace(name, StopReplicaState(DELETED_EPOCH, delete=True, created=cluster.topics[name.topic].created))

    def _remember(self, known: _Replicas, replica: HostedReplica) -> None:
        for name, one in list(islice(known.items(), 2)):
            del known[name]
            if self._is_hosted(one):
                known[name] = one
        known[replica.name] = replica

    def _is_hosted(self, replica: HostedReplica) -> bool:
        topic = self._cluster().topics.get(replica.name.topic)
        known = None if topic is None or topic.id != replica.topic_id else topic.partitions.get(replica.name.partition)
        return known is not None and (self._broker.id in known.replicas or self._broker.id in known.offline)


def _take(known: _Replicas, replica: HostedReplica) -> bool:
    is_known = known.get(replica.name) == replica
    if is_known:
        del known[replica.name]
    return is_known
