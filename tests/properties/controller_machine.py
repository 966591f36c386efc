"""One controller after the other on one image of ZooKeeper: how it decides, writes, crashes and reads again."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange, alter_partition
from kafka_reassign_rpc.core.reassignment_algebra import LoadedState
from kafka_reassign_rpc.core.round.round_view import Change, RoundView
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from tests.core.build import broker, decided, learn
from tests.core.frozen import picture
from tests.properties.image import Crashed, Image

BROKERS = (1, 2, 3, 4)
SAFE, UNCLEAN = "safe", "unclean"
NAMES: tuple[TopicPartition, ...] = (TopicPartition(SAFE, 0), TopicPartition(SAFE, 1), TopicPartition(UNCLEAN, 0))
CONFIGS = {UNCLEAN: {"unclean.leader.election.enable": "true"}}

T = TypeVar("T")


class ControllerMachine(RuleBasedStateMachine):
    """What the rules of `test_controller_states` work with."""

    def __init__(self) -> None:
        super().__init__()
        self.image = Image(on_state=self.state_written)
        self.registered: dict[int, Broker] = {id_: broker(id_) for id_ in BROKERS}
        self.epoch = 1
        self.joining: set[int] = set()
        self.unclean_asked = False
        self.cluster = Cluster()
        self.pictured: object = None
        """The cluster when the round under way began."""
        self.changed: set[TopicPartition] = set()
        """What reloads have found changed since the last durable round."""
        self.is_reload_next = False
        """Whether the controller outlives the next loss of a commit, and reads again."""
        self.logs: dict[TopicPartition, set[int]] = {name: set() for name in NAMES}
        self.known_to_brokers: dict[tuple[TopicPartition, int], tuple[object, ...]] = {}
        self.loop = asyncio.new_event_loop()
        """Commands have futures."""

    def teardown(self) -> None:
        self.loop.close()

    def view(self) -> RoundView:
        """A new round."""
        self.pictured = picture(self.cluster)
        return RoundView(self.cluster)

    def partition(self, name: TopicPartition) -> Partition:
        found = self.cluster.get(*name)
        assert found is not None
        return found

    def register(self, broker_id: int) -> None:
        self.image.zxid += 1
        self.registered[broker_id] = broker(broker_id, epoch=self.image.zxid)

    def alter(self, name: TopicPartition, target: tuple[int, ...] | None, crash: int | None) -> KafkaError | None:
        view, before = self.view(), self.partition(name)
        error, changes = decided(view, name, target)
        assert error is None or not changes
        self.add(view, changes)
        if self.commit(view, crash) and error is None and target is not None:
            after = self.partition(name)
            assert after.target == target
            if before.is_moving and after.is_moving:
                assert before.leader in (NO_LEADER, after.leader), "a change of target costs nobody the leader"
                assert len(after.isr) >= min(len(before.isr), len(before.origin)), "nor producers their ISR (236-9)"
        return error

    def ask_for_isr(self, name: TopicPartition, isr: tuple[int, ...], crash: int | None) -> Partition | KafkaError:
        partition = self.partition(name)
        view = self.view()
        request = IsrChange(name[0], None, name[1], partition.leader_epoch, partition.partition_epoch, isr)
        answer, changes = alter_partition(view, partition.leader, request, 3)
        self.add(view, changes)
        if self.commit(view, crash) and partition.is_moving and not self.partition(name).is_moving:
            kept = [r for r in isr if r in partition.origin]
            smallest = min(len(kept), len(partition.target))
            assert len(self.partition(name).isr) >= smallest, "an end that makes the ISR smaller than it was"
        return answer

    def brokers_changed(self, crash: int | None) -> None:
        changed = learn(self.cluster, BrokersRegistered(self.registered))
        view = self.view()
        for down in [changed.bounced, ()] if changed.bounced else [()]:
            for name in NAMES:
                self.add(view, broker_changes.adapt(view, *name, down=down))
        self.commit(view, crash)

    def fail_over(self, crash: int | None) -> None:
        self.epoch += 1
        self.joining, self.unclean_asked, self.changed = set(), False, set()
        self.commit(self.read_again(), crash)

    def read_again(self) -> RoundView:
        """A new controller reads everything. Returns what has to be written first."""
        self.cluster = self.image.load(self.registered, CONFIGS)
        view = self.view()
        for name in NAMES:
            self.add(view, fail_over(view, *name))
        return view

    def reload(self) -> RoundView:
        """The same controller reads everything again. Returns what has to be written first."""
        before, found, soft = self.cluster.brokers, Reloaded([], set()), self.soft_state()
        for _ in take_over(self.cluster, self.image.load(self.registered, CONFIGS), found):
            pass
        assert self.soft_state() == soft, "no broker has registered anew, and no topic is gone"
        assert self.cluster.brokers == before
        self.changed |= found.changed
        view = self.view()
        for name in NAMES:
            changed = name in self.changed
            self.add(view, fail_over(view, *name, is_as_known=not changed, is_reassigned=changed))
        return view

    def soft_state(self) -> object:
        """But for former partitions: what a lost commit has written in part looks like a change by others."""
        soft = self.cluster.soft
        return picture({field: getattr(soft, field) for field in soft.__struct_fields__ if field != "former"})

    def submit(self, make: Callable[[], Command[T]], lost: Sequence[int]) -> T:
        """The answer of a command, some of whose commits are lost, as `ControllerLoop` gives it."""

        async def made() -> Command[T]:
            return make()

        command = self.loop.run_until_complete(made())
        view = self.view()
        for stop_after in (*lost, None):
            for _ in command.decide(Round(view, {})):
                pass
            try:
                self.write(view, stop_after)
            except Crashed:
                view = self.reload()
            else:
                break
        command.durable()
        return command.future.result()

    def add(self, view: RoundView, changes: Iterable[Change]) -> None:
        for change in changes:
            view.add(change)

    def commit(self, view: RoundView, crash: int | None) -> bool:
        """Returns whether the round became durable. If not, another controller has been elected since, or this one has
        read again."""
        try:
            self.write(view, crash)
        except Crashed:
            if self.is_reload_next:
                self.is_reload_next = False
                self.commit(self.reload(), None)
            else:
                self.fail_over(None)
            return False
        return True

    def write(self, view: RoundView, stop_after: int | None) -> None:
        """Raises Crashed where writing ends after so many writes."""
        assert picture(self.cluster) == self.pictured, "decisions write nothing into the cluster"
        durable = self.image.commit(self.cluster, view, self.epoch, stop_after)
        applied = replay.ReplayedChanges()
        for _ in replay.replay(self.cluster, view, durable, self.epoch, applied):
            pass
        self.joining, self.unclean_asked, self.changed = set(), False, set()
        for name, logs in self.logs.items():
            self.propagate(name, self.partition(name))
            logs.update(replica for replica in self.partition(name).replicas if replica in self.registered)

    def propagate(self, name: TopicPartition, value: Partition) -> None:
        """Brokers apply a LeaderAndIsr only with a higher leader epoch than they know.

        The order of the replicas does not matter to them.
        """
        news = (set(value.replicas), set(value.adding), set(value.removing), value.leader)
        assert self.known_to_brokers.setdefault((name, value.leader_epoch), news) == news, (
            "a change that no broker would act on"
        )

    def state_written(self, name: TopicPartition, before: LoadedState | None, after: LoadedState) -> None:
        if before is None:
            return
        assert after.leader_epoch >= before.leader_epoch
        assert after.controller_epoch >= before.controller_epoch
        if self.unclean_asked or name[0] == UNCLEAN:
            return
        in_sync = {*before.isr, *self.joining}
        assert set(after.isr) <= in_sync, "nobody gets into the ISR but by its leader's word"
        assert after.leader == NO_LEADER or after.leader in in_sync, "no record is lost by an election"
