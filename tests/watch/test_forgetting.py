"""kr-1: a watch that runs for years knows the brokers, topics and moves of today, not all that have ever been."""

import asyncio
from collections import Counter, deque
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.node_connections import NodeConnections
from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import PartitionHealth
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.slices import run_through
from kafka_reassign_rpc.watch.move_book import MoveBook, Standing
from tests.core.build import cluster, moving
from tests.waiting import eventually
from tests.watch.moving_nodes import moving_nodes
from tests.watch.watching import watching

GENERATIONS, EARLY = 40, 10


def entries(thing: Any) -> int:
    """All that the maps, sets and queues of an object hold, deep down."""
    if isinstance(thing, dict):
        return len(thing) + sum(map(entries, thing.values()))
    if isinstance(thing, set | frozenset):
        return len(thing)
    if isinstance(thing, list | tuple | deque):
        return len(thing) + sum(map(entries, thing))
    slots = [name for one in type(thing).__mro__ for name in getattr(one, "__slots__", ())]
    own = [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, name, None) for name in slots)]
    return sum(map(entries, own)) if type(thing).__module__.startswith("kafka_reassign_rpc.") else 0


def test_kr_1_progress_of_moves_forgets_brokers_and_topics_that_have_left() -> None:
    """Each generation has brokers and a topic of its own, and one move that ends."""
    tracker, health = ProgressTracker(60), PartitionHealth()
    held: list[int] = []
    for one in range(GENERATIONS):
        leader, target, topic = 10 * one, 10 * one + 1, f"t-{one}"
        record = MoveRecord(MoveTerms((target,)), (leader,), one)
        value = replace(moving((leader,), (target,)), move=record)
        there = cluster(value, live=(leader, target), topic=topic)
        list(tracker.ended([Event(catalogue.MOVE_STARTED, topic, 0, id=one)], there))
        for second, size in ((0, 10), (30, 60)):
            answers = {
                broker: [SampledLogDir("/d", sizes={topic: {0: has}})]
                for broker, has in ((leader, 100), (target, size))
            }
            run_through(tracker.update(100 * one + second, there, answers, [], {}))
        list(tracker.ended([Event(catalogue.MOVE_COMPLETED, topic, 0, id=one)], there))
        run_through(health.update(there))
        held.append(entries(tracker) + entries(health))
    assert tracker.copied_in == Counter({10 * GENERATIONS - 9: 100})
    assert max(held[EARLY:]) <= max(held[:EARLY])


def test_kr_1_the_book_of_moves_forgets_those_that_are_over_however_they_ended() -> None:
    book, held = MoveBook(), []
    for one in range(GENERATIONS):
        name = TopicPartition(f"t-{one}", 0)
        move = PartitionReassignment((2, 1), (2,), (1,))
        book.observe(2 * one, {name: move}, {name: Standing((2, 1))}, {})
        outcome: dict[int, Any] = {0: {name: Standing((2,))}, 1: {name: Standing((1,))}, 2: {name: None}, 3: {}}
        for _ in range(12):
            book.observe(2 * one + 1, {}, outcome[one % 4], {})
        held.append(entries(book))
    assert held[-1] == held[0] == 0


async def test_kr_1_the_client_forgets_nodes_that_have_left() -> None:
    connections = NodeConnections(client_settings({"bootstrap_servers": ["127.0.0.1:1"]}))
    for one in range(GENERATIONS):
        connections.learn({one: Address("127.0.0.1", 1)})
        with_error = await asyncio.gather(connections.connection(one), return_exceptions=True)
        assert isinstance(with_error[0], Exception)
    assert len(connections._failed) + len(connections._opening) <= 2


async def test_kr_1_the_pace_of_a_broker_that_has_left_is_forgotten(tmp_path: Path) -> None:
    async with moving_nodes() as (good, other), watching(f"127.0.0.1:{good.port}", tmp_path / "events") as watch:
        paces = watch.watcher._paces
        await eventually(lambda: set(paces) == {1, 2})
        del good.cluster.members[other.node]
        await eventually(lambda: set(paces) == {1})
