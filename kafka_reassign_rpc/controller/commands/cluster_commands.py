"""Commands about the state of the cluster: failover, registered brokers, states, configs, sizes, confirmed stops."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kafka_reassign_rpc.controller.commands.command import (
    Command,
    OthersChanged,
    Round,
    change_each,
    every_partition,
    give_topic_id,
    vanished,
)
from kafka_reassign_rpc.controller.commands.queue_commands import end_leases_while_brokers_migrate
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import process_batch_and_queue
from kafka_reassign_rpc.controller.commands.repair_commands import brake_waiting_repairs, forget_failures_of_registered
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.leadership.broker_changes import confirm_stopped
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, default_allows_unclean
from kafka_reassign_rpc.core.queue import holding
from kafka_reassign_rpc.core.reassignment_algebra import LoadedState
from kafka_reassign_rpc.core.round.round_view import Change
from kafka_reassign_rpc.core.settings.broker_settings import BrokerSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics import missing_replicas
from kafka_reassign_rpc.core.writers import facts
from kafka_reassign_rpc.core.writers.topic_facts import StatesFound, UnreadableReadAgain


class Barrier(Command[None]):
    """Its answer says that all rounds before it have been replayed."""

    def decide(self, _work: Round) -> Iterator[None]:
        self.answer(None)
        yield


class ControllerFailover(Command[None]):
    """Decides about all that was read, as a new controller or after foreign writes (Kafka: onControllerFailover).

    propagate      called once the decisions are durable: then all brokers have to learn the whole state
    changed        after foreign writes: the moves that differ from what this controller knew, and the partitions to
                   which others have given other replicas. A new controller has none
    bounced        brokers that have registered again since the last read: they have failed and started again
    held           as what all that waits is held, in the queue and in the batch; None: it may start
                   (`core.failover`)
    started_with   what brokers have reported of themselves: it holds before a move gets a lease
    edited         partitions to which others have given another leader before this controller's term, in an epoch that
                   brokers know
    """

    def __init__(
        self,
        own_id: int,
        propagate: Callable[[], None],
        *,
        changed: Collection[TopicPartition] | None = None,
        bounced: Collection[int] = (),
        held: Held | None = None,
        started_with: facts.BrokersStartedWith | None = None,
        edited: Collection[TopicPartition] = (),
    ) -> None:
        super().__init__()
        self._started_with = started_with
        self._edited = edited
        self._changed = changed
        self._held = held
        self._own_id = own_id
        self._propagate = propagate
        self._bounced = bounced

    def learn(self, cluster: Cluster) -> Iterator[None]:
        if self._started_with is not None:
            yield from self._started_with.apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        forget_failures_of_registered(work)
        for topic in list(work.view.cluster.topics):
            give_topic_id(work, topic)
            yield
        if self._bounced:
            yield from _adapt_all(work, self._bounced)
        yield from change_each(work, every_partition(work.view.cluster), lambda name: self._fail_over(work, name))
        for gone, count in work.view.cluster.soft.former.unreported(work.view.cluster.topics):
            work.view.report(vanished(gone, count))
        yield from brake_waiting_repairs(work)
        if self._held is not None:
            yield from holding.hold_all(work.view, self._held)
        yield from process_batch_and_queue(work, self._held)
        self.answer(None)

    def _fail_over(self, work: Round, name: TopicPartition) -> list[Change]:
        known = self._changed is not None
        changed = self._changed is not None and name in self._changed
        return fail_over(
            work.view,
            *name,
            own_id=self._own_id,
            is_as_known=known and not changed,
            is_reassigned=changed or name in self._edited,
        )

    def durable(self) -> None:
        self._propagate()
        super().durable()


class BrokersRead(OthersChanged[facts.BrokersChanged]):
    """`changed` is called once the decisions are durable, if any broker has changed."""

    def __init__(self, found: facts.BrokersRegistered, own_id: int, changed: Callable[[], None]) -> None:
        super().__init__(found, lambda _: changed())
        self._own_id = own_id

    def decide(self, work: Round) -> Iterator[None]:
        forget_failures_of_registered(work, self._changed.joined)
        if self._changed:
            back = [broker for broker in self._changed.gone if broker in work.view.cluster.brokers]
            if bounced := [*self._changed.bounced, *back]:
                yield from _adapt_all(work, bounced)
            yield from _adapt_all(work, ())
            yield from change_each(
                work,
                every_partition(work.view.cluster),
                lambda name: missing_replicas.replace_missing(work.view, *name, self._own_id),
            )
            yield from brake_waiting_repairs(work)
        self.answer(None)


class Reported(Command[None]):
    def __init__(self, *found: facts.Fact[object]) -> None:
        super().__init__()
        self._found = found

    def learn(self, cluster: Cluster) -> Iterator[None]:
        return facts.all_of(self._found, cluster)

    def decide(self, _work: Round) -> Iterator[None]:
        self.answer(None)
        yield


def _adapt_all(work: Round, down: Collection[int]) -> Iterator[None]:
    return change_each(
        work, every_partition(work.view.cluster), lambda name: broker_changes.adapt(work.view, *name, down=down)
    )


class StatesRead(OthersChanged[list[TopicPartition]]):
    """States that brokers have written by themselves (inter.broker.protocol.version < 2.7). `changed` is called with
    the partitions that have changed, once the decisions are durable."""

    def __init__(
        self, states: Mapping[TopicPartition, LoadedState], changed: Callable[[Sequence[TopicPartition]], None]
    ) -> None:
        super().__init__(StatesFound(states), changed)

    def decide(self, work: Round) -> Iterator[None]:
        yield from change_each(work, self._changed, lambda name: broker_changes.adapt(work.view, *name))
        self.answer(None)


class StatesRepaired(OthersChanged[list[TopicPartition]]):
    """States that could not be read before. Leaders know other partition epochs, so leader epochs rise. `repaired` is
    called with the partitions that can be read now, once the decisions are durable."""

    def __init__(
        self, found: UnreadableReadAgain, own_id: int, repaired: Callable[[Sequence[TopicPartition]], None]
    ) -> None:
        super().__init__(found, repaired)
        self._own_id = own_id

    def decide(self, work: Round) -> Iterator[None]:
        yield from change_each(
            work,
            self._changed,
            lambda name: fail_over(work.view, *name, own_id=self._own_id, is_reassigned=True),
        )
        self.answer(None)


class _MayAllowUncleanElection(Command[None]):
    """Settings or configs. If they allow unclean election, partitions without a leader get one at once
    (KafkaController, processTopicUncleanLeaderElectionEnable and processUncleanLeaderElectionEnable)."""

    def __init__(self, found: facts.Fact[None], topics: Collection[str] = ()) -> None:
        super().__init__()
        self._found = found
        self._topics = topics
        self._unclean_by_default = False

    def learn(self, cluster: Cluster) -> Iterator[None]:
        before = default_allows_unclean(cluster)
        yield from self._found.apply(cluster)
        self._unclean_by_default = default_allows_unclean(cluster) and not before

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        names = every_partition(cluster) if self._unclean_by_default else self._unclean_partitions(cluster)
        yield from change_each(work, names, lambda name: broker_changes.elect_missing_leader(work.view, *name))
        self.answer(None)

    def _unclean_partitions(self, cluster: Cluster) -> Iterator[TopicPartition]:
        for name in self._topics:
            topic = cluster.topics.get(name)
            if topic is not None and allows_unclean(cluster, name):
                for index in list(topic.partitions):
                    yield TopicPartition(name, index)


class ConfigsRead(_MayAllowUncleanElection):
    def __init__(
        self,
        kind: str,
        configs: Mapping[str, Mapping[str, str]],
        versions: Mapping[str, tuple[int, int]] | None = None,
        unreadable: Collection[str] = (),
    ) -> None:
        found = facts.ConfigsFound(kind, configs, versions or {}, unreadable)
        super().__init__(found, configs if kind == TOPICS else ())


class BrokerSettingsLearnt(_MayAllowUncleanElection):
    def __init__(self, settings: BrokerSettings, migrating: frozenset[int] = frozenset()) -> None:
        super().__init__(facts.BrokersStartedWith(settings, migrating))

    def decide(self, work: Round) -> Iterator[None]:
        yield from end_leases_while_brokers_migrate(work)
        yield from super().decide(work)


class StopsConfirmed(Command[None]):
    """A broker has stopped and deleted these replicas, of the topics as `created` says."""

    def __init__(self, broker_id: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        super().__init__()
        self._broker_id = broker_id
        self._stops = stops

    def decide(self, work: Round) -> Iterator[None]:
        for name, stop in [item for item in self._stops.items() if item[1].delete]:
            topic = work.view.topic(name.topic)
            if topic is not None and topic.created == stop.created:
                for change in confirm_stopped(work.view, *name, (self._broker_id,), leader_epoch=stop.leader_epoch):
                    work.view.add(change)
            yield
        self.answer(None)
