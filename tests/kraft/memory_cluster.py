"""A KRaft cluster and a state log in memory: what a store in front of them needs (`kafka_reassign_rpc.kraft.ports`)."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.client import polling_pace
from kafka_reassign_rpc.client.config_calls import SUBTRACT, ListChange, Values
from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.controller.store import ControllerMoved, Entity
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerNotAvailable,
    KafkaError,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint, KRaftFacts
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore, Tell, ToTell
from kafka_reassign_rpc.kraft.ports import Look, LookedTopic
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.kraft.state_log.log_format import Kind, cut
from kafka_reassign_rpc.kraft.state_log.log_topic import MAX_MESSAGE_BYTES
from kafka_reassign_rpc.kraft.upstream import DONE, Heard, Outcome, Told
from tests.core.phases.kraft_model import KRaftPartition

NOW = 1_700_000_000_000


class MemoryCluster:
    """partitions   by name, as KRaft's controller has them
    configs      of topics and brokers; `fails`: to this many changes of configs the answer is lost
    secret       topics that the server may not describe
    lagging      so many more looks at topics are answered by a broker that has not heard of any `untold` topic yet
    left_out     brokers that looks leave out, each as many times as this says
    offline      replicas on failed log dirs
    """

    def __init__(self, partitions: Mapping[TopicPartition, KRaftPartition], brokers: Collection[int]) -> None:
        self.partitions = dict(partitions)
        self.brokers = {
            one: Broker(one, 1, (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9000 + one),)) for one in brokers
        }
        names = dict.fromkeys(name.topic for name in partitions)
        self.ids = {name: UUID(int=number << 65) for number, name in enumerate(names, 1)}
        self.of_configs: dict[Entity, dict[str, str]] = {}
        self.fails = 0
        self.secret: set[str] = set()
        self.untold: set[str] = set()
        self.lagging = 0
        self.left_out: dict[int, int] = {}
        self.offline: dict[TopicPartition, tuple[int, ...]] = {}
        self.has_controllers = False
        self.unanswered: set[Entity] = set()
        self.denied: set[Entity] = set()
        """Whose configs are not told: no answer comes, or that there is no such topic."""
        """They change configs of dead brokers."""
        self.looks = self.looks_at_all = 0
        self.bytes_of_all = 0
        """Of a look at everything, as a client counts them."""
        self.silent = False
        """Alters get no answer, and have no effect."""
        self.refuses: KafkaError | None = None
        """Requests to alter, as a whole."""
        self.told: dict[TopicPartition, tuple[int, ...] | None] = {}
        self.before_change: Callable[[], None] = lambda: None
        self.before_alter: Callable[[], object] = lambda: None
        """Called once."""

    async def look(self, topics: Collection[str] | None = None) -> Look:
        self.looks += 1
        self.looks_at_all += topics is None
        if topics is None and self.bytes_of_all:
            polling_pace.count(self.bytes_of_all, 0.0)
        shown = {one: broker for one, broker in self.brokers.items() if not self.left_out.get(one)}
        self.left_out = {one: max(0, times - 1) for one, times in self.left_out.items()}
        unknown: set[str] = set()
        if self.lagging and topics != []:
            self.lagging, unknown = self.lagging - 1, self.untold
        found: dict[str, dict[int, PartitionInfo]] = {}
        moves = {}
        for name, one in self.partitions.items():
            if one.at.is_moving:
                moves[name] = PartitionReassignment(*one.at)
            if (topics is None or name.topic in topics) and name.topic not in self.secret | unknown:
                failed = self.offline.get(name, ())
                offline = tuple(replica for replica in one.at.replicas if replica in failed or replica not in shown)
                info = PartitionInfo(one.isr[0] if one.isr else -1, one.at.replicas, one.isr, 3, offline)
                found.setdefault(name.topic, {})[name.partition] = info
        looked = {name: LookedTopic(self.ids[name], some) for name, some in found.items()}
        configs = {one: dict(some) for one, some in self.of_configs.items()} if topics is None else {}
        facts = KRaftFacts(eligible={name: one.eligible for name, one in self.partitions.items() if one.eligible})
        return Look(shown, looked, moves, configs, facts, absent=frozenset(topics or ()) - looked.keys() - self.secret)

    async def assignments(self, topics: Collection[str], *, up_to_date: bool = False) -> Look:
        if not up_to_date:
            return await self.look(topics)
        lagging, self.lagging = self.lagging, 0
        try:
            return await MemoryCluster.look(self, topics)
        finally:
            self.lagging = lagging

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> dict[TopicPartition, Outcome]:
        outcomes = await self.altered(targets)
        heard(outcomes)
        return outcomes

    async def altered(self, targets: Mapping[TopicPartition, tuple[int, ...] | None]) -> dict[TopicPartition, Outcome]:
        self.told.update(targets)
        if self.refuses is not None:
            return dict.fromkeys(targets, Outcome(Told.NOT_TOLD, self.refuses))
        if self.silent:
            return {name: Outcome(Told.UNKNOWN, RequestTimedOut()) for name in targets}
        before, self.before_alter = self.before_alter, lambda: None
        before()
        errors = {name: self.partitions[name].alter(target) for name, target in targets.items()}
        return {name: DONE if error is None else Outcome(Told.REFUSED, error) for name, error in errors.items()}

    async def configs(self, entities: Sequence[Entity]) -> dict[Entity, Mapping[str, str] | KafkaError]:
        """A dead broker tells none."""
        live = {DEFAULT, *map(str, self.brokers)}
        dead = {one for one in entities if one.kind == BROKERS and one.name not in live}
        of_dead = BrokerNotAvailable() if self.has_controllers else KafkaError("it is down")
        told: dict[Entity, Mapping[str, str] | KafkaError]
        told = {one: of_dead if one in dead else dict(self.of_configs.get(one, {})) for one in entities}
        told |= {one: RequestTimedOut() for one in entities if one in self.unanswered}
        return told | {one: UnknownTopicOrPartition() for one in entities if one in self.denied}

    async def change_configs(self, changes: Mapping[Entity, Values]) -> dict[Entity, KafkaError | None]:
        self.before_change()
        for entity, values in changes.items():
            now = self.of_configs.setdefault(entity, {})
            for name, value in values.items():
                if value is None:
                    now.pop(name, None)
                elif isinstance(value, ListChange):
                    now[name] = _with(now.get(name, ""), value)
                else:
                    now[name] = value
        self.fails, is_lost = max(0, self.fails - 1), self.fails > 0
        return dict.fromkeys(changes, RequestTimedOut() if is_lost else None)


def _with(now: str, change: ListChange) -> str:
    """As ConfigurationControlManager.incrementalAlterConfigResource."""
    entries = dict.fromkeys(one for one in now.split(",") if one)
    named = change.entries.split(",")
    if change.operation == SUBTRACT:
        return ",".join(one for one in entries if one not in named)
    return ",".join(entries | dict.fromkeys(named))


class Written(NamedTuple):
    """`offset`: of the first record of its commit."""

    offset: int
    payload: bytes


class MemoryLog:
    """What is durable, for all servers. `history`: also what a snapshot stands for by now."""

    def __init__(self) -> None:
        self.records: list[Written] = []
        self.history: list[Written] = []
        self.end = 0
        self.epoch = 0

    def replayed(self) -> Intents:
        intents = Intents()
        for offset, payload in self.records:
            for _ in intents.apply(round_records.decode(payload), offset):
                pass
        return intents


class LogWriter:
    """The log, as one server writes it.

    lives   how many more records are written before the process dies; None: any number
    loses   after so many more records, the answer to one is lost, and the same is written again; None: never
    snapshot_is_due
            until one is written
    """

    def __init__(self, log: MemoryLog) -> None:
        log.epoch += 1
        self.log = log
        self.epoch = log.epoch
        self.lives: int | None = None
        self.loses: int | None = None
        self.snapshot_is_due = False
        self.before_commit: Callable[[], None] = lambda: None

    async def keep(self) -> None:
        await asyncio.Event().wait()

    async def snapshot(self, payloads: Sequence[bytes]) -> None:
        self.log.end += 1
        self.log.records = [Written(self.log.end, one) for one in payloads]
        self.snapshot_is_due = False

    async def commit(self, payloads: Sequence[bytes]) -> int:
        await asyncio.sleep(0)  # as over a socket: who was answered for the round before goes on first
        self.before_commit()
        if self.lives == 0 or self.epoch < self.log.epoch:
            raise ControllerMoved("fenced, or dead")
        cut(Kind.COMMIT, payloads, MAX_MESSAGE_BYTES)  # refuses what the state log refuses
        offset = self.log.end + 1
        self.log.end += len(payloads)
        written = [Written(offset, one) for one in payloads]
        self.log.records += written
        self.log.history += written
        self.loses = None if not self.loses else self.loses - 1
        if self.lives is not None:
            self.lives -= 1
            if self.lives == 0:
                raise ControllerMoved("the process has died before the answer came")
        return offset


class Elected(NamedTuple):
    store: KRaftStore
    writer: LogWriter
    told: dict[TopicPartition, ToTell]


def elected(log: MemoryLog, cluster: MemoryCluster, tell: Tell | None = None) -> Elected:
    writer = LogWriter(log)
    told: dict[TopicPartition, ToTell] = {}
    store = KRaftStore(writer, cluster, log.replayed(), writer.epoch, lambda: NOW, tell or told.update)
    return Elected(store, writer, told)
