"""Removes znodes that are no longer needed: of topics whose deletion is over, of marks and records without a topic. If
others change them at the same time, it tries again after a pause.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from kafka_reassign_rpc.controller.commands.topic_commands import TopicsVanished
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.term_tasks import TermTasks
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store import topic_removal, znode_writes
from kafka_reassign_rpc.controller.zookeeper_store.store import ZooKeeperStore
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_facts import StaleMarksRemoved
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

log = logging.getLogger(__name__)

REMOVALS_AT_ONCE = 50
"""How many topics have their znodes removed at the same time."""
FIRST_BACKOFF_S = 0.05
LONGEST_BACKOFF_S = 5.0
"""The longest wait between two attempts to remove znodes that others change."""


class TopicRemovals:
    """`begin` removes a topic; `run` removes the marks of `/admin/delete_topics` that mark none. `given_up` is called
    with a topic that is no longer in deletion."""

    def __init__(
        self,
        zk: ZooKeeper,
        store: ZooKeeperStore,
        loop: ControllerLoop,
        tasks: TermTasks,
        given_up: Callable[[Topic], None],
    ) -> None:
        self._zk = zk
        self._store = store
        self._loop = loop
        self._tasks = tasks
        self._given_up = given_up
        self._at_once = asyncio.Semaphore(REMOVALS_AT_ONCE)
        self._marks_found = asyncio.Event()

    def begin(self, topic: Topic) -> None:
        self._tasks.begin(self._remove(topic))

    def marks_found(self) -> None:
        self._marks_found.set()

    async def tidy_up(self, orphans: Iterable[TopicPartition]) -> None:
        """Removes what an earlier controller has left, before clients are served. `orphans` do not exist, and have move
        records."""
        cluster = self._loop.cluster
        try:
            await self._store.write(znode_writes.record_removal(cluster, name) for name in orphans)
        except ReloadNeeded as reason:
            log.warning(
                "move records of partitions that do not exist stay until the next controller removes them: %s", reason
            )
        if stale := cluster.stale_marks:
            try:
                await self._remove_marks()
            except ReloadNeeded as reason:  # the watch of the marks comes back to it
                log.warning("deletion marks without a topic stay for now, and are tried again: %s", reason)
            else:
                self._loop.learn(StaleMarksRemoved(stale))

    async def run(self) -> None:
        while True:
            await self._marks_found.wait()
            self._marks_found.clear()
            backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
            done: frozenset[str] = frozenset()
            while (names := self._loop.cluster.stale_marks) and names != done:
                try:
                    await self._remove_marks()
                except ReloadNeeded as reason:
                    log.info("deletion marks without a topic stay for now, and are tried again: %s", reason)
                    await backoff.sleep()
                else:
                    done = names

    async def _remove_marks(self) -> None:
        cluster = self._loop.cluster
        enabled = cluster.soft.broker_settings.delete_topic_enable
        await topic_removal.remove_marks(self._zk, self._store, cluster.stale_marks, enabled=enabled)

    async def _remove(self, topic: Topic) -> None:
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while self._is_deleting(topic):
            try:
                async with self._at_once:
                    await topic_removal.remove_topic(self._zk, self._store, topic)
            except ReloadNeeded as reason:
                log.info("the znodes of the deleted topic %s stay for now, and are tried again: %s", topic.name, reason)
                await backoff.sleep()
            else:
                self._loop.submit(TopicsVanished({topic.name: topic.created}))
                return
        self._given_up(topic)

    def _is_deleting(self, topic: Topic) -> bool:
        known = self._loop.cluster.topics.get(topic.name)
        return known is not None and known.created == topic.created and known.deleting
