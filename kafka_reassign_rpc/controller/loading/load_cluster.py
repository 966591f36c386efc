"""Reads the cluster from ZooKeeper in bulk: a failover costs a few round trips, not one for each partition. A znode
that cannot be decoded is logged with its path and left out."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.controller.loading.load_topics import children, decoded, watched_children
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS, BrokerSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.state.broker import Broker, FailedLogDirs
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, CancelAll, Queue, QueuePart
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.core.topics.topic_deletion import DeletionMark, Meaning, meaning
from kafka_reassign_rpc.core.writers.facts import AdminZnodes, QueueRootRead, ZnodeProblem
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.turns import Pace, Turn, in_turns
from kafka_reassign_rpc.zookeeper import settings_znode, topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import (
    decode_queue,
    decode_reassignments,
    encode_reassignments,
    room_beside,
)
from kafka_reassign_rpc.zookeeper.znode_contents import decode_failed_log_dirs
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode


class ReadQueue(NamedTuple):
    queue: Queue
    problems: list[ZnodeProblem]


async def read_queue(zk: ZooKeeper) -> ReadQueue:
    queue = Queue()
    problems: list[ZnodeProblem] = []
    parts: list[QueuePart] = []
    pace = Pace()
    for root in znode_paths.QUEUES:
        seen = await read_root(zk, root)
        if seen.part is None:
            continue
        parts.append(seen.part)
        problems += seen.problems
        if seen.has_children:
            queue.roots_with_children.add(root)
        for path, read in zip(seen.children, await zk.multi_get(seen.children), strict=True):
            if read is not None:
                part, bad = await _part(root, path, *read)
                parts.append(part)
                problems += bad
            await pace.rest()
    for part in sorted(parts, key=lambda one: (one.created, one.path)):
        await pace.through(queue.put(part))
    return ReadQueue(queue, problems)


async def read_root(zk: ZooKeeper, root: str) -> QueueRootRead:
    try:
        data, stat = await zk.get(root)
        names = sorted(await zk.children(root)) if stat.num_children else []
    except NoNode:
        return QueueRootRead(root)
    part, problems = await _part(root, root, data, stat)
    children = [
        path for path in (f"{root}/{name}" for name in names) if znode_paths.queue_part_number(path) is not None
    ]
    has_children = len(children) < len(names)
    if has_children:
        text = f"{root} cannot be deleted when all has left it: it has children of others"
        problems.append(ZnodeProblem(root, root, -1, text))
    return QueueRootRead(root, part, children, has_children, problems)


async def _part(root: str, path: str, data: bytes, stat: Stat) -> tuple[QueuePart, list[ZnodeProblem]]:
    known = QueuePart(
        root,
        path,
        version=stat.version,
        changed=stat.mzxid,
        created=stat.czxid,
        size=len(data),
        has_children=path != root and stat.num_children > 0,
    )
    try:
        entries, problems = await decoded(decode_queue, data, path)
    except BadZnode as error:
        text = f"{error}; nothing of it is done, and it is left as it is"
        return replace(known, unreadable=True), [ZnodeProblem(root, path, stat.mzxid, text)]
    found = [ZnodeProblem(root, path, stat.mzxid, f"{path}: {problem}") for problem in problems]
    return replace(known, entries=entries, needs_rewrite=bool(problems)), found


T = TypeVar("T")

log = logging.getLogger(__name__)


REPORTED_NAMES = 10
"""How many znodes whose names no topic can have are reported one by one."""


class LoadedCluster(NamedTuple):
    """orphans   move records of partitions that do not exist
    parents   existing paths without content of their own: the parents of records, and of states not yet written
    since     the last transaction before the reads: watches that are placed from there miss nothing
    problems  of the batch and the queue
    written   by topic the last zxid of its znode and of its states
    """

    cluster: Cluster
    orphans: list[TopicPartition]
    parents: set[str]
    since: int
    problems: list[ZnodeProblem]
    written: Mapping[str, int] = {}


async def read_cluster(
    zk: ZooKeeper,
    settings: Callable[[], BrokerSettings] = lambda: KAFKA_DEFAULTS,
    started_with: ReassignmentSettings = DEFAULT_SETTINGS,
    holders: Mapping[UUID, str] | None = None,
) -> LoadedCluster:
    """Syncs first. `settings` returns those of brokers in force after the read, which say what deletion marks mean;
    `started_with` are this server's own; `holders` are the topics that it knows under their ids.
    """
    await zk.sync()
    since = zk.last_zxid
    names = await children(zk, znode_paths.TOPICS)
    _report_bad_names([name for name in names if not is_valid_name(name)])
    marks = await read_deletion_marks(zk, await children(zk, znode_paths.DELETE_TOPICS))
    moves, parents, with_children = await load_topics.read_moves(zk)
    topics, unreadable, written = await load_topics.read_topics(zk, names, moves)
    twins = await in_turns(duplicate_topic_ids.find(topics.values(), holders or {}), turn=Turn())
    topics = {name: topic for name, topic in topics.items() if name not in twins} if twins else topics
    unreadable |= {name: twin.reason for name, twin in twins.items()}
    brokers, servers = dict(await read_brokers(zk)), await read_servers(zk)
    of_topics, of_brokers = await _read_configs(zk, TOPICS), await _read_configs(zk, BROKERS)
    common, admin = await read_settings(zk), await read_admin(zk)
    requests = await children(zk, znode_paths.REASSIGNMENT_REQUESTS)
    queue, problems = await read_queue(zk)
    failed, failures_with_children = await read_failures(
        zk, znode_paths.FAILED_BROKERS, znode_contents.decode_failure, int
    )
    failed_log_dirs, log_dirs_with_children = await read_failures(
        zk, znode_paths.FAILED_LOG_DIRS, decode_failed_log_dirs, FailedLogDirs
    )
    of_all_brokers = settings()
    enabled = of_all_brokers.delete_topic_enable
    meanings = {name: meaning(topics.get(name), mark, enabled) for name, mark in marks.items()}
    stale = (name for name, means in meanings.items() if means is Meaning.STALE)
    cluster = Cluster(
        brokers=brokers,
        servers=servers,
        unreadable=unreadable,
        twins=twins,
        stale_marks=frozenset(name for name in stale if name not in unreadable),
        waiting_marks=frozenset(name for name, means in meanings.items() if means is Meaning.WAITS),
        unreadable_configs=frozenset(
            (kind, name) for kind, found in ((TOPICS, of_topics), (BROKERS, of_brokers)) for name in found.unreadable
        ),
        topic_configs=of_topics.configs,
        broker_configs=of_brokers.configs,
        config_versions={
            (kind, name): version
            for kind, found in ((TOPICS, of_topics), (BROKERS, of_brokers))
            for name, version in found.versions.items()
        },
        settings=common.values,
        settings_problem=common.problem,
        settings_by=common.by,
        settings_changed=common.changed,
        failed={**failed},
        records_with_children=with_children,
        failures_with_children=failures_with_children,
        failed_log_dirs=failed_log_dirs,
        log_dirs_with_children=log_dirs_with_children,
        disabled_by_znode=admin.disabled_by_znode,
        batch=admin.batch,
        requests=frozenset(name for name in requests if znode_paths.sequence_number(name) is not None),
        cancel_all=admin.cancel_all,
        queue=queue,
        since=since,
        soft=SoftState(broker_settings=of_all_brokers, started_with=started_with, unheard=set(brokers)),
    )
    pace = Pace()
    for topic in topics.values():
        put_topic(
            cluster,
            topic.name,
            topic.id,
            topic.partitions,
            version=topic.version,
            extra=topic.extra,
            missing=topic.missing,
            unreadable=topic.unreadable,
            deleting=meanings.get(topic.name) is Meaning.IN_DELETION,
            created=topic.created,
            id_since=topic.id_since,
            stateless_since=topic.stateless_since,
        )
        await pace.rest()
    orphans = []
    for name in moves:
        known = topics.get(name.topic)
        if name.topic not in unreadable and (known is None or name.partition not in known.partitions):
            orphans.append(name)
        await pace.rest()
    parents |= await load_topics.read_stateless(zk, topics.values())
    return LoadedCluster(cluster, orphans, parents, since, [*admin.problems, *problems], written)


async def read_admin(zk: ZooKeeper, *, batch: bool = True, watch: bool = False) -> AdminZnodes:
    disabled_by_znode = await zk.exists(znode_paths.REASSIGN_CANCEL, watch=watch)
    cancel = await zk.exists(znode_paths.CANCEL_IN_PROGRESS, watch=watch)
    found, problems = await _read_batch(zk) if batch else (None, [])
    return AdminZnodes(
        disabled_by_znode is not None,
        None if cancel is None else CancelAll(cancel.czxid, has_children=cancel.num_children > 0),
        found,
        problems,
    )


async def _read_batch(zk: ZooKeeper) -> tuple[BatchZnode | None, list[ZnodeProblem]]:
    path = znode_paths.REASSIGN_PARTITIONS
    try:
        data, stat = await zk.get(path)
    except NoNode:
        return None, []
    known = BatchZnode(version=stat.version, changed=stat.mzxid, has_children=stat.num_children > 0)
    try:
        entries, room, problems = await decoded(_entries, data, path)
    except BadZnode as error:
        text = f"{error}; nothing of it is done, and it is left as it is"
        return replace(known, unreadable=True), [ZnodeProblem(path, path, stat.mzxid, text)]
    found = [ZnodeProblem(path, path, stat.mzxid, f"{path}: {problem}") for problem in problems]
    if known.has_children:
        found.append(ZnodeProblem(path, path, -1, f"{path} cannot be deleted when it is done: it has children"))
    return replace(known, entries=entries, needs_rewrite=bool(found), room=room), found


def _entries(data: bytes, path: str) -> tuple[dict[TopicPartition, BatchEntry], int, list[str]]:
    entries, problems = decode_reassignments(data, path)
    return entries, room_beside(encode_reassignments(entries)), problems


async def read_failures(
    zk: ZooKeeper, parent: str, decode: Callable[[bytes, str], T], made: Callable[[int], T]
) -> tuple[dict[int, T], frozenset[int]]:
    """What failed of which broker, with the time of first notice (ms since 1970), and brokers whose znode cannot be
    deleted. `made` gives the value for a znode that cannot be decoded; its argument is the znode's creation time."""
    places = []
    for name in await children(zk, parent):
        path = f"{parent}/{name}"
        broker = znode_paths.parse_index(name)
        if broker is None:
            log.error("%s is no broker's id: self-healing does nothing about it; the znode can be deleted", path)
        else:
            places.append((broker, path))
    failed, with_children = dict[int, T](), set()
    for (broker, path), read in zip(places, await zk.multi_get([path for _, path in places]), strict=True):
        if read is None:
            continue
        data, stat = read
        if stat.num_children:
            with_children.add(broker)
            if not data:
                continue
        try:
            failed[broker] = decode(data, path)
        except BadZnode as error:
            log.warning("its creation time counts as the time of the failure: %s", error)
            failed[broker] = made(stat.ctime)
    return failed, frozenset(with_children)


async def read_brokers(zk: ZooKeeper, *, watch: bool = False) -> Mapping[int, Broker]:
    """Watches report the next change of the set or of a broker."""
    names = await children(zk, znode_paths.BROKER_IDS, watch=watch)
    places = [f"{znode_paths.BROKER_IDS}/{name}" for name in names]
    since = zk.last_zxid
    found = await zk.multi_get(places)
    if watch and places:
        await zk.place_watches(places, since)
    brokers = {}
    for path, read in zip(places, found, strict=True):
        if read is None:
            continue
        data, stat = read
        try:
            broker = znode_contents.decode_broker(data, path, stat.czxid)
        except BadZnode as error:
            log.error("%s: this broker counts as lost until it can be read", error)
        else:
            brokers[broker.id] = broker
    return brokers


async def read_servers(zk: ZooKeeper, *, watch: bool = False) -> frozenset[int]:
    """The ids that servers of this product have taken, whether they run or not."""
    found: set[int] = set()
    for parent in znode_paths.SERVERS:
        names = await watched_children(zk, parent) if watch else await children(zk, parent)
        found.update(number for name in names if (number := znode_paths.parse_index(name)) is not None)
    return frozenset(found)


async def read_deletion_marks(zk: ZooKeeper, names: Sequence[str]) -> dict[str, DeletionMark]:
    found = await zk.multi_get([znode_paths.delete_topic(name) for name in names])
    return {
        name: DeletionMark(read[1].czxid, accepted=read[0] == topic_znodes.ACCEPTED_DELETION)
        for name, read in zip(names, found, strict=True)
        if read is not None
    }


def _report_bad_names(names: Sequence[str]) -> None:
    for name in names[:REPORTED_NAMES]:
        log.error(
            "%s has a name that no topic can have: the controller ignores it; the znode can be deleted",
            shown(znode_paths.topic(name)),
        )
    if len(names) > REPORTED_NAMES:
        log.error(
            "%s names that no topic can have: the controller ignores them",
            counted(len(names) - REPORTED_NAMES, "more znode", "have"),
        )


class ReadConfigs(NamedTuple):
    """Configs by the names of their owners, without owners that have none; czxid and zkVersion of all znodes; and the
    owners of those that cannot be decoded."""

    configs: dict[str, Mapping[str, str]]
    versions: dict[str, tuple[int, int]]
    unreadable: set[str]


async def _read_configs(zk: ZooKeeper, kind: str) -> ReadConfigs:
    parent = znode_paths.config_type(kind)
    names = await children(zk, parent)
    return await read_named_configs(zk, kind, names)


async def read_named_configs(zk: ZooKeeper, kind: str, names: Sequence[str]) -> ReadConfigs:
    parent = znode_paths.config_type(kind)
    places = [f"{parent}/{name}" for name in names]
    configs_found = ReadConfigs({}, {}, set())
    found = await zk.multi_get(places)
    pace = Pace()
    for name, path, read in zip(names, places, found, strict=True):
        if read is None:
            continue
        try:
            configs_found.versions[name] = read[1].czxid, read[1].version
            configs_found.configs[name] = znode_contents.decode_config(read[0], path)
        except BadZnode as error:
            configs_found.unreadable.add(name)
            log.error("%s: these configs count as none, and cannot be changed, until they can be read", error)
        await pace.rest()
    return configs_found


class ReadSettings(NamedTuple):
    """What `/admin/reassignment_settings` holds; or why it cannot be understood. `by`: who has set what."""

    values: Mapping[str, str]
    problem: str
    by: Mapping[str, Requester]
    changed: int = -1


async def read_settings(zk: ZooKeeper, *, watch: bool = False) -> ReadSettings:
    path = znode_paths.SETTINGS
    read = await zk.if_there(path, lambda: zk.get(path, watch=watch), watch=watch)
    if read is None:
        return ReadSettings({}, "", {})
    data, stat = read
    try:
        found = settings_znode.decode_settings(data, path)
        return ReadSettings(found.configs, "", found.by(), stat.mzxid)
    except BadZnode as error:
        return ReadSettings({}, f"the settings of the servers cannot be read ({error})", {}, stat.mzxid)
