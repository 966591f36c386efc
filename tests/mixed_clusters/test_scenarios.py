"""Scenarios of KIP-455, KIP-236 and KIP-46 on stock brokers 3.9.1 with real data. Our server is the controller."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.protocol.messages import DeleteTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import batch, put_request
from tests.faults.cluster import ask, closed_windows
from tests.fork_server import CLI, MOVED_CLOCK, output_of
from tests.waiting import eventually

from .mixed_cluster import BROKERS, PARTITION_BYTES, RACKS, MixedCluster, behind_our_server

pytestmark = [pytest.mark.gate, pytest.mark.stock, pytest.mark.asyncio(loop_scope="module")]


class Clock:
    """The wall clock of our servers."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.go_right()

    def show(self, hour: float) -> None:
        """From now on it goes on from this time of the day, UTC."""
        day_ms = 86_400_000
        now = time.time_ns() // 1_000_000
        self._differ(now // day_ms * day_ms + int(hour * 3_600_000) - now)

    def go_right(self) -> None:
        self._differ(0)

    def _differ(self, ms: int) -> None:
        """A server that reads the file at this moment finds a whole number."""
        new = self.file.with_suffix(".new")
        new.write_text(str(ms))
        new.replace(self.file)


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Clock:
    return Clock(tmp_path_factory.mktemp("clock") / "offset")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mixed(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> AsyncIterator[MixedCluster]:
    """Stock brokers whose controller is our server `a`, after a failover from a stock broker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MOVED_CLOCK, str(clock.file))
        async with _mixed(tmp_path_factory) as found:
            yield found


@asynccontextmanager
async def _mixed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MixedCluster]:
    racks = {broker: {"broker.rack": RACKS[broker]} for broker in BROKERS}
    directory = tmp_path_factory.mktemp("stock-brokers")
    async with behind_our_server(directory, chroot="/stock", per_broker=racks) as mixed:
        await mixed.hold()
        yield mixed


async def test_455_4_partitions_move_under_load_and_no_record_is_lost(mixed: MixedCluster) -> None:
    await mixed.create("moved", {0: (1, 2), 1: (2, 3)})
    async with mixed.load("moved", 2) as load:
        await eventually(lambda: load.acked)
        await mixed.start({("moved", 0): (3, 1), ("moved", 1): (1, 2)})
        await mixed.rest_at({("moved", 0): (3, 1), ("moved", 1): (1, 2)})
        await mixed.start({("moved", 0): (2,), ("moved", 1): (3, 1, 2)})
        await mixed.rest_at({("moved", 0): (2,), ("moved", 1): (3, 1, 2)})


async def test_455_7_and_240_6_a_throttled_move_says_why_it_gets_nowhere_and_is_cancelled_to_where_it_was(
    mixed: MixedCluster,
) -> None:
    await mixed.create("cancelled", {0: (1, 2)}, held=True)
    async with mixed.load("cancelled", 1) as load:
        await mixed.start({("cancelled", 0): (3, 2)})
        before = load.acked
        await eventually(lambda: load.acked > before + 20)
        assert ("cancelled", 0) in await mixed.moving()
        await eventually(lambda: mixed.shows_progress(("cancelled", 0), 3))  # the brokers have been asked by then
        await eventually(lambda: mixed.is_throttled_too_far(("cancelled", 0), 3))
        assert await mixed.alter({("cancelled", 0): None}) == {("cancelled", 0): 0}
        await mixed.rest_at({("cancelled", 0): (1, 2)})


async def test_sv_2_a_consumer_group_is_read_by_a_client_that_knows_only_our_server(mixed: MixedCluster) -> None:
    await mixed.create("read", {0: (1, 2)})
    assert await mixed.read_in_group("read") == PARTITION_BYTES


async def test_sv_9_kafka_python_never_sends_a_version_that_it_learnt_from_us_and_a_stock_broker_does_not_know(
    mixed: MixedCluster,
) -> None:
    for _ in range(20):
        await mixed.ask_with_kafka_python()


async def test_sv_10_what_stock_brokers_were_started_with_is_learnt(mixed: MixedCluster) -> None:
    await eventually(lambda: mixed.has_config("auto.leader.rebalance.enable", "false"))
    assert await mixed.has_config("leader.imbalance.check.interval.seconds", "300")


async def test_sv_10_a_topic_deleted_and_created_again_under_its_name_has_no_record_of_the_one_before(
    mixed: MixedCluster,
) -> None:
    """As often as brokers answer; `rest_at` and the load hold brokers, znodes and records against each other."""
    for leader, follower in ((1, 2), (2, 3), (2, 1)):
        await mixed.create("again", {0: (leader, follower), 1: (follower, leader)})
        request = DeleteTopicsRequest(topic_names=["again"], timeout_ms=30_000)
        (deleted,) = (await ask(mixed.cluster.address(mixed.server), request, 4)).responses
        assert deleted.error_code == 0
        await mixed.gone(znode_paths.delete_topic("again"))
        await mixed.gone(znode_paths.topic("again"))
    await mixed.create("again", {0: (2, 1), 1: (1, 2)})
    async with mixed.load("again", 2) as load:
        await eventually(lambda: load.acked)
        await mixed.start({("again", 0): (3, 1)})
        await mixed.rest_at({("again", 0): (3, 1), ("again", 1): (1, 2)})
    assert await mixed.zk.children(znode_paths.DELETE_TOPICS) == []


async def test_236_5_a_batch_is_carried_out_and_its_znode_goes(mixed: MixedCluster) -> None:
    await mixed.create("batch", {0: (1, 2), 1: (2, 1)}, held=True)
    async with mixed.load("batch", 2):
        await mixed.submit({("batch", 0): (3, 1), ("batch", 1): (2, 3)})
        await eventually(lambda: mixed.has_begun(("batch", 0), ("batch", 1)))
        await mixed.release("batch")
        await mixed.gone(znode_paths.REASSIGN_PARTITIONS)
        await mixed.rest_at({("batch", 0): (3, 1), ("batch", 1): (2, 3)})


async def test_236_2_everything_pending_in_the_batch_is_cancelled_by_the_znode(mixed: MixedCluster) -> None:
    await mixed.create("pending", {0: (1, 2), 1: (2, 1)}, held=True)
    async with mixed.load("pending", 2):
        await mixed.submit({("pending", 0): (3, 1), ("pending", 1): (3, 2)})
        await eventually(lambda: mixed.has_begun(("pending", 0), ("pending", 1)))
        await mixed.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await mixed.gone(znode_paths.CANCEL_IN_PROGRESS)
        await mixed.gone(znode_paths.REASSIGN_PARTITIONS)
        await mixed.rest_at({("pending", 0): (1, 2), ("pending", 1): (2, 1)})


async def test_236_6_behind_the_guard_nothing_starts_and_cancels_go_through(mixed: MixedCluster) -> None:
    await mixed.create("disabled", {0: (1, 2), 1: (1, 2)}, held=True)
    await mixed.start({("disabled", 0): (3, 2)})
    await mixed.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    assert await mixed.alter({("disabled", 1): (3, 2)}) == {("disabled", 1): PolicyViolation.code}
    await mixed.submit({("disabled", 1): (3, 1)})
    assert await mixed.alter({("disabled", 0): None}) == {("disabled", 0): 0}
    await mixed.rest_at({("disabled", 0): (1, 2), ("disabled", 1): (1, 2)})
    await mixed.zk.delete(znode_paths.REASSIGN_CANCEL)
    await eventually(lambda: mixed.has_begun(("disabled", 1)))
    await mixed.release("disabled")
    await mixed.gone(znode_paths.REASSIGN_PARTITIONS)
    await mixed.rest_at({("disabled", 1): (3, 1)})


async def test_236_7_and_236_8_the_queue_and_a_request_are_taken_up_while_others_move(mixed: MixedCluster) -> None:
    await mixed.create("queued", {0: (1, 2), 1: (2, 1)}, held=True)
    async with mixed.load("queued", 2):
        await mixed.zk.create(znode_paths.REASSIGN_QUEUE, batch({("queued", 0): (3, 2)}))
        await mixed.gone(znode_paths.REASSIGN_QUEUE)
        await mixed.zk.create(znode_paths.REASSIGN_QUEUE, batch({("queued", 0): (1, 3)}))
        await put_request(mixed.zk, {("queued", 1): (3, 1)})
        await mixed.gone(znode_paths.REASSIGN_QUEUE)
        await eventually(lambda: mixed.moves(("queued", 0), ("queued", 1)))
        await mixed.release("queued")
        await mixed.rest_at({("queued", 0): (1, 3), ("queued", 1): (3, 1)})


async def test_236_11_a_lease_throttles_stock_brokers_and_what_was_set_before_comes_back(mixed: MixedCluster) -> None:
    await mixed.create("leased", {0: (1, 2)}, held=True)
    before = await mixed.cluster.throttles()
    assert await mixed.cluster.alter(mixed.server, {("leased", 0): (3, 2)}, throttle=500_000) == {("leased", 0): 0}
    during = await mixed.cluster.throttles()
    assert set(during["topics/leased"]["leader.replication.throttled.replicas"].split(",")) == {"0:1", "0:2"}
    assert during["brokers/1"]["leader.replication.throttled.rate"] == "500000"
    assert await mixed.alter({("leased", 0): None}) == {("leased", 0): 0}

    async def as_before() -> bool:
        return await mixed.cluster.throttles() == before

    await eventually(as_before)
    await mixed.rest_at({("leased", 0): (1, 2)})


async def test_dh_5_a_lease_waits_for_the_night_and_has_its_rate_on_stock_brokers_until_the_morning(
    mixed: MixedCluster, clock: Clock
) -> None:
    await mixed.create("night", {0: (1, 2)}, held=True)
    before = await mixed.cluster.throttles()

    async def sending_at(rate: str) -> bool:
        configs = (await mixed.cluster.throttles()).get("brokers/1", {})
        return configs.get("leader.replication.throttled.rate") == rate

    async def is_recorded() -> bool:
        return await mixed.zk.exists(znode_paths.reassignment("night", 0)) is not None

    async def set_windows(more: str) -> None:
        windows = {"reassignment.windows": f"daily 22:00-06:00 UTC rate=700kB {more}"}
        await mixed.cluster.configure(mixed.server, windows)

    try:
        clock.show(12)
        await set_windows("")
        assert await mixed.cluster.alter(mixed.server, {("night", 0): (3, 2)}, throttle=500_000) == {("night", 0): 0}
        assert not await is_recorded()
        clock.show(22 - 1 / 3600)
        await set_windows("max.per.cluster=9")  # otherwise the moved clock is noticed within a minute
        await eventually(is_recorded)
        await eventually(lambda: sending_at("700000"))
        clock.show(6 - 1 / 3600)
        await set_windows("")
        await eventually(lambda: sending_at("500000"))
        assert await is_recorded(), "brokers cannot pause a copy"
    finally:
        await mixed.cluster.configure(mixed.server, {"reassignment.windows": None})
        clock.go_right()
    assert await mixed.alter({("night", 0): None}) == {("night", 0): 0}

    async def as_before() -> bool:
        return await mixed.cluster.throttles() == before

    await eventually(as_before)
    await mixed.rest_at({("night", 0): (1, 2)})


@pytest.mark.gate  # tests/faults does the same to simulated brokers in each run
async def test_455_9_a_stock_broker_that_is_killed_while_it_copies_goes_on_when_it_is_back(mixed: MixedCluster) -> None:
    await mixed.create("broken", {0: (1, 2)}, held=True)
    async with mixed.load("broken", 1) as load:
        await mixed.start({("broken", 0): (3, 1)})
        await mixed.stock.brokers[3].kill()
        await mixed.zk.delete(znode_paths.broker(3))  # what ZooKeeper does once its session has run out
        before = load.acked
        await eventually(lambda: load.acked > before + 20, within=60)
        assert ("broken", 0) in await mixed.moving()
        await mixed.stock.brokers[3].start()
        await mixed.release("broken")
        await mixed.rest_at({("broken", 0): (3, 1)})


async def test_sv_3_what_moves_when_our_server_is_killed_is_carried_on_by_stock_and_by_the_next(
    mixed: MixedCluster,
) -> None:
    await mixed.create("inherited", {0: (1, 2), 1: (2, 1)}, held=True)
    async with mixed.load("inherited", 2):
        await mixed.start({("inherited", 0): (3, 2)})
        await mixed.submit({("inherited", 1): (3, 1)})
        await eventually(lambda: mixed.has_begun(("inherited", 1)))
        await mixed.cluster.servers[mixed.server].kill()
        await eventually(mixed.stock_controls, within=60)
        await mixed.serve("b")
        assert await mixed.moving() == {("inherited", 0), ("inherited", 1)}
        await mixed.release("inherited")
        await mixed.gone(znode_paths.REASSIGN_PARTITIONS)
        await mixed.rest_at({("inherited", 0): (3, 2), ("inherited", 1): (3, 1)})


async def test_455_9_and_mg_2_a_stock_broker_takes_over_nothing_of_ours_is_left_and_we_take_over_from_it(
    mixed: MixedCluster,
) -> None:
    await mixed.create("ended", {0: (1, 2)}, held=True)
    await mixed.create("kept", {0: (2, 1)}, held=True)
    async with mixed.load("ended", 1), mixed.load("kept", 1):
        throttles = await mixed.cluster.throttles()
        await mixed.start({("ended", 0): (3, 2)})
        assert await mixed.cluster.alter(mixed.server, {("kept", 0): (3, 1)}, throttle=1) == {("kept", 0): 0}
        await mixed.cluster.configure(mixed.server, {"failure.interval.ms": "86400000"})
        assert await mixed.cluster.throttles() != throttles
        await mixed.cluster.servers[mixed.server].stop()
        await eventually(mixed.stock_controls, within=60)
        left = await output_of(CLI, ["leave", "--zookeeper-connect", mixed.cluster.connect, "--yes", "--hand-over"])
        assert (left.code, left.err) == (0, "")
        assert await mixed.zk.children("/admin") == ["delete_topics"]
        assert await mixed.cluster.throttles() == throttles
        await mixed.release("ended")

        async def has_ended() -> bool:
            written = await mixed.cluster.topic("ended")
            return written["partitions"]["0"] == [3, 2] and not written["adding_replicas"]

        await eventually(has_ended, within=90)
        await mixed.serve("c")
        assert await mixed.moving() == {("kept", 0)}
        await mixed.release("kept")
        await mixed.rest_at({("ended", 0): (3, 2), ("kept", 0): (3, 1)})
    assert await mixed.moving() == set()


@pytest.mark.gate  # tests/faults does the same to simulated brokers in each run
async def test_46_2_and_46_3_a_stock_broker_that_is_killed_under_load_is_healed(mixed: MixedCluster) -> None:
    """The killed broker is a fourth one that joins for this test. It leads, it follows, it shares its rack, and a move
    that would take a replica of it away waits for a window (dh-1)."""
    lost = await mixed.join(4)
    await mixed.let_go()
    await mixed.create("healed", {0: (4, 1, 2), 1: (1, 2, 4), 2: (2, 3, 4), 3: (4, 3, 1)})
    before = await mixed.cluster.throttles()
    settings = {"failure.interval.ms": "3000", "self.healing.throttle": "1000000"}
    await mixed.cluster.configure(mixed.server, {**settings, "reassignment.windows": closed_windows()})
    async with mixed.load("healed", 4) as load:
        await eventually(lambda: load.acked)
        await mixed.zk.create(znode_paths.REASSIGN_QUEUE, batch({("healed", 2): (3, 1, 2)}))
        await lost.kill()
        await mixed.zk.delete(znode_paths.broker(4))  # what ZooKeeper does once its session has run out
        # Broker 3 is the only other one in its rack; where that has a replica already, another rack has none yet.
        await mixed.rest_at({("healed", i): to for i, to in enumerate([(3, 1, 2), (1, 2, 3), (3, 1, 2), (2, 3, 1)])})
        assert await mixed.cluster.failed() == {}

        async def as_before() -> bool:
            return await mixed.cluster.throttles() == before

        await eventually(as_before)
        acked = load.acked
        await eventually(lambda: load.acked > acked + 20)

    async def healing_is_recorded() -> bool:
        expected = ["heal.noticed", "heal.alert", "heal.scheduled", "heal.done"]
        events = await mixed.cluster.events(mixed.server)
        throttled = {one["broker"] for one in events if one["event"] == "throttle.set" and one["bytes"] == 1_000_000}
        assert throttled >= {1, 2, 3}, throttled
        return [one["event"] for one in events if one["event"].startswith("heal.")][-len(expected) :] == expected

    await eventually(healing_is_recorded)
    noticed = [one["reason"] for one in await mixed.cluster.events(mixed.server) if one["event"] == "heal.noticed"]
    assert noticed[-1] == "it is gone, with 4 replicas"
    await mixed.cluster.configure(mixed.server, {"reassignment.windows": None})
    await lost.start()
    await eventually(lambda: mixed.lives(4))
    assert (await mixed.cluster.failed(), await mixed.moving()) == ({}, set())
    assert not any(4 in found for found in (await mixed.cluster.replicas()).values())
