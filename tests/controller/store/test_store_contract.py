"""What the loop relies on, for every store: `controller.store` says it in words."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import count
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from kafka_reassign_rpc.api.ports import AlterReassignments, CreatedTopic, NewPartitions, NewTopic
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.cluster_commands import ControllerFailover
from kafka_reassign_rpc.controller.commands.topic_commands import (
    CreatePartitionsCommand,
    CreateTopicsCommand,
    DeleteTopicsCommand,
)
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.store import ConfigWrite, ControllerMoved, Entity, ReloadNeeded, Store, TopicTooLarge
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, PolicyViolation
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, RateMemory
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, DyingZooKeeper
from tests.controller.store.memory_store import MemoryStore
from tests.controller.store.worlds import Elected, KRaftWorld, MemoryWorld, WholeWorld, World, zookeeper_world
from tests.kraft.memory_cluster import LogWriter

LARGE = {"large": dict.fromkeys(range(20), (1, 2)), "small": {0: (1, 2), 1: (2, 1)}}
NAME = TopicPartition("small", 0)
OTHER = TopicPartition("small", 1)


def zookeeper_of(request: pytest.FixtureRequest) -> str:
    """Where ZooKeeper is; "": the store is another one."""
    connect: str = request.getfixturevalue("zk_connect") if request.param == "zookeeper" else ""
    return connect


@pytest.fixture(params=["zookeeper", "memory", "kraft"])
def any_store(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, zookeeper_of(request)


@pytest.fixture
async def world(any_store: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    kind, connect = any_store
    if kind == "zookeeper":
        async with ZooKeeper(connect) as zk, zookeeper_world(zk, connect, LARGE, monkeypatch) as made:
            yield made
    else:
        yield MemoryWorld(LARGE) if kind == "memory" else KRaftWorld(LARGE)


@pytest.fixture(params=["zookeeper", "memory"])
def connect(request: pytest.FixtureRequest) -> str:
    return zookeeper_of(request)


@pytest.fixture
async def whole_world(connect: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WholeWorld]:
    if connect:
        async with ZooKeeper(connect) as zk, zookeeper_world(zk, connect, LARGE, monkeypatch) as made:
            yield made
    else:
        yield MemoryWorld(LARGE)


def moves(store: Store, cluster: Cluster, targets: Mapping[TopicPartition, tuple[int, ...]]) -> RoundView:
    """A round that starts these moves."""
    view = store.view(cluster)
    for name, target in targets.items():
        error, changes = alter(view, name, MoveTerms(target))
        assert error is None
        for change in changes:
            view.add(change)
    return view


def image(cluster: Cluster) -> dict[str, Any]:
    """All of a cluster that is durable in every store."""
    return {
        "partitions": {(name, index): value for name, index, value in cluster.all_partitions()},
        "topics": {
            name: (topic.version, topic.created, topic.id, topic.deleting) for name, topic in cluster.topics.items()
        },
        "configs": cluster.topic_configs,
        "moving": cluster.moving,
        "queue": [list(part.entries.items()) for part in cluster.queue.parts.values() if part.entries],
        "waiting": len(cluster.queue),
        "failed": cluster.failed,
    }


def partition(cluster: Cluster, name: TopicPartition = NAME) -> Partition:
    found = cluster.get(*name)
    assert found is not None
    return found


async def test_sv_3_what_is_committed_is_in_memory_and_what_the_next_controller_loads(world: World) -> None:
    store, cluster, _ = await world.elect()
    view = moves(store, cluster, {NAME: (3, 4), TopicPartition("large", 7): (4, 1)})
    queue_admission.append(view, OTHER, WaitingMove(MoveTerms((3, 1), "queue")))
    view.failed[9] = 1_700_000_000_000

    applied = await store.commit(cluster, view)

    assert {(one.topic, one.partition) for one in applied.partitions} == {NAME, ("large", 7)}
    assert partition(cluster).target == (3, 4)
    move = partition(cluster).move
    assert move is not None
    assert move.id
    assert len(cluster.queue) == 1
    assert cluster.failed == {9: 1_700_000_000_000}
    assert image((await world.elect()).cluster) == image(cluster)


async def test_sv_3_the_rounds_of_one_controller_follow_one_another(world: World) -> None:
    store, cluster, _ = await world.elect()
    for target in ((3, 4), (4, 1), (2, 3)):
        before = partition(cluster)
        await store.commit(cluster, moves(store, cluster, {NAME: target}))
        assert partition(cluster).leader_epoch == before.leader_epoch + world.leads
    view = store.view(cluster)
    queue_admission.append(view, OTHER, WaitingMove(MoveTerms((3, 1), "queue")))
    await store.commit(cluster, view)
    view = store.view(cluster)
    assert queue_admission.withdraw(view, OTHER)
    await store.commit(cluster, view)

    assert len(cluster.queue) == 0
    assert image((await world.elect()).cluster) == image(cluster)


async def test_hm_3_a_commit_whose_answer_is_lost_is_carried_out_once_and_returns(world: World) -> None:
    store, cluster, faults = await world.elect()
    for number in count():
        faults.loses = number
        before = partition(cluster)
        target = (3, 4) if number % 2 == 0 else (4, 3)
        await store.commit(cluster, moves(store, cluster, {NAME: target, TopicPartition("large", number): target}))
        if not was_lost(faults):
            break
        assert partition(cluster).target == target
        assert partition(cluster).leader_epoch == before.leader_epoch + world.leads
        known = image(cluster)
        store, cluster, faults = await world.elect()
        assert image(cluster) == known
    assert number >= 1, "an answer was lost"


def was_lost(faults: DyingZooKeeper | MemoryStore | LogWriter) -> bool:
    return faults.loses is None


async def test_sv_3_a_controller_that_was_replaced_unnoticed_commits_nothing(world: World) -> None:
    former, cluster, _ = await world.elect()
    successor, current, _ = await world.elect()
    before = image(cluster)
    entity = Entity(BROKERS, "1")
    (stored,) = await former.configs.read([entity])

    with pytest.raises(ControllerMoved):
        await former.commit(cluster, moves(former, cluster, {NAME: (3, 4)}))
    with pytest.raises(ControllerMoved):
        await former.confirm()
    with pytest.raises(ControllerMoved):
        await former.configs.write([ConfigWrite(stored, {"a": "1"}, BrokerMemory())])

    assert image(cluster) == before
    await successor.confirm()
    await successor.commit(current, moves(successor, current, {OTHER: (3, 4)}))
    loaded = (await world.elect()).cluster
    assert image(loaded) == image(current)
    assert not partition(loaded).is_moving


async def test_hm_2_a_round_that_a_write_of_others_has_outdated_changes_nothing_until_it_is_decided_again(
    world: World,
) -> None:
    store, cluster, _ = await world.elect()
    view = moves(store, cluster, {NAME: (3, 4)})
    before = image(cluster)
    await world.give_replicas(NAME, (1, 3))

    with pytest.raises(ReloadNeeded) as raised:
        await store.commit(cluster, view)
    assert not raised.value.is_unknown
    assert image(cluster) == before

    found = await store.reload(cluster)
    assert (found.gone, found.changed) == ([], {NAME})
    assert partition(cluster).replicas == (1, 3)
    await store.commit(cluster, moves(store, cluster, {OTHER: (3, 4)}))
    assert partition(cluster, OTHER).target == (3, 4)
    assert image((await world.elect()).cluster) == image(cluster)


async def test_236_14_a_round_without_room_names_its_topic_and_changes_nothing(whole_world: WholeWorld) -> None:
    store, cluster, _ = await whole_world.elect()
    before = image(cluster)
    whole_world.allow(500)

    with pytest.raises(TopicTooLarge) as raised:
        await store.commit(
            cluster, moves(store, cluster, {NAME: (3, 4), **{TopicPartition("large", at): (3, 4) for at in range(20)}})
        )
    assert raised.value.topic == "large"
    assert "'large'" in str(raised.value)
    assert image(cluster) == before
    assert image((await store.load()).cluster) == before

    await store.commit(cluster, moves(store, cluster, {NAME: (3, 4)}))
    assert image((await whole_world.elect()).cluster) == image(cluster)


async def test_236_14_each_problem_of_the_queue_is_reported_once(whole_world: WholeWorld) -> None:
    store, cluster, _ = await whole_world.elect()
    assert store.problems() == []
    await whole_world.break_queue()

    await store.reload(cluster)
    (problem,) = store.problems()
    assert problem.who in ("znode /admin/reassign_partitions_queue", "the log")
    await store.reload(cluster)
    assert store.problems() == []


async def test_236_11_configs_change_together_with_the_memory_of_their_former_values(world: World) -> None:
    store, _, _ = await world.elect()
    entity, memory = Entity(BROKERS, "1"), BrokerMemory(leader=RateMemory(set="5", lease=5))
    await world.set_configs(entity, {"a": "1"})
    (stored, absent) = await store.configs.read([entity, Entity(TOPICS, "small")])
    assert (stored.configs, stored.memory, absent.configs, absent.memory) == ({"a": "1"}, None, None, None)

    assert await write(store, entity, {"a": "1", "b": "2"}, memory) > 0
    assert await store.configs.remembered() == [entity]
    (stored,) = await store.configs.read([entity])
    assert (stored.configs, stored.memory) == ({"a": "1", "b": "2"}, memory)

    await world.set_configs(entity, {"a": "3"})
    with pytest.raises(ReloadNeeded):
        await store.configs.write([ConfigWrite(stored, {"a": "1"}, BrokerMemory())])
    (stored,) = await store.configs.read([entity])
    assert (stored.configs, stored.memory) == ({"a": "3"}, memory)

    await write(store, entity, {"a": "3"}, BrokerMemory())
    assert await store.configs.remembered() == []


async def write(store: Store, entity: Entity, configs: Mapping[str, str], memory: BrokerMemory) -> int:
    """Read and write; once more where the store has refused the first write of its kind."""
    for _ in range(2):
        (stored,) = await store.configs.read([entity])
        with suppress(ReloadNeeded):
            return await store.configs.write([ConfigWrite(stored, configs, memory)])
    raise AssertionError("refused twice")


async def test_236_11_configs_of_a_topic_without_room_are_refused_and_nothing_is_written(
    whole_world: WholeWorld,
) -> None:
    store, _, _ = await whole_world.elect()
    whole_world.allow(200)
    entities = [Entity(BROKERS, "1"), Entity(TOPICS, "small")]
    stored = await store.configs.read(entities)
    with pytest.raises(TopicTooLarge) as raised:
        await store.configs.write([ConfigWrite(one, {"a": "x" * 300}, BrokerMemory()) for one in stored], limited=True)
    assert raised.value.topic == "small"
    assert [one.configs for one in await store.configs.read(entities)] == [None, None]


# -------------------------------------------------------------------------------------------- the loop on each store


@asynccontextmanager
async def looped(elected: Elected) -> AsyncIterator[ControllerLoop]:
    """The loop of a controller after its failover."""
    loop = ControllerLoop(
        elected.cluster,
        elected.store,
        lambda _: iter(()),
        lambda _: iter(()),
        lambda changed, bounced: ControllerFailover(SERVER, lambda: None, changed=changed, bounced=bounced),
    )
    running = asyncio.create_task(loop.run())
    try:
        await loop.submit(ControllerFailover(SERVER, lambda: None))
        yield loop
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def moved(loop: ControllerLoop, names: Iterable[TopicPartition]) -> dict[TopicPartition, KafkaError | None]:
    """A client gives these partitions the target [3, 4]."""
    request = AlterReassignments([(name.topic, [(name.partition, MoveTerms((3, 4)))]) for name in names])
    answers = await loop.submit(AlterReassignmentsCommand(request))
    return {TopicPartition(topic, index): error for topic, index, error in answers}


async def test_sv_3_and_455_9_whichever_write_a_controller_dies_at_the_next_one_ends_what_it_has_begun(
    world: World,
) -> None:
    for lives in count():
        names = [TopicPartition("large", 2 * lives), TopicPartition("large", 2 * lives + 1)]
        first = await world.elect()
        answered = False
        async with looped(first) as loop:
            first.faults.lives = lives
            with suppress(NotController):
                assert await moved(loop, names) == dict.fromkeys(names)
                answered = True
        second = await world.elect()
        async with looped(second):
            for name in names:
                value = partition(second.cluster, name)
                assert value.target == (3, 4) or (value.target == (1, 2) and not answered)
                assert (value.move is not None) == value.is_moving
            assert image((await second.store.load()).cluster) == image(second.cluster)
        if answered:
            break
    assert lives >= 1, "there was a write to die at"


async def test_hm_2_a_command_is_decided_again_on_what_others_have_written_and_answered_once(
    world: World,
) -> None:
    elected = await world.elect()
    async with looped(elected) as loop:
        await world.give_replicas(NAME, (1, 3))
        assert await moved(loop, [NAME]) == {NAME: None}
        value = partition(elected.cluster)
        assert (value.target, value.original) == ((3, 4), (1, 3))
    assert image((await world.elect()).cluster) == image(elected.cluster)


async def test_sv_3_topics_that_are_created_grow_and_are_deleted_are_what_the_next_controller_loads(
    whole_world: WholeWorld,
) -> None:
    elected = await whole_world.elect()
    async with looped(elected) as loop:
        new = [NewTopic(name, 2, 2, {}, {"retention.ms": "1000"}) for name in ("new", "other")]
        created = await loop.submit(CreateTopicsCommand(new, validate_only=False, new_id=uuid4, random=Random(1)))
        grown = await loop.submit(CreatePartitionsCommand([NewPartitions("new", 3)], validate_only=False))
        assert await moved(loop, [TopicPartition("new", 2)]) == {TopicPartition("new", 2): None}
        assert await loop.submit(DeleteTopicsCommand(["other"])) == {"other": None}
    assert {type(answer) for answer in created.values()} == {CreatedTopic}
    assert grown == {"new": None}
    loaded = (await whole_world.elect()).cluster
    assert image(loaded) == image(elected.cluster)
    assert (len(loaded.topics["new"].partitions), loaded.topics["other"].deleting) == (3, True)
    assert loaded.topic_configs["new"] == {"retention.ms": "1000"}


async def test_236_14_a_topic_without_room_is_refused_and_the_others_of_its_round_move(whole_world: WholeWorld) -> None:
    elected = await whole_world.elect()
    async with looped(elected) as loop:
        whole_world.allow(500)
        answers = await moved(loop, [NAME, *(TopicPartition("large", index) for index in range(20))])
    assert answers.pop(NAME) is None
    assert {type(answer) for answer in answers.values()} == {PolicyViolation}
    assert elected.cluster.moving == {"small": {0}}
    assert image((await whole_world.elect()).cluster) == image(elected.cluster)
