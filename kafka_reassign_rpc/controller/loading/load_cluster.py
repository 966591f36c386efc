"""Reads the cluster from ZooKeeper in bulk: a failover costs a few round trips, not one for each partition.

A znode that cannot be decoded is logged with its path and left out; everything else is read.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.controller.loading.large_znodes import decoded
from kafka_reassign_rpc.controller.loading.load_queue import read_queue
from kafka_reassign_rpc.core.broker_settings import KAFKA_DEFAULTS, BrokerSettings
from kafka_reassign_rpc.core.round.read_partition import LoadedAssignment, LoadedState, partition_of
from kafka_reassign_rpc.core.state.cluster import (
    NO_LEADER,
    Broker,
    Cluster,
    MoveRecord,
    Partition,
    Topic,
    TopicPartition,
)
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchEntry, BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.soft_state import SoftState
from kafka_reassign_rpc.core.topics.deletion_marks import DeletionMark, Meaning, meaning
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.core.znode_routes.znodes_read import AdminZnodes, ZnodeProblem
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.support.slice_timer import SliceTimer
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import (
    decode_reassignments,
    encode_reassignments,
    room_beside,
)
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

log = logging.getLogger(__name__)


CHUNK = 2000
"""Partitions whose states are read together."""

UNREADABLE = MoveRecord(target=(), original=(NO_LEADER,))
"""In the place of a move record that cannot be decoded: it fits no assignment, so the record is written anew."""

REPORTED_NAMES = 10
"""Znodes with names of no topic that are reported one by one."""


class ReadRecord(NamedTuple):
    """A move record, and its mzxid: whether the topic znode was written since."""

    move: MoveRecord
    changed: int


class LoadedCluster(NamedTuple):
    """What ZooKeeper holds.

    orphans   move records of partitions that do not exist
    parents   existing paths without content of their own: the parents of records, and of states not yet written
    since     the last transaction before the reads: watches that are placed from there miss nothing
    problems  of the batch and the queue
    """

    cluster: Cluster
    orphans: list[TopicPartition]
    parents: set[str]
    since: int
    problems: list[ZnodeProblem]


async def read_cluster(zk: ZooKeeper, settings: Callable[[], BrokerSettings] = lambda: KAFKA_DEFAULTS) -> LoadedCluster:
    """Read everything, after a sync. `settings` gives those that hold once it is read: what marks of deletions mean."""
    await zk.sync()
    since = zk.last_zxid
    names = await _children(zk, znode_paths.TOPICS)
    _report_bad_names([name for name in names if not is_valid_name(name)])
    marks = await read_deletion_marks(zk, await _children(zk, znode_paths.DELETE_TOPICS))
    moves, parents, occupied = await read_moves(zk)
    topics, unreadable = await read_topics(zk, names, moves)
    brokers, servers = dict(await read_brokers(zk)), await read_servers(zk)
    of_topics, of_brokers = await _read_configs(zk, "topics"), await _read_configs(zk, "brokers")
    common, admin = await read_settings(zk), await read_admin(zk)
    requests = await _children(zk, znode_paths.REASSIGNMENT_REQUESTS)
    queue, problems = await read_queue(zk)
    failed, occupied_failures = await read_failures(zk)
    started_with = settings()
    enabled = started_with.delete_topic_enable
    meanings = {name: meaning(topics.get(name), mark, enabled) for name, mark in marks.items()}
    stale = (name for name, means in meanings.items() if means is Meaning.STALE)
    cluster = Cluster(
        brokers=brokers,
        servers=servers,
        unreadable=unreadable,
        stale_marks=frozenset(name for name in stale if name not in unreadable),
        waiting_marks=frozenset(name for name, means in meanings.items() if means is Meaning.WAITS),
        topic_configs=of_topics.configs,
        broker_configs=of_brokers.configs,
        config_versions={
            (kind, name): version
            for kind, found in (("topics", of_topics), ("brokers", of_brokers))
            for name, version in found.versions.items()
        },
        settings=common.values,
        settings_problem=common.problem,
        failed=failed,
        occupied_records=occupied,
        occupied_failures=occupied_failures,
        disabled_by_znode=admin.disabled_by_znode,
        batch=admin.batch,
        requests=frozenset(name for name in requests if znode_paths.sequence_number(name) is not None),
        cancel_all=admin.cancel_all,
        queue=queue,
        since=since,
        soft=SoftState(broker_settings=started_with),
    )
    pace = SliceTimer()
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
        )
        await pace.rest()
    orphans = []
    for name in moves:
        known = topics.get(name.topic)
        if name.topic not in unreadable and (known is None or name.partition not in known.partitions):
            orphans.append(name)
        await pace.rest()
    parents |= await read_stateless(zk, topics.values())
    return LoadedCluster(cluster, orphans, parents, since, [*admin.problems, *problems])


async def read_admin(zk: ZooKeeper, *, batch: bool = True, watch: bool = False) -> AdminZnodes:
    """Read KIP-236's znodes, without the batch if `batch` is false. `watch`: watches report their next change."""
    disabled_by_znode = await zk.exists(znode_paths.REASSIGN_CANCEL, watch=watch)
    cancel = await zk.exists(znode_paths.CANCEL_IN_PROGRESS, watch=watch)
    found, problems = await _read_batch(zk) if batch else (None, [])
    return AdminZnodes(
        disabled_by_znode is not None,
        None if cancel is None else CancelAll(cancel.czxid, occupied=cancel.num_children > 0),
        found,
        problems,
    )


async def _read_batch(zk: ZooKeeper) -> tuple[BatchZnode | None, list[ZnodeProblem]]:
    path = znode_paths.REASSIGN_PARTITIONS
    try:
        data, stat = await zk.get(path)
    except NoNode:
        return None, []
    known = BatchZnode(version=stat.version, changed=stat.mzxid, occupied=stat.num_children > 0)
    try:
        entries, room, problems = await decoded(_entries, data, path)
    except BadZnode as error:
        text = f"{error}; nothing of it is done, and it is left as it is"
        return replace(known, unreadable=True), [ZnodeProblem(path, path, stat.mzxid, text)]
    found = [ZnodeProblem(path, path, stat.mzxid, f"{path}: {problem}") for problem in problems]
    if known.occupied:
        found.append(ZnodeProblem(path, path, -1, f"{path} cannot be deleted when it is done: it has children"))
    return replace(known, entries=entries, flawed=bool(found), room=room), found


def _entries(data: bytes, path: str) -> tuple[dict[TopicPartition, BatchEntry], int, list[str]]:
    entries, problems = decode_reassignments(data, path)
    return entries, room_beside(encode_reassignments(entries)), problems


async def read_failures(zk: ZooKeeper) -> tuple[dict[int, int], frozenset[int]]:
    """Failed brokers with the time of first notice (ms since the epoch), and brokers whose znode cannot be deleted.

    Where the time cannot be decoded, the creation time of the znode counts.
    """
    places = []
    for name in await _children(zk, znode_paths.FAILED_BROKERS):
        path = f"{znode_paths.FAILED_BROKERS}/{name}"
        broker = znode_paths.parse_index(name)
        if broker is None:
            log.error("%s is no broker's id: self-healing does nothing about it; the znode can be deleted", path)
        else:
            places.append((broker, path))
    failed, occupied = {}, set()
    for (broker, path), read in zip(places, await zk.multi_get([path for _, path in places]), strict=True):
        if read is None:
            continue
        data, stat = read
        if stat.num_children:
            occupied.add(broker)
            if not data:
                continue
        try:
            failed[broker] = znode_contents.decode_failure(data, path)
        except BadZnode as error:
            log.warning("its creation time counts instead: %s", error)
            failed[broker] = stat.ctime
    return failed, frozenset(occupied)


async def read_brokers(zk: ZooKeeper, *, watch: bool = False) -> Mapping[int, Broker]:
    """Registered brokers by id. `watch`: watches report the next change of the set or of a broker."""
    names = await _children(zk, znode_paths.BROKER_IDS, watch=watch)
    places = [f"{znode_paths.BROKER_IDS}/{name}" for name in names]
    since = zk.last_zxid
    found = await zk.multi_get(places)
    if watch and places:
        await zk.place_watches(data=places, since_zxid=since)
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
    """The ids that servers of this product have taken, whether they run or not. `watch`: a watch reports the next
    change."""
    found: set[int] = set()
    for parent in znode_paths.SERVERS:
        names = await watched_children(zk, parent) if watch else await _children(zk, parent)
        found.update(number for name in names if (number := znode_paths.parse_index(name)) is not None)
    return frozenset(found)


async def read_deletion_marks(zk: ZooKeeper, names: Sequence[str]) -> dict[str, DeletionMark]:
    """These marks in `/admin/delete_topics`, without those that do not exist."""
    found = await zk.multi_get([znode_paths.delete_topic(name) for name in names])
    return {
        name: DeletionMark(read[1].czxid, accepted=read[0] == znode_contents.ACCEPTED_DELETION)
        for name, read in zip(names, found, strict=True)
        if read is not None
    }


class ReadTopics(NamedTuple):
    """Topics by name, and by name the reason why a topic cannot be decoded."""

    found: dict[str, Topic]
    unreadable: dict[str, str]


def _report_bad_names(names: Sequence[str]) -> None:
    for name in names[:REPORTED_NAMES]:
        log.error(
            "%s has a name that no topic can have: the controller ignores it; the znode can be deleted",
            shown(znode_paths.topic(name)),
        )
    if len(names) > REPORTED_NAMES:
        log.error(
            "%d more znodes have names that no topic can have: the controller ignores them", len(names) - REPORTED_NAMES
        )


async def read_topics(
    zk: ZooKeeper, names: Collection[str] | None, moves: Mapping[TopicPartition, ReadRecord] | None = None
) -> ReadTopics:
    """Topics with the states of their partitions; `names` None: all topics. Leaves out those that do not exist, and
    those with names that Kafka does not allow: no answer has room for some of them, and Kafka cannot have made them."""
    pace = SliceTimer()
    wanted: list[str] = []
    for name in await _children(zk, znode_paths.TOPICS) if names is None else names:
        if is_valid_name(name):
            wanted.append(name)
        await pace.rest()
    places = [znode_paths.topic(name) for name in wanted]
    found: dict[str, tuple[znode_contents.TopicZnode, Stat]] = {}
    unreadable: dict[str, str] = {}
    for name, path, read in zip(wanted, places, await zk.multi_get(places), strict=True):
        if read is None:
            continue
        try:
            found[name] = znode_contents.decode_topic(read[0], path), read[1]
        except BadZnode as error:
            log.error("%s: whatever is asked about this topic is refused until it can be read", error)
            unreadable[name] = str(error)
        await pace.rest()
    partitions, bad = await _read_partitions(zk, found, moves or {}, pace)
    topics = {
        name: Topic(
            name,
            znode.id,
            partitions[name],
            stat.version,
            znode.extra,
            znode.missing,
            frozenset(bad.get(name, ())),
            created=stat.czxid,
            id_since=stat.mzxid,
        )
        for name, (znode, stat) in found.items()
    }
    return ReadTopics(topics, unreadable)


async def _read_partitions(
    zk: ZooKeeper,
    topics: Mapping[str, tuple[znode_contents.TopicZnode, Stat]],
    moves: Mapping[TopicPartition, ReadRecord],
    pace: SliceTimer,
) -> tuple[dict[str, dict[int, Partition]], dict[str, set[int]]]:
    """Partitions by topic and index; and by topic, those whose state cannot be decoded."""
    names = (TopicPartition(name, index) for name, (znode, _) in topics.items() for index in sorted(znode.partitions))
    partitions: dict[str, dict[int, Partition]] = {name: {} for name in topics}
    bad: dict[str, set[int]] = {}
    await pace.rest()
    async for chunk in _read_states(zk, names):
        for name, path, read in chunk:
            znode, stat = topics[name.topic]
            assigned = LoadedAssignment(*znode.partitions[name.partition])
            state = None
            try:
                state = _state(read, path)
            except BadZnode as error:
                log.error("%s: the partition keeps its replicas and its leader until it can be read", error)
                bad.setdefault(name.topic, set()).add(name.partition)
            record = moves.get(name)
            partitions[name.topic][name.partition] = (
                partition_of(assigned, state, None)
                if record is None
                else partition_of(assigned, state, record.move, is_latest=record.changed > stat.mzxid)
            )
            await pace.rest()
    return partitions, bad


async def read_states(zk: ZooKeeper, names: Sequence[TopicPartition]) -> dict[TopicPartition, LoadedState]:
    """The states of these partitions, without those that do not exist or cannot be decoded."""
    places = [znode_paths.partition_state(*name) for name in names]
    states = {}
    for name, path, read in zip(names, places, await zk.multi_get(places), strict=True):
        try:
            state = _state(read, path)
        except BadZnode as error:
            log.error("%s: the partition keeps its replicas and its leader until it can be read", error)
        else:
            if state is not None:
                states[name] = state
    return states


class _Chunk(NamedTuple):
    names: list[TopicPartition]
    places: list[str]
    answer: asyncio.Task[list[tuple[bytes, Stat] | None]]


async def _read_states(
    zk: ZooKeeper, names: Iterator[TopicPartition]
) -> AsyncIterator[Iterable[tuple[TopicPartition, str, tuple[bytes, Stat] | None]]]:
    """The state znodes of partitions in chunks. While the caller works on one chunk, ZooKeeper reads the next."""
    chunk = _ask_for_states(zk, names)
    try:
        while chunk is not None:
            found = await chunk.answer
            current, chunk = chunk, _ask_for_states(zk, names)
            yield zip(current.names, current.places, found, strict=True)
    finally:
        if chunk is not None:
            chunk.answer.cancel()


def _ask_for_states(zk: ZooKeeper, names: Iterator[TopicPartition]) -> _Chunk | None:
    chunk = list(islice(names, CHUNK))
    places = [znode_paths.partition_state(*name) for name in chunk]
    return _Chunk(chunk, places, asyncio.create_task(zk.multi_get(places))) if chunk else None


def _state(read: tuple[bytes, Stat] | None, path: str) -> LoadedState | None:
    if read is None:
        return None
    data, stat = read
    state = znode_contents.decode_state(data, path)
    return LoadedState(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        controller_epoch=state.controller_epoch,
        version=stat.version,
        leader_recovery_state=state.leader_recovery_state,
        created=stat.czxid,
    )


class ReadMoves(NamedTuple):
    """Move records, the existing znodes above them, and records with children of somebody else."""

    found: dict[TopicPartition, ReadRecord]
    parents: set[str]
    occupied: frozenset[TopicPartition]


async def read_moves(zk: ZooKeeper, names: Collection[str] | None = None) -> ReadMoves:
    """Move records of these topics, or all. An empty one that has children records no move."""
    topics = await _children(zk, znode_paths.REASSIGNMENTS) if names is None else list(names)
    parents = [znode_paths.reassignment_topic(topic) for topic in topics]
    there: set[str] = set()
    places: list[tuple[str, TopicPartition]] = []
    pace = SliceTimer()
    for topic, parent, children in zip(topics, parents, await zk.multi_children(parents), strict=True):
        if children is not None:
            there.add(parent)
        for child in children or ():
            index = znode_paths.parse_index(child)
            if index is None:
                log.error("%s/%s is no partition: nothing is done about it; the znode can be deleted", parent, child)
            else:
                places.append((f"{parent}/{child}", TopicPartition(topic, index)))
        await pace.rest()
    moves, occupied = {}, set()
    for (path, name), read in zip(places, await zk.multi_get([path for path, _ in places]), strict=True):
        if read is None:
            continue
        if read[1].num_children:
            occupied.add(name)
            if not read[0]:
                continue
        try:
            move = decode_move_record(read[0], path, read[1])
        except BadZnode as error:
            log.error("a move record is written anew: %s", error)
            move = replace(UNREADABLE, id=read[1].czxid, started=read[1].ctime)
        moves[name] = ReadRecord(move, read[1].mzxid)
        await pace.rest()
    return ReadMoves(moves, there, frozenset(occupied))


async def read_stateless(zk: ZooKeeper, topics: Iterable[Topic]) -> set[str]:
    """Existing parents of missing states: the creation of the topic was interrupted, or is under way."""
    incomplete = []
    pace = SliceTimer()
    for topic in topics:
        if any(value.partition_epoch < 0 for value in topic.partitions.values()):
            incomplete.append(topic)
        await pace.rest()
    places = [znode_paths.partitions(topic.name) for topic in incomplete]
    found = set()
    for path, names in zip(places, await zk.multi_children(places), strict=True):
        if names is not None:
            found.add(path)
            found.update(f"{path}/{name}" for name in names)
    return found


class ReadConfigs(NamedTuple):
    """Configs by the names of their owners, without owners that have none; and czxid and zkVersion of all znodes."""

    configs: dict[str, Mapping[str, str]]
    versions: dict[str, tuple[int, int]]


async def _read_configs(zk: ZooKeeper, kind: str) -> ReadConfigs:
    parent = znode_paths.config_type(kind)
    names = await _children(zk, parent)
    return await read_named_configs(zk, kind, names)


async def read_named_configs(zk: ZooKeeper, kind: str, names: Sequence[str]) -> ReadConfigs:
    """The configs of these entities."""
    places = [f"{znode_paths.config_type(kind)}/{name}" for name in names]
    configs_found = ReadConfigs({}, {})
    found = await zk.multi_get(places)
    pace = SliceTimer()
    for name, path, read in zip(names, places, found, strict=True):
        if read is None:
            continue
        try:
            configs_found.versions[name] = read[1].czxid, read[1].version
            configs_found.configs[name] = znode_contents.decode_config(read[0], path)
        except BadZnode as error:
            log.error("%s: these configs count as none, and nobody can change them, until they can be read", error)
        await pace.rest()
    return configs_found


class ReadSettings(NamedTuple):
    """What `/admin/reassignment_settings` holds; or why it cannot be understood."""

    values: Mapping[str, str]
    problem: str


async def read_settings(zk: ZooKeeper, *, watch: bool = False) -> ReadSettings:
    """The settings of the servers. `watch`: a watch reports their next change."""
    path = znode_paths.SETTINGS
    while True:
        try:
            data, _ = await zk.get(path, watch=watch)
        except NoNode:
            if not watch or await zk.exists(path, watch=True) is None:
                return ReadSettings({}, "")
        else:
            break
    try:
        return ReadSettings(znode_contents.decode_config(data, path), "")
    except BadZnode as error:
        return ReadSettings({}, f"the settings of the servers cannot be read ({error})")


async def watched_children(zk: ZooKeeper, path: str, *, many: bool = False) -> list[str]:
    """The children of a znode, if it exists. A watch reports the next change of the children, or the creation.

    `many`: see `ZooKeeper.children`.
    """
    while True:
        try:
            return await zk.children(path, watch=True, many=many)
        except NoNode:
            if await zk.exists(path, watch=True) is None:
                return []


async def _children(zk: ZooKeeper, path: str, *, watch: bool = False) -> list[str]:
    try:
        return sorted(await zk.children(path, watch=watch, many=True))
    except NoNode:
        return []
