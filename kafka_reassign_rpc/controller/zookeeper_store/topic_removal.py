"""Removes what is left in ZooKeeper of topics that are gone: their znodes, and marks of deletions that no topic has.

Topic and mark go in one transaction, the last: a controller that dies at any time leaves a topic with its mark, which
the next one deletes, or neither. Every transaction checks that the topic is the one whose replicas were deleted, and
that neither has changed.
"""

from collections.abc import Collection
from functools import partial

from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.controller.zookeeper_store.znode_writes import absent
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


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
