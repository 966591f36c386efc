"""Throttle leases while others change the same configs (236-11)."""

import asyncio
from collections.abc import Iterable, Mapping

import pytest

from kafka_reassign_rpc.controller import throttle_leases
from kafka_reassign_rpc.controller.commands.cluster_commands import ConfigsRead
from kafka_reassign_rpc.controller.commands.queue_commands import ChangeLeaseRates
from kafka_reassign_rpc.controller.commands.topic_commands import TopicDeletionsRead, TopicsVanished
from kafka_reassign_rpc.controller.loading.load_cluster import read_deletion_marks
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.core.writers.topic_facts import MarksFound
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import Op
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth
from tests.controller.bare_controller import SERVER, elected_controller, put_topic, register
from tests.waiting import eventually

RATE = "1000"


async def test_236_11_a_rate_deleted_again_while_the_controller_restores_it_is_left_until_it_is_asked_for(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = ConfigStore(zk)
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=None)
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3)}, throttle=int(RATE))
        write_together = controller.store.write_together
        is_written, go_on = asyncio.Event(), asyncio.Event()

        async def held(transactions: Iterable[list[Op]]) -> None:
            await write_together(transactions)
            is_written.set()
            await go_on.wait()

        async def delete() -> None:
            """Change a config as a client does; the controller reads it at once."""
            await configs.alter("brokers", "3", lambda _: {})
            await controller.loop.submit(ConfigsRead("brokers", {"3": {}}))

        async def is_back() -> bool:
            found = await configs.get("brokers", "3")
            return (found.get(LEADER_RATE), found.get(FOLLOWER_RATE)) == (RATE, RATE)

        assert await is_back()
        monkeypatch.setattr(controller.store, "write_together", held)
        await delete()
        await is_written.wait()
        assert await is_back()
        await delete()
        go_on.set()
        leases = controller.loop.throttle_leases
        await eventually(lambda: [str(one) for one in leases.removed] == ["broker 3 (to send, to receive)"])
        assert await configs.get("brokers", "3") == {}
        told = [one.reason or "" for one in controller.events if one.event == catalogue.THROTTLE_REMOVED]
        assert [text.partition(" again: ")[0] for text in told] == [
            f"to send, to receive: somebody else has removed {RATE}"
        ]
    async with elected_controller(zk_connect) as controller:
        leases = controller.loop.throttle_leases
        await eventually(lambda: len(leases.removed) == 1)
        assert await configs.get("brokers", "3") == {}
        await controller.loop.submit(ChangeLeaseRates(None, int(RATE)))
        assert await is_back()
        assert not leases.removed
        await controller.finish_moves()
        await eventually(lambda: gone(configs, "3"))


async def gone(configs: ConfigStore, broker: str) -> bool:
    return await configs.get("brokers", broker) == {}


async def throttles(zk: ZooKeeper) -> dict[str, Mapping[str, str]]:
    configs = ConfigStore(zk)
    entities = [("topics", "t"), ("topics", "u"), ("brokers", "3")]
    return {name: found for kind, name in entities if (found := await configs.get(kind, name))}


async def put_two_topics(zk: ZooKeeper) -> None:
    await register(zk, 1, 2, 3)
    for topic in ("t", "u"):
        await put_topic(zk, topic, {0: (1, 2)}, topic_id=None)


class Refusing:
    """Refuses a controller's writes of a znode until they are allowed."""

    def __init__(self, store: ZooKeeperStore, path: str) -> None:
        self._really = store.write_together
        self._path = path
        self.refused = 0
        self.allowed = False

    async def write_together(self, groups: Iterable[list[Op]]) -> None:
        groups = list(groups)
        if not self.allowed and any(op.path == self._path for group in groups for op in group):
            self.refused += 1
            raise ReloadNeeded("refused") from NoAuth(self._path)
        await self._really(groups)


async def test_236_11_a_throttle_that_cannot_be_removed_holds_up_no_other_and_is_tried_again(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await put_two_topics(zk)
    moves = [("t", 0), ("u", 0)]
    for term in (1, 2):
        caplog.clear()
        async with elected_controller(zk_connect) as controller:
            if term == 1:
                await controller.alter(dict.fromkeys(moves, (1, 3)), throttle=1000)
                assert set(await throttles(zk)) == {"t", "u", "3"}
            refusing = Refusing(controller.store, znode_paths.config("topics/t"))
            monkeypatch.setattr(controller.store, "write_together", refusing.write_together)
            if term == 1:
                await controller.alter(dict.fromkeys(moves))
            await eventually(lambda: only_of_t(zk))
            await eventually(lambda: reported(caplog) == 1)
            await asyncio.sleep(0.3)
            assert 0 < refusing.refused <= throttle_leases.RACES + 2 * throttle_leases.ALONE_RACES
            assert reported(caplog) == 1
            if term == 2:
                refusing.allowed = True
                await eventually(lambda: none_left(zk))


def reported(caplog: pytest.LogCaptureFixture) -> int:
    return len([one for one in caplog.messages if "topics t stays as it is" in one])


async def only_of_t(zk: ZooKeeper) -> bool:
    return list(await throttles(zk)) == ["t"]


async def none_left(zk: ZooKeeper) -> bool:
    return not await throttles(zk)


async def test_236_11_a_lease_ends_although_the_memory_of_its_config_has_foreign_children(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_two_topics(zk)
    memories = [znode_paths.throttle_memory("topics", "t"), znode_paths.throttle_memory("brokers", "3")]
    async with elected_controller(zk_connect) as controller:
        for _ in range(2):
            assert set((await controller.alter({("t", 0): (1, 3), ("u", 0): (1, 3)}, throttle=1000)).values()) == {None}
            assert set(await throttles(zk)) == {"t", "u", "3"}
            for path in memories:
                await zk.ensure_path(f"{path}/foreign")
            await controller.alter({("t", 0): None, ("u", 0): None})
            await eventually(lambda: none_left(zk))
    for path in memories:
        await zk.delete(f"{path}/foreign")
    async with elected_controller(zk_connect):
        await eventually(lambda: none_exists(zk, memories))


async def none_exists(zk: ZooKeeper, places: Iterable[str]) -> bool:
    return not any([await zk.exists(path) for path in places])


async def test_236_11_a_rate_that_stays_for_a_move_without_a_lease_goes_with_the_topic_of_that_move(
    zk: ZooKeeper, zk_connect: str
) -> None:
    configs = ConfigStore(zk)
    await put_two_topics(zk)
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3)}, throttle=int(RATE))
        lists = {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3"}
        await configs.alter("topics", "u", lambda _: lists)
        await controller.loop.submit(ConfigsRead("topics", {"u": lists}))
        await controller.alter({("u", 0): (1, 3)})
        await controller.alter({("t", 0): None})
        await eventually(lambda: only_u_and_rate(zk))
        await asyncio.sleep(0.3)
        assert set(await throttles(zk)) == {"u", "3"}, "the operator of u relies on it"
        created = controller.cluster.topics["u"].created
        await zk.create(znode_paths.delete_topic("u"), b"")
        marks = await read_deletion_marks(zk, ["u"])
        await controller.loop.submit(
            TopicDeletionsRead(MarksFound(marks), SERVER, marked=lambda _: None, stale=lambda: None)
        )
        await controller.loop.submit(TopicsVanished({"u": created}))
        await eventually(lambda: rate_gone(zk))


async def only_u_and_rate(zk: ZooKeeper) -> bool:
    return set(await throttles(zk)) == {"u", "3"}


async def rate_gone(zk: ZooKeeper) -> bool:
    return "3" not in await throttles(zk)


async def test_236_11_a_cluster_limit_that_is_lowered_during_a_lease_counts_on_its_brokers(
    zk: ZooKeeper, zk_connect: str
) -> None:
    configs = ConfigStore(zk)
    await put_two_topics(zk)
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3)}, throttle=1000)
        for limit, rate in (("50", "50"), ("5000", "1000")):
            limits = {LEADER_RATE: limit, FOLLOWER_RATE: limit}
            await configs.alter("brokers", "<default>", lambda _, limits=limits: limits)  # type: ignore[misc]
            await controller.loop.submit(ConfigsRead("brokers", {"<default>": limits}))
            for broker in ("1", "2", "3"):
                await eventually(lambda broker=broker, rate=rate: has_rate(zk, broker, rate))  # type: ignore[misc]


async def has_rate(zk: ZooKeeper, broker: str, rate: str) -> bool:
    found = await ConfigStore(zk).get("brokers", broker)
    return {found.get(LEADER_RATE), found.get(FOLLOWER_RATE)} == {rate}
