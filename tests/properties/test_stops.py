"""Every stop is confirmed in the end, and every deletion ends, whatever becomes of brokers, requests and answers.

The controller of a term, with its loop, its duties and its channels, without ZooKeeper and without sockets: rounds are
durable after a while, or found durable when the cluster is read again; brokers are models. Others edit the replicas of
partitions, delete topics and put older ones back. When at last all brokers live and answer, each of them has exactly
the replicas that are assigned to it, in the latest leader epoch, and has stopped each other that it has ever held.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from random import Random
from typing import Any, cast
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterPartition, AlterReassignments, NewTopic
from kafka_reassign_rpc.controller.commands import cluster_commands, leadership_commands, topic_commands
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.duties import topic_deletion
from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.duties.term_tasks import TermTasks
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings, TermDuties
from kafka_reassign_rpc.controller.loading.load_cluster import LoadedCluster
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.controller_channel import Sender
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.failover import KnownEpochs
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.round.round_view import (
    RoundView,
    TopicCreated,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, CancelMove, MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered
from kafka_reassign_rpc.core.writers.reload import Reloaded
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.core.writers.topic_facts import TopicsFound
from kafka_reassign_rpc.core.writers.topic_writes import put_partition, put_topic, remove_topic
from kafka_reassign_rpc.support import turns
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from tests.controller.store.memory_store import Log, MemoryStore
from tests.core.build import learn
from tests.effort import examples
from tests.properties.model_brokers import Fault, ModelBroker, VirtualLoop, connect

BROKERS = (1, 2, 3)
TOPICS = ("t", "u")
OWN_ID = 1000
COMMIT_S = 0.003
AT_REST_S = 300.0

brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(TOPICS)
topic_lists = st.lists(topics, min_size=1, max_size=2, unique=True)
indexes = st.integers(0, 1)
replica_lists = st.lists(brokers, min_size=1, max_size=3, unique=True).map(tuple)
assignments = st.lists(st.permutations(BROKERS), min_size=2, max_size=2).flatmap(
    lambda order: st.integers(1, 3).map(lambda count: {i: tuple(o[:count]) for i, o in enumerate(order)})
)
waits = st.sampled_from((0.0, 0.0, 0.001, 0.002, 0.004, 0.006, 0.01, 0.05, 1.5, 40.0))


class SlowStore(MemoryStore):
    """Commits and reloads take time, and a commit may fail.

    lost    the next commit that writes something fails; True: after it was durable
    """

    lost: bool | None = None

    async def commit(self, cluster: Cluster, view: RoundView) -> ReplayedChanges:
        await asyncio.sleep(COMMIT_S)
        if self.lost is None or not _writes(view):
            return await super().commit(cluster, view)
        is_durable, self.lost = self.lost, None
        if is_durable:
            await super().commit((await self.load()).cluster, view)
        raise ReloadNeeded("the answer was lost")

    async def reload(self, cluster: Cluster) -> Reloaded:
        await asyncio.sleep(COMMIT_S)
        return await super().reload(cluster)


def _writes(view: RoundView) -> bool:
    started = any(isinstance(one, TopicCreated | TopicDeletionStarted) for one in view.topics.values())
    return bool(view.partitions) or started


class Deaf:
    """In the place of an EventRecorder."""

    def record(self, epoch: int, events: Iterable[Event]) -> None:
        list(events)

    def observe_duration(self, what: str, seconds: float) -> None: ...


class Deletions(RuleBasedStateMachine):
    """Topics come and go, and their partitions move, under one term after the other."""

    tasks: TermTasks
    term: TermDuties
    store: SlowStore
    cluster: Cluster

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        asyncio.set_event_loop(None)
        self.creations: list[tuple[list[str], asyncio.Future[Any]]] = []
        self.unseen: set[TopicPartition] = set()
        """Edited without a notice: where a new controller finds that, brokers act with the next leader epoch."""
        self.models = {id_: ModelBroker(id_) for id_ in BROKERS}
        self.log = Log(Cluster())
        self.patches: list[Any] = [
            patch.object(RpcClient, "open", connect(self.models)),
            patch.object(turns, "TURN_S", -1.0),
            patch.object(topic_deletion, "remove_topic", self.remove_topic),
        ]
        for one in self.patches:
            one.start()
        for model in self.models.values():
            model.start(self.log.next_number())
        self.do(self.begin_term())

    def do(self, work: Awaitable[Any]) -> Any:
        async def run() -> Any:
            return await work

        return self.loop.run_until_complete(run())

    def registered(self) -> dict[int, Any]:
        found = {id_: model.registration for id_, model in self.models.items() if model.is_up}
        learn(self.log.cluster, BrokersRegistered(found))
        return found

    async def remove_topic(self, _zk: object, _store: object, topic: Topic) -> None:
        await asyncio.sleep(2 * COMMIT_S)

    async def begin_term(self) -> None:
        if self.log.epoch:
            await self.end_term()
        self.registered()
        self.store = SlowStore(self.log)
        self.cluster = cluster = (await self.store.load()).cluster
        survey = BrokerSurvey("test", BrokerLinks())
        cast(Any, survey).set_brokers = lambda _: None  # no broker is asked
        survey.settings = KAFKA_DEFAULTS
        around = Surroundings(
            cast(Any, None), ServerConfig("", ()), survey, cast(Any, Deaf()), SettingsNotices(), KnownEpochs()
        )
        self.tasks = TermTasks()
        store, sender = cast(ZooKeeperStore, self.store), Sender(OWN_ID, self.log.epoch, ())
        self.term = TermDuties(around, store, sender, LoadedCluster(cluster, [], set(), 0, []), self.tasks)
        self.tasks.start(self.term.loop.run(), ())
        await self.term.loop.submit(self.term.failover_command())

    async def end_term(self) -> None:
        await self.tasks.stop()
        await self.term.channels.close()

    def submit(self, make: Callable[[], Command[Any]]) -> asyncio.Future[Any]:
        """A command is made while the event loop runs. No rule waits for its answer."""

        async def submitted() -> list[asyncio.Future[Any]]:
            return [self.term.loop.submit(make())]

        (answer,) = self.do(submitted())
        return cast("asyncio.Future[Any]", answer)

    def passes(self, seconds: float) -> None:
        self.do(asyncio.sleep(seconds))

    # ------------------------------------------------------------------------------------------ what happens

    @rule(names=topic_lists, placed=assignments, wait=waits)
    def create(self, names: list[str], placed: dict[int, tuple[int, ...]], wait: float) -> None:
        new = [NewTopic(name, assignments=placed) for name in names]
        answer = self.submit(
            lambda: topic_commands.CreateTopicsCommand(
                new, validate_only=False, new_id=lambda: UUID(int=self.log.next_number()), random=Random(1)
            )
        )
        self.creations.append((names, answer))
        self.passes(wait)

    @rule(name=topics, wait=waits)
    def delete(self, name: str, wait: float) -> None:
        self.submit(lambda: topic_commands.DeleteTopicsCommand([name]))
        self.passes(wait)

    @rule(name=topics, index=indexes, wanted=st.one_of(st.none(), replica_lists), wait=waits)
    def move(self, name: str, index: int, wanted: tuple[int, ...] | None, wait: float) -> None:
        asked = CancelMove() if wanted is None else MoveTerms(wanted)
        self.submit(lambda: AlterReassignmentsCommand(AlterReassignments([(name, [(index, asked)])])))
        self.passes(wait)

    @rule(name=topics, index=indexes, wait=waits)
    def followers_catch_up(self, name: str, index: int, wait: float) -> None:
        self.catch_up(TopicPartition(name, index))
        self.passes(wait)

    def catch_up(self, name: TopicPartition) -> None:
        """The leader asks for an ISR of all followers that follow it."""
        value = self.cluster.get(*name)
        topic_id = None if value is None else self.cluster.topics[name.topic].id
        if value is None or value.leader == NO_LEADER:
            return
        isr = [
            one
            for one in value.replicas
            if self.models[one].is_up
            and self.models[one].replicas.get(name) == value.leader_epoch
            and self.models[one].logs.get(name) == topic_id
        ]
        if value.leader in isr and sorted(isr) != sorted(value.isr):
            change = IsrChange(None, topic_id, name.partition, value.leader_epoch, value.partition_epoch, tuple(isr))
            leader = self.models[value.leader]
            asked = AlterPartition(leader.id, leader.epoch, [change], 3)
            self.submit(lambda: leadership_commands.AlterPartitionCommand(asked))

    @rule(broker=brokers, noticed=st.booleans(), wait=waits)
    def broker_dies(self, broker: int, noticed: bool, wait: float) -> None:
        self.models[broker].die()
        self.notice(noticed, wait)

    @rule(broker=brokers, noticed=st.booleans(), wait=waits)
    def broker_starts(self, broker: int, noticed: bool, wait: float) -> None:
        """Also one that lives: it bounces."""
        self.models[broker].start(self.log.next_number())
        self.notice(noticed, wait)

    def notice(self, noticed: bool, wait: float) -> None:
        if noticed:
            self.submit(
                lambda: cluster_commands.BrokersRead(BrokersRegistered(self.registered()), OWN_ID, lambda: None)
            )
        self.passes(wait)

    @rule(broker=brokers, wait=waits)
    def broker_shuts_down(self, broker: int, wait: float) -> None:
        model = self.models[broker]
        model.leaves = True
        self.submit(lambda: leadership_commands.ControlledShutdownCommand(broker, model.epoch))
        self.passes(wait)

    @rule(broker=brokers, faults=st.lists(st.sampled_from(Fault), min_size=1, max_size=3))
    def requests_fail(self, broker: int, faults: list[Fault]) -> None:
        self.models[broker].faults.extend(faults)

    @rule(broker=brokers, broken=st.booleans())
    def disk(self, broker: int, broken: bool) -> None:
        self.models[broker].broken = broken

    @rule(lost=st.booleans())
    def a_commit_fails(self, lost: bool) -> None:
        self.store.lost = lost

    @rule(name=topics, index=indexes, replicas=replica_lists, noticed=st.booleans(), wait=waits)
    def somebody_edits(self, name: str, index: int, replicas: tuple[int, ...], noticed: bool, wait: float) -> None:
        topic = self.log.cluster.topics.get(name)
        if topic is not None and not topic.deleting and index in topic.partitions:
            topic.version += 1
            value = replace(topic.partitions[index], replicas=replicas, adding=(), removing=(), pending_deletion=())
            put_partition(self.log.cluster, topic, index, value)
            if noticed:
                self.submit(lambda: self.topic_read(name))
            else:
                self.unseen.add(TopicPartition(name, index))
            self.passes(wait)

    @rule(name=topics, replicas=replica_lists, wait=waits)
    def somebody_puts_back(self, name: str, replicas: tuple[int, ...], wait: float) -> None:
        """Deleted, and put back with other replicas and the first states. Not while a creation of it waits: that would
        take the free name with an id of its own, and brokers never delete the logs of the former id, as stock's do.
        """
        topic = self.log.cluster.topics.get(name)
        awaited = any(name in names and not answer.done() for names, answer in self.creations)
        if topic is not None and not topic.deleting and not awaited:
            gone, topic_id = topic.created, topic.id
            remove_topic(self.log.cluster, name)
            self.do(self.decided(lambda: topic_commands.TopicsVanished({name: gone})))
            created = self.log.next_number()
            first = Partition(replicas, leader=replicas[0], isr=replicas, partition_epoch=0, created=created)
            partitions = dict.fromkeys(topic.partitions, first)
            put_topic(self.log.cluster, name, topic_id, partitions, version=0, created=created)
            self.do(self.decided(lambda: self.topic_read(name)))
            self.passes(wait)

    async def decided(self, make: Callable[[], Command[Any]]) -> None:
        await self.term.loop.insist(make)

    def topic_read(self, name: str) -> Command[Any]:
        topic = self.log.cluster.topics[name]
        read = Topic(name, topic.id, dict(topic.partitions), topic.version, created=topic.created)
        found = TopicsFound({name: read}, {}, {})
        return topic_commands.TopicsRead(found, OWN_ID, appeared=self.term.topics_appeared)

    @rule(wait=waits)
    def another_term(self, wait: float) -> None:
        self.do(self.begin_term())
        self.passes(wait)

    @rule(wait=waits)
    def time_passes(self, wait: float) -> None:
        self.passes(wait)

    # ------------------------------------------------------------------------------------------ in the end

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            self.do(self.end_term())
            for one in self.patches:
                one.stop()
            self.loop.close()

    def come_to_rest(self) -> None:
        self.store.lost = None
        self.passes(1.0)  # what was asked for is decided
        for model in self.models.values():
            model.broken = False
            model.faults.clear()
            if not model.is_up or model.leaves:
                model.start(self.log.next_number())
        self.notice(noticed=True, wait=AT_REST_S)
        self.do(self.read_all())
        again: dict[str, list[int]] = {}
        for topic, index in self.unseen:
            again.setdefault(topic, []).append(index)
        for model in self.models.values():
            self.do(self.decided(partial(leadership_commands.RestartReplicas, model.registration, again)))
        self.passes(AT_REST_S)
        for _ in range(3):
            for name in [TopicPartition(topic, index) for topic in self.cluster.topics for index in (0, 1)]:
                self.catch_up(name)
            self.passes(AT_REST_S)
        assert self.term.loop.is_open
        assert not self.tasks.is_over
        assert [topic.name for topic in self.cluster.topics.values() if topic.deleting] == [], "a deletion never ends"
        wanted: dict[int, dict[TopicPartition, tuple[UUID | None, int]]] = {id_: {} for id_ in BROKERS}
        for topic, index, value in self.cluster.all_partitions():
            assert value.pending_deletion == (), "a stop was never confirmed"
            for replica in value.replicas:
                wanted[replica][TopicPartition(topic, index)] = (self.cluster.topics[topic].id, value.leader_epoch)
        leading: dict[int, set[TopicPartition]] = {id_: set() for id_ in BROKERS}
        for topic, index, value in self.cluster.all_partitions():
            if value.leader != NO_LEADER:
                leading[value.leader].add(TopicPartition(topic, index))
        for id_, model in self.models.items():
            held = {name: epoch for name, epoch in model.replicas.items() if name not in model.stopped}
            found = {name: (model.logs[name], epoch) for name, epoch in held.items()}
            assert wanted[id_] == found, (id_, wanted[id_], found)
            assert leading[id_] == model.leading, "a broker goes on as the leader of what is not assigned to it"

    async def read_all(self) -> None:
        """What others have written without a notice is found at the next conflict: here by a new term, if it must."""
        stored, known = self.log.cluster.topics, self.cluster.topics
        if any(name not in known or known[name].version != one.version for name, one in stored.items()):
            await self.begin_term()


def test_sv_10_a_topic_that_is_put_back_with_fewer_replicas_and_deleted_leaves_no_replica_that_nobody_stops() -> None:
    """Broker 3 leads the former one. It loses the question that it is asked, and the deletion does not wait for it."""
    steps = Deletions()
    try:
        steps.create(["t"], {0: (3, 1, 2), 1: (3, 1, 2)}, AT_REST_S)
        steps.requests_fail(3, [Fault.LOST] * 2)
        steps.somebody_puts_back("t", (1,), 0.0)
        steps.delete("t", AT_REST_S)
    finally:
        steps.teardown()


TestDeletions = Deletions.TestCase
TestDeletions.settings = settings(
    max_examples=examples(150),
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.filter_too_much],
)
pytestmark = [pytest.mark.timeout(300), pytest.mark.long, pytest.mark.more]
