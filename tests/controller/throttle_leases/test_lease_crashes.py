"""Throttle leases and a controller that dies between any two writes (236-11).

Every group of writes is a transaction of its own. The next controller leaves throttles where moves need them and
nowhere else, and what was set before is set after all of them.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.controller.bare_controller import (
    BareController,
    Name,
    Replicas,
    batch,
    elected_controller,
    put_topic,
    records,
    register,
)
from tests.controller.crash_points import FIRST, NAMES, ORIGIN, is_over_before_death
from tests.waiting import eventually

Configs = Mapping[tuple[str, str], Mapping[str, str]]

SECOND: Mapping[Name, Replicas] = {("a", 0): (4, 5), ("a", 1): (2, 5, 1), ("b", 0): (5,)}
BEFORE: Configs = {
    ("topics", "a"): {"retention.ms": "1", LEADER_REPLICAS: "9:1", FOLLOWER_REPLICAS: ""},
    ("topics", "b"): {},
    **{("brokers", str(broker)): {} for broker in range(1, 6)},
    ("brokers", "1"): {LEADER_RATE: "10", FOLLOWER_RATE: "20000"},
    ("brokers", "2"): {"log.cleaner.threads": "2"},
}
RATE = 1000
CLEARED: Configs = {
    **BEFORE,
    ("topics", "a"): {"retention.ms": "1", LEADER_REPLICAS: "9:1", FOLLOWER_REPLICAS: "1:99"},
}
"""After a cancel, with throttles of the stock tool as well: entries of other replicas than the cancelled ones stay."""


async def current_configs(zk: ZooKeeper) -> Configs:
    configs = ConfigStore(zk)
    return {entity: await configs.get(*entity) for entity in BEFORE}


async def remembered(zk: ZooKeeper) -> set[str]:
    found = set()
    for kind in ("topics", "brokers"):
        with suppress(NoNode):
            found |= {f"{kind}/{name}" for name in await zk.children(znode_paths.throttle_memories(kind))}
    return found


async def throttled(controller: BareController, zk: ZooKeeper, *, lifted: bool = False) -> bool:
    """Exactly the moving replicas are throttled."""
    configs = await current_configs(zk)
    moving = {name: value for name in NAMES if (value := controller.partition(*name)).adding}
    for topic in ("a", "b"):
        of_topic = {index: value for (name, index), value in moving.items() if name == topic}
        leaders = {f"{index}:{broker}" for index, value in of_topic.items() for broker in value.origin}
        followers = {f"{index}:{broker}" for index, value in of_topic.items() for broker in value.adding}
        for name, wanted in ((LEADER_REPLICAS, leaders), (FOLLOWER_REPLICAS, followers)):
            found = configs["topics", topic].get(name, "")
            assert entries(found) == wanted | entries(BEFORE["topics", topic].get(name, "")), (topic, name)
    needing = {broker for value in moving.values() for broker in (*value.origin, *value.adding)}
    for (kind, entity), before in BEFORE.items():
        for name in (LEADER_RATE, FOLLOWER_RATE) if kind == "brokers" else ():
            during = str(RATE if lifted else min(RATE, int(before.get(name, RATE))))
            expected = during if int(entity) in needing else before.get(name)
            assert configs[kind, entity].get(name) == expected, (entity, name)
    return True


def entries(text: str) -> set[str]:
    return set(filter(None, text.split(",")))


async def start(controller: BareController) -> None:
    await controller.alter(FIRST, throttle=RATE)


async def lift(controller: BareController) -> None:
    """Broker 1 has a stricter rate."""
    await controller.alter(FIRST, throttle=RATE, lifts=True)


async def retarget(controller: BareController) -> None:
    await controller.alter(SECOND)


async def half_way(controller: BareController) -> None:
    await controller.isr(("a", 0), (2, 1, 3))


async def cancel(controller: BareController) -> None:
    await controller.alter({name: None for name in NAMES if controller.partition(*name).is_moving})
    await lifted(controller)


async def complete(controller: BareController) -> None:
    for name in NAMES:
        if controller.partition(*name).is_moving:
            await controller.caught_up(name)
    await lifted(controller)


async def lifted(controller: BareController) -> None:
    """Wait until the configs have followed, or the controller has died."""

    async def done() -> bool:
        if not await remembered(controller.zk):
            return True
        if controller.zk.lives == 0:
            raise NotController
        return False

    await eventually(done)


async def throttle_as_the_stock_tool(controller: BareController) -> None:
    """Set lists and rates, then create the batch, as Kafka 2.x's tool does; then cancel all."""
    configs = ConfigStore(controller.zk)
    lists = {LEADER_REPLICAS: "9:1,0:2,0:1,1:1,1:2,1:3", FOLLOWER_REPLICAS: "0:3,0:4,1:5,1:99"}
    await configs.alter("topics", "a", lambda old: {**old, **lists})
    await configs.alter("topics", "b", lambda old: {**old, LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"})
    for broker in range(2, 6):
        await configs.alter("brokers", str(broker), lambda old: {**old, LEADER_RATE: "7", FOLLOWER_RATE: "7"})
    await controller.store.reload(controller.cluster)
    await controller.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(FIRST))
    await controller.read_admin_znodes()
    await controller.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")


async def look(controller: BareController) -> None:
    await controller.read_admin_znodes()


class Story(NamedTuple):
    """The steps before, the step in which the controller dies, and the configs after all moves have ended."""

    before: tuple[Callable[[BareController], Awaitable[None]], ...]
    dies_in: Callable[[BareController], Awaitable[None]]
    after: Configs = BEFORE
    lifts: bool = False
    """The leases take the place of a stricter rate."""
    too_long: bool = False
    """Lists of a topic that are too long for one transaction together with the memory of the former ones."""


STORIES = {
    "start": Story((), start),
    "start that lifts": Story((), lift, lifts=True),
    "completion that lifts": Story((lift,), complete, lifts=True),
    "retarget": Story((start, half_way), retarget),
    "cancel": Story((start, half_way), cancel),
    "completion": Story((start,), complete),
    "start with long lists": Story((), start, too_long=True),
    "completion with long lists": Story((start,), complete, too_long=True),
    "cancel of all that the stock tool throttled": Story((throttle_as_the_stock_tool,), look, CLEARED),
}


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    over = await is_over_before_death(connect, story.before, (story.dies_in,), lives)
    async with elected_controller(connect) as successor:
        await successor.check()
        if story.after is BEFORE:
            await eventually(lambda: throttled(successor, zk, lifted=story.lifts))
        await successor.finish_moves()
        await eventually(lambda: stands(zk, story.after))
    assert await records(zk) == set()
    return over


async def stands(zk: ZooKeeper, expected: Configs) -> bool:
    assert await current_configs(zk) == expected
    return await remembered(zk) == set()


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_236_11_a_controller_that_dies_between_any_two_writes_leaves_no_lease_and_harms_no_other_throttle(
    zk: ZooKeeper, zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    if story.too_long:
        monkeypatch.setattr(transactions, "MAX_MULTI_BYTES", 0)
    lives = 0
    while True:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as world:
            await register(world, 1, 2, 3, 4, 5)
            for topic in ("a", "b"):
                await put_topic(
                    world, topic, {index: ORIGIN[topic, index] for name, index in NAMES if name == topic}, topic_id=None
                )
            for entity, configs in BEFORE.items():
                await ConfigStore(world).alter(*entity, partial(_replaced_by, configs))
            if await live_through(world, connect, story, lives):
                break
        lives += 1
    assert lives >= 2, "how many transactions it can die between"


async def test_236_11_lists_too_large_for_zookeeper_are_refused_and_nothing_is_half_done(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 600)
    await register(zk, 1, 2, 3, 4, 5)
    await put_topic(zk, "long", dict.fromkeys(range(10), (1, 2, 3)), topic_id=None)
    await put_topic(zk, "b", {0: (1,)}, topic_id=None)
    async with elected_controller(zk_connect) as controller:
        answers = await controller.alter({**{("long", i): (3, 4, 5) for i in range(10)}, ("b", 0): (2,)}, throttle=RATE)
        assert answers.pop(("b", 0)) is None
        assert all("throttled replicas of topic 'long' would take" in str(error) for error in answers.values())
        assert len(answers) == 10
        await controller.finish_moves()
        await eventually(lambda: forgotten(zk))
        assert await ConfigStore(zk).get("topics", "long") == {}
        assert await ConfigStore(zk).get("brokers", "4") == {}


async def forgotten(zk: ZooKeeper) -> bool:
    return await remembered(zk) == set()


def _replaced_by(configs: Mapping[str, str], _current: Mapping[str, str]) -> Mapping[str, str]:
    return configs
