"""Invariants of the controller, whatever clients, brokers and crashes do, in whatever order.

A random run of all decisions of the core, over an image of ZooKeeper that is written one znode at a time. Between any
two writes a crash and a controller failover are possible, or a reload: the same controller reads again and keeps what
no znode tells. It decides a command whose commit was lost again, and the answer has to fit what is durable. After each
step memory is compared with ZooKeeper, and after each decision the cluster with what it was before.
"""

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterPartition, AlterReassignments
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.leadership_commands import AlterPartitionCommand, ElectLeadersCommand
from kafka_reassign_rpc.core.kafka_errors import FencedLeaderEpoch, KafkaError
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.leadership.broker_changes import confirm_stopped
from kafka_reassign_rpc.core.leadership.elections import ElectionType, elect
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.reassignment_algebra import LoadedAssignment
from kafka_reassign_rpc.core.state.partition import NO_LEADER, CancelMove, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import ShutdownAsked
from tests.core.build import learn
from tests.effort import examples
from tests.properties.controller_machine import BROKERS, CONFIGS, NAMES, ControllerMachine

names = st.sampled_from((*NAMES[:1] * 4, *NAMES[1:]))
some_names = st.lists(names, min_size=1, max_size=3, unique=True)
picks = st.integers(0, 5)
masks = st.integers(0, 7)
broker_ids = st.sampled_from(BROKERS)
replica_lists = st.lists(broker_ids, min_size=1, max_size=3, unique=True).map(tuple)
crashes = st.one_of(st.none(), st.none(), st.integers(0, 4))
losses = st.lists(st.integers(0, 4), min_size=1, max_size=2)
"""The writes of a command's commits that are lost: so many are made, and no more."""


def chosen(replicas: Iterable[int], mask: int) -> list[int]:
    return [replica for at, replica in enumerate(replicas) if mask >> at & 1]


class Controller(ControllerMachine):
    """One controller after the other, on one image."""

    # ------------------------------------------------------------------------------------------ what happens

    @initialize(first=replica_lists, second=replica_lists, third=replica_lists)
    def create(self, first: tuple[int, ...], second: tuple[int, ...], third: tuple[int, ...]) -> None:
        for name, replicas in zip(NAMES, (first, second, third), strict=True):
            self.image.assigned[name] = LoadedAssignment(replicas)
            self.image.topic_versions[name[0]] = 0
        self.fail_over(None)

    @rule(name=names, replicas=replica_lists, crash=crashes)
    def give_a_target(self, name: TopicPartition, replicas: tuple[int, ...], crash: int | None) -> None:
        self.alter(name, replicas, crash)

    @rule(wanted=st.lists(st.tuples(names, replica_lists), max_size=3), crash=crashes)
    def give_many_targets(self, wanted: list[tuple[TopicPartition, tuple[int, ...]]], crash: int | None) -> None:
        view = self.view()
        for name, target in wanted:
            _, changes = alter(view, name, MoveTerms(target))
            self.add(view, changes)
        self.commit(view, crash)

    @rule(name=names, crash=crashes)
    def cancel(self, name: TopicPartition, crash: int | None) -> None:
        self.alter(name, None, crash)

    @rule(name=names, replicas=replica_lists)
    def start_and_cancel(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        before = self.partition(name)
        if before.is_moving:
            return
        if self.alter(name, replicas, None) is None and self.partition(name).is_moving:
            assert self.alter(name, None, None) is None
            assert self.partition(name).replicas == before.replicas, "cancel after alter = the assignment before"
            assert self.partition(name).isr == before.isr

    @rule(name=names, replicas=replica_lists, joined=masks, left=masks, preferred=st.booleans(), gone=masks)
    def a_move_is_half_way(
        self, name: TopicPartition, replicas: tuple[int, ...], joined: int, left: int, preferred: bool, gone: int
    ) -> None:
        """The start of all hard cases: some adding replicas are in sync, some existing ones are not, or are dead."""
        if self.alter(name, replicas, None) is not None:
            return
        for replica in chosen(self.partition(name).adding, joined):
            partition = self.partition(name)
            if replica in partition.adding and self.cluster.is_live(replica):
                self.joining = {replica}
                self.ask_for_isr(name, (*partition.isr, replica), None)
        if preferred:
            self.the_preferred_replica_leads(name=name, crash=None)
        partition = self.partition(name)
        late = [r for r in chosen(partition.removing, left) if r != partition.leader]
        if partition.leader != NO_LEADER:
            self.ask_for_isr(name, tuple(r for r in partition.isr if r not in late), None)
        for replica in chosen(late, gone):
            self.a_broker_dies(broker_id=replica, crash=None)

    @rule(name=names, pick=picks, crash=crashes)
    def a_follower_catches_up(self, name: TopicPartition, pick: int, crash: int | None) -> None:
        partition = self.partition(name)
        late = [r for r in partition.replicas if r not in partition.isr and self.cluster.is_live(r)]
        if not late:
            return
        replica = late[pick % len(late)]
        self.joining = {replica}
        answer = self.ask_for_isr(name, (*partition.isr, replica), crash)
        if isinstance(answer, Partition):
            assert answer.partition_epoch == partition.partition_epoch + 1
            assert answer.leader_epoch == partition.leader_epoch

    @rule(name=names, crash=crashes)
    def all_followers_catch_up(self, name: TopicPartition, crash: int | None) -> None:
        partition = self.partition(name)
        late = [r for r in partition.replicas if r not in partition.isr and self.cluster.is_live(r)]
        self.joining = set(late)
        if late:
            self.ask_for_isr(name, (*partition.isr, *late), crash)

    @rule(name=names, pick=picks, crash=crashes)
    def a_follower_falls_behind(self, name: TopicPartition, pick: int, crash: int | None) -> None:
        partition = self.partition(name)
        followers = [r for r in partition.isr if r != partition.leader]
        if followers and partition.leader != NO_LEADER:
            replica = followers[pick % len(followers)]
            self.ask_for_isr(name, tuple(r for r in partition.isr if r != replica), crash)

    @rule(name=names, pick=picks)
    def a_leader_asks_for_an_isr_with_a_dead_broker(self, name: TopicPartition, pick: int) -> None:
        partition = self.partition(name)
        dead = [r for r in partition.replicas if not self.cluster.is_live(r) and r not in partition.isr]
        if dead:
            answer = self.ask_for_isr(name, (*partition.isr, dead[pick % len(dead)]), None)
            assert isinstance(answer, KafkaError)

    @rule(name=names, crash=crashes)
    def a_leader_alone_in_the_isr_dies(self, name: TopicPartition, crash: int | None) -> None:
        partition = self.partition(name)
        if partition.leader != NO_LEADER:
            self.ask_for_isr(name, (partition.leader,), None)
            self.a_broker_dies(broker_id=partition.leader, crash=crash)

    @rule(broker_id=broker_ids, crash=crashes)
    def a_broker_dies(self, broker_id: int, crash: int | None) -> None:
        if self.registered.pop(broker_id, None) is not None:
            for logs in self.logs.values():
                logs.discard(broker_id)
            self.brokers_changed(crash)

    @rule(broker_id=broker_ids, crash=crashes)
    def a_broker_starts(self, broker_id: int, crash: int | None) -> None:
        if broker_id not in self.registered:
            self.register(broker_id)
            self.brokers_changed(crash)

    @rule(broker_id=broker_ids, crash=crashes)
    def a_broker_bounces(self, broker_id: int, crash: int | None) -> None:
        if broker_id in self.registered:
            self.register(broker_id)
            self.brokers_changed(crash)

    @rule()
    def all_brokers_start(self) -> None:
        for broker_id in BROKERS:
            if broker_id not in self.registered:
                self.register(broker_id)
        self.brokers_changed(None)

    @rule(broker_id=broker_ids, crash=crashes)
    def a_broker_shuts_down(self, broker_id: int, crash: int | None) -> None:
        if broker_id not in self.registered:
            return
        learn(self.cluster, ShutdownAsked(broker_id, -1))
        view = self.view()
        left = set()
        for name in NAMES:
            still_leads, changes = broker_changes.controlled_shutdown(view, *name, broker_id)
            self.add(view, changes)
            if still_leads:
                left.add(name)
        self.commit(view, crash)
        if crash is None:
            for name in NAMES:
                partition = self.partition(name)
                assert partition.leader != broker_id or name in left or len(partition.replicas) == 1

    @rule(name=names, crash=crashes)
    def the_preferred_replica_leads(self, name: TopicPartition, crash: int | None) -> None:
        self.an_operator_requests_an_election(name=name, election=ElectionType.PREFERRED, crash=crash)

    @rule(name=names, election=st.sampled_from(ElectionType), crash=crashes)
    def an_operator_requests_an_election(self, name: TopicPartition, election: ElectionType, crash: int | None) -> None:
        self.unclean_asked = election is ElectionType.UNCLEAN
        view = self.view()
        error, changes = elect(view, *name, election)
        assert bool(changes) == (error is None)
        self.add(view, changes)
        self.commit(view, crash)

    @rule(name=names, crash=crashes)
    def a_broker_confirms_a_deletion(self, name: TopicPartition, crash: int | None) -> None:
        view = self.view()
        stopped = [r for r in self.partition(name).pending_deletion if r in self.registered][:1]
        self.logs[name].difference_update(stopped)
        self.add(view, confirm_stopped(view, *name, stopped, leader_epoch=self.partition(name).leader_epoch))
        self.commit(view, crash)

    @rule(asked=st.dictionaries(names, st.one_of(replica_lists, st.none()), min_size=1, max_size=3), lost=losses)
    def moves_are_asked_for_and_commits_are_lost(
        self, asked: dict[TopicPartition, tuple[int, ...] | None], lost: list[int]
    ) -> None:
        before = {name: self.partition(name) for name in asked}
        request = AlterReassignments(
            [
                (topic, [(index, CancelMove() if target is None else MoveTerms(target))])
                for (topic, index), target in asked.items()
            ]
        )
        answers = self.submit(lambda: AlterReassignmentsCommand(request), lost)
        assert {TopicPartition(*answer[:2]) for answer in answers} == asked.keys()
        for topic, index, error in answers:
            name = TopicPartition(topic, index)
            then, now, target = before[name], self.partition(name), asked[name]
            if error is not None:
                assert now.target == then.target, "what was refused has no effect"
            elif target is not None:
                assert now.target == target
            else:
                assert not now.is_moving
                assert now.replicas == (then.replicas if then.move is None else then.move.original)

    @rule(asked=some_names, election=st.sampled_from(ElectionType), lost=losses)
    def elections_are_asked_for_and_commits_are_lost(
        self, asked: list[TopicPartition], election: ElectionType, lost: list[int]
    ) -> None:
        before = {name: self.partition(name) for name in asked}
        self.unclean_asked = election is ElectionType.UNCLEAN
        answers = self.submit(lambda: ElectLeadersCommand(asked, unclean=self.unclean_asked), lost)
        assert [TopicPartition(*answer[:2]) for answer in answers] == asked
        for topic, index, error in answers:
            then, now = before[TopicPartition(topic, index)], self.partition(TopicPartition(topic, index))
            if error is not None:
                assert (now.leader, now.isr) == (then.leader, then.isr), (
                    "what was refused, or not needed, has no effect"
                )
            else:
                assert now.leader not in (NO_LEADER, then.leader)
                assert now.leader_epoch > then.leader_epoch
                assert election is ElectionType.UNCLEAN or now.leader == then.replicas[0]

    @rule(asked=some_names, drawn=st.tuples(masks, masks, masks), lost=losses)
    def isrs_are_asked_for_and_commits_are_lost(
        self, asked: list[TopicPartition], drawn: tuple[int, int, int], lost: list[int]
    ) -> None:
        leader = self.partition(asked[0]).leader
        if not self.cluster.is_live(leader):  # one in controlled shutdown is not eligible itself, as in Kafka
            return
        before = {name: value for name in asked if (value := self.partition(name)).leader == leader}
        isrs = {}
        for (name, value), mask in zip(before.items(), drawn, strict=False):
            live = [replica for replica in value.replicas if self.cluster.is_live(replica) and replica != leader]
            isrs[name] = (leader, *chosen(live, mask))
        self.joining = {replica for isr in isrs.values() for replica in isr}
        request = AlterPartition(
            leader,
            self.registered[leader].epoch,
            [
                IsrChange(name[0], None, name[1], value.leader_epoch, value.partition_epoch, isrs[name])
                for name, value in before.items()
            ],
            3,
        )
        answers = self.submit(lambda: AlterPartitionCommand(request), lost)
        for (name, then), answer in zip(before.items(), answers, strict=True):
            now = self.partition(name)
            if isinstance(answer, Partition):
                assert (answer.leader, answer.isr) == (leader, isrs[name])
                assert now.isr == isrs[name] or (then.is_moving and set(now.isr) < set(isrs[name]))
            else:  # reading again has raised the leader epoch of a move, or the change has completed it
                assert isinstance(answer, FencedLeaderEpoch), "a leader that is up to date is not refused"
                assert now.leader_epoch > then.leader_epoch

    @rule()
    def the_next_commit_that_ends_half_way_ends_no_controller(self) -> None:
        self.is_reload_next = True

    @rule(crash=crashes)
    def the_cluster_is_read_again(self, crash: int | None) -> None:
        self.commit(self.reload(), crash)

    @rule(crash=crashes)
    def another_controller_is_elected(self, crash: int | None) -> None:
        self.fail_over(crash)

    @precondition(lambda self: len(self.registered) == len(BROKERS))
    @rule()
    def all_moves_complete_when_all_is_well(self) -> None:
        """All brokers are alive, in sync, and confirm all deletions: nothing is left to do."""
        self.fail_over(None)
        for name in NAMES:
            for _ in range(2):
                self.all_followers_catch_up(name=name, crash=None)
            partition = self.partition(name)
            if partition.leader == NO_LEADER:
                continue
            assert not partition.is_moving
            while self.partition(name).pending_deletion:
                self.a_broker_confirms_a_deletion(name=name, crash=None)
            assert self.image.assigned[name] == LoadedAssignment(partition.replicas)
            assert name not in self.image.records

    # ------------------------------------------------------------------------------------------ what holds

    @invariant()
    def assignments_are_sound(self) -> None:
        for name in NAMES if self.cluster.topics else ():
            value = self.partition(name)
            assert not set(value.adding) & set(value.removing)
            assert len(set(value.replicas)) == len(value.replicas)
            assert value.replicas == value.target + value.removing
            assert set(value.adding) <= set(value.target)
            assert not set(value.pending_deletion) & set(value.replicas)
            assert (value.move is not None) == value.is_moving
            if value.move is not None:
                assert value.move.terms.target == value.target
                assert set(value.move.original) == set(value.origin)
                assert value.move.id
            assert (name[1] in self.cluster.moving.get(name[0], ())) == value.is_moving

    @invariant()
    def no_partition_lacks_a_leader_without_need(self) -> None:
        for name in NAMES if self.cluster.topics else ():
            value = self.partition(name)
            assert value.isr
            assert set(value.isr) <= set(value.replicas)
            assert value.leader == NO_LEADER or value.leader in value.isr
            assert value.leader == NO_LEADER or value.leader in self.registered
            if any(map(self.cluster.is_live, value.isr)):
                assert value.leader != NO_LEADER

    @invariant()
    def no_log_is_forgotten(self) -> None:
        for name in NAMES if self.cluster.topics else ():
            value = self.partition(name)
            assert self.logs[name] <= {*value.replicas, *value.pending_deletion}

    @invariant()
    def memory_equals_zookeeper(self) -> None:
        loaded = self.image.load(self.registered, CONFIGS)
        for name in NAMES if self.cluster.topics else ():
            memory, read = self.partition(name), loaded.get(*name)
            assert read is not None
            if not memory.pending_deletion or memory.is_moving:
                # The last confirmation writes all of them: until then the znode may name more pending deletions.
                assert set(memory.pending_deletion) <= set(read.pending_deletion)
                assert replace(read, pending_deletion=memory.pending_deletion) == memory
            else:
                stateful = ("leader", "isr", "leader_epoch", "partition_epoch", "controller_epoch")
                assert all(getattr(read, field) == getattr(memory, field) for field in stateful)
                assert read.target == memory.replicas, "whoever takes over ends it again"


TestController = Controller.TestCase
TestController.settings = settings(
    max_examples=examples(400),
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.filter_too_much],
)

pytestmark = [pytest.mark.long, pytest.mark.more]
