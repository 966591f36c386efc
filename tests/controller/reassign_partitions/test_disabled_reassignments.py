"""Rules that hold for every new move by every route: disabled reassignments (KIP-236), replication factor (KIP-860)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register
from tests.controller.bare_watches import watches_of
from tests.controller.cluster import Answer, Cluster, cluster
from tests.waiting import eventually

BY_ZNODE = "No reassignment may be started: /admin/reassign_cancel exists. Cancellations are still possible."
BY_CONFIG = (
    "No reassignment may be started: partition.reassignments.enabled=false is set for the cluster."
    " Cancellations are still possible."
)
ENABLED = "partition.reassignments.enabled"
ALLOWED = "partition.reassignments.replication.factor.change.allowed"
POLICY_VIOLATION, INVALID_REPLICATION_FACTOR = 44, 38


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        await made.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
        yield made


async def set_default(world: Cluster, values: dict[str, str]) -> None:
    rate = {"follower.replication.throttled.rate": "1"}
    await world.configure("brokers", "<default>", rate | values)


async def answers(world: Cluster, target: tuple[int, ...], answer: Answer) -> bool:
    return await world.alter({("held", 1): target}) == {("held", 1): answer}


async def test_236_6_while_the_znode_exists_targets_are_refused_and_cancels_go_through(world: Cluster) -> None:
    assert await world.alter({("held", 0): (3, 4)}) == {("held", 0): (0, None)}
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")

    assert await world.alter({("held", 0): (4, 5), ("held", 1): (3, 4), ("nope", 0): (1,)}) == {
        ("held", 0): (POLICY_VIOLATION, BY_ZNODE),
        ("held", 1): (POLICY_VIOLATION, BY_ZNODE),
        ("nope", 0): (POLICY_VIOLATION, BY_ZNODE),
    }
    assert await world.moving() == {("held", 0)}
    assert await world.alter({("held", 0): None}) == {("held", 0): (0, None)}
    assert await world.moving() == set()

    await world.zk.delete(znode_paths.REASSIGN_CANCEL)
    await eventually(lambda: answers(world, (3, 4), (0, None)))


async def test_236_6_the_batch_waits_until_the_znode_is_deleted(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await world.submit({("held", 0): (3, 4), ("held", 1): (4, 5)})
    await eventually(lambda: any("2 of its entries wait" in record.message for record in caplog.records))
    assert await world.batch() == {("held", 0): {"replicas": [3, 4]}, ("held", 1): {"replicas": [4, 5]}}
    assert await world.moving() == set()

    assert await world.alter({("held", 1): None}) == {("held", 1): (0, None)}, "an entry that waits can be cancelled"
    assert await world.batch() == {("held", 0): {"replicas": [3, 4]}}
    await world.stop_server()
    await world.start_server()
    assert await world.moving() == set(), "the next controller heeds it too"

    await world.zk.delete(znode_paths.REASSIGN_CANCEL)
    await eventually(lambda: world.started(("held", 0)))


async def test_236_6_while_reassignments_are_disabled_a_batch_can_be_cancelled_with_its_waiting_entries(
    world: Cluster,
) -> None:
    await world.submit({("held", 0): (3, 4)})
    await eventually(lambda: world.started(("held", 0)))
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await world.cancel_all()
    assert await world.batch_gone()
    await world.submit({("held", 0): (3, 4)})
    await world.cancel_all()
    assert await world.batch_gone()
    await eventually(lambda: world.has(("held", 0, (1, 2))))


async def test_236_6_reassignments_are_disabled_and_enabled_again_and_again(world: Cluster) -> None:
    for _ in range(5):
        await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
        assert await answers(world, (3, 4), (POLICY_VIOLATION, BY_ZNODE)), "from the moment that it exists"
        await world.zk.delete(znode_paths.REASSIGN_CANCEL)
        await eventually(lambda: answers(world, (3, 4), (0, None)))
        await world.alter({("held", 1): None})


async def test_236_6_the_clusters_config_disables_reassignments_as_the_znode_does(world: Cluster) -> None:
    await set_default(world, {ENABLED: "false"})
    await eventually(lambda: answers(world, (3, 4), (POLICY_VIOLATION, BY_CONFIG)))
    await world.submit({("held", 0): (3, 4)})
    await world.stop_server()
    await world.start_server()
    assert await answers(world, (3, 4), (POLICY_VIOLATION, BY_CONFIG))
    assert await world.moving() == set()

    await set_default(world, {})
    await eventually(lambda: world.started(("held", 0)))
    assert await answers(world, (3, 4), (0, None))


def switched(value: str, _: Mapping[str, str]) -> Mapping[str, str]:
    return {ENABLED: value}


class Hold(Command[None]):
    """The round that carries it out does not end before `release`."""

    held = True

    def decide(self, work: Round) -> Iterator[None]:
        while self.held:
            yield
        self.answer(None)

    def release(self) -> None:
        self.held = False


async def test_236_6_the_answer_whether_reassignments_are_disabled_is_what_was_last_configured(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    settings = ServerConfigStore(zk, 1000)
    async with elected_controller(zk_connect) as controller:
        watches = watches_of(controller)
        await watches.place()
        controller.zk.on_watch(watches.watch_fired)
        running = asyncio.create_task(watches.run())
        try:
            for value in ("false", "true") * 5:
                hold = Hold()
                round_under_way = controller.loop.submit(hold)
                await settings.alter("brokers", "1000", partial(switched, value))
                asyncio.get_running_loop().call_later(0.1, hold.release)
                await watches.up_to_date()
                disabled = restrictions.reassignments_disabled(controller.cluster)
                assert (disabled is None) == (value == "true")
                await round_under_way
        finally:
            running.cancel()
            await asyncio.wait([running])


def changed(to: int, before: int = 2) -> Answer:
    return (
        INVALID_REPLICATION_FACTOR,
        f"The replication factor is changed from {before} to {to}, which {ALLOWED}=false forbids",
    )


async def test_860_4_no_client_can_override_the_clusters_replication_factor_guard(world: Cluster) -> None:
    await set_default(world, {ALLOWED: "false"})
    await eventually(lambda: answers(world, (3, 4, 5), changed(3)))
    assert await answers(world, (1,), changed(1))
    assert await answers(world, (3, 4), (0, None))
    assert await answers(world, (3, 4, 5), changed(3)), "nor while it moves"
    assert await answers(world, (1,), changed(1))

    await set_default(world, {})
    await eventually(lambda: answers(world, (3, 4, 5), (0, None)))


async def test_860_2_k07_a_cancel_ignores_the_clusters_replication_factor_guard(world: Cluster) -> None:
    assert await answers(world, (3, 4, 5), (0, None))
    await set_default(world, {ALLOWED: "false"})
    await eventually(lambda: answers(world, (1,), changed(1, before=3)))
    assert await world.alter({("held", 1): None}) == {("held", 1): (0, None)}


async def test_860_4_the_batch_cannot_override_the_clusters_replication_factor_guard(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await set_default(world, {ALLOWED: "false"})
    await eventually(lambda: answers(world, (3, 4, 5), changed(3)))

    await world.submit({("held", 0): (3, 4), ("held", 1): (3, 4, 5)})

    await eventually(lambda: world.started(("held", 0)))
    assert await world.moving() == {("held", 0)}
    assert await world.batch() == {("held", 0): {"replicas": [3, 4], "original_replicas": [1, 2]}}
    assert sum(f"held-1: to [3, 4, 5]; {changed(3)[1]}" in record.message for record in caplog.records) == 1


async def test_860_4_the_servers_own_setting_holds_unless_the_cluster_says_otherwise(zk_connect: str) -> None:
    async with cluster(zk_connect, settings=ReassignmentSettings(replication_factor_change_allowed=False)) as world:
        await world.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
        assert await answers(world, (3, 4, 5), changed(3))
        await set_default(world, {ALLOWED: "true"})
        await eventually(lambda: answers(world, (3, 4, 5), (0, None)))


async def test_236_6_a_stock_admin_client_sets_and_deletes_the_clusters_config(world: Cluster) -> None:
    assert await world.incremental(ENABLED, "perhaps") != 0
    assert await world.incremental(ENABLED, "false") == 0
    assert await answers(world, (3, 4), (POLICY_VIOLATION, BY_CONFIG)), "from the moment that it is answered"
    assert await world.described(ENABLED) == "false"
    assert await world.incremental(ENABLED, None) == 0
    assert await answers(world, (3, 4), (0, None))
    assert await world.described(ENABLED) is None
    assert await world.incremental(ALLOWED, "false") == 0
    assert await answers(world, (3,), changed(1))
