"""The end of a campaign: the cluster comes to rest, and every check is made."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError
from tests.faults.cluster import alter
from tests.mixed_clusters.load import read_to_end

from . import checks, record_checks
from .batches import Sender, senders
from .facts import Facts, Name, read_all, read_states
from .journal import Record
from .load import Load
from .relief import relieve
from .site import Site

PATIENCE_S = 120.0
"""For the cluster to come to rest: moves end, replicas catch up, the last notification is handled."""

AGAIN_S = 0.5
UNTHROTTLE_EVERY_S = 5.0
RELIEVE_EVERY_S = 5.0

Check = Callable[[Facts], list[str]]


class CheckFailed(Exception):
    """A check that found differences."""

    def __init__(self, check: str, differences: list[str]) -> None:
        super().__init__(f"{check}: {len(differences)} differences")
        self.differences = differences


@dataclass
class Counts:
    """What the checks have seen: records of topics that existed in the end, and of all."""

    acknowledged: int = 0
    of_deleted: int = 0
    read: int = 0
    consumed: int = 0


def cluster_checks(expected: Mapping[str, int], edited: Collection[str] = ()) -> dict[str, Check]:
    """In the order in which a failure is reported."""
    return {
        "topics": lambda facts: checks.expected_topics(facts, expected),
        "leaders": checks.leaders,
        "moves": checks.moves,
        "leftover znodes": checks.leftover_znodes,
        "in-sync replicas": checks.in_sync,
        "throttles": checks.throttles,
        "defaults": checks.defaults,
        "coordinators": checks.coordinators,
        "ids": checks.own_ids,
        "left alone": checks.left_alone,
        "metadata": checks.metadata,
        "directories": lambda facts: checks.directories(facts, edited),
    }


async def judge(site: Site, say: Callable[[str], None]) -> Counts:
    """Raises CheckFailed for the first check that fails. `say` tells how far it is."""
    await site.take_over()
    unthrottled: set[int] = set()
    beside = [
        asyncio.create_task(_every(UNTHROTTLE_EVERY_S, lambda: _unthrottle(site, unthrottled))),
        asyncio.create_task(_every(RELIEVE_EVERY_S, lambda: relieve(site, say))),
    ]
    try:
        await asyncio.to_thread(site.load.finish)
        for journal in site.load.journals:
            if journal.clients_lost:
                say(f"{journal.topic}: {journal.clients_lost} clients knew no broker any more, librdkafka #5301")
        say("all records are taken or given up; the cluster comes to rest")
        await _rest(site)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    demand("logs", checks.server_logs({name: one.log for name, one in site.cluster.servers.items()}))
    say("the cluster is at rest; all records are read")
    return await _records(site)


async def _rest(site: Site) -> None:
    made = cluster_checks(site.topics, site.older.keys())
    deadline = time.monotonic() + PATIENCE_S
    while True:
        name, differences = "facts", ["nothing was read"]
        try:
            facts = await _facts(site)
            failed = ((name, found) for name, check in made.items() if (found := check(facts)))
            name, differences = next(failed, ("", []))
        except (OSError, EOFError, ZkError) as error:
            differences = [f"{type(error).__name__}: {error}"]
        if not differences:
            return
        if time.monotonic() > deadline:
            raise CheckFailed(name, differences)
        await asyncio.sleep(AGAIN_S)


async def _facts(site: Site) -> Facts:
    log_dirs = {broker: site.log_dirs(broker) for broker in site.brokers}
    events = site.directory.glob("events-*/events-*.jsonl")
    return await read_all(site.zk, site.nodes, log_dirs, site.absences, events, site.broker_logs)


async def _every(seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    """Act now, and again and again, also where no server answers."""
    while True:
        with suppress(OSError, EOFError, AssertionError, LookupError, ZkError):
            await act()
        await asyncio.sleep(seconds)


async def _unthrottle(site: Site, done: set[int]) -> None:
    """Moves under a throttle would take too long: each gets its target once more, without one.

    done    the ids of moves that have got it

    A new target raises leader epochs, which may free a move that hangs, or an ISR: so no other move gets one.
    """
    moves = throttled(await _records_of_moves(site.zk), done)
    if moves:
        targets = {name: move.terms.target for name, move in moves.items()}
        codes = await alter(await site.controller_address(), targets, throttle=0)
        done |= {id_ for name, code in codes.items() if not code and (id_ := moves[name].id) is not None}


def throttled(moves: Mapping[Name, MoveRecord], done: Container[int]) -> dict[Name, MoveRecord]:
    """The moves that have a throttle, but for those with these ids."""
    return {name: move for name, move in moves.items() if move.terms.throttle and move.id not in done}


async def _records_of_moves(zk: ZooKeeper) -> dict[Name, MoveRecord]:
    places = [path for path in await zk.tree(znode_paths.REASSIGNMENTS) if path.rpartition("/")[2].isdigit()]
    found = {}
    for path, read in zip(places, await zk.multi_get(places), strict=True):
        if read is not None:
            _, topic, index = path.rsplit("/", 2)
            found[topic, int(index)] = decode_move_record(read[0], path, read[1])
    return found


async def _records(site: Site) -> Counts:
    async def log_dirs(topic: str, index: int) -> Iterable[Path]:
        states = (await site.read(lambda: read_states(site.zk))).states
        return site.log_dirs(states[topic, index].leader)

    return await judge_records(site.load, site.topics, site.admin, log_dirs)


async def judge_records(
    load: Load,
    topics: Mapping[str, int],
    admin: Mapping[str, str],
    log_dirs: Callable[[str, int], Awaitable[Iterable[Path]]],
) -> Counts:
    """`topics`: those that exist, with their partitions. `log_dirs`: of who leads a partition. Raises CheckFailed."""
    counts = Counts()
    journals = {journal.topic: journal for journal in load.living}
    for journal in load.journals:
        counts.acknowledged += journal.acknowledged
        counts.of_deleted += journal.acknowledged if journal.ended.is_set() else 0
        if not journal.ended.is_set():
            demand("acknowledgements", record_checks.refused(journal))
    read = await asyncio.to_thread(_read, admin, topics)
    counts.read = sum(map(len, read.values()))
    for topic, journal in journals.items():
        partitions = range(topics[topic])
        by_partition = {index: [record for _, record in read[topic, index]] for index in partitions}
        written_by: dict[int, list[Sender]] = {}
        for index in partitions if journal.bumps else ():
            known = await asyncio.to_thread(_senders, await log_dirs(topic, index), topic, index)
            written_by[index] = [known[offset] for offset, _ in read[topic, index]]
        earlier = [one for one in load.journals if one.topic == topic and one.incarnation < journal.incarnation]
        demand("records", record_checks.delivered(journal, by_partition, written_by, earlier))
    # Readers of a name that was deleted go on at their offset in the new topic: that is how Kafka's clients are.
    once = [journal for topic, journal in journals.items() if journal.incarnation == 0]
    deadline = time.monotonic() + PATIENCE_S
    while differences := [one for j in once for one in record_checks.consumed(j, set(load.read[j.topic]))]:
        if time.monotonic() > deadline:
            raise CheckFailed("group", differences)
        await asyncio.sleep(AGAIN_S)
    counts.consumed = sum(map(len, load.read.values()))
    return counts


def _senders(log_dirs: Iterable[Path], topic: str, index: int) -> dict[int, Sender]:
    """By offset, as the leader of a partition has them."""
    return {offset: one for path in log_dirs for offset, one in senders(path / f"{topic}-{index}").items()}


def _read(admin: Mapping[str, str], topics: Mapping[str, int]) -> dict[Name, list[tuple[int, Record]]]:
    """Each record with its offset."""
    found: dict[Name, list[tuple[int, Record]]] = defaultdict(list)
    partitions = [(topic, index) for topic, count in topics.items() for index in range(count)]
    try:
        for record in read_to_end(admin["bootstrap.servers"], partitions, admin):
            found[record.topic(), record.partition()].append((record.offset(), Record.decode(record.value())))
    except AssertionError as error:
        raise CheckFailed("records", [str(error)]) from error
    return found


def demand(check: str, differences: list[str]) -> None:
    if differences:
        raise CheckFailed(check, differences)
