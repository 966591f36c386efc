"""Reads topics, the states of their partitions, and the records of their moves; and single znodes that may not exist,
or whose content may be large: it is decoded off the event loop.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra import LoadedAssignment, LoadedState, partition_of
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

T = TypeVar("T")

DECODED_AT_ONCE_BYTES = 16_384
"""A larger znode is decoded in a thread: with many errors it would hold the event loop for too long."""


async def watched_children(zk: ZooKeeper, path: str, *, many: bool = False) -> list[str]:
    """Empty if the znode does not exist. A watch reports the next change of the children, or the creation. `many`: see
    `ZooKeeper.children`."""
    return await zk.if_there(path, lambda: zk.children(path, watch=True, many=many), watch=True) or []


async def children(zk: ZooKeeper, path: str, *, watch: bool = False) -> list[str]:
    try:
        return sorted(await zk.children(path, watch=watch, many=True))
    except NoNode:
        return []


async def decoded(decode: Callable[[bytes, str], T], data: bytes, path: str) -> T:
    """Raises BadZnode."""
    if len(data) <= DECODED_AT_ONCE_BYTES:
        return decode(data, path)
    return await asyncio.to_thread(_decode, decode, data, path)


def _decode(decode: Callable[[bytes, str], T], data: bytes, path: str) -> T:
    try:
        return decode(data, path)
    except BadZnode as error:
        bad = BadZnode(error.path, error.reason)
    # Not the same exception: it refers to all that was decoded so far, which the event loop would have to free.
    raise bad


log = logging.getLogger(__name__)

CHUNK = 2000
"""How many partitions have their states read together."""


UNREADABLE_STATE = "%s: the partition keeps its replicas and its leader until it can be read"

UNREADABLE = MoveRecord(MoveTerms(()), (NO_LEADER,))
"""It replaces a move record that cannot be decoded: it fits no assignment, so the record is rewritten."""


class ReadRecord(NamedTuple):
    """Its mzxid shows whether the topic znode was written since."""

    move: MoveRecord
    changed: int


class ReadTopics(NamedTuple):
    """Topics by name, by name the reason why a topic cannot be decoded, and the last zxid of the znode of each and of
    its states."""

    found: dict[str, Topic]
    unreadable: dict[str, str]
    written: dict[str, int]


async def read_topics(
    zk: ZooKeeper, names: Collection[str] | None, moves: Mapping[TopicPartition, ReadRecord] | None = None
) -> ReadTopics:
    """`names` None: all topics. Leaves out those that do not exist, and those with names that Kafka does not allow: no
    answer has room for some of them, and Kafka cannot have made them."""
    pace = Pace()
    unreadable: dict[str, str] = {}
    found = await _read_znodes(zk, await children(zk, znode_paths.TOPICS) if names is None else names, unreadable, pace)
    partitions, bad, written = await _read_partitions(zk, found, moves or {}, pace)
    stateless = await _stateless_since(zk, found, partitions, pace)
    topics = {
        name: Topic(
            name,
            znode.id,
            partitions[name],
            stat.version,
            znode.extra,
            znode.missing,
            bad.get(name, {}),
            created=stat.czxid,
            id_since=stat.mzxid,
            stateless_since=stateless.get(name, -1),
        )
        for name, (znode, stat) in found.items()
    }
    return ReadTopics(topics, unreadable, written)


async def read_ids(zk: ZooKeeper, names: Collection[str]) -> list[Topic]:
    """Those that exist and can be decoded, without their partitions."""
    pace = Pace()
    found = []
    for name, (znode, stat) in (await _read_znodes(zk, names, {}, pace)).items():
        found.append(Topic(name, znode.id, {}, stat.version, created=stat.czxid))
        await pace.rest()
    return found


async def _read_znodes(
    zk: ZooKeeper, names: Collection[str], unreadable: dict[str, str], pace: Pace
) -> dict[str, tuple[topic_znodes.TopicZnode, Stat]]:
    """Notes in `unreadable` which cannot be decoded, and why."""
    wanted: list[str] = []
    for name in names:
        if is_valid_name(name):
            wanted.append(name)
        await pace.rest()
    places = [znode_paths.topic(name) for name in wanted]
    found: dict[str, tuple[topic_znodes.TopicZnode, Stat]] = {}
    for name, path, read in zip(wanted, places, await zk.multi_get(places), strict=True):
        if read is None:
            continue
        try:
            found[name] = topic_znodes.decode_topic(read[0], path), read[1]
        except BadZnode as error:
            log.error("%s: whatever is asked about this topic is refused until it can be read", error)
            unreadable[name] = str(error)
        await pace.rest()
    return found


async def _stateless_since(
    zk: ZooKeeper,
    topics: Mapping[str, tuple[topic_znodes.TopicZnode, Stat]],
    partitions: Mapping[str, Mapping[int, Partition]],
    pace: Pace,
) -> dict[str, int]:
    """`Topic.stateless_since`, where it is known: where a znode counts as many changes of its children as it has
    children, none has ever been deleted."""
    new, grown = dict[str, int](), dict[str, int]()
    for name, (_, stat) in topics.items():
        with_state = sum(value.partition_epoch >= 0 for value in partitions[name].values())
        if not stat.cversion:
            new[name] = stat.czxid
        elif stat.cversion == 1 and with_state < len(partitions[name]):
            grown[name] = with_state
        await pace.rest()
    read = await zk.multi_get([znode_paths.partitions(name) for name in grown])
    for (name, with_state), parent in zip(grown.items(), read, strict=True):
        if parent is not None and parent[1].cversion == parent[1].num_children == with_state:
            new[name] = topics[name][1].mzxid
    return new


async def _read_partitions(
    zk: ZooKeeper,
    topics: Mapping[str, tuple[topic_znodes.TopicZnode, Stat]],
    moves: Mapping[TopicPartition, ReadRecord],
    pace: Pace,
) -> tuple[dict[str, dict[int, Partition]], dict[str, dict[int, str]], dict[str, int]]:
    """Also returns, by topic, those whose state cannot be decoded, and why, and when each was last written."""
    names = (TopicPartition(name, index) for name, (znode, _) in topics.items() for index in sorted(znode.partitions))
    partitions: dict[str, dict[int, Partition]] = {name: {} for name in topics}
    bad: dict[str, dict[int, str]] = {}
    written = {name: stat.mzxid for name, (_, stat) in topics.items()}
    await pace.rest()
    async for chunk in _read_states(zk, names):
        for name, path, read in chunk:
            znode, stat = topics[name.topic]
            assigned = LoadedAssignment(*znode.partitions[name.partition])
            state = None
            if read is not None and read[1].mzxid > written[name.topic]:
                written[name.topic] = read[1].mzxid
            try:
                state = _state(read, path)
            except BadZnode as error:
                log.error(UNREADABLE_STATE, error)
                bad.setdefault(name.topic, {})[name.partition] = str(error)
            record = moves.get(name)
            partitions[name.topic][name.partition] = (
                partition_of(assigned, state, None)
                if record is None
                else partition_of(assigned, state, record.move, is_latest=record.changed > stat.mzxid)
            )
            await pace.rest()
    return partitions, bad, written


class ReadStates(NamedTuple):
    """None: there is no such znode."""

    found: dict[TopicPartition, LoadedState | None]
    unreadable: dict[TopicPartition, str]


async def read_states(zk: ZooKeeper, names: Sequence[TopicPartition]) -> ReadStates:
    states = ReadStates({}, {})
    pace = Pace()
    async for chunk in _read_states(zk, iter(names)):
        for name, path, read in chunk:
            try:
                states.found[name] = _state(read, path)
            except BadZnode as error:
                states.unreadable[name] = str(error)
            await pace.rest()
    return states


class _Chunk(NamedTuple):
    names: list[TopicPartition]
    places: list[str]
    answer: asyncio.Task[list[tuple[bytes, Stat] | None]]


async def _read_states(
    zk: ZooKeeper, names: Iterator[TopicPartition]
) -> AsyncIterator[Iterable[tuple[TopicPartition, str, tuple[bytes, Stat] | None]]]:
    """While the caller works on one chunk, ZooKeeper reads the next."""
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
    state = topic_znodes.decode_state(data, path)
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
    """Move records, the existing znodes above them, and records with children that others made."""

    found: dict[TopicPartition, ReadRecord]
    parents: set[str]
    with_children: frozenset[TopicPartition]


async def read_moves(zk: ZooKeeper, names: Collection[str] | None = None) -> ReadMoves:
    """Of these topics, or all (None). An empty record that has children records no move."""
    topics = await children(zk, znode_paths.REASSIGNMENTS) if names is None else list(names)
    parents = [znode_paths.reassignment_topic(topic) for topic in topics]
    there: set[str] = set()
    places: list[tuple[str, TopicPartition]] = []
    pace = Pace()
    for topic, parent, found in zip(topics, parents, await zk.multi_children(parents), strict=True):
        if found is not None:
            there.add(parent)
        for child in found or ():
            index = znode_paths.parse_index(child)
            if index is None:
                log.error("%s/%s is no partition: nothing is done about it; the znode can be deleted", parent, child)
            else:
                places.append((f"{parent}/{child}", TopicPartition(topic, index)))
        await pace.rest()
    moves, with_children = {}, set()
    for (path, name), read in zip(places, await zk.multi_get([path for path, _ in places]), strict=True):
        if read is None:
            continue
        if read[1].num_children:
            with_children.add(name)
            if not read[0]:
                continue
        try:
            move = decode_move_record(read[0], path, read[1])
        except BadZnode as error:
            log.error("the move goes on, and its record is written again: %s", error)
            move = replace(UNREADABLE, id=read[1].czxid, started=read[1].ctime)
        moves[name] = ReadRecord(move, read[1].mzxid)
        await pace.rest()
    return ReadMoves(moves, there, frozenset(with_children))


async def read_stateless(zk: ZooKeeper, topics: Iterable[Topic]) -> set[str]:
    """Returns the existing parents of missing states: the creation of the topic was interrupted, or is under way."""
    incomplete = []
    pace = Pace()
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
