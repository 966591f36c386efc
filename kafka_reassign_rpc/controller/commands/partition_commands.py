"""Every command there is: what clients ask for, what brokers ask for, what happens in ZooKeeper.

They translate between the ports' values and `core`'s decisions; what is decided stands in `core`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.api.ports import AlterPartition, AlterReassignments, IsrChange, ItemResult
from kafka_reassign_rpc.controller.commands.command import SLICE, Command, Round
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import settle
from kafka_reassign_rpc.controller_channel.pending_requests import ReplicaStop
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.controller_failover import fail_over
from kafka_reassign_rpc.core.events.decided_events import CONTROLLER, Refusals, reassigned
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.leadership.elections import Election, elect
from kafka_reassign_rpc.core.leadership.isr_changes import alter_partition, check_sender
from kafka_reassign_rpc.core.leadership.leader_imbalance import Imbalance
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.reassignment.pending_deletion import confirm_stopped
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Partition, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import Waiting
from kafka_reassign_rpc.core.znode_routes import queue_admission, reassign_partitions


def in_slices(names: Iterable[TopicPartition]) -> Iterator[tuple[TopicPartition, bool]]:
    """Each name, and whether it is time to yield after it."""
    for count, name in enumerate(names, 1):
        yield name, count % SLICE == 0


def every_partition(cluster: Cluster) -> Iterator[TopicPartition]:
    """Of the topics that stand now: what a later slice finds gone is skipped by the decision."""
    for topic in list(cluster.topics.values()):
        for index in list(topic.partitions):
            yield TopicPartition(topic.name, index)


class Barrier(Command[None]):
    """Asks for nothing: answered when everything that was being done before it has been replayed."""

    def decide(self, work: Round) -> Iterator[None]:
        self.answer(None)
        yield


class AlterReassignmentsCommand(Command[Sequence[ItemResult]]):
    """AlterPartitionReassignments.

    Decided again after a lost commit, a partition that stands as the first decision wanted it was done then: its
    answer is the first one's, not (for a cancel) that nothing is in progress.

    A target that may not start yet, as the caps on moves in flight go, joins the queue, behind what waits there; so
    does every target of a request for the queue, which need not find the guard open or its brokers alive.
    """

    def __init__(self, request: AlterReassignments, by: str = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._request = request
        self._wanted: dict[TopicPartition, Partition] = {}
        """What the last decision wanted to stand."""
        self._given_up: set[TopicPartition] = set()
        """Partitions that had nothing in flight, but something that waited."""

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.schedule_moves()
        closed = None if self._request.queue else restrictions.reassignments_disabled(work.view.cluster)
        may_change = restrictions.replication_factor_may_change(work.view.cluster, work.rules)
        results: list[ItemResult] = []
        refusals = Refusals(self.by)
        for topic, items in self._request.topics:
            too_large = work.refused.get(topic)
            for count, (index, target, expected) in enumerate(items, 1):
                error = too_large or self._decide_one(
                    work, TopicPartition(topic, index), target, expected, closed=closed, may_change=may_change
                )
                results.append((topic, index, error))
                if error is not None:
                    refusals.add(topic, index, target, error)
                if count % SLICE == 0:
                    yield
            yield
        for event in refusals.events():
            work.view.report(event)
        self.answer(results)

    def _decide_one(
        self,
        work: Round,
        name: TopicPartition,
        target: tuple[int, ...] | None,
        expected: tuple[int, ...] | None,
        *,
        closed: KafkaError | None,
        may_change: bool,
    ) -> KafkaError | None:
        wanted = self._wanted.get(name)
        if wanted is not None:
            standing = work.view.get(*name)
            if standing is not None and not reassigned(standing, wanted):
                return self._overruling(work, name, None)
        if target is not None and closed is not None:
            return closed
        error, changes = alter(
            work.view,
            *name,
            target,
            allow_replication_factor_change=may_change and self._request.allow_replication_factor_change,
            expected=expected,
            route=self._request.route,
            reason=self._request.reason,
            throttle=self._request.throttle,
            adding_must_live=not self._request.queue,
        )
        for change in changes:
            if target is not None and self._has_to_wait(work, name, target, change.value):
                move = Waiting(target, self._request.route, self._request.reason, self._request.throttle)
                return reassign_partitions.overruled(work.view, name, queue_admission.append(work.view, name, move))
            work.view.add(change)
            self._wanted[name] = change.value
        return self._overruling(work, name, restrictions.with_reason(error, forbidden=not may_change))

    def _has_to_wait(self, work: Round, name: TopicPartition, target: tuple[int, ...], after: Partition) -> bool:
        if work.schedule.limits.unlimited and not self._request.queue:
            return False
        before = work.view.get(*name)
        if before is None or (before.is_moving and before.target == target):
            return False
        return self._request.queue or work.has_to_wait(name, before, after)

    def _overruling(self, work: Round, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
        """What the batch and the queue have for the partition leaves them: the answer that stands then."""
        answer = queue_admission.overruled(work.view, name, error)
        answer = reassign_partitions.overruled(work.view, name, answer)
        if isinstance(error, NoReassignmentInProgress):
            if answer is None:
                self._given_up.add(name)
            elif name in self._given_up:
                return None
        return answer


class ElectLeadersCommand(Command[Sequence[ItemResult]]):
    """ElectLeaders: of the partitions named, or of all (where those that need none are left out of the answer)."""

    def __init__(self, partitions: Sequence[TopicPartition] | None, *, unclean: bool) -> None:
        super().__init__()
        self._partitions = partitions
        self._election = Election.UNCLEAN if unclean else Election.PREFERRED

    def decide(self, work: Round) -> Iterator[None]:
        results: list[ItemResult] = []
        names: Iterable[TopicPartition] = (
            every_partition(work.view.cluster) if self._partitions is None else self._partitions
        )
        for count, (topic, index) in enumerate(names, 1):
            error, changes = elect(work.view, topic, index, self._election)
            for change in changes:
                work.view.add(change)
            results.append((topic, index, error))
            if count % SLICE == 0:
                yield
        self.answer(results)


class RebalanceLeaders(Command[int]):
    """Elect preferred leaders where a broker leads too few of its own. Answers with how many were elected."""

    def __init__(self, percentage: int) -> None:
        super().__init__()
        self._percentage = percentage

    def decide(self, work: Round) -> Iterator[None]:
        imbalance = Imbalance(work.view.cluster)
        for name, pause in in_slices(every_partition(work.view.cluster)):
            imbalance.count((name,))
            if pause:
                yield
        elected = 0
        for name, pause in in_slices(imbalance.to_elect(self._percentage)):
            error, changes = elect(work.view, *name, Election.PREFERRED)
            elected += error is None
            for change in changes:
                work.view.add(change)
            if pause:
                yield
        self.answer(elected)


class AlterPartitionCommand(Command[Sequence[Partition | KafkaError]]):
    """The ISR changes that one leader asks for."""

    def __init__(self, request: AlterPartition) -> None:
        super().__init__()
        self._request = request

    def decide(self, work: Round) -> Iterator[None]:
        request = self._request
        error = check_sender(work.view.cluster, request.broker_id, request.broker_epoch)
        if error is not None:
            raise error
        answers: list[Partition | KafkaError] = []
        for count, change in enumerate(request.changes, 1):
            answer = self._decide_one(work, change)
            answers.append(answer)
            if count % SLICE == 0:
                yield
        self.answer(answers)

    def _decide_one(self, work: Round, change: IsrChange) -> Partition | KafkaError:
        answer, changes = alter_partition(work.view, self._request.broker_id, change, self._request.api_version)
        for made in changes:
            work.view.add(made)
        return answer


class ControlledShutdownCommand(Command[Sequence[TopicPartition]]):
    """A broker wants to stop: whatever it leads goes to somebody else. Answers with what it still leads."""

    def __init__(self, broker_id: int, broker_epoch: int) -> None:
        super().__init__()
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        error = broker_changes.may_shut_down(cluster, self._broker_id, self._broker_epoch)
        if error is not None:
            raise error
        replay.set_shutting_down(cluster, self._broker_id)
        left = []
        for name, pause in in_slices(every_partition(cluster)):
            still_leads, changes = broker_changes.controlled_shutdown(work.view, *name, self._broker_id)
            for change in changes:
                work.view.add(change)
            if still_leads:
                left.append(name)
            if pause:
                yield
        self.answer(left)


class StopsConfirmed(Command[None]):
    """A broker has deleted these replicas."""

    def __init__(self, broker_id: int, stops: Mapping[TopicPartition, ReplicaStop]) -> None:
        super().__init__()
        self._broker_id = broker_id
        self._stops = stops

    def decide(self, work: Round) -> Iterator[None]:
        for name, pause in in_slices(name for name, stop in self._stops.items() if stop.delete):
            for change in confirm_stopped(work.view, *name, (self._broker_id,)):
                work.view.add(change)
            if pause:
                yield
        self.answer(None)


class ControllerFailover(Command[None]):
    """What has to be decided about everything that was read: by a new controller, or after foreign writes.

    told   called once it is durable: brokers have to be told everything
    """

    def __init__(self, own_id: int, told: Callable[[], None]) -> None:
        super().__init__()
        self._own_id = own_id
        self._told = told

    def decide(self, work: Round) -> Iterator[None]:
        for name, pause in in_slices(every_partition(work.view.cluster)):
            for change in fail_over(work.view, *name, own_id=self._own_id):
                work.view.add(change)
            if pause:
                yield
        yield from settle(work)
        self.answer(None)

    def durable(self) -> None:
        self._told()
        super().durable()


class BrokersSeen(Command[None]):
    """The brokers that are registered now, as `/brokers/ids` has them.

    changed   called once the consequences are durable, where anything has changed
    """

    def __init__(self, registered: Mapping[int, Broker], changed: Callable[[], None]) -> None:
        super().__init__()
        self._registered = registered
        self._tell = changed
        self._changed = False
        self._bounced: set[int] = set()

    def decide(self, work: Round) -> Iterator[None]:
        changed = replay.brokers_seen(work.view.cluster, self._registered)
        self._changed |= bool(changed)
        self._bounced.update(changed.bounced)
        if self._changed:
            if self._bounced:
                yield from self._settle(work, self._bounced)
            yield from self._settle(work, ())
        self.answer(None)

    def _settle(self, work: Round, down: Collection[int]) -> Iterator[None]:
        for name, pause in in_slices(every_partition(work.view.cluster)):
            for change in broker_changes.settle(work.view, *name, down=down):
                work.view.add(change)
            if pause:
                yield

    def durable(self) -> None:
        if self._changed:
            self._tell()
        super().durable()


class ConfigsSeen(Command[None]):
    """Dynamic configs of these topics or brokers, as they stand now (empty: none)."""

    def __init__(self, kind: str, configs: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__()
        self._kind = kind
        self._configs = configs

    def decide(self, work: Round) -> Iterator[None]:
        replay.configs_seen(work.view.cluster, self._kind, self._configs)
        self.answer(None)
        yield


class SizesSeen(Command[None]):
    """Bytes of partitions' leader replicas, as brokers have told them; None where nobody needs them any more."""

    def __init__(self, sizes: Mapping[TopicPartition, int | None]) -> None:
        super().__init__()
        self._sizes = sizes

    def decide(self, work: Round) -> Iterator[None]:
        yield from replay.sizes_seen(work.view.cluster, self._sizes)
        self.answer(None)
