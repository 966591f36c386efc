"""Commands about the state of the cluster: controller failover, registered brokers, states, configs, sizes,
confirmed stops."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.controller.commands.command import (
    SLICE,
    Command,
    Round,
    change_each,
    every_partition,
    give_topic_id,
    vanished,
)
from kafka_reassign_rpc.controller.commands.lost_replicas import brake_waiting_repairs
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import process_batch_and_queue
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.broker_settings import BrokerSettings
from kafka_reassign_rpc.core.controller_failover import fail_over
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, default_allows_unclean
from kafka_reassign_rpc.core.reassignment.pending_deletion import confirm_stopped
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.round.replay import LoadedState
from kafka_reassign_rpc.core.round.round_view import Change
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Partition, TopicPartition
from kafka_reassign_rpc.core.topics import missing_replicas
from kafka_reassign_rpc.support.slices import in_slices


class Barrier(Command[None]):
    """Changes nothing. Its answer says that all rounds before it have been replayed."""

    def decide(self, _work: Round) -> Iterator[None]:
        self.answer(None)
        yield


def _forget_failures_of_registered(work: Round) -> None:
    """A broker that is back has not failed. If it is lost again, however soon, that is a new failure with its own time.

    The healer's next diagnosis may be too late to see that it was back: it makes none while it plans.
    """
    for broker in sorted(work.view.failures().keys() & work.view.cluster.brokers.keys()):
        work.view.forget_failure(broker)
        work.view.report(Event(catalogue.HEAL_OVER, broker=broker, reason="it is back"))


class ControllerFailover(Command[None]):
    """Decide about all that was read, as a new controller or after foreign writes (Kafka: onControllerFailover).

    propagate   called once the decisions are durable: all brokers have to learn the whole state then
    changed     after foreign writes: the moves that are not as this controller knew them, and the partitions to which
                others have given other replicas. A new controller knows none
    bounced     brokers that registered anew since the cluster was read before: they have failed and started again
    """

    def __init__(
        self,
        own_id: int,
        propagate: Callable[[], None],
        *,
        changed: Collection[TopicPartition] | None = None,
        bounced: Collection[int] = (),
    ) -> None:
        super().__init__()
        self._changed = changed
        self._own_id = own_id
        self._propagate = propagate
        self._bounced = bounced

    def decide(self, work: Round) -> Iterator[None]:
        _forget_failures_of_registered(work)
        for topic, pause in in_slices(list(work.view.cluster.topics), SLICE):
            give_topic_id(work, topic)
            if pause:
                yield
        if self._bounced:
            yield from _settle_all(work, self._bounced)
        yield from change_each(work, every_partition(work.view.cluster), lambda name: self._fail_over(work, name))
        for gone, count in work.view.cluster.former.unreported(work.view.cluster.topics):
            work.view.report(vanished(gone, count))
        yield from brake_waiting_repairs(work)
        yield from process_batch_and_queue(work)
        self.answer(None)

    def _fail_over(self, work: Round, name: TopicPartition) -> list[Change]:
        known = self._changed is not None
        changed = self._changed is not None and name in self._changed
        return fail_over(
            work.view, *name, own_id=self._own_id, is_as_known=known and not changed, is_reassigned=changed
        )

    def durable(self) -> None:
        self._propagate()
        super().durable()


class BrokersRead(Command[None]):
    """The registered brokers, as just read from `/brokers/ids`.

    changed   called once the decisions are durable, if any broker has changed
    """

    def __init__(self, registered: Mapping[int, Broker], own_id: int, changed: Callable[[], None]) -> None:
        super().__init__()
        self._registered = registered
        self._own_id = own_id
        self._notify = changed
        self._changed = False
        self._bounced: set[int] = set()

    def decide(self, work: Round) -> Iterator[None]:
        changed = replay.put_brokers(work.view.cluster, self._registered)
        self._changed |= bool(changed)
        self._bounced.update(changed.bounced)
        _forget_failures_of_registered(work)
        if self._changed:
            if self._bounced:
                yield from _settle_all(work, self._bounced)
            yield from _settle_all(work, ())
            yield from change_each(
                work,
                every_partition(work.view.cluster),
                lambda name: missing_replicas.settle_missing(work.view, *name, self._own_id),
            )
            yield from brake_waiting_repairs(work)
        self.answer(None)

    def durable(self) -> None:
        if self._changed:
            self._notify()
        super().durable()


class ServersRead(Command[None]):
    """The ids that servers of this product have taken, as just read."""

    def __init__(self, ids: frozenset[int]) -> None:
        super().__init__()
        self._ids = ids

    def decide(self, work: Round) -> Iterator[None]:
        replay.put_servers(work.view.cluster, self._ids)
        self.answer(None)
        yield


def _settle_all(work: Round, down: Collection[int]) -> Iterator[None]:
    return change_each(
        work, every_partition(work.view.cluster), lambda name: broker_changes.settle(work.view, *name, down=down)
    )


class StatesRead(Command[None]):
    """States of partitions that brokers have written by themselves, as just read (inter.broker.protocol.version < 2.7).

    A state of another topic of the same name, or of a partition that was made again, is left to those who read topics.

    changed   called with the partitions that have changed, once the decisions about them are durable
    """

    def __init__(
        self, states: Mapping[TopicPartition, LoadedState], changed: Callable[[Sequence[TopicPartition]], None]
    ) -> None:
        super().__init__()
        self._states = states
        self._notify = changed
        self._changed: dict[TopicPartition, None] = {}
        """Those that one of the decisions has put in."""

    def decide(self, work: Round) -> Iterator[None]:
        for (name, state), pause in in_slices(self._states.items(), SLICE):
            partition = work.view.cluster.get(*name)
            if partition is not None and _is_newer(partition, state) and not work.view.outdate(name):
                replay.put_state(work.view.cluster, name, state)
                self._changed[name] = None
            if name in self._changed:
                for change in broker_changes.settle(work.view, *name):
                    work.view.add(change)
            if pause:
                yield
        self.answer(None)

    def durable(self) -> None:
        if self._changed:
            self._notify(list(self._changed))
        super().durable()


def _is_newer(known: Partition, read: LoadedState) -> bool:
    is_same = known.partition_epoch < 0 or known.created == read.created
    return is_same and known.partition_epoch < read.version


class ConfigsRead(Command[None]):
    """Dynamic configs of these topics or brokers, as just read (empty: none).

    Where they allow unclean election, partitions without a leader get one at once. Source: KafkaController,
    processTopicUncleanLeaderElectionEnable and processUncleanLeaderElectionEnable.
    """

    def __init__(self, kind: str, configs: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__()
        self._kind = kind
        self._configs = configs
        self._unclean_by_default = False

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        before = default_allows_unclean(cluster)
        replay.put_configs(cluster, self._kind, self._configs)
        self._unclean_by_default |= default_allows_unclean(cluster) and not before
        if self._unclean_by_default:
            yield from elect_missing_leaders(work, every_partition(cluster))
        elif self._kind == replay.TOPICS:
            yield from elect_missing_leaders(work, self._unclean_partitions(cluster))
        self.answer(None)
        yield

    def _unclean_partitions(self, cluster: Cluster) -> Iterator[TopicPartition]:
        for name in self._configs:
            topic = cluster.topics.get(name)
            if topic is not None and allows_unclean(cluster, name):
                for index in list(topic.partitions):
                    yield TopicPartition(name, index)


class SettingsRead(Command[None]):
    """The settings of all servers, as just read, or why they cannot be read. Waiting moves are decided after it."""

    def __init__(self, settings: Mapping[str, str], problem: str) -> None:
        super().__init__()
        self._settings = settings
        self._problem = problem

    def decide(self, work: Round) -> Iterator[None]:
        replay.put_settings(work.view.cluster, self._settings, self._problem)
        self.answer(None)
        yield


class BrokerSettingsLearnt(Command[None]):
    """What the brokers were started with. Where that allows unclean election, leaders are elected at once."""

    def __init__(self, settings: BrokerSettings) -> None:
        super().__init__()
        self._settings = settings
        self._unclean_by_default = False

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        before = default_allows_unclean(cluster)
        replay.put_broker_settings(cluster, self._settings)
        self._unclean_by_default |= default_allows_unclean(cluster) and not before
        if self._unclean_by_default:
            yield from elect_missing_leaders(work, every_partition(cluster))
        self.answer(None)
        yield


def elect_missing_leaders(work: Round, names: Iterable[TopicPartition]) -> Iterator[None]:
    """Elect leaders for those of these partitions that have none."""
    return change_each(work, names, lambda name: broker_changes.elect_missing_leader(work.view, *name))


class SizesSampled(Command[None]):
    """Bytes of partitions' leader replicas, as brokers have reported them; None: nobody needs the size any more."""

    def __init__(self, sizes: Mapping[TopicPartition, int | None]) -> None:
        super().__init__()
        self._sizes = sizes

    def decide(self, work: Round) -> Iterator[None]:
        yield from replay.put_sizes(work.view.cluster, self._sizes)
        self.answer(None)


class StopsConfirmed(Command[None]):
    """A broker has confirmed that it stopped and deleted these replicas, of the topics as `created` says."""

    def __init__(self, broker_id: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        super().__init__()
        self._broker_id = broker_id
        self._stops = stops

    def decide(self, work: Round) -> Iterator[None]:
        for (name, stop), pause in in_slices([item for item in self._stops.items() if item[1].delete], SLICE):
            topic = work.view.topic(name.topic)
            if topic is not None and topic.created == stop.created:
                for change in confirm_stopped(work.view, *name, (self._broker_id,), leader_epoch=stop.leader_epoch):
                    work.view.add(change)
            if pause:
                yield
        self.answer(None)
