"""What is noted of a broker's answers for its replicas, for as long as the broker has them."""

from collections.abc import Callable
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.controller_channel.replica_answers import HostedReplica, LogDirAnswer, ReplicaAnswers
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.controller_channel.scripted_broker import INCONSISTENT_TOPIC_ID, KAFKA_STORAGE_ERROR, ChannelReports

BROKER = Broker(3, 103, ())
ROUNDS = 200


class Answers:
    """One broker answers for one replica after the other. `in_sync`: the logs of other topics stay."""

    def __init__(self, *, in_sync: bool) -> None:
        self.cluster = Cluster(brokers={3: BROKER})
        self.reports = ChannelReports()
        self.stopped: list[tuple[TopicPartition, StopReplicaState]] = []
        self.reviewed: list[TopicPartition] = []
        self.noted = ReplicaAnswers(
            BROKER,
            lambda: self.cluster,
            1000,
            self.reports,
            self.reports.accepted_elsewhere,
            lambda *one: self.stopped.append(one),
            self.reviewed.append,
        )
        self._isr = (1, 3) if in_sync else (1,)

    def of_new_topic(self, number: int, code: int) -> HostedReplica:
        value = Partition(replicas=(1, 3), leader=1, isr=self._isr, leader_epoch=0, partition_epoch=0, created=number)
        topic = Topic(f"t{number}", UUID(int=number), {0: value}, created=number, id_since=number)
        self.cluster.topics[topic.name] = topic
        return self.of(number, code)

    def of(self, number: int, code: int) -> HostedReplica:
        replica = HostedReplica(TopicPartition(f"t{number}", 0), UUID(int=number))
        self.noted.answered([(replica, code)], is_complete=False)
        return replica

    def leaves(self, number: int) -> None:
        """The replica leaves the broker; what is known of its log dir is kept, as in a move."""
        partitions = self.cluster.topics[f"t{number}"].partitions
        partitions[0] = replace(partitions[0], replicas=(1,), isr=(1,))

    def vanishes(self, number: int) -> None:
        del self.cluster.topics[f"t{number}"]

    def count(self) -> int:
        return sum(map(len, (self.noted._kept_logs, self.noted._offline, self.noted._replaced)))


def after_many(code: int, end: Callable[[Answers, int], None], *, in_sync: bool = True) -> Answers:
    """Fifty replicas that stay, and `ROUNDS` that come one after the other and end."""
    answers = Answers(in_sync=in_sync)
    for number in range(50):
        answers.of_new_topic(number, code)
    for number in range(50, 50 + ROUNDS):
        answers.of_new_topic(number, code)
        end(answers, number)
    return answers


def test_sv_10_a_kept_log_is_forgotten_once_its_replica_has_left_the_broker_or_its_topic_is_gone() -> None:
    for end in (Answers.leaves, Answers.vanishes):
        answers = after_many(INCONSISTENT_TOPIC_ID, end)
        assert answers.count() < 110
        assert len([one for one in answers.noted.kept_of(None) if int(one.name.topic[1:]) < 50]) == 50
        assert answers.stopped == []


def test_sv_10_a_replaced_log_is_forgotten_once_its_replica_has_left_the_broker() -> None:
    for end in (Answers.leaves, Answers.vanishes):
        answers = after_many(INCONSISTENT_TOPIC_ID, end, in_sync=False)
        assert answers.count() < 110
        assert len(answers.stopped) == 50 + ROUNDS
        answers.of(7, INCONSISTENT_TOPIC_ID)
        assert len(answers.stopped) == 50 + ROUNDS, "a replica that the broker still has is replaced once"


def test_sv_4_a_failed_log_dir_is_forgotten_once_its_replica_has_left_the_broker() -> None:
    answers = after_many(KAFKA_STORAGE_ERROR, Answers.leaves)
    assert answers.count() < 110
    answers.reports.log_dirs.clear()
    for number in range(50):
        answers.of(number, 0)
    assert answers.reports.log_dirs == [
        [LogDirAnswer(TopicPartition(f"t{number}", 0), UUID(int=number), is_offline=False)] for number in range(50)
    ]


def test_sv_4_a_replica_that_has_left_while_it_counts_as_offline_is_reported_when_it_works_again() -> None:
    """It may come back, and would count as offline as long as the broker is registered."""
    answers = Answers(in_sync=True)
    answers.of_new_topic(0, KAFKA_STORAGE_ERROR)
    partitions = answers.cluster.topics["t0"].partitions
    partitions[0] = replace(partitions[0], replicas=(1,), isr=(1,), offline=(3,))
    for number in range(1, 20):
        answers.of_new_topic(number, KAFKA_STORAGE_ERROR)
    answers.reports.log_dirs.clear()
    replica = answers.of(0, 0)
    assert answers.reports.log_dirs == [[LogDirAnswer(*replica, is_offline=False)]]
