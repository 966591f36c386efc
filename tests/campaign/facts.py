"""What a cluster shows of itself: in ZooKeeper, in every node's Metadata, in every log dir."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.faults.cluster import Address, ask

from .history import Absence, Assigned
from .stock_controllers import stock_terms
from .stock_coordinators import failed_loads
from .stock_logs import given_up

METADATA_VERSION = 10
"""The first one with topic ids; brokers of 2.8 know it."""

Name = tuple[str, int]

NOTICED_S = 10.0
"""At most so long after a broker's return a controller notices it."""

_PARTITION_DIR = re.compile(r"(.+)-(\d+)(\.[0-9a-f]{32}-future)?")
_DECISIONS = (
    catalogue.MOVE_STARTED,
    catalogue.MOVE_RETARGETED,
    catalogue.MOVE_COMPLETED,
    catalogue.MOVE_CANCELLED,
)
_ENDS = (znode_paths.REASSIGN_PARTITIONS, znode_paths.CANCEL_IN_PROGRESS, znode_paths.REASSIGN_CANCEL)
_ROOTS = (
    znode_paths.REASSIGNMENTS,
    znode_paths.REASSIGNMENT_REQUESTS,
    *znode_paths.QUEUES,
    znode_paths.throttle_memories("topics"),
    znode_paths.throttle_memories("brokers"),
    znode_paths.FAILED_BROKERS,
    znode_paths.FAILED_LOG_DIRS,
    znode_paths.DELETE_TOPICS,
    znode_paths.ISR_CHANGES,
    znode_paths.LOG_DIR_EVENTS,
)
"""Whatever is below these says that something is still to be done. The queues' own znodes are gone too when empty."""


@dataclass(frozen=True)
class Topic:
    """As its znode has it. `moving`: partitions with adding or removing replicas."""

    id: str
    replicas: Mapping[int, tuple[int, ...]]
    moving: frozenset[int] = frozenset()


@dataclass(frozen=True)
class State:
    """A partition's state. `version` is that of its znode, `created` the transaction that has created that."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    controller_epoch: int = 0
    version: int = 0
    created: int = 0


@dataclass(frozen=True)
class Held:
    """A replica's directory in a log dir.

    written   when a record was last written there, seconds of the epoch
    is_empty  there is no file in it
    """

    broker: int
    log_dir: str
    name: str
    topic_id: str | None
    written: float = 0.0
    is_empty: bool = False


@dataclass(frozen=True)
class View:
    """A node's Metadata answer: its partitions as text that has to be the same everywhere."""

    controller: int
    brokers: frozenset[int]
    partitions: Mapping[Name, str]


@dataclass(frozen=True)
class Facts:
    """
    registered  by live broker: since when, seconds of the epoch
    deleting  topics whose deletion is asked for
    states    a partition whose state is not written is not in it
    leftovers znodes that are gone when nothing is left to be done
    throttles by entity: the throttle configs
    defaults  the cluster-wide configs of brokers
    left_alone  topics that the controller does not take up, as it has told
    views     by node
    untold    changes of replicas of which a stock controller may have told no broker
    elections when controllers were elected, ours and stock ones: seconds of the epoch
    unloaded  brokers, and the partitions of __transaction_state whose load they gave up
    given_up  brokers, and the replicas whose log they gave up while they made it
    """

    live: frozenset[int] = frozenset()
    registered: Mapping[int, float] = field(default_factory=dict)
    topics: Mapping[str, Topic] = field(default_factory=dict)
    deleting: frozenset[str] = frozenset()
    states: Mapping[Name, State] = field(default_factory=dict)
    leftovers: tuple[str, ...] = ()
    throttles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    left_alone: frozenset[str] = frozenset()
    views: Mapping[int, View] = field(default_factory=dict)
    held: tuple[Held, ...] = ()
    absences: tuple[Absence, ...] = ()
    assigned: tuple[Assigned, ...] = ()
    elections: tuple[float, ...] = ()
    untold: tuple[Assigned, ...] = ()
    unloaded: frozenset[tuple[int, int]] = frozenset()
    given_up: frozenset[tuple[int, str]] = frozenset()


async def read_states(zk: ZooKeeper) -> Facts:
    """The facts that ZooKeeper holds about brokers, topics and partitions."""
    registered = await _registered(zk)
    deleting = frozenset(await zk.children(znode_paths.DELETE_TOPICS))
    topics = await _topics(zk)
    partitions = [(name, index) for name, topic in topics.items() for index in topic.replicas]
    written = await zk.multi_get([znode_paths.partition_state(*name) for name in partitions])
    states = {
        name: _state(json.loads(one[0]), one[1])
        for name, one in zip(partitions, written, strict=True)
        if one is not None
    }
    # A name may have become that of another topic meanwhile.
    after = await _topics(zk)
    topics = {name: topic for name, topic in topics.items() if name in after and after[name].id == topic.id}
    states = {name: state for name, state in states.items() if name[0] in topics}
    return Facts(frozenset(registered), registered, topics, deleting, states)


async def _registered(zk: ZooKeeper) -> dict[int, float]:
    brokers = sorted(map(int, await zk.children(znode_paths.BROKER_IDS)))
    read = await zk.multi_get([znode_paths.broker(broker) for broker in brokers])
    return {broker: one[1].ctime / 1000 for broker, one in zip(brokers, read, strict=True) if one is not None}


async def _topics(zk: ZooKeeper) -> dict[str, Topic]:
    names = sorted(await zk.children(znode_paths.TOPICS))
    read = await zk.multi_get([znode_paths.topic(name) for name in names])
    return {name: topic_of(json.loads(one[0])) for name, one in zip(names, read, strict=True) if one is not None}


async def read_all(
    zk: ZooKeeper,
    nodes: Mapping[int, Address],
    log_dirs: Mapping[int, Iterable[Path]],
    absences: Iterable[Absence] = (),
    events: Iterable[Path] = (),
    broker_logs: Mapping[int, Path] | None = None,
) -> Facts:
    """All facts. Raises OSError for a node that does not answer, ZkError."""
    seen = await read_states(zk)
    views = await asyncio.gather(*map(read_view, nodes.values()))
    told = await asyncio.to_thread(events_in, events)
    stock = await asyncio.to_thread(stock_terms, (broker_logs or {}).values())
    return replace(
        seen,
        leftovers=tuple(await _leftovers(zk, seen.topics)),
        throttles=await _throttles(zk),
        defaults=await _configs(zk, f"{znode_paths.config_type(BROKERS)}/{DEFAULT}"),
        left_alone=left_alone_in(told),
        views=dict(zip(nodes, views, strict=True)),
        held=await asyncio.to_thread(held_in, log_dirs),
        absences=(*until_noticed(absences, told), *stock.ended_registrations),
        assigned=(*assigned_in(told), *stock.assigned),
        elections=(
            *(event["at"] / 1000 for event in told if event["event"] == catalogue.CONTROLLER_ELECTED),
            *stock.elections,
        ),
        untold=tuple(stock.untold),
        unloaded=await asyncio.to_thread(failed_loads, broker_logs or {}),
        given_up=await asyncio.to_thread(given_up, broker_logs or {}),
    )


def topic_of(znode: Mapping[str, Any]) -> Topic:
    """A topic znode's JSON."""
    return Topic(
        id=znode["topic_id"],
        replicas={int(index): tuple(found) for index, found in znode["partitions"].items()},
        moving=frozenset(map(int, {**znode["adding_replicas"], **znode["removing_replicas"]})),
    )


def _state(znode: Mapping[str, Any], stat: Stat) -> State:
    return State(
        znode["leader"],
        tuple(znode["isr"]),
        znode["leader_epoch"],
        znode["controller_epoch"],
        stat.version,
        stat.czxid,
    )


async def read_view(address: Address) -> View:
    """What a node shows of all topics. Raises OSError, EOFError where it does not answer."""
    everything = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    return view_of(await ask(address, everything, METADATA_VERSION))


def view_of(answer: Any) -> View:
    partitions = {}
    for topic in answer.topics:
        for one in topic.partitions:
            partitions[topic.name, one.partition_index] = (
                f"id {topic_id_text(topic.topic_id)} error {one.error_code} "
                f"leader {one.leader_id} epoch {one.leader_epoch} "
                f"replicas {list(one.replica_nodes)} isr {sorted(one.isr_nodes)} offline {list(one.offline_replicas)}"
            )
    return View(answer.controller_id, frozenset(broker.node_id for broker in answer.brokers), partitions)


async def _leftovers(zk: ZooKeeper, topics: Collection[str]) -> list[str]:
    found = [path for path in _ENDS if await zk.exists(path) is not None]
    for root in _ROOTS:
        found += [path for path in await zk.tree(root) if path != root or root in znode_paths.QUEUES]
    # The parent of a topic's records stays as long as the topic.
    found = [path for path in found if path not in {znode_paths.reassignment_topic(name) for name in topics}]
    with suppress(NoNode):
        configured = set(await zk.children(znode_paths.config_type("topics")))
        found += [znode_paths.config_topic(name) for name in sorted(configured - set(topics))]
    return found


async def _throttles(zk: ZooKeeper) -> dict[str, dict[str, str]]:
    found = {}
    for kind in ("topics", "brokers"):
        for name in await zk.children(znode_paths.config_type(kind)):
            configs = await _configs(zk, f"{znode_paths.config_type(kind)}/{name}")
            if throttled := {key: value for key, value in configs.items() if ".throttled." in key}:
                found[f"{kind}/{name}"] = throttled
    return found


async def _configs(zk: ZooKeeper, path: str) -> dict[str, str]:
    with suppress(NoNode):
        found: dict[str, str] = json.loads((await zk.get(path))[0])["config"]
        return found
    return {}


def held_in(log_dirs: Mapping[int, Iterable[Path]]) -> tuple[Held, ...]:
    """The directories of replicas. Those that wait for their end (`-delete`) are not in it."""
    return tuple(
        Held(
            broker,
            place.name,
            path.name,
            _topic_id(path / "partition.metadata"),
            _written(path),
            is_empty=not any(path.iterdir()),
        )
        for broker, places in log_dirs.items()
        for place in places
        for path in sorted(place.iterdir())
        if path.is_dir() and _PARTITION_DIR.fullmatch(path.name)
    )


def events_in(files: Iterable[Path]) -> tuple[Mapping[str, Any], ...]:
    """The events in these files. A server that is killed leaves half a line."""
    found = []
    for path in files:
        for line in path.read_text().splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return tuple(found)


def assigned_in(events: Iterable[Mapping[str, Any]]) -> tuple[Assigned, ...]:
    """What events tell of replicas."""
    found = []
    for event in events:
        at = event["at"] / 1000
        if event["event"] == catalogue.TOPIC_DELETED:
            found.append(Assigned(event["topic"], frozenset(), at))
        elif event["event"] in _DECISIONS:
            name = f"{event['topic']}-{event['partition']}"
            found.append(Assigned(name, frozenset(event["replicas"]), at))
    return tuple(found)


def left_alone_in(events: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The topics that the last controller reported as left alone, and has not taken up since."""
    found: set[str] = set()
    for event in sorted(events, key=lambda event: event["at"]):
        if event["event"] == catalogue.CONTROLLER_ELECTED:
            found.clear()
        elif event["event"] == catalogue.TOPIC_LEFT_ALONE:
            found.add(event["topic"])
        elif event["event"] == catalogue.TOPIC_TAKEN_UP:
            found.discard(event["topic"])
    return frozenset(found)


def until_noticed(absences: Iterable[Absence], events: Iterable[Mapping[str, Any]]) -> tuple[Absence, ...]:
    """These absences, each to the moment at which a controller of ours noticed that the broker was back.

    Until then it takes the broker for absent, as long as it may have been registered: on a busy machine for seconds.
    """
    returned: defaultdict[int, list[float]] = defaultdict(list)
    for event in events:
        if event["event"] == catalogue.BROKER_RETURNED:
            returned[event["broker"]].append(event["at"] / 1000)

    def noticed(one: Absence) -> Absence:
        last = one.end + NOTICED_S
        times = [at for at in returned[one.broker] if one.begin <= at <= last]
        return replace(one, end=max(one.end, min(times, default=one.end)))

    return tuple(map(noticed, absences))


def _written(directory: Path) -> float:
    return max((log.stat().st_mtime for log in directory.glob("*.log")), default=0.0)


def _topic_id(path: Path) -> str | None:
    with suppress(OSError):
        for line in path.read_text().splitlines():
            if line.startswith("topic_id:"):
                return line.partition(":")[2].strip()
    return None
