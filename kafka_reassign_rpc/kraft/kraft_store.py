"""The store in front of KRaft: the cluster keeps the truth about replicas, the state log what was decided about them.

A round is one record of the log; a large one is several, each with all that was decided about its partitions, so that
the next leader can carry out those that are there. What a round changes is looked at before it becomes durable, for a
request while it is decided: where the cluster has something else than it was decided on, it is decided again. (Between
this look and the Alter there is a window, as KRaft has no Alter with a condition: the next look shows whether somebody
has come in between.)
"""

import asyncio
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeGuard
from uuid import UUID

from kafka_reassign_rpc.client.request_routing import in_thread_if_many
from kafka_reassign_rpc.controller.store import Entity, ReloadNeeded, StoredProblem
from kafka_reassign_rpc.core.phases.intent_view import IntentView
from kafka_reassign_rpc.core.phases.phases import DELETED, Act
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS, BrokerSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.state.partition import MoveRecord, topic_id_text
from kafka_reassign_rpc.core.state.queue_entries import QueueChanges
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.kraft import cluster_seen, round_records
from kafka_reassign_rpc.kraft.cluster_seen import Known, is_another
from kafka_reassign_rpc.kraft.leased_configs import LeasedConfigs
from kafka_reassign_rpc.kraft.ports import IntentLog, KRaftCluster, Look, LookFailed
from kafka_reassign_rpc.kraft.round_records import (
    JOINS,
    Ended,
    Intents,
    Memory,
    Move,
    Remembered,
    RoundRecord,
    Setting,
    Waiting,
    part_of,
    path_of,
)
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.turns import Pace, in_turns

log = logging.getLogger(__name__)

FIRST_AGAIN_S, LONGEST_AGAIN_S = 0.1, 5.0
"""Waits before another look, while the cluster does not answer."""
AGAIN_S = 0.5
"""A broker that lives has within this, most of the time, what the controller has."""
SURE_AGAIN_S = 10.0
"""So seldom decisions wait for a look that is sure, as long as an Alter waits for its answer."""
SNAPSHOT_S = 5.0
"""How often to see whether the log wants a snapshot."""
AHEAD_S = 1.0
"""So old a look may be that began while a round was decided."""


class ToTell(NamedTuple):
    """An act that a durable record asks for."""

    record: MoveRecord
    act: Act


Tell = Callable[[Mapping[TopicPartition, ToTell]], None]


async def look_until_answered(look: Callable[[], Awaitable[Look]]) -> Look:
    """Waits for the cluster: the term ends elsewhere, where this server is fenced."""
    backoff = Backoff(FIRST_AGAIN_S, LONGEST_AGAIN_S)
    while True:
        try:
            return await look()
        except LookFailed as reason:
            log.warning("nothing is decided until the cluster answers: %s", reason)
            await backoff.sleep()


class _LookAhead(NamedTuple):
    """`rounds`: so many were durable before it; `found`: None if the cluster has not answered."""

    topics: frozenset[str]
    up_to_date: bool
    rounds: int
    began: float
    found: asyncio.Future[Look | None]


class LoadedCluster(NamedTuple):
    """A `controller.store.Loaded`."""

    cluster: Cluster


class KRaftStore:
    """A `controller.store.Store`.

    intents       replayed up to the claim of this server
    term          the epoch of its claim
    now_ms        the time of a round, ms since the epoch
    tell          gets what a durable round asks of the cluster
    settings      returns those of brokers that are in force when it is called
    started_with  this server's own
    sure_s        so much later than everything was read a look has what the cluster had then: a broker that lags may
                  show the replicas of a move that had ended, and they would be the original ones of the next
    """

    place = "the cluster"

    def __init__(
        self,
        intent_log: IntentLog,
        cluster: KRaftCluster,
        intents: Intents,
        term: int,
        now_ms: Callable[[], int],
        tell: Tell,
        settings: Callable[[], BrokerSettings] = lambda: KAFKA_DEFAULTS,
        started_with: ReassignmentSettings = DEFAULT_SETTINGS,
        sure_s: float = 0.0,
    ) -> None:
        self._log = intent_log
        self._cluster = cluster
        self.intents = intents
        self._term = term
        self._now_ms = now_ms
        self._tell = tell
        self._settings = settings
        self._started_with = started_with
        self._sure_s = sure_s
        self._sure_at = float("-inf")
        self._turn = asyncio.Lock()
        """Records and snapshots come one after the other, each with what it changes in `intents`."""
        self._rounds = 0
        self._ahead: _LookAhead | None = None
        self.configs = LeasedConfigs(cluster, self)

    @property
    def memories(self) -> Mapping[Entity, Remembered]:
        return self.intents.memories

    async def load(self) -> LoadedCluster:
        return LoadedCluster(await self._seen(None))

    async def _seen(self, known: Cluster | None) -> Cluster:
        look, former = await self._look_at_all()
        now = asyncio.get_running_loop().time()
        if now >= self._sure_at + SURE_AGAIN_S:  # where others change what is decided on, it is read again and again
            self._sure_at = now + self._sure_s
        soft = SoftState(broker_settings=self._settings(), started_with=self._started_with, kraft=look.kraft)
        return await in_turns(cluster_seen.cluster_of(look, self.intents, soft, known, former))

    async def _look_at_all(self) -> tuple[Look, set[str]]:
        """And topics of waiting moves in whose place there is another one of the name by now, as two looks agree."""
        before = set[str]()
        while True:
            look = await look_until_answered(self._cluster.look)
            known = self.intents.ids.keys() & look.topics.keys()
            former = {name for name in known if _is_another(self.intents, name, look.topics[name].id)}
            if former:
                former &= {name for part in self.intents.queue.values() for name, _ in part.entries}
            if former == before:
                return look, former
            await asyncio.sleep(max(self._sure_s, AGAIN_S))
            before = former

    async def reload(self, cluster: Cluster) -> Reloaded:
        fresh = await self._seen(cluster)
        found = Reloaded([], set())
        await Pace().through(take_over(cluster, fresh, found))
        return found

    def view(self, cluster: Cluster, too_large: Collection[str] = ()) -> IntentView:
        return IntentView(cluster, too_large, self.intents.moves)

    async def commit(self, cluster: Cluster, view: RoundView) -> replay.ReplayedChanges:
        assert isinstance(view, IntentView), "made by `view`"
        await self._check(cluster, view)
        pace = Pace()
        record = await in_turns(self._record(cluster, view))
        durable = replay.Durable()
        acts: dict[TopicPartition, Act] = {one: act for one, act in view.acts.items() if act is not Act.NOTHING}
        if record is not None:
            async with self._turn:
                async for piece, offset in self._write(record):
                    for part in self.intents.apply(piece, offset):
                        if part != JOINS:
                            _put_part(view.queue, durable, self.intents, part)
                        await pace.rest()
                    self._tell_now([TopicPartition(one.topic, one.partition) for one in piece.moves], acts)
                    durable.records |= {
                        TopicPartition(one.topic, one.partition): (offset, piece.at)
                        for one in piece.moves
                        if one.record is not None and one.record.id is None
                    }
        self._tell_now(list(acts), acts)
        applied = replay.ReplayedChanges()
        await pace.through(replay.replay(cluster, view, durable, self._term, applied))
        return applied

    def _tell_now(self, names: Iterable[TopicPartition], acts: dict[TopicPartition, Act]) -> None:
        """What is durable of a round is told while the rest of it is not yet, and before the loop knows it."""
        told = {}
        for name in names:
            act, record = acts.pop(name, None), self.intents.moves.get(name)
            if act is not None and record is not None:
                told[name] = ToTell(record, act)
        if told:
            self._tell(told)

    def asked(self) -> None:
        """A look that began before this request does not count for it."""
        if self._ahead is not None:
            self._ahead = self._ahead._replace(topics=frozenset())

    def look_ahead(self, topics: Collection[str], *, up_to_date: bool = False) -> Coroutine[None, None, None] | None:
        """A request about these is about to be decided; run what is returned. None: another one came before that has
        not been decided, and no such look counts: it may be older than this request. `up_to_date`: see `kraft.ports`.
        """
        if self._ahead is not None:
            self.asked()
            return None
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Look | None] = loop.create_future()
        self._ahead = _LookAhead(frozenset(topics), up_to_date, self._rounds, loop.time(), found)
        return self._look_at(topics, found, up_to_date=up_to_date)

    async def _look_at(self, topics: Collection[str], found: asyncio.Future[Look | None], *, up_to_date: bool) -> None:
        look = None
        try:
            with suppress(LookFailed):
                look = await self._cluster.assignments(topics, up_to_date=up_to_date)
        finally:
            if not found.done():
                found.set_result(look)

    def _counts(self, ahead: _LookAhead | None, topics: Collection[str], *, up_to_date: bool) -> TypeGuard[_LookAhead]:
        """Not if another round became durable since it began: what that tells the cluster, it may not show."""
        if ahead is None or ahead.rounds != self._rounds or not ahead.topics.issuperset(topics):
            return False
        if up_to_date and not ahead.up_to_date:
            return False
        return asyncio.get_running_loop().time() - ahead.began < AHEAD_S

    async def _check(self, cluster: Cluster, view: IntentView) -> None:
        """Whether the cluster has what decisions depend on. Raises ReloadNeeded."""
        ahead, self._ahead = self._ahead, None
        if not view.checked:
            return
        unsure_s = self._sure_at - asyncio.get_running_loop().time()
        if unsure_s > 0:
            ahead = None
            await asyncio.sleep(unsure_s)
        asked, up_to_date = {name.topic for name in view.checked}, view.needs_newest
        ask = partial(self._cluster.assignments, asked)
        look = await ahead.found if self._counts(ahead, asked, up_to_date=up_to_date) else None
        if look is None:
            look = await look_until_answered(partial(ask, up_to_date=up_to_date))
        why = await self._differs(look, cluster, view)
        if why and not up_to_date:
            look = await look_until_answered(partial(ask, up_to_date=True))
            why = await self._differs(look, cluster, view)
        if why:
            raise ReloadNeeded(why)

    async def _differs(self, look: Look, cluster: Cluster, view: IntentView) -> str:
        """What the look has not as decisions depend on it; "": nothing. Takes out each act on a move that the cluster
        does not show: others have replaced it, or the broker lags, and a later look has it told.
        """
        records = {one: cluster_seen.records_of(self.intents, one, topic.id) for one, topic in look.topics.items()}
        pace = Pace()
        for name in view.checked:
            await pace.rest()
            topic, known = look.topics.get(name.topic), cluster.get(*name)
            found = None if topic is None else topic.partitions.get(name.partition)
            if known is None or found is None:
                return f"partition {name.topic}-{name.partition} was not shown"
            if topic is not None and topic.id is not None and topic.id != cluster.topics[name.topic].id:
                return f"another topic has the name {name.topic} by now"
            seen = cluster_seen.partition_seen(found, look.moves.get(name), look.brokers)
            value = seen.with_record(records[name.topic].get(name))
            if (value.replicas, value.adding, value.removing) != (known.replicas, known.adding, known.removing):
                what = _text(seen.assignment)
                return f"{name.topic}-{name.partition} has other replicas than before: {what}"
            if seen.assignment != (known.replicas, known.adding, known.removing):
                view.acts[name] = Act.NOTHING
        return ""

    def _record(self, cluster: Cluster, view: IntentView) -> Generator[None, None, RoundRecord | None]:
        """Yields after each partition."""
        moves, named, ended = [], set(), []
        waited_for = {name.topic for name in view.queue.appended if name.topic in cluster.topics}
        yield from self._end_of_former_topics(cluster, view, waited_for)
        for name, change in view.partitions.items():
            move = change.value.move
            if move != self.intents.moves.get(name):
                moves.append(Move(*name, move))
                if move is not None:
                    named.add(name.topic)
            yield
        moves += [Move(*name) for name in view.lost]
        for name, one in view.ended.items():
            ended.append(Ended(*name, one.outcome, one.replicas, one.reason))
            yield
        topics = (cluster.topics[name] for name in named | waited_for)
        ids = {topic.name: topic_id_text(topic.id) for topic in topics if topic.id is not None}
        record = RoundRecord(
            at=self._now_ms(),
            ids={name: id_ for name, id_ in ids.items() if self.intents.ids.get(name) != id_},
            moves=moves,
            waiting=(yield from _waiting(view.queue)),
            failed=view.failed,
            log_dirs=view.log_dirs,
            ended=ended,
            settings=[Setting(name, one.value, one.by) for name, one in view.settings.items()],
        )
        changes = record.moves, record.waiting, record.failed, record.log_dirs, record.settings
        return record if any(changes) else None

    def _end_of_former_topics(
        self, cluster: Cluster, view: IntentView, waited_for: set[str]
    ) -> Generator[None, None, None]:
        """The log has one id for each name. So what it has of a topic that is gone ends before it has the id of the
        next one: later looks would take those moves for moves of that. Yields after each partition."""
        others = set()
        for name in {one.topic for one in view.partitions} | waited_for:
            if _is_another(self.intents, name, cluster.topics[name].id):
                others.add(name)
            yield
        if not others:
            return
        for partition, record in list(self.intents.moves.items()):
            if partition.topic in others and partition not in view.ended:
                view.end_former(partition, record, DELETED)
            yield

    async def remember(self, memories: Sequence[Memory]) -> None:
        """Memories of configs, durable when it returns."""
        if memories:
            await self._put(RoundRecord(at=self._now_ms(), memories=memories))

    async def acknowledge(self, recorded: int) -> None:
        """So many outcomes of moves are in event logs. Raises ControllerMoved."""
        await self._put(RoundRecord(at=self._now_ms(), recorded=recorded))

    async def _put(self, record: RoundRecord) -> None:
        async with self._turn:
            async for piece, offset in self._write(record):
                for _ in self.intents.apply(piece, offset):
                    pass

    async def keep_log_short(self) -> None:
        """Writes snapshots as they become due, until it is cancelled. Raises ControllerMoved."""
        while True:
            await asyncio.sleep(SNAPSHOT_S)
            if self._log.snapshot_is_due:
                async with self._turn:
                    payloads, pace = [], Pace()
                    for one in self.intents.snapshot(self._now_ms()):
                        payloads.append(round_records.encode(one))
                        await pace.rest()
                    await self._log.snapshot(payloads)

    async def _write(self, record: RoundRecord) -> AsyncIterator[tuple[RoundRecord, int]]:
        """Each part of it once it is durable, and the offset of its commit."""
        self._rounds += 1
        size = len(record.moves) + len(record.waiting) + len(record.memories)
        for some in await in_thread_if_many(size, lambda: [*round_records.commits(record)]):
            offset = await self._log.commit([data for _, data in some])
            for piece, _ in some:
                yield piece, offset

    async def confirm(self) -> None:
        await self._log.commit([round_records.encode(RoundRecord(at=self._now_ms()))])

    def problems(self) -> list[StoredProblem]:
        """Nobody else writes the log."""
        return []


def _is_another(intents: Intents, name: str, topic_id: UUID | None) -> bool:
    known = Known(name, intents.ids.get(name, ""))
    return is_another(known, "" if topic_id is None else topic_id_text(topic_id))


def _waiting(changes: QueueChanges) -> Generator[None, None, list[Waiting]]:
    """Yields after each partition."""
    left, gone, found = [], set(), []
    for names_by_path in (changes.withdrawn, changes.ended):
        for path, names in names_by_path.items():
            for name in names:
                left.append(Waiting(part_of(path), *name))
                gone.add((part_of(path), *name))
                yield
    for name, move in changes.appended.items():
        found.append(Waiting(JOINS, *name, move))
        yield
    for path, moves in changes.changed.items():
        for name, move in moves.items():
            if (part_of(path), *name) not in gone:
                found.append(Waiting(part_of(path), *name, move))
            yield
    return found + left


def _put_part(changes: QueueChanges, durable: replay.Durable, intents: Intents, part: int) -> None:
    path, made = path_of(part), intents.queue.get(part)
    changes.made[path] = made
    if made is not None:
        durable.parts[path] = replay.Written(made.version, made.changed, made.created)


def _text(seen: SeenPartition) -> str:
    moving = f", moving to {list(seen.target)}" if seen.is_moving else ""
    return f"{list(seen.replicas)}{moving}"
