"""Throttle leases: topic and broker configs that follow the moves in flight. (`core.throttling.leased_configs` decides
what the configs should be.)

    before a round's writes   set the configs of its new leases, so no leased replica is copied without its throttle.
                              Where moves are cancelled with their throttles (KIP-236's znode), remove those that others
                              have put on their replicas
    between rounds            remove the configs of ended leases, restore the values from before; follow changes by
                              others; add the replicas of the next queued moves to the topics' lists. (A broker learns
                              of a config a moment later than of a replica, and has copied a small one by then. It also
                              leaves less to set before a round)

A config and the memory of its former value change together (`controller.store.LeasedConfigStore`), so the next
controller finds the former value. Each term begins with a check of all memories: configs that no lease needs go.

Between rounds, many configs are written together. Where one is refused (it may not be written, it is too long), each
is written by itself, and that one is tried again later.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from kafka_reassign_rpc.controller.store import ConfigWrite, Entity, LeasedConfigStore, ReloadNeeded, StoredConfigs
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.config_values import BROKERS, INT32, TOPICS
from kafka_reassign_rpc.core.events import catalogue, cluster_news
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE, NOTHING, Lease, Leases
from kafka_reassign_rpc.core.throttling import leased_configs
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, Cancelled, Removed, TopicMemory
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.core.writers.facts import CREATED_HERE, ConfigsWritten
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.turns import Pace

log = logging.getLogger(__name__)

RACES = 20
"""How often configs are read and written again because another writer was faster."""
GAP_S = 0.02
BYTES_PER_S, CONFIGS_PER_S = 2_000_000, 40
"""The pause between two writes for ended leases; and the limits that lengthen it by what was written, unless no lease
is left. So a list of thousands of replicas is not written for each that leaves it; every broker reads each
announcement."""
ALONE_RACES = 3
"""The same for a config that is written by itself: it is tried again later."""
AGAIN_S, LONGEST_AGAIN_S = 1.0, 60.0
"""First and longest wait before a refused config is tried again."""
AHEAD = 500
"""Queued moves whose replicas go into the lists before they start. Rates do not change for them."""


class ConfigChange(NamedTuple):
    """`kept`: the rate stays only for moves without a lease."""

    write: ConfigWrite
    kept: bool
    events: Iterable[Event]


class ThrottleLeases:
    """Around each commit the loop calls `before`, if throttles change with the round, then `after` or `given_up`; `run`
    is a task next to the loop.
    """

    def __init__(
        self, cluster: Cluster, configs: LeasedConfigStore, record: Record, learn: Callable[[ConfigsWritten], None]
    ) -> None:
        self._cluster = cluster
        self._learn = learn
        self._configs = configs
        self._record = record
        self._coming = Leases()
        """Leases of the round that is being committed, besides those in the cluster."""
        self._waiting: dict[Entity, None] = {}
        self._check_all = True
        self._ahead = Leases()
        """Future leases of the next moves in the queue. Only the topics' lists follow them."""
        self._kept: set[Entity] = set()
        """Brokers whose rates stay because moves without a lease need them."""
        self._removed: dict[Entity, Removed] = {}
        self._refused: dict[Entity, None] = {}
        self._unreadable: dict[Entity, tuple[str, int]] = {}
        """Why the configs of these could not be read, and how many times in a row it was that."""
        self._asked: set[Entity] = set()
        """Of the unreadable ones, those whose throttles were asked for again."""
        self._again_at = 0.0
        """When the refused ones are tried again, in the time of the event loop."""
        self._backoff = Backoff(AGAIN_S, LONGEST_AGAIN_S)
        self._writing = asyncio.Lock()
        self._wake = asyncio.Event()
        self._wake.set()
        self._all_ended = asyncio.Event()
        """It is set while there is no lease: throttles go without a pause after the last one."""

    def everything(self) -> None:
        self._check_all = True
        self._wake.set()

    @property
    def refused(self) -> int:
        """Configs that cannot be written, and are tried again."""
        return len(self._refused)

    @property
    def removed(self) -> Collection[Removed]:
        """What somebody else has removed again, and moves go on without."""
        return self._removed.values()

    async def before(self, view: RoundView) -> None:
        """For a round with leases, or with moves that lose throttles. Raises ControllerMoved, ReloadNeeded,
        TopicTooLarge.
        """
        pace = Pace()
        self._coming = coming = Leases()
        for (topic, index), lease in view.leased.items():
            if lease != self._cluster.leases.get(topic, index):
                coming.put(topic, index, lease)
            await pace.rest()
        for name in view.asked_again:
            coming.put(*name, self._cluster.leases.get(*name))
        cancelled = {
            topic: {index: brokers for index, brokers in moves.items() if not self._cluster.leases.get(topic, index)}
            for topic, moves in view.unthrottled.items()
        }
        freed = await self._freed(cancelled, pace) if cancelled else set()
        # Rates first: after a crash, the topics' lists still say which rates have to go.
        entities = dict.fromkeys(Entity(BROKERS, broker) for broker in sorted(freed))
        entities |= self._entities(coming) | dict.fromkeys(Entity(TOPICS, topic) for topic in cancelled)
        if entities:
            async with self._writing:
                await self._write_configs(entities, cancelled, freed, limited=True)

    def after(self, applied: replay.ReplayedChanges) -> None:
        if self._coming.topics:
            self._coming = Leases()
        topics, brokers = applied.ended_leases
        self._waiting.update((Entity(TOPICS, topic), None) for topic in topics)
        self._waiting.update((Entity(BROKERS, str(broker)), None) for broker in brokers)
        if self._kept and (
            applied.deleting
            or applied.deleted
            or any(
                change.before is not None and change.before.is_moving and not change.after.is_moving
                for change in applied.partitions
            )
        ):
            self._waiting.update(dict.fromkeys(self._kept))
        if self._waiting or self._ahead.topics or self._cluster.queue.topics:
            self._wake.set()
        if self._cluster.leases.topics:
            self._all_ended.clear()
        else:
            self._all_ended.set()

    def given_up(self) -> None:
        self._waiting.update(self._entities(self._coming))
        self._coming = Leases()
        self._wake.set()

    async def run(self) -> None:
        """Raises ControllerMoved."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._again_at if self._refused or self._unreadable else None):
                    await self._wake.wait()
            self._wake.clear()
            if self._unreadable and asyncio.get_running_loop().time() >= self._again_at:
                self._waiting.update(dict.fromkeys(self._unreadable))
            pause = 0.0
            try:
                if self._check_all:
                    await self._find_all()
                self._prepare_queued_moves()
                entities, self._waiting = self._waiting, {}
                if entities or self._refused:
                    try:
                        written = await self._write_waiting(entities)
                        pause = max(written / BYTES_PER_S, len(entities) / CONFIGS_PER_S)
                    except ReloadNeeded:
                        self._waiting = entities | self._waiting
                        raise
            except ReloadNeeded as reason:
                # Either the session is over, and the term with it; or the connection is back soon.
                log.info("throttles stay as they are, and are tried again in a second: %s", reason)
                self._wake.set()
                await asyncio.sleep(AGAIN_S)
            else:
                await asyncio.sleep(GAP_S)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._all_ended.wait()

    async def _write_waiting(self, entities: Mapping[Entity, None]) -> int:
        """Like `_write_configs`, for all that can be written: the refused ones wait until they are tried again."""
        refused = list(self._refused) if asyncio.get_running_loop().time() >= self._again_at else []
        wanted = {entity: None for entity in entities if entity not in self._refused}
        written = 0
        try:
            if wanted:
                written = await self._write_beside_rounds(wanted, RACES)
        except ReloadNeeded as reason:
            if reason.is_unknown:
                raise
            written += await self._write_one_by_one(wanted)
        if refused:
            written += await self._write_one_by_one(refused)
        if not self._refused and not self._unreadable:
            self._backoff.reset()
        return written

    async def _write_one_by_one(self, entities: Iterable[Entity]) -> int:
        written, were_refused = 0, False
        for entity in entities:
            try:
                written += await self._write_beside_rounds({entity: None}, ALONE_RACES)
            except ReloadNeeded as reason:
                if reason.is_unknown:
                    raise
                if entity not in self._refused:
                    log.error(
                        "the throttle of %s %s stays as it is, and is tried again within a minute: %s",
                        entity.kind,
                        entity.name,
                        reason,
                    )
                self._refused[entity] = None
                were_refused = True
            else:
                self._refused.pop(entity, None)
        if were_refused:
            self._again_at = asyncio.get_running_loop().time() + self._backoff.next_s()
        return written

    async def _write_beside_rounds(self, entities: Mapping[Entity, None], races: int) -> int:
        async with self._writing:
            return await self._write_configs(entities, races=races)

    @staticmethod
    def _entities(leases: Leases) -> dict[Entity, None]:
        found = dict.fromkeys(Entity(BROKERS, str(broker)) for broker in leases.brokers)
        return found | dict.fromkeys(Entity(TOPICS, topic) for topic in leases.topics)

    def _prepare_queued_moves(self) -> None:
        ahead = Leases()
        for (topic, index), move in self._cluster.queue.first(AHEAD):
            terms = move.terms
            partition = self._cluster.get(topic, index) if terms.throttle else None
            if partition is not None and terms.throttle and (adding := without(terms.target, partition.replicas)):
                ahead.put(topic, index, Lease(terms.throttle, partition.replicas, adding))
        for topic in ahead.topics.keys() | self._ahead.topics.keys():
            if ahead.topics.get(topic, NOTHING).leases != self._ahead.topics.get(topic, NOTHING).leases:
                self._waiting[Entity(TOPICS, topic)] = None
        self._ahead = ahead

    async def _find_all(self) -> None:
        self._waiting.update(dict.fromkeys(await self._configs.remembered()))
        self._waiting.update(self._entities(self._cluster.leases))
        self._check_all = False

    async def _freed(self, cancelled: Mapping[str, Cancelled], pace: Pace) -> set[str]:
        """Brokers without any throttled replica once those of the cancelled moves are unthrottled."""
        configs = self._cluster.topic_configs
        left = {
            topic: leased_configs.without_cancelled(configs.get(topic, {}), moves) for topic, moves in cancelled.items()
        }
        freed: set[str] = set()
        for topic, after in left.items():
            if after != configs.get(topic, {}):
                freed |= leased_configs.brokers_named(configs.get(topic, {})) or set()
        freed -= {str(broker) for broker in (*self._cluster.leases.brokers, *self._coming.brokers)}
        for topic, current in list(configs.items()):
            if not freed:
                break
            named = leased_configs.brokers_named(left.get(topic, current))
            freed = set() if named is None else freed - named
            await pace.rest()
        return freed

    async def _write_configs(
        self,
        entities: Mapping[Entity, None],
        cancelled: Mapping[str, Cancelled] | None = None,
        freed: Collection[str] = (),
        *,
        limited: bool = False,
        races: int = RACES,
    ) -> int:
        """Returns the bytes written. Reads and writes at most `races` times. Raises ControllerMoved, ReloadNeeded; if
        `limited`, TopicTooLarge for configs that are too long."""
        for left in reversed(range(races)):
            changes = [change async for change in self._changes(entities, cancelled or {}, freed)]
            try:
                written = await self._configs.write([change.write for change in changes], limited=limited)
            except ReloadNeeded:
                if not left:
                    raise
                continue
            break
        for change in changes:
            self._adopt(change)
        if self._kept and any(change.write.stored.entity.kind == TOPICS for change in changes):
            # Replicas that have left the lists may have been all that needed these rates.
            self._waiting.update(dict.fromkeys(self._kept))
            self._wake.set()
        events = list(chain.from_iterable(change.events for change in changes))
        if events:
            self._record(events)
        return written

    def _adopt(self, change: ConfigChange) -> None:
        stored, configs = change.write.stored, change.write.configs
        self._unreadable.pop(stored.entity, None)
        self._asked.discard(stored.entity)
        entity, order = stored.entity, stored.order
        if configs != (stored.configs or {}):
            order = CREATED_HERE if order is None else (order[0], order[1] + 1)
        self._learn(ConfigsWritten(*entity, configs, order))
        removed = self._removed_of(entity, change.write.memory)
        if removed is None:
            self._removed.pop(entity, None)
        else:
            self._removed[entity] = removed
        if change.kept:
            self._kept.add(entity)
        else:
            self._kept.discard(entity)

    def _removed_of(self, entity: Entity, memory: TopicMemory | BrokerMemory) -> Removed | None:
        if isinstance(memory, TopicMemory):
            return leased_configs.removed_of_topic(entity.name, memory, self._rate_of(entity.name))
        broker = whole_number(entity.name, 0, INT32)
        return None if broker is None else leased_configs.removed_of_broker(broker, memory)

    def _rate_of(self, topic: str) -> int:
        """Those of waiting moves are in the lists, too."""
        of_all = (self._cluster.leases, self._coming, self._ahead)
        found = (lease for leases in of_all for lease in leases.topics.get(topic, NOTHING).leases.values())
        return min((lease.rate for lease in found), default=0)

    async def _changes(
        self, entities: Iterable[Entity], cancelled: Mapping[str, Cancelled], freed: Collection[str]
    ) -> AsyncIterator[ConfigChange]:
        pace, asked = Pace(), self._entities(self._coming)
        needed: set[int] | None = None
        for stored in await self._configs.read(list(entities)):
            if stored.problem is not None:
                if stored.is_denied and stored.entity.name not in self._cluster.topics:  # looks say so, too
                    yield ConfigChange(ConfigWrite(stored, {}, TopicMemory()), False, ())
                    continue
                if stored.entity in asked:
                    self._asked.add(stored.entity)
                self._stays(stored.entity, stored.problem, is_denied=stored.is_denied)
                continue
            if stored.entity.kind == TOPICS:
                change = self._change_of_topic(stored, cancelled.get(stored.entity.name, {}))
                if change is None:
                    self._unreadable.pop(stored.entity, None)
                else:
                    yield change
            else:
                if needed is None and stored.memory is not None:
                    needed = await self._needed(pace)
                yield self._change_of_broker(stored, needed or (), is_freed=stored.entity.name in freed)
            await pace.rest()

    def _stays(self, entity: Entity, problem: str, *, is_denied: bool) -> None:
        """The log says so at once, an event where it is so a second time, each of them once until it can be written:
        configs of a dead broker that controllers refuse are tried each minute. A topic that is denied
        was deleted, which the next looks say, or the broker lags: that is no news."""
        before, times = self._unreadable.get(entity, ("", 0))
        times = times + 1 if before == problem else 1
        self._unreadable[entity] = problem, times
        if times == 1:
            say = log.info if is_denied else log.error
            say("no throttle changes there until they can be read: %s", problem)
            self._wake.set()
        elif times == 2 and not is_denied:
            topic = entity.name if entity.kind == TOPICS else None
            broker = whole_number(entity.name, 0, INT32) if entity.kind == BROKERS else None
            self._record([Event(catalogue.THROTTLE_STAYS, topic, who=CONTROLLER.who, broker=broker, reason=problem)])
        now = asyncio.get_running_loop().time()
        if now >= self._again_at:
            self._again_at = now + self._backoff.next_s()

    def _change_of_topic(self, stored: StoredConfigs, cancelled: Cancelled) -> ConfigChange | None:
        name, configs = stored.entity.name, stored.configs or {}
        topic = self._cluster.topics.get(name)
        if topic is None and name in self._cluster.unreadable:
            return None
        # Configs without a topic are of one that was taken out of the store, and which may come back.
        if topic.deleting if topic is not None else stored.configs is None:
            return ConfigChange(ConfigWrite(stored, configs, TopicMemory()), False, ())
        wanted, coming, ahead = (
            leases.topics.get(name, NOTHING) for leases in (self._cluster.leases, self._coming, self._ahead)
        )
        asked = wanted if stored.entity in self._asked else coming
        known = stored.memory if isinstance(stored.memory, TopicMemory) else TopicMemory()
        after = leased_configs.topic_after(
            leased_configs.without_cancelled(configs, cancelled),
            known,
            wanted.leaders | coming.leaders | ahead.leaders,
            wanted.followers | coming.followers | ahead.followers,
            asked=asked.leaders | asked.followers,
            is_settled=stored.is_settled,
        )
        events = cluster_news.events_of_topic(name, known, after.memory, self._rate_of(name))
        return ConfigChange(ConfigWrite(stored, after.configs, after.memory), False, events)

    def _change_of_broker(self, stored: StoredConfigs, needed: Collection[int], *, is_freed: bool) -> ConfigChange:
        configs = stored.configs or {}
        known = stored.memory if isinstance(stored.memory, BrokerMemory) else BrokerMemory()
        number = whole_number(stored.entity.name, 0, INT32)
        broker = -1 if number is None or str(number) != stored.entity.name else number
        lease, lifts = self._lease(broker)
        after = leased_configs.broker_after(
            configs,
            self._cluster.default_configs,
            known,
            lease,
            lifts=lifts,
            needed=broker in needed,
            asked=self._coming.rate(broker) != NO_RATE or stored.entity in self._asked,
            is_settled=stored.is_settled,
        )
        if is_freed and not after.memory:
            for name in (LEADER_RATE, FOLLOWER_RATE):
                after.configs.pop(name, None)
        kept = lease == NO_RATE and bool(after.memory)
        events = cluster_news.events_of_broker(broker, configs, known, after)
        return ConfigChange(ConfigWrite(stored, after.configs, after.memory), kept, events)

    def _lease(self, broker: int) -> tuple[int, bool]:
        """The lowest rate of the broker's leases, and whether all of them lift a stricter one."""
        found = [leases for leases in (self._cluster.leases, self._coming) if leases.rate(broker) != NO_RATE]
        lifts = bool(found) and all(leases.lift(broker) for leases in found)
        common = self._cluster.leases.common
        lowest = min((leases.rate(broker) for leases in found), default=NO_RATE)
        return lowest if NO_RATE in (lowest, common) else common, lifts

    async def _needed(self, pace: Pace) -> set[int]:
        """Brokers with throttled replicas of moves without a lease: others throttle those."""
        found: set[int] = set()
        for topic, indexes in list(self._cluster.moving.items()):
            configs = self._cluster.topic_configs.get(topic, {})
            lists = [configs[name] for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS) if configs.get(name)]
            if not lists:
                continue
            named = {entry for text in lists for entry in text.split(",")}
            for index in list(indexes):
                partition = self._cluster.get(topic, index)
                if partition is not None and self._cluster.leases.get(topic, index) is None:
                    found.update(
                        replica for replica in partition.replicas if "*" in named or f"{index}:{replica}" in named
                    )
            await pace.rest()
        return found
