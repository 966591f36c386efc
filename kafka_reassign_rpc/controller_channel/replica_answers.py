"""What a broker has answered about its replicas: failed log dirs, logs of other topics. Each new answer checks two old
ones, and forgets those whose replica or topic is gone: so there are never many more than the broker has replicas.
"""

import logging
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import islice

from kafka_reassign_rpc.controller_channel import leader_and_isr_answers
from kafka_reassign_rpc.controller_channel.broker_reports import BrokerReports, LogDirAnswer
from kafka_reassign_rpc.controller_channel.leader_and_isr_answers import HostedReplica
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, StopReplicaState
from kafka_reassign_rpc.core.kafka_errors import InconsistentTopicId, KafkaStorageError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, names_in

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
        if not leader_and_isr_answers.may_be_replaced(
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
