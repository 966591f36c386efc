"""Elections, AlterPartition, controlled shutdown, failed log dirs: commands apply the decisions of `core.leadership` to
many partitions, slice by slice."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from kafka_reassign_rpc.api.ports import AlterPartition, ItemResult
from kafka_reassign_rpc.controller.commands.command import Command, Round, change_each, every_partition
from kafka_reassign_rpc.controller_channel.replica_answers import LogDirAnswer
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, KafkaError, NotController
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.leadership.elections import ElectionType, LeaderImbalance, elect
from kafka_reassign_rpc.core.leadership.isr_changes import (
    IsrChange,
    alter_partition,
    check_sender,
    higher_epochs,
    replicas_sent_again,
)
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, names_in
from kafka_reassign_rpc.core.writers import facts
from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.support.counted import first_of

SHOWN = 5
"""How many replicas of a failed log dir, or partitions with an elected leader, an event names at most."""
LONGEST_NAME = 249


class ElectLeadersCommand(Command[Sequence[ItemResult]]):
    """For the named partitions or for all. (api/ leaves those out of all that needed none.) After a lost commit a
    partition that has the elected leader by now got it from this command.
    """

    def __init__(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool, by: Requester = CONTROLLER
    ) -> None:
        super().__init__()
        self.by = by
        self._partitions = partitions
        self._election = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        self._elected: dict[TopicPartition, int] = {}
        """The leaders that the last decision elected."""

    def decide(self, work: Round) -> Iterator[None]:
        results: list[ItemResult] = []
        names: Iterable[TopicPartition] = (
            every_partition(work.view.cluster) if self._partitions is None else self._partitions
        )
        for name in names:
            results.append((*name, self._elect(work, name)))
            yield
        if self._elected:
            work.view.report(Event(catalogue.LEADERS_ELECTED, reason=self._reason(), count=len(self._elected)))
        self.answer(results)

    def _reason(self) -> str:
        some = [f"{word(topic, LONGEST_NAME)}-{index}" for topic, index in islice(self._elected, SHOWN)]
        return f"{self._election.name.lower()}: {first_of(some, SHOWN, of=len(self._elected))}"

    def _elect(self, work: Round, name: TopicPartition) -> KafkaError | None:
        error, changes = elect(work.view, *name, self._election)
        for change in changes:
            work.view.add(change)
        current = work.view.get(*name)
        if current is not None and changes:
            self._elected[name] = current.leader
        if isinstance(error, ElectionNotNeeded) and current is not None and self._elected.get(name) == current.leader:
            return None
        return error


class RebalanceLeaders(Command[int]):
    """For brokers that lead too few of their partitions. Answers how many were elected."""

    def __init__(self, percentage: int) -> None:
        super().__init__()
        self._percentage = percentage

    def decide(self, work: Round) -> Iterator[None]:
        imbalance = LeaderImbalance(work.view.cluster)
        for name in every_partition(work.view.cluster):
            imbalance.count((name,))
            yield
        elected = 0
        for name in imbalance.to_elect(self._percentage):
            error, changes = elect(work.view, *name, ElectionType.PREFERRED)
            elected += error is None
            for change in changes:
                work.view.add(change)
            yield
        self.answer(elected)


class TellLaggingAgain(Command[int]):
    """Answers how many partitions have a live replica out of sync: see `isr_changes.replicas_sent_again`."""

    def decide(self, work: Round) -> Iterator[None]:
        found = 0
        for name in every_partition(work.view.cluster):
            for change in replicas_sent_again(work.view, *name):
                work.view.add(change)
                found += 1
            yield
        self.answer(found)


class AlterPartitionCommand(Command[Sequence[Partition | KafkaError]]):
    def __init__(self, request: AlterPartition) -> None:
        super().__init__()
        self._request = request

    def decide(self, work: Round) -> Iterator[None]:
        request = self._request
        error = check_sender(work.view.cluster, request.broker_id, request.broker_epoch)
        if error is not None:
            raise error
        answers: list[Partition | KafkaError] = []
        for change in request.changes:
            answer = self._decide_one(work, change)
            answers.append(answer)
            yield
        self.answer(answers)

    def _decide_one(self, work: Round, change: IsrChange) -> Partition | KafkaError:
        answer, changes = alter_partition(work.view, self._request.broker_id, change, self._request.api_version)
        if isinstance(answer, NotController):
            changes = higher_epochs(work.view, change)
        for made in changes:
            work.view.add(made)
        return answer


class ControlledShutdownCommand(Command[Sequence[TopicPartition]]):
    """Another replica leads each partition of the broker, and its followers stop. Answers the partitions that it still
    leads."""

    def __init__(self, broker_id: int, broker_epoch: int) -> None:
        super().__init__()
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch

    def learn(self, cluster: Cluster) -> Iterator[None]:
        return facts.ShutdownAsked(self._broker_id, self._broker_epoch).apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        error = broker_changes.controlled_shutdown_refusal(cluster, self._broker_id, self._broker_epoch)
        if error is not None:
            raise error
        left = []
        stopped = work.view.leaving.setdefault(self._broker_id, [])
        for name in every_partition(cluster):
            if broker_changes.stops_following(work.view, *name, self._broker_id):
                stopped.append(name)
            still_leads, changes = broker_changes.controlled_shutdown(work.view, *name, self._broker_id)
            for change in changes:
                work.view.add(change)
            if still_leads:
                left.append(name)
            yield
        self.answer(left)


def _is_registered_as(cluster: Cluster, broker: Broker) -> bool:
    now = cluster.brokers.get(broker.id)
    return now is not None and now.epoch == broker.epoch


def _still_holds(work: Round, answer: LogDirAnswer) -> bool:
    """Whether the in-sync replica that a replica with an earlier topic's log was held against is still in sync."""
    if answer.in_sync is None:
        return True
    value = work.view.get(*answer.name)
    return value is not None and answer.in_sync in value.isr and work.view.cluster.is_online(answer.in_sync, value)


class LogDirsAnswered(Command[None]):
    """If a log dir has failed, or has the log of an earlier topic, another in-sync replica leads (Kafka's
    onReplicasBecomeOffline). `is_complete`: the broker has answered for all."""

    def __init__(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool = False) -> None:
        super().__init__()
        self._is_complete = is_complete
        self._broker = broker
        self._answers = answers

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        failed: list[TopicPartition] = []
        # A broker that has registered again since answers again.
        is_registered = _is_registered_as(cluster, self._broker)
        if self._is_complete and is_registered:
            work.view.heard.add(self._broker.id)
        answers = self._answers if is_registered else ()
        for answer in answers:
            topic = cluster.topics.get(answer.name.topic)
            if topic is not None and topic.id == answer.topic_id and _still_holds(work, answer):
                changes = broker_changes.log_dir_answered(
                    work.view, *answer.name, self._broker.id, is_offline=answer.is_offline
                )
                if changes and answer.is_offline:
                    failed.append(answer.name)
                for change in changes:
                    work.view.add(change)
            yield
        if failed:
            shown = ", ".join([*map(str, islice(failed, SHOWN)), *(["…"] if len(failed) > SHOWN else [])])
            work.view.report(
                Event(catalogue.BROKER_REPLICAS_OFFLINE, broker=self._broker.id, count=len(failed), reason=shown)
            )
        self.answer(None)


class RestartReplicas(Command[None]):
    """A broker has refused a whole LeaderAndIsr: its replicas of these partitions (None: all of them) restart."""

    def __init__(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        super().__init__()
        self._broker = broker
        self._partitions = partitions

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        if _is_registered_as(cluster, self._broker):  # one that has registered again learns everything
            names = every_partition(cluster) if self._partitions is None else names_in(self._partitions)
            yield from change_each(
                work, names, lambda name: broker_changes.with_higher_leader_epoch(work.view, *name, self._broker.id)
            )
        self.answer(None)
