"""Looks at the cluster from time to time, more often while something moves, and has the loop decide what that means.

Looks have the budget of `watch` in requests and bytes (`client.polling_pace`): those at large topics, and those at
everything in a large cluster, come less often. How long an answer takes does not count: on a busy cluster the end of
moves, which others wait for, has to be seen, too.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.client.polling_pace import counted, traffic_s
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveRecord, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered, ConfigsFound, Fact
from kafka_reassign_rpc.core.writers.look_facts import KRaftTold, TopicSeen, TopicsSeen
from kafka_reassign_rpc.kraft.cluster_seen import (
    Absences,
    Absent,
    AbsentBrokers,
    Known,
    id_text,
    records_of,
    topic_seen,
)
from kafka_reassign_rpc.kraft.kraft_commands import LookSeen, Noticed
from kafka_reassign_rpc.kraft.ports import KRaftCluster, Look, LookFailed
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.support.turns import Pace, in_turns

log = logging.getLogger(__name__)

NONE_SET: Mapping[str, str] = {}


class LookPace(NamedTuple):
    """Seconds between two looks at what moves (what makes two looks sure of what they both see), and at all. Both are
    longer where a look costs much. `first`: between the look that a term begins with and one that is sure of it."""

    moving: float = 1.0
    at_rest: float = 5.0
    first: float = 1.0


class ClusterPoller:
    """`noticed` is called after each look, once what it means is durable; `looked` is set then."""

    def __init__(self, cluster: KRaftCluster, intents: Intents, sightings: Sightings, pace: LookPace) -> None:
        self._cluster = cluster
        self._intents = intents
        self._sightings = sightings
        self._pace = pace
        self._absences = Absences()
        self._absent_brokers = AbsentBrokers()
        self.noticed: Callable[[Noticed], None] = lambda _: None
        self.looked = asyncio.Event()
        self._listed: frozenset[str] = frozenset()
        """Topics with moves in flight, by the last look."""
        self._all_at = float("-inf")
        """When the last look at everything began, in the time of the event loop."""
        self._moved: frozenset[str] = frozenset()
        """Topics that something moved in when the last look at everything began, or since: a broker that lags shows the
        end of a move later than the controller."""
        self._costs_s = self._all_costs_s = 0.0
        """How long the traffic of the last look, and of the last one at everything, has to last."""
        self._wake = asyncio.Event()

    def round_replayed(self) -> None:
        self._wake.set()

    async def run(self, loop: ControllerLoop) -> None:
        while True:
            try:
                await self._look(loop)
            except NotController:
                return
            except LookFailed as reason:
                log.warning("what moves is not seen for now: %s", reason)
            except KafkaError as error:  # the loop has logged it
                log.warning("what a look has seen is decided about at the next one: %s", error)
            self._wake.clear()
            await asyncio.sleep(max(self._pace.moving, self._costs_s))
            if not self._moving(loop.cluster):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.at_rest - self._pace.moving):
                        await self._wake.wait()
                    await asyncio.sleep(self._pace.moving)
            with suppress(TimeoutError):  # of what it is being told, a look says nothing, and would be in the way
                async with asyncio.timeout(self._pace.moving):  # others wait for looks, and acts may overlap
                    await self._sightings.all_answered.wait()

    async def look_for(self, loop: ControllerLoop, request: AlterReassignments) -> None:
        """At partitions that the request names and that are not known, or whose moves it cancels while none is known,
        or of which it expects other replicas than are known: they may be newer than the last look, and than what the
        broker knows that is asked first. Raises KafkaError.
        """
        for ask in (self._cluster.look, partial(self._cluster.assignments, up_to_date=True)):
            names = await in_turns(_unknown(loop.cluster, request))
            if not names:
                return
            try:
                look = await ask({name.topic for name in names})
            except LookFailed as reason:
                log.warning("a request is answered by what was seen before: %s", reason)
                return
            seen = await _seen_of(look, names, loop.cluster, self._intents)
            self.noticed(await loop.submit(LookSeen([replace(seen, outdated=self._sightings.outdated)], {})))

    async def look_again(self, loop: ControllerLoop, names: Collection[TopicPartition]) -> None:
        """At partitions of which the cluster has taken a change: its sender is not shown what was before it. What that
        means for the moves, looks from time to time say.
        """
        try:
            look = await self._cluster.look({name.topic for name in names})
            seen = await _seen_of(look, names, loop.cluster, self._intents)
            self.noticed(await loop.submit(LookSeen([replace(seen, outdated=self._sightings.being_changed)], {})))
        except (LookFailed, KafkaError) as reason:
            log.warning("what was cancelled is shown as it was until the next look: %s", reason)

    def _moving(self, cluster: Cluster) -> frozenset[str]:
        """Topics that something moves in."""
        return self._listed.union((name.topic for name in self._intents.moves), cluster.moving)

    async def _look(self, loop: ControllerLoop) -> None:
        """At all topics, or in between at those that something moves in."""
        self._sightings.look_begins()
        known, names = await _known(loop.cluster, self._intents), self._moving(loop.cluster)
        now = asyncio.get_running_loop().time()
        is_of_all = now - self._all_at >= max(self._pace.at_rest, self._all_costs_s)
        with counted() as cost:
            if is_of_all:
                look, asked = await self._at_all(known), known
                self._all_at, self._moved = now, names
            else:
                look, names = await self._at(names | self._moved, loop.cluster)
                self._moved = names
                asked = [one for one in known if one.name in names]
        self._costs_s = traffic_s(cost)
        if is_of_all:
            self._costs_s, self._all_costs_s = 0.0, self._costs_s
        self._listed = frozenset(name.topic for name in look.moves)
        absent = await in_turns(self._absences.taken(look, asked, loop.cluster.queue.topics))
        taken = await in_turns(self._sightings.taken(look, absent.gone))
        facts = await self._facts(look, taken.topics, absent, loop.cluster)
        heard = look.brokers.keys() if is_of_all else ()
        self.noticed(await loop.submit(LookSeen(facts, taken.sighted, heard)))
        self.looked.set()
        seen, pace = [*look.topics.values(), *taken.topics.values()], Pace()
        del look, taken, facts
        while seen:  # freeing a hundred thousand partitions at once takes 20 ms
            seen.pop()
            await pace.rest()

    async def _at(self, names: frozenset[str], cluster: Cluster) -> tuple[Look, frozenset[str]]:
        """At these topics, and at those in which others have begun a move."""
        look = await self._cluster.look(names)
        if begun := {name.topic for name in look.moves} - names:
            names |= begun
            look = await self._cluster.look(names)
        others = {name: one for name, one in cluster.soft.kraft.eligible.items() if name.topic not in names}
        return look._replace(kraft=replace(look.kraft, eligible={**others, **look.kraft.eligible})), names

    async def _at_all(self, known: Iterable[Known]) -> Look:
        """What it leaves out is asked for by name: only then does a broker say that there is no such topic."""
        look = await self._cluster.look(None)
        left_out = {one.name for one in known if one.name not in look.topics}
        if not left_out:
            return look
        named = await self._cluster.look(left_out)
        return look._replace(topics={**look.topics, **named.topics}, absent=named.absent)

    async def _facts(
        self, look: Look, topics: Mapping[str, TopicSeen], absent: Absent, cluster: Cluster
    ) -> list[Fact[object]]:
        gone, unseen = (
            frozenset(one.name for one in some if one.name not in cluster.topics or _is_shown_as(cluster, one))
            for some in absent
        )
        shown, pace = {}, Pace()
        for name, seen in topics.items():
            if name not in unseen or name not in cluster.topics or cluster.topics[name].created == seen.number:
                shown[name] = seen  # another topic of the name takes its place only once the former is gone
            await pace.rest()
        records = await _records(self._intents, shown, cluster)
        configs: dict[str, dict[str, Mapping[str, str]]] = {TOPICS: {}, BROKERS: {}}
        configs[TOPICS] |= {name: NONE_SET for name in gone if name in cluster.topic_configs}
        for entity, values in look.configs.items():
            configs[entity.kind][entity.name] = values
            await pace.rest()
        return [
            BrokersRegistered(self._absent_brokers.taken(look.brokers, cluster.brokers)),
            KRaftTold(look.kraft),
            TopicsSeen(shown, gone, self._sightings.outdated, unseen, records, _not_shown(look, cluster)),
            *(ConfigsFound(kind, found) for kind, found in configs.items()),
        ]


async def _known(cluster: Cluster, intents: Intents) -> list[Known]:
    """Also topics that no look of this term has shown."""
    found, pace = dict[Known, None](), Pace()
    for name in list(intents.moves):
        found[Known(name.topic, intents.ids.get(name.topic, ""))] = None
        await pace.rest()
    for topic in list(cluster.topics.values()):
        found[Known(topic.name, id_text(topic.id))] = None
        await pace.rest()
    found |= dict.fromkeys(Known(name) for name in cluster.queue.topics if name not in cluster.topics)
    return list(found)


async def _records(
    intents: Intents, shown: Mapping[str, TopicSeen], cluster: Cluster
) -> dict[TopicPartition, MoveRecord]:
    """Of moves of partitions that are new to the loop."""
    records, pace = {}, Pace()
    for name in list(intents.moves):
        if name.topic in shown and cluster.get(*name) is None:
            record = records_of(intents, name.topic, shown[name.topic].id).get(name)
            if record is not None:
                records[name] = record
        await pace.rest()
    return records


def _unknown(cluster: Cluster, request: AlterReassignments) -> Generator[None, None, set[TopicPartition]]:
    """Yields after each partition."""
    found = set()
    for topic, items in request.topics:
        for index, what in items:
            name = TopicPartition(topic, index)
            if not _is_known(cluster, name, what):
                found.add(name)
            yield
    return found


def _is_known(cluster: Cluster, name: TopicPartition, asked: MoveTerms | CancelMove) -> bool:
    partition = cluster.get(*name)
    if partition is None or name.topic in cluster.soft.unseen:
        return False
    if asked.expected is not None and asked.expected != partition.replicas:
        return False
    return isinstance(asked, MoveTerms) or partition.is_moving or cluster.queue.place(*name) is not None


async def _seen_of(look: Look, names: Collection[TopicPartition], cluster: Cluster, intents: Intents) -> TopicsSeen:
    """These partitions, or all of a topic that is new to the loop. That a topic is gone is for other looks to say."""
    shown, pace = {}, Pace()
    for topic in look.topics:
        seen, known = await in_turns(topic_seen(look, topic)), cluster.topics.get(topic)
        if known is None:
            shown[topic] = seen
        elif known.created == seen.number:
            asked = {}
            for index, one in seen.partitions.items():
                if TopicPartition(topic, index) in names:
                    asked[index] = one
                await pace.rest()
            shown[topic] = seen._replace(partitions=asked)
        await pace.rest()
    return TopicsSeen(shown, records=await _records(intents, shown, cluster), unsure=_not_shown(look, cluster))


def _not_shown(look: Look, cluster: Cluster) -> frozenset[int]:
    return frozenset(cluster.brokers.keys() - look.brokers.keys())


def _is_shown_as(cluster: Cluster, known: Known) -> bool:
    return known.id == id_text(cluster.topics[known.name].id)
