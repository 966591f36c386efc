"""The ids of topics, as a server that does not hold the cluster knows them: it must not show two topics by one id.

Clients fetch by id: a topic that is shown by the id of another one gives them the records of that one.
"""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.controller.loading.znode_reads import children
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.support.turns import Pace, Turn, in_turns
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


class StandbyIds:
    """The ids of all topics are read once, and later those of topics that have appeared. Methods raise ZkError."""

    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self._ids: dict[str, UUID | None] = {}
        """By topic; None for one that has no id of its own."""
        self._holders: dict[UUID, str] = {}
        self._read_at: tuple[int, int] | None = None
        """When the names of all topics were read: czxid and cversion of their parent."""
        self._reading = asyncio.Lock()

    async def with_own(self, found: Mapping[str, Topic]) -> Mapping[str, Topic]:
        """A topic that has the id of one that had it first is shown by the id that it had itself before. If none is
        known it is left out, as by a controller."""
        if not found:
            return found
        await self._learn()
        holders = {self._holders[one.id] for one in found.values() if one.id in self._holders}
        others = await load_topics.read_ids(self._zk, holders - found.keys())
        return await in_turns(self._judged(found, others), turn=Turn())

    async def _learn(self) -> None:
        async with self._reading:
            stat = await self._zk.exists(znode_paths.TOPICS)
            now = None if stat is None else (stat.czxid, stat.cversion)
            if now == self._read_at:
                return
            names = set(await children(self._zk, znode_paths.TOPICS))
            for gone in self._ids.keys() - names:
                self._set(gone, None)
                del self._ids[gone]
            new = await load_topics.read_ids(self._zk, names - self._ids.keys())
            twins = await in_turns(duplicate_topic_ids.find(new, {}), turn=Turn())
            pace = Pace()
            for topic in new:
                is_first = topic.name not in twins and topic.id not in self._holders
                self._set(topic.name, topic.id if is_first else None)
                await pace.rest()
            self._read_at = now

    def _judged(self, found: Mapping[str, Topic], others: Sequence[Topic]) -> Generator[None, None, dict[str, Topic]]:
        twins = yield from duplicate_topic_ids.find((*found.values(), *others), self._holders)
        for name, topic in found.items():
            if name not in twins:
                self._set(name, topic.id)
            yield
        shown: dict[str, Topic] = {}
        for name, topic in found.items():
            own = self._ids.get(name)
            if name not in twins:
                shown[name] = topic
            elif own is not None and self._holders.get(own) == name:
                shown[name] = replace(topic, id=own)
            yield
        return shown

    def _set(self, name: str, topic_id: UUID | None) -> None:
        before = self._ids.get(name)
        if before is not None and self._holders.get(before) == name:
            del self._holders[before]
        self._ids[name] = topic_id
        if topic_id is not None:
            self._holders[topic_id] = name
