"""ZooKeeper, as far as the core is concerned: the order of the writes, and what a controller reads back.

An image makes the writes of a round one by one, in the controller's order, so that a test can stop between any two:
move records, then topic znodes, then partition states and the end of move records.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra import LoadedAssignment, LoadedState, durable_assignment, partition_of
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, RoundView
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.replay import Durable
from kafka_reassign_rpc.core.writers.topic_writes import put_topic


class Crashed(Exception):
    """The controller died between two writes."""


@dataclass
class Image:
    """Znodes by partition; `topic_versions` by topic. `zxid` counts writes, `written` has that of the last write."""

    assigned: dict[TopicPartition, LoadedAssignment] = field(default_factory=dict)
    states: dict[TopicPartition, LoadedState] = field(default_factory=dict)
    records: dict[TopicPartition, MoveRecord] = field(default_factory=dict)
    topic_versions: dict[str, int] = field(default_factory=dict)
    zxid: int = 1000
    written: dict[TopicPartition | str, int] = field(default_factory=dict)
    on_state: Callable[[TopicPartition, LoadedState | None, LoadedState], None] = lambda name, before, after: None

    def load(self, brokers: dict[int, Broker], configs: dict[str, dict[str, str]]) -> Cluster:
        """What a new controller reads."""
        cluster = Cluster(brokers=dict(brokers), topic_configs=dict(configs))
        for topic, version in self.topic_versions.items():
            partitions = {
                name[1]: partition_of(
                    assigned,
                    self.states.get(name),
                    self.records.get(name),
                    is_latest=self.written.get(name, 0) > self.written.get(topic, 0),
                )
                for name, assigned in self.assigned.items()
                if name[0] == topic
            }
            put_topic(cluster, topic, None, partitions, version=version)
        return cluster

    def commit(self, cluster: Cluster, view: RoundView, controller_epoch: int, stop_after: int | None) -> Durable:
        """Write a round. `stop_after`: the controller dies after so many writes."""
        durable = Durable({}, {}, {}, {})
        writes = self._writes(cluster, view, controller_epoch, durable)
        for count, write in enumerate(writes):
            if count == stop_after:
                raise Crashed
            self.zxid += 1
            write()
        return durable

    def _writes(self, cluster: Cluster, view: RoundView, epoch: int, durable: Durable) -> list[Callable[[], None]]:
        first: list[Callable[[], None]] = []
        last: list[Callable[[], None]] = []
        rewritten: dict[str, None] = {}
        for name, change in view.partitions.items():
            before, value = cluster.topics[name[0]].partitions[name[1]], change.value
            if value.move is not None and value.move != before.move:
                first.append(partial(self._record, name, value.move, durable))
            if change.assignment is AssignmentWrite.NOW and durable_assignment(value) != durable_assignment(before):
                rewritten[name[0]] = None
            if _state(before) != _state(value):
                last.append(partial(self._write_state, name, before, value, epoch, durable))
            if before.move is not None and value.move is None:
                last.append(partial(self._end_of_record, name))
        middle = [partial(self._topic, topic, cluster, view, durable) for topic in rewritten]
        return [*first, *middle, *last]

    def _end_of_record(self, name: TopicPartition) -> None:
        del self.records[name]

    def _record(self, name: TopicPartition, move: MoveRecord, durable: Durable) -> None:
        known = self.records.get(name)
        identity = self.zxid, self.zxid * 10
        if known is not None:
            assert known.id is not None
            assert known.started is not None
            identity = known.id, known.started
        self.records[name] = replace(move, id=identity[0], started=identity[1])
        self.written[name] = self.zxid
        durable.records[name] = identity

    def _topic(self, topic: str, cluster: Cluster, view: RoundView, durable: Durable) -> None:
        assert self.topic_versions[topic] == cluster.topics[topic].version, "nobody else writes"
        for index, standing in cluster.topics[topic].partitions.items():
            changed = view.partitions.get(TopicPartition(topic, index))
            self.assigned[TopicPartition(topic, index)] = LoadedAssignment(
                *durable_assignment(standing if changed is None else changed.value)
            )
        self.topic_versions[topic] += 1
        self.written[topic] = self.zxid
        durable.topics[topic] = self.topic_versions[topic], cluster.topics[topic].created

    def _write_state(
        self, name: TopicPartition, before: Partition, value: Partition, epoch: int, durable: Durable
    ) -> None:
        standing = self.states.get(name)
        assert (standing.version if standing else -1) == before.partition_epoch, "written under the version we know"
        state = LoadedState(
            value.leader,
            value.leader_epoch,
            value.isr,
            epoch,
            before.partition_epoch + 1,
            value.leader_recovery_state,
            standing.created if standing else self.zxid,
        )
        self.on_state(name, standing, state)
        self.states[name] = state
        durable.states[name] = state.version
        if standing is None:
            durable.created[name] = state.created


def _state(value: Partition) -> tuple[object, ...]:
    return value.leader, value.leader_epoch, value.isr, value.leader_recovery_state
