"""Looks at the cluster from time to time, more often while something moves, and has the loop decide what that means."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered, ConfigsFound, Fact
from kafka_reassign_rpc.core.writers.look_facts import KRaftTold, TopicsSeen
from kafka_reassign_rpc.kraft.cluster_seen import topic_seen
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import LookSeen
from kafka_reassign_rpc.kraft.ports import KRaftCluster, Look, LookFailed
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.support.turns import in_turns

log = logging.getLogger(__name__)

NONE_SET: Mapping[str, str] = {}


class LookPace(NamedTuple):
    """Seconds between two looks, while something moves (what makes two looks sure of what they both see) and at rest;
    and those from the claim on in which an Alter of the former server may arrive: it tells for so long after its last
    commit, and a request takes so long at most."""

    moving: float = 1.0
    at_rest: float = 5.0
    settling: float = 35.0


class Looking:
    def __init__(self, cluster: KRaftCluster, intents: Intents, sightings: Sightings, pace: LookPace) -> None:
        self._cluster = cluster
        self._intents = intents
        self._sightings = sightings
        self._pace = pace
        self._settled_at = 0.0
        """In the time of the event loop: what the former server has told has arrived."""
        self._missing: frozenset[str] = frozenset()
        """Topics that the last look has not found."""
        self._wake = asyncio.Event()

    def round_replayed(self) -> None:
        self._wake.set()

    async def run(self, loop: ControllerLoop) -> None:
        self._settled_at = _now() + self._pace.settling
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
            if not self._intents.moves and not loop.cluster.moving:
                try:
                    async with asyncio.timeout(self._pace.at_rest - self._pace.moving):
                        await self._wake.wait()
                except TimeoutError:
                    pass

    async def _look(self, loop: ControllerLoop) -> None:
        self._sightings.look_begins()
        look = await self._cluster.look(None)
        known = loop.cluster.topics.keys()
        missing = frozenset(name for name in known if name not in look.topics)
        gone, self._missing = missing & self._missing, missing
        sighted = await in_turns(self._sightings.taken(look, is_settled=_now() >= self._settled_at))
        await loop.submit(LookSeen([*_facts(look, gone, self._sightings.outdated, loop.cluster)], sighted))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _facts(
    look: Look, gone: frozenset[str], outdated: frozenset[TopicPartition], cluster: Cluster
) -> Iterator[Fact[object]]:
    yield BrokersRegistered(look.brokers)
    yield KRaftTold(look.kraft)
    yield TopicsSeen({name: topic_seen(look, name) for name in look.topics}, gone, outdated)
    lost = {name: NONE_SET for name in gone if name in cluster.topic_configs}
    for kind, others in ((TOPICS, lost), (BROKERS, {})):
        found = {one.name: configs for one, configs in look.configs.items() if one.kind == kind}
        yield ConfigsFound(kind, {**others, **found})
