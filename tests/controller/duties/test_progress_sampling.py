"""240-6: the controller reports how far moves are, how long they will take, and why they stall."""

from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.controller.duties.progress_sampling import ProgressSampler, Sampling
from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.core.healing.failed_brokers import DescribedLogDirs
from kafka_reassign_rpc.core.status.documents import Move, MovesInFlight
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from tests.controller.bare_controller import Name
from tests.controller.cluster import RATE, SIZE, Cluster, cluster
from tests.vendor_requests import told, wanted
from tests.waiting import eventually

SLOW = SIZE // 40
SAMPLING = Sampling(interval_s=0.1, stall_s=1.0)


@pytest.fixture
async def here(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, sampling=SAMPLING) as made:
        yield made


async def in_flight(here: Cluster) -> Mapping[Name, Move]:
    """The server may not be the controller yet."""
    found = msgspec.convert(told(await here.ask(wanted("in_flight"), 0)), MovesInFlight, strict=False)
    return {(one.topic, one.partition): one for one in found.moves}


async def test_240_6_copied_bytes_grow_the_remaining_time_is_right_and_a_completed_move_is_not_shown(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3), sampling=Sampling(interval_s=0.1)) as here:
        await follow_to_the_end(here)


async def follow_to_the_end(here: Cluster) -> None:
    await here.create_topic("t", {0: (1, 2)}, held=True)
    await here.configure("brokers", "<default>", {RATE: str(SLOW)})
    await here.alter({("t", 0): (2, 3)})

    async def begun() -> Any:
        found = (await in_flight(here))["t", 0]
        return found if found.copied[3] > 0 and found.remaining_ms else None

    first = await eventually(begun)
    assert first.bytes_total == SIZE
    assert first.copied.keys() == {3}, "broker 2 has had everything before"
    assert first.stalled is None

    async def further() -> Any:
        found = (await in_flight(here))["t", 0]
        return found if found.copied[3] > first.copied[3] + SLOW else None

    second = await eventually(further)
    expected = (SIZE - second.copied[3]) / SLOW * 1000
    assert expected / 10 < second.remaining_ms < expected * 10
    assert SLOW / 10 < second.rate < SLOW * 10

    await here.release("t")
    await eventually(lambda: here.has(("t", 0, (2, 3))))
    assert await in_flight(here) == {}


async def test_240_6_a_move_to_a_dead_broker_is_stalled_until_the_broker_returns(
    here: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    await here.create_topic("t", {0: (1, 2)}, held=True)
    await here.alter({("t", 0): (1, 4)})
    await here.kill_broker(4)

    async def reason() -> Any:
        return (await in_flight(here))["t", 0].stalled

    async def is_dead() -> bool:
        return bool(await reason() == "broker 4 is dead")

    await eventually(is_dead)
    await eventually(lambda: "move.stalled t-0: to [1, 4]; broker 4 is dead" in caplog.text)
    await here.release("t")
    await here.start_broker(4)
    await eventually(lambda: here.has(("t", 0, (1, 4))))


async def test_240_6_a_move_without_a_leader_is_stalled_for_the_next_controller_as_well(here: Cluster) -> None:
    await here.create_topic("t", {0: (1,)}, held=True)
    await here.alter({("t", 0): (2,)})
    await here.kill_broker(1)

    async def leaderless() -> bool:
        return bool((await in_flight(here))["t", 0].stalled == "there is no leader to copy from")

    await eventually(leaderless)
    await here.stop_server()
    await here.start_server()
    await eventually(leaderless)


async def test_240_6_without_sampling_the_controller_sends_no_describe_log_dirs(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1, 2), sampling=Sampling(interval_s=0)) as here:
        await here.create_topic("t", {0: (1,)}, held=True)
        await here.alter({("t", 0): (2,)})
        found = (await in_flight(here))["t", 0]
        assert (found.bytes_total, found.copied, found.remaining_ms) == (None, {}, None)


async def test_dh_3_a_broker_that_is_asked_for_its_log_dirs_alone_answers(here: Cluster) -> None:
    """tests/mixed_clusters/test_failed_log_dirs.py has stock brokers, one with a log dir that has failed."""
    loop: Any = SimpleNamespace(cluster=(await read_cluster(here.zk)).cluster)
    sampler = ProgressSampler(loop, SAMPLING, "test", BrokerLinks(), lambda _: None)
    epoch = loop.cluster.brokers[3].epoch
    assert await sampler.failed_log_dirs({3, 99}) == {3: DescribedLogDirs(epoch, ())}
