"""Windows: moves start by the time of day. The test moves the clock."""

import asyncio
import json
from contextlib import suppress
from functools import partial
from typing import cast

import pytest

from kafka_reassign_rpc.controller.commands.cluster_commands import Reported
from kafka_reassign_rpc.controller.commands.queue_commands import TimePassed
from kafka_reassign_rpc.controller.duties.waiting_moves import WindowChanges
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.core.writers.facts import SettingsFound
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register, waiting_moves
from tests.waiting import eventually

HOUR = 3_600_000
NIGHT = "daily 22:00-06:00 UTC"


async def windows(controller: BareController, text: str) -> None:
    await controller.loop.submit(Reported(SettingsFound({"reassignment.windows": text} if text else {}, "", {})))


def changes(controller: BareController) -> list[str | None]:
    return [event.reason for event in controller.events if event.event == "window.changed"]


async def test_dh_5_moves_wait_for_the_window_also_under_the_next_controller(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2), 2: (1, 2)})
    settings = {"version": 1, "config": {"reassignment.windows": NIGHT}}
    await zk.create(znode_paths.SETTINGS, json.dumps(settings).encode())
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 2): (1, 3)})
        assert not controller.cluster.moving, "the time was not judged yet"
        await controller.loop.submit(TimePassed(12 * HOUR))
        await controller.alter({("t", 0): (1, 3), ("t", 1): (2, 1)})
        assert controller.partition("t", 1).replicas == (2, 1), "a new order copies nothing"
        assert waiting_moves(controller.cluster.queue).keys() == {("t", 0), ("t", 2)}
        assert not controller.cluster.moving
        await controller.loop.submit(TimePassed(12 * HOUR + 60_000))
        assert changes(controller) == [
            "outside of windows until 1970-01-01 22:00:00 UTC: no waiting move starts but repairs"
        ]
    async with elected_controller(zk_connect) as successor:
        await successor.start_queued_moves()
        assert not successor.cluster.moving
        await successor.loop.submit(TimePassed(22 * HOUR - 1))
        assert not successor.cluster.moving
        await successor.loop.submit(TimePassed(22 * HOUR))
        assert set(successor.cluster.moving["t"]) == {0, 2}
        assert changes(successor)[-1] == (f"in the window {NIGHT} until 1970-01-02 06:00:00 UTC: waiting moves start")
        await successor.loop.submit(TimePassed(30 * HOUR))
        assert successor.cluster.moving, "brokers cannot pause a copy"
        await successor.finish_moves()
        await successor.check()


async def test_dh_5_windows_that_change_or_go_hold_at_once(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await windows(controller, NIGHT)
        await controller.loop.submit(TimePassed(12 * HOUR))
        await controller.alter({("t", 0): (1, 3), ("t", 1): (1, 3)})
        await windows(controller, f"{NIGHT}; otherwise max.per.cluster=1")
        await controller.start_queued_moves()
        assert not controller.cluster.moving, "the new text has not been judged"
        await controller.loop.submit(TimePassed(12 * HOUR))
        assert list(controller.cluster.moving["t"]) == [0]
        await windows(controller, "")
        await controller.loop.submit(TimePassed(12 * HOUR))
        assert set(controller.cluster.moving["t"]) == {0, 1}
        assert changes(controller)[-1] == "there are no windows now: waiting moves start"


@pytest.mark.parametrize("text", ["mon-fri 22:00-06:00 Nowhere/Land", "garbage"])
async def test_dh_5_while_windows_cannot_be_read_no_move_starts(zk: ZooKeeper, zk_connect: str, text: str) -> None:
    """The znode was written by hand, or another host knows the zone."""
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await windows(controller, text)
        await controller.loop.submit(TimePassed(12 * HOUR))
        await controller.alter({("t", 0): (1, 3)})
        assert not controller.cluster.moving
        window = controller.cluster.soft.in_force.window
        assert window is not None
        assert window.meaning.startswith("no waiting move starts, since reassignment.windows cannot be read: ")
        assert changes(controller) == [window.meaning]


async def test_dh_5_the_duty_wakes_when_a_window_begins_and_when_windows_are_set(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    clock, told = [22 * HOUR - 200], list[int]()
    async with elected_controller(zk_connect) as controller:
        duty = WindowChanges(controller.loop, lambda: clock[0], lambda: told.append(clock[0]))
        running = asyncio.create_task(duty.run())
        try:
            await windows(controller, NIGHT)
            await controller.alter({("t", 0): (1, 3)})
            duty.settings_changed()
            await eventually(lambda: changes(controller))
            assert not controller.cluster.moving
            clock[0] = 22 * HOUR
            await eventually(lambda: controller.cluster.moving)
            assert len(changes(controller)) == 2
            await eventually(lambda: told == [22 * HOUR - 200, 22 * HOUR])
        finally:
            running.cancel()


RATES = "daily 22:00-06:00 UTC rate=50kB; otherwise rate=10kB"


async def rate_of(zk: ZooKeeper, broker: int) -> str | None:
    try:
        found = json.loads((await zk.get(znode_paths.config_broker(str(broker))))[0])["config"]
    except NoNode:  # a lease takes away what it alone has made
        return None
    assert found.get(LEADER_RATE) == found.get(FOLLOWER_RATE)
    return cast(str | None, found.get(FOLLOWER_RATE))


async def test_dh_5_leases_have_the_rate_of_the_window_at_once_and_their_own_when_there_is_none(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    settings = {"version": 1, "config": {"reassignment.windows": RATES}}
    await zk.create(znode_paths.SETTINGS, json.dumps(settings).encode())
    async with elected_controller(zk_connect) as controller:
        await controller.loop.submit(TimePassed(12 * HOUR))
        await controller.alter({("t", 0): (1, 3)}, throttle=30_000)
        assert await rate_of(zk, 3) == "10000", "before anything is copied"
        window = controller.cluster.soft.in_force.window
        assert window is not None
        assert window.meaning.endswith("waiting moves start, throttle leases and repairs have 10.0 kB/s")
        await controller.loop.submit(TimePassed(22 * HOUR))
        await eventually(lambda: has_rate(zk, "50000"))
        controller.zk.refuses = 0  # all is read again
        await controller.alter({("t", 1): (2, 3)}, throttle=60_000)
        assert {await rate_of(zk, broker) for broker in (1, 2, 3)} == {"50000"}
    async with elected_controller(zk_connect) as successor:
        await successor.loop.submit(TimePassed(30 * HOUR))
        await eventually(lambda: has_rate(zk, "10000"))
        await windows(successor, "")
        await successor.loop.submit(TimePassed(30 * HOUR))
        await eventually(lambda: has_rate(zk, "30000"))
        assert {one.terms.throttle for one in moves(successor)} == {30_000, 60_000}, "each keeps its own"
        await successor.finish_moves()
        await eventually(lambda: has_rate(zk, None))
        await successor.check()


async def has_rate(zk: ZooKeeper, rate: str | None) -> bool:
    return [await rate_of(zk, broker) for broker in (1, 2, 3)] == [rate] * 3


async def has_died_or_rate(controller: BareController, rate: str) -> bool:
    return controller.zk.lives == 0 or await has_rate(controller.zk, rate)


def moves(controller: BareController) -> list[MoveRecord]:
    found = [partition.move for _, _, partition in controller.cluster.all_partitions()]
    return [move for move in found if move is not None]


async def test_dh_5_a_server_that_dies_between_any_two_writes_of_a_rate_leaves_it_to_the_next_one(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    lives, is_over = 0, False
    while not is_over:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as zk:
            await register(zk, 1, 2, 3)
            await put_topic(zk, "t", {0: (1, 2)})
            settings = {"version": 1, "config": {"reassignment.windows": RATES}}
            await zk.create(znode_paths.SETTINGS, json.dumps(settings).encode())
            async with elected_controller(connect) as controller:
                await controller.loop.submit(TimePassed(12 * HOUR))
                await controller.alter({("t", 0): (1, 3)}, throttle=30_000)
                controller.zk.lives = lives
                with suppress(NotController):
                    await controller.loop.submit(TimePassed(22 * HOUR))
                await eventually(partial(has_died_or_rate, controller, "50000"))
                is_over = await has_rate(zk, "50000")
            async with elected_controller(connect) as successor:
                await successor.loop.submit(TimePassed(23 * HOUR))
                await eventually(partial(has_rate, zk, "50000"))
                await successor.finish_moves()
                await eventually(partial(has_rate, zk, None))
                await successor.check()
        lives += 1
    assert lives > 1
