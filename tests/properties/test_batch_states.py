"""KIP-236's batch, its cancel and disabled reassignments, in any order with clients, brokers and crashes.

The run of `test_controller_states`, with the three znodes in it. The image writes them one by one too, in the
controller's order, so that a crash and a failover are possible between any two writes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from msgspec.structs import replace

from kafka_reassign_rpc.controller.commands.command import Round
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import process_batch_and_queue
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import AdminZnodes, AdminZnodesFound
from kafka_reassign_rpc.core.writers.replay import Durable
from tests.core.build import decided, learn
from tests.effort import examples
from tests.properties.controller_machine import NAMES, SAFE
from tests.properties.image import Image
from tests.properties.test_controller_states import Controller, crashes, names, replica_lists

targets = st.one_of(replica_lists, replica_lists, st.sampled_from([(), (1, 1), (-1,)]))
entry_names = st.one_of(names, names, st.sampled_from([TopicPartition("gone", 0), TopicPartition(SAFE, 9)]))


@dataclass
class BatchImage(Image):
    """Also the batch's znode and the two others. `changed`: the zxid of the batch's last write."""

    batch: dict[TopicPartition, BatchEntry] | None = None
    version: int = 0
    changed: int = 0
    cancel: int | None = None
    disabled_by_znode: bool = False

    def load(self, brokers: dict[int, Broker], configs: dict[str, dict[str, str]]) -> Cluster:
        cluster = super().load(brokers, configs)
        cluster.disabled_by_znode = self.disabled_by_znode
        cluster.cancel_all = None if self.cancel is None else CancelAll(self.cancel)
        cluster.batch = self.read()
        cluster.derive_settings()
        return cluster

    def read(self) -> BatchZnode | None:
        return None if self.batch is None else BatchZnode(self.batch, self.version, self.changed)

    def put_cancel(self) -> None:
        """By hand: the znode that cancels everything."""
        self.zxid += 1
        self.cancel = self.zxid

    def put(self, entries: dict[TopicPartition, BatchEntry] | None) -> None:
        """A write of an operator, or of the controller."""
        self.zxid += 1
        self.version = 0 if self.batch is None else self.version + 1
        self.batch, self.changed = entries, self.zxid

    def commit(self, cluster: Cluster, view: RoundView, controller_epoch: int, stop_after: int | None) -> Durable:
        durable = super().commit(cluster, view, controller_epoch, stop_after)
        durable.batch = reassign_partitions.BatchWritten(self.version, self.changed)
        return durable

    def _writes(self, cluster: Cluster, view: RoundView, epoch: int, durable: Durable) -> list[Callable[[], None]]:
        writes = super()._writes(cluster, view, epoch, durable)
        contents = reassign_partitions.contents(cluster, view)
        assert (contents is None) or cluster.batch is not None
        if contents is not None and cluster.batch is not None:
            assert cluster.batch.version == self.version, "written under the version we know"
            written = contents.first != cluster.batch.entries
            if written:
                writes.insert(0, partial(self.put, dict(contents.first) or None))
            if (contents.first or not written) and (contents.last != contents.first or view.batch.rewrite):
                writes.append(partial(self.put, dict(contents.last) or None))
        if view.batch.cancelled is not None:
            writes.append(self._cancelled)
        return writes

    def _cancelled(self) -> None:
        self.cancel = None

    def _topic(self, topic: str, cluster: Cluster, view: RoundView, durable: Durable) -> None:
        super()._topic(topic, cluster, view, durable)
        for index, before in cluster.topics[topic].partitions.items():
            changed = view.partitions.get(TopicPartition(topic, index))
            entry = (self.batch or {}).get(TopicPartition(topic, index))
            if changed is None or entry is None or not changed.value.is_moving or changed.value.target == before.target:
                continue
            assert changed.value.target != entry.target or entry.original is not None, "recorded before anything moves"


class BatchController(Controller):
    def __init__(self) -> None:
        super().__init__()
        self.image: BatchImage = BatchImage(on_state=self.state_written)

    # ------------------------------------------------------------------------------------------ what happens

    @rule(wanted=st.dictionaries(entry_names, targets, max_size=3), crash=crashes)
    def a_batch_is_created(self, wanted: dict[TopicPartition, tuple[int, ...]], crash: int | None) -> None:
        if self.image.batch is None:
            self.image.put({name: BatchEntry(target) for name, target in wanted.items()})
            self.decide_batch(crash)

    @rule(wanted=st.dictionaries(entry_names, targets, max_size=2), crash=crashes)
    def the_batch_is_changed_by_hand(self, wanted: dict[TopicPartition, tuple[int, ...]], crash: int | None) -> None:
        if self.image.batch is not None:
            self.image.put(self.image.batch | {name: BatchEntry(target) for name, target in wanted.items()})
            self.decide_batch(crash)

    @rule(name=names, crash=crashes)
    def an_entry_is_taken_out_by_hand(self, name: TopicPartition, crash: int | None) -> None:
        if self.image.batch is not None:
            self.image.put({one: entry for one, entry in self.image.batch.items() if one != name})
            self.decide_batch(crash)

    @rule(crash=crashes)
    def the_batch_is_deleted_by_hand(self, crash: int | None) -> None:
        if self.image.batch is not None:
            self.image.put(None)
            self.decide_batch(crash)

    @rule(crash=crashes)
    def all_is_cancelled(self, crash: int | None) -> None:
        self.image.put_cancel()
        before = {name: self.partition(name) for name in NAMES}
        pending = dict(self.image.batch or {})
        self.decide_batch(crash)
        assert self.image.cancel is None
        left = self.image.batch or {}
        for name in NAMES:
            entry = pending.get(name)
            if entry is None or not before[name].is_moving or before[name].target != entry.target:
                assert name not in left
                continue
            if name in left:
                assert left[name].not_cancelled
                assert self.partition(name).target == entry.target
            else:
                original = before[name].move
                assert original is not None
                assert self.partition(name).replicas == original.original, "the original, in its order"
        assert set(left) <= set(NAMES)

    @rule(crash=crashes)
    def reassignments_are_disabled_or_enabled(self, crash: int | None) -> None:
        self.image.disabled_by_znode = not self.image.disabled_by_znode
        self.decide_batch(crash)

    @rule(wanted=st.lists(st.tuples(names, replica_lists), max_size=3), crash=crashes)
    def give_many_targets(self, wanted: list[tuple[TopicPartition, tuple[int, ...]]], crash: int | None) -> None:
        view = self.view()
        for name, target in wanted:
            self.ask(view, name, target)
        self.commit(view, crash)

    @rule()
    def all_entries_end_when_all_is_well(self) -> None:
        """With all brokers alive and reassignments enabled, only entries stay whose partition no replica can lead."""
        self.all_brokers_start()
        self.image.disabled_by_znode = False
        self.fail_over(None)
        for name in NAMES:
            for _ in range(2):
                self.all_followers_catch_up(name=name, crash=None)
        left = self.image.batch or {}
        assert all(self.partition(name).leader == NO_LEADER for name in left)

    # ------------------------------------------------------------------------------------------ the machinery

    def ask(self, view: RoundView, name: TopicPartition, target: tuple[int, ...] | None) -> KafkaError | None:
        disabled = restrictions.reassignments_disabled(view.cluster)
        if target is not None and disabled is not None:
            return disabled
        error, changes = decided(view, name, target)
        self.add(view, changes)
        return reassign_partitions.withdraw_for_client(view, name, error)

    def alter(self, name: TopicPartition, target: tuple[int, ...] | None, crash: int | None) -> KafkaError | None:
        view = self.view()
        error = self.ask(view, name, target)
        if self.commit(view, crash) and error is None:
            assert name not in (self.image.batch or {}), "what a client wants stands above the batch"
            if target is not None:
                assert self.partition(name).target == target
        return error

    def decide_batch(self, crash: int | None) -> None:
        """What the controller does when a watch of the znodes fires."""
        cancel = None if self.image.cancel is None else CancelAll(self.image.cancel)
        read = AdminZnodes(self.image.disabled_by_znode, cancel, self.image.read())
        learn(self.cluster, AdminZnodesFound(read, batch_read=True))
        view = self.view()
        self.settle(view)
        self.commit(view, crash)

    def settle(self, view: RoundView) -> None:
        for _ in process_batch_and_queue(Round(view, {})):
            pass
        self.unclean_asked |= view.batch.cancelled is not None and any(
            not any(map(self.cluster.is_live, (*value.origin, *value.adding)))
            for name in NAMES
            if (value := self.partition(name)).is_moving
        )

    def read_again(self) -> RoundView:
        view = super().read_again()
        self.settle(view)
        return view

    def reload(self) -> RoundView:
        view = super().reload()
        self.settle(view)
        return view

    def write(self, view: RoundView, stop_after: int | None) -> None:
        if self.image.disabled_by_znode:
            for (topic, index), change in view.partitions.items():
                before = self.cluster.topics[topic].partitions[index]
                if change.value.is_moving:
                    assert before.is_moving, "nothing starts while reassignments are disabled"
                    assert before.target == change.value.target, "and nothing goes elsewhere"
        super().write(view, stop_after)

    # ------------------------------------------------------------------------------------------ what holds

    @invariant()
    def the_batch_in_memory_equals_zookeeper(self) -> None:
        known = self.cluster.batch
        if known is not None:
            known = replace(known, stripped=frozenset(), waiting=0, lacks_room=False)
        assert known == self.image.read()
        assert self.cluster.cancel_all is None

    @invariant()
    def every_entry_waits_or_moves(self) -> None:
        """Reassignments are disabled, or its partition moves from its original replicas to its target."""
        for name, entry in (self.image.batch or {}).items():
            assert name in NAMES
            value = self.partition(name)
            if value.is_moving and value.target == entry.target:
                assert entry.original is None or set(entry.original) == set(value.origin)
            else:
                assert self.image.disabled_by_znode


TestBatchController = BatchController.TestCase
TestBatchController.settings = settings(
    max_examples=examples(400),
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.filter_too_much],
)

pytestmark = [pytest.mark.long, pytest.mark.more]
