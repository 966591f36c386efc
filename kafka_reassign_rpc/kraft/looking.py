"""Looks at the cluster from time to time, more often while something moves, and has the loop decide what that means."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.topic import Topic, topic_id_text
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered, ConfigsFound, Fact
from kafka_reassign_rpc.core.writers.look_facts import KRaftTold, TopicSeen, TopicsSeen
from kafka_reassign_rpc.kraft.absences import Absences, Absent, Known
from kafka_reassign_rpc.kraft.cluster_seen import record_of
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import LookSeen
from kafka_reassign_rpc.kraft.ports import KRaftCluster, Look, LookFailed
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.support.turns import Pace, in_turns

log = logging.getLogger(__name__)

NONE_SET: Mapping[str, str] = {}


class LookPace(NamedTuple):
    """Seconds between two looks at what moves (what makes two looks sure of what they both see), and at all."""

    moving: float = 1.0
    at_rest: float = 5.0


class Looking:
    def __init__(self, cluster: KRaftCluster, intents: Intents, sightings: Sightings, pace: LookPace) -> None:
        self._cluster = cluster
        self._intents = intents
        self._sightings = sightings
        self._pace = pace
        self._absences = Absences()
        self._listed: frozenset[str] = frozenset()
        """Topics with moves in flight, by the last look."""
        self._all_at = float("-inf")
        """When the last look at everything began, in the time of the event loop."""
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
            await asyncio.sleep(self._pace.moving)
            if not self._moving(loop.cluster):
                try:
                    async with asyncio.timeout(self._pace.at_rest - self._pace.moving):
                        await self._wake.wait()
                except TimeoutError:
                    pass

    def _moving(self, cluster: Cluster) -> frozenset[str]:
        """Topics that something moves in."""
        return self._listed.union((name.topic for name in self._intents.moves), cluster.moving)

    async def _look(self, loop: ControllerLoop) -> None:
        """At all topics, or in between at those that something moves in."""
        self._sightings.look_begins()
        known, names = _known(loop.cluster, self._intents), self._moving(loop.cluster)
        now = asyncio.get_running_loop().time()
        is_of_all = not names or now - self._all_at >= self._pace.at_rest
        if is_of_all:
            look, asked = await self._at_all(known), known
            self._all_at = now
        else:
            look, asked = await self._at(names, loop.cluster), [one for one in known if one.name in names]
        self._listed = frozenset(name.topic for name in look.moves)
        waiting = loop.cluster.queue.topics
        absent = self._absences.taken(look, asked, {name: places.keys() for name, places in waiting.items()})
        taken = await in_turns(self._sightings.taken(look, absent.gone))
        facts = await _facts(look, taken.topics, absent, loop.cluster, self._intents, self._sightings)
        await loop.submit(LookSeen(facts, taken.sighted))

    async def _at(self, names: frozenset[str], cluster: Cluster) -> Look:
        look = await self._cluster.look(names)
        others = {name: one for name, one in cluster.soft.kraft.eligible.items() if name.topic not in names}
        return look._replace(kraft=replace(look.kraft, eligible={**others, **look.kraft.eligible}))

    async def _at_all(self, known: Iterable[Known]) -> Look:
        """What it leaves out is asked for by name: only then does a broker say that there is no such topic."""
        look = await self._cluster.look(None)
        left_out = {one.name for one in known if one.name not in look.topics}
        if not left_out:
            return look
        named = await self._cluster.look(left_out)
        return look._replace(topics={**look.topics, **named.topics}, absent=named.absent)


def _known(cluster: Cluster, intents: Intents) -> list[Known]:
    """Also topics that no look of this term has shown."""
    shown = [Known(topic.name, _id_of(topic)) for topic in cluster.topics.values()]
    moved = [Known(name.topic, intents.ids.get(name.topic, "")) for name in intents.moves]
    waiting = [Known(name) for name in cluster.queue.topics if name not in cluster.topics]
    return list(dict.fromkeys([*shown, *moved, *waiting]))


async def _facts(
    look: Look,
    topics: Mapping[str, TopicSeen],
    absent: Absent,
    cluster: Cluster,
    intents: Intents,
    sightings: Sightings,
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
    records: dict[TopicPartition, MoveRecord] = {}
    for at in list(intents.moves):
        if at.topic in shown and cluster.get(*at) is None:
            record = record_of(intents, shown[at.topic], at)
            records |= {} if record is None else {at: record}
        await pace.rest()
    configs: dict[str, dict[str, Mapping[str, str]]] = {TOPICS: {}, BROKERS: {}}
    configs[TOPICS] |= {name: NONE_SET for name in gone if name in cluster.topic_configs}
    for entity, values in look.configs.items():
        configs[entity.kind][entity.name] = values
        await pace.rest()
    return [
        BrokersRegistered(look.brokers),
        KRaftTold(look.kraft),
        TopicsSeen(shown, gone, sightings.outdated, unseen, records),
        *(ConfigsFound(kind, found) for kind, found in configs.items()),
    ]


def _is_shown_as(cluster: Cluster, known: Known) -> bool:
    return known.id == _id_of(cluster.topics[known.name])


def _id_of(topic: Topic) -> str:
    return "" if topic.id is None else topic_id_text(topic.id)
