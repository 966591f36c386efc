"""Topics in deletion: their znodes go when all brokers have confirmed the StopReplica of their replicas.

    in deletion    the mark is durable; brokers are asked to delete the replicas, those that return as well, as soon as
                   it is known that they allow it (`delete.topic.enable`)
    in removal     all replicas are deleted; the znodes are removed, once (`TopicRemovals`)
    gone           `topic_commands.TopicsVanished` takes the topic out of the cluster

`Topic.created` distinguishes a new topic from a former one of its name. Topics that one transaction has created share
that number.

Marks and records without a topic are removed, too. If others change znodes at the same time, that is tried again after
a pause. Topic and mark go in one transaction, the last: a controller that dies at any time leaves a topic with its
mark, which the next one deletes, or neither. Every transaction checks that the topic is the one whose replicas were
deleted, and that neither has changed.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from kafka_reassign_rpc.controller.commands.topic_commands import TopicsVanished
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.term_tasks import TermTasks
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper, ZooKeeperStore
from kafka_reassign_rpc.controller.zookeeper_store.znode_writes import absent
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.topic_deletion import possible_strays, replicas_to_delete, suspected_brokers
from kafka_reassign_rpc.core.writers.topic_facts import StaleMarksRemoved
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

MOST_STRAYS = 50_000
"""Each is an entry of a request, and is remembered until its topic is gone."""

_Key = tuple[str, int]
"""A topic's name and its `Topic.created`, which identify it among all that ever have the name."""


def _key(topic: Topic) -> _Key:
    return topic.name, topic.created


class TopicDeletions:
    """A new controller starts from zero: a second StopReplica does no harm.

    due     called with a topic when its last replica is deleted: its removal begins
    own_id  this server's broker id: replicas that others have placed there are not waited for
    """

    def __init__(self, cluster: Cluster, due: Callable[[Topic], None], own_id: int = -1) -> None:
        self._cluster = cluster
        self._due = due
        self._own_id = own_id
        self._confirmed: dict[_Key, set[tuple[int, int]]] = {}
        self._in_removal: set[_Key] = set()
        self._strays: dict[_Key, int] = {}
        """How many logs may be left of topics whose deletion reaches them."""
        self._strays_total = 0

    def confirm(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """Those of topics that are not in deletion (any more) do not count."""
        topics: dict[str, Topic] = {}
        for name, stop in stops.items():
            topic = self._cluster.topics.get(name.topic)
            if topic is not None and topic.created == stop.created and self.is_waiting(topic):
                self._confirmed.setdefault(_key(topic), set()).add((name.partition, broker))
                topics[topic.name] = topic
        for topic in topics.values():
            self.check(topic)

    @property
    def is_enabled(self) -> bool:
        return self._cluster.soft.broker_settings.delete_topic_enable is True

    def is_waiting(self, topic: Topic) -> bool:
        return topic.deleting and self.is_enabled and _key(topic) not in self._in_removal

    def remaining(self, topic: Topic) -> Iterator[tuple[int, int]]:
        """(partition, broker) of the replicas."""
        if self.is_waiting(topic):
            confirmed = self._confirmed.get(_key(topic), set())
            yield from replicas_to_delete(self._cluster, topic.name, confirmed, self._own_id)

    def strays(self, topic: Topic, not_asked: Mapping[int, Collection[int]]) -> Iterator[tuple[int, int]]:
        """(partition, broker) of what may be left on other brokers, and is deleted with the topic: at most
        `MOST_STRAYS` of all topics in deletion; where a topic has more, only on brokers that have registered since it
        was created. (That of others stays, as always in Kafka.)"""
        key, none = _key(topic), dict[int, Collection[int]]()
        for asked_later in (not_asked, none) if self.is_waiting(topic) else ():
            suspected = suspected_brokers(self._cluster, topic, asked_later)
            known, count = self._strays.get(key, 0), sum(map(len, suspected.values()))
            if self._strays_total - known + count <= MOST_STRAYS:
                self._strays[key] = count
                self._strays_total += count - known
                yield from possible_strays(topic, self._confirmed.get(key, set()), suspected)
                return

    def check(self, topic: Topic) -> None:
        if self.is_waiting(topic) and next(self.remaining(topic), None) is None:
            self._in_removal.add(_key(topic))
            self._due(topic)

    def forget(self, topic: Topic) -> None:
        self._confirmed.pop(_key(topic), None)
        self._in_removal.discard(_key(topic))
        self._strays_total -= self._strays.pop(_key(topic), 0)

    def read_again(self) -> None:
        deleting = {_key(topic) for topic in self._cluster.topics.values() if topic.deleting}
        for gone in self._confirmed.keys() - deleting:
            del self._confirmed[gone]
        self._in_removal &= deleting
        for gone in self._strays.keys() - deleting:
            self._strays_total -= self._strays.pop(gone)


async def remove_topic(zk: ZooKeeper, store: FencedZooKeeper, topic: Topic) -> None:
    """Nothing if the topic is gone, or another one has its name.

    A mark that was removed by hand is created again, since a deletion goes on without it in Kafka too: the
    next controller has to know. Raises ControllerMoved, and ReloadNeeded if others change the znodes: then the
    call may be repeated.
    """
    root, config, mark = (
        znode_paths.topic(topic.name),
        znode_paths.config_topic(topic.name),
        znode_paths.delete_topic(topic.name),
    )
    found = await store.reading(lambda: zk.exists(root))
    if found is None or found.czxid != topic.created:
        return
    marked = await store.reading(lambda: zk.exists(mark))
    guard: list[Op] = [Check(root, found.version)]
    if marked is None:
        await store.write_together([[Create(mark, topic_znodes.ACCEPTED_DELETION)]], guard=guard)
    guard.append(Check(mark, 0 if marked is None else marked.version))
    below: list[str] = []
    for parent in (znode_paths.reassignment_topic(topic.name), root, config, mark):
        below += [path for path in await store.reading(partial(zk.tree, parent)) if path not in (root, mark)]
    last = [Delete(root, found.version), Delete(mark)]
    if config in below:
        below.remove(config)
        last.insert(0, Delete(config))
    await store.write_together([*([Delete(path)] for path in below), last], guard=guard)


async def remove_marks(
    zk: ZooKeeper, store: FencedZooKeeper, names: Collection[str], *, enabled: bool | None = True
) -> None:
    """Removes those of these marks in `/admin/delete_topics` that mark no topic (KafkaController.processTopicDeletion).

    A mark that is newer than the topic of its name stays: the topic was created and marked since the cluster was read.
    If topics cannot be deleted (`delete.topic.enable`) it goes as well, and the topic stays. Raises as `remove_topic`.
    """
    wanted = sorted(names)
    marks = await store.read([znode_paths.delete_topic(name) for name in wanted])
    topics = await store.read([znode_paths.topic(name) for name in wanted])
    groups: list[list[Op]] = []
    for name, mark, topic in zip(wanted, marks, topics, strict=True):
        is_about = topic is not None and mark is not None and topic[1].czxid < mark[1].czxid
        if mark is None or (is_about and enabled is not False):
            continue
        path = znode_paths.topic(name)
        checks = absent(path) if topic is None else (Check(path, topic[1].version),)
        tree = await store.reading(partial(zk.tree, znode_paths.delete_topic(name))) if mark[1].num_children else []
        groups.append(
            [*checks, *(Delete(below) for below in tree[:-1]), Delete(znode_paths.delete_topic(name), mark[1].version)]
        )
    await store.write_together(groups)


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
        await remove_marks(self._zk, self._store, cluster.stale_marks, enabled=enabled)

    async def _remove(self, topic: Topic) -> None:
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while self._is_deleting(topic):
            try:
                async with self._at_once:
                    await remove_topic(self._zk, self._store, topic)
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
