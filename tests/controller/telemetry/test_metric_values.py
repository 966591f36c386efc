"""Values of metrics, computed by hand: from samples, and of real moves to their end, after a cancel and a failover."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from msgspec.structs import replace

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.telemetry.metrics import COUNTED_MOVES, Metrics
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus, figures_of
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_BYTES_IN_FLIGHT, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.cluster import Cluster as State
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import PartitionHealth
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import LISTENERS, RATE, SIZE, Cluster, cluster
from tests.controller.telemetry.test_metrics import Samples, counted, scraped, shown, shows
from tests.core.build import write
from tests.status_page.views import at_rest, cluster_of, move, run, sample, server_of, term_of
from tests.waiting import eventually

SAMPLING = Sampling(interval_s=0.2)
NOT_MOVING = {"moves_in_flight": 0, "moves_bytes": 0, "moves_bytes_left": 0, "moves_remaining_seconds": 0}
COPIED = ("broker_copied_in_bytes_total", "broker_copied_out_bytes_total")
LEADER_RATE = "leader.replication.throttled.rate"


def page_of(state: State, tracker: ProgressTracker) -> Samples:
    """What a controller of this cluster shows."""
    health = PartitionHealth()
    run(health.update(state))
    term = term_of(state, tracker)._replace(unhealthy=health.now)
    document = status_of(server_of(term), at=1, version="1", full=True)
    status = ServerStatus(document, True, 0.002, 0, figures=figures_of(state, tracker))
    metrics = Metrics()
    metrics.show(lambda: status, ServerStats, {})
    return shown(metrics)


def values(found: Samples, name: str) -> dict[tuple[str, ...], float]:
    return {labels: value for (one, labels), value in found.items() if one == name}


def test_kr_1_where_leases_are_not_known_no_throttle_is_said_to_be_a_config() -> None:
    state = cluster_of({"t": {0: at_rest(1, 2)}})
    state.broker_configs = {"1": {LEADER_RATE: "5"}}
    rates = {}
    for knows_leases in (True, False):
        figures = figures_of(state, ProgressTracker(60.0), knows_leases=knows_leases)
        document = status_of(server_of(term_of(state, ProgressTracker(60.0))), at=1, version="1", full=True)
        status, metrics = ServerStatus(document, True, 0.002, 0, figures=figures), Metrics()
        metrics.show(lambda status=status: status, ServerStats, {})  # type: ignore[misc]
        found = values(shown(metrics), "broker_throttle_bytes_per_second")
        rates[knows_leases] = {
            by: rate for (broker, by, side), rate in found.items() if (broker, side) == ("1", "leader")
        }
    assert rates == {True: {"config": 5}, False: {"unknown": 5}}


def test_sv_7_metrics_of_samples_have_the_values_that_were_computed_by_hand() -> None:
    """100 bytes to broker 3, at 2 a second; 1000 to broker 4, at 50 a second."""
    parts = {
        0: move((1,), (3,)),
        1: move((2,), (4,), leader=2),
        2: replace(at_rest(1, 2), isr=(1,)),
        3: replace(at_rest(2, 3), isr=(2,)),
        4: at_rest(1, leader=-1),
    }
    state, tracker = cluster_of({"t": parts}), ProgressTracker(60.0)
    everywhere = {RATE: "7", MAX_PER_CLUSTER: "2", MAX_BYTES_IN_FLIGHT: "900"}
    write(state, broker_configs={"1": {LEADER_RATE: "30"}, "3": {RATE: "40"}, "<default>": everywhere})
    before = page_of(state, tracker)
    assert before["moves_remaining_seconds", ()] == -1
    assert set(values(before, COPIED[0]).values()) == {0}, "a rate needs the first zero"

    sample(tracker, state, 0.0, {1: {"t": {0: 100}}, 2: {"t": {1: 1000}}, 3: {"t": {0: 40}}, 4: {"t": {1: 0}}})
    sample(tracker, state, 10.0, {1: {"t": {0: 100}}, 2: {"t": {1: 1000}}, 3: {"t": {0: 60}}, 4: {"t": {1: 500}}})
    found = page_of(state, tracker)
    assert (found["moves_bytes", ()], found["moves_bytes_left", ()]) == (1100, 40 + 500)
    assert found["moves_remaining_seconds", ()] == 20, "the slowest move ends last"
    assert values(found, COPIED[0]) == {("1",): 0, ("2",): 0, ("3",): 20, ("4",): 500}
    assert values(found, COPIED[1]) == {("1",): 20, ("2",): 500, ("3",): 0, ("4",): 0}
    assert (found["partitions_under_replicated", ()], found["partitions_offline", ()]) == (2, 1)
    assert values(found, "broker_throttle_bytes_per_second") == {
        ("1", "config", "leader"): 30,
        **{(broker, "none", "leader"): -1 for broker in "234"},
        **{(broker, "default", "follower"): 7 for broker in "124"},
        ("3", "config", "follower"): 40,
    }
    caps = {"moves_per_broker": -1, "moves_per_cluster": 2, "bytes_in_flight": 900}
    assert values(found, "cap") == {(name,): value for name, value in caps.items()}
    assert found["reassignments_enabled", ()] == 1


# ------------------------------------------------------------------------------------------------ the real server


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(
        zk_connect, brokers=(1, 2, 3, 4), metrics=True, sampling=SAMPLING, event_log=tmp_path / "events"
    ) as made:
        await throttle(made, 0)
        yield made


async def throttle(world: Cluster, rate: int, **others: str) -> None:
    """How fast held moves copy, bytes/s."""
    await world.configure("brokers", "<default>", {RATE: str(rate), **others})


async def copied(address: str, to: dict[int, int], out_of: dict[int, int], brokers: tuple[int, ...]) -> bool:
    """Whether moves have copied these bytes to and from brokers, and none to and from the others."""
    found = await scraped(address)
    return [values(found, name) for name in COPIED] == [
        {(str(broker),): told.get(broker, 0) for broker in brokers} for told in (to, out_of)
    ]


async def test_sv_7_bytes_of_real_moves_are_counted_to_the_byte_also_of_one_that_is_cancelled(world: Cluster) -> None:
    at, live = world.metrics_address, (1, 2, 3, 4)
    await eventually(lambda: copied(at, {}, {}, live))
    for topic in ("a", "b"):
        await world.create_topic(topic, {0: (1, 2)}, held=True)
    await world.alter({("a", 0): (3, 4)})
    await eventually(lambda: shows(at, moves_in_flight=1, moves_bytes=2 * SIZE, moves_bytes_left=2 * SIZE))
    await world.release("a")
    await eventually(lambda: shows(at, **NOT_MOVING))
    await eventually(lambda: copied(at, {3: SIZE, 4: SIZE}, {1: 2 * SIZE}, live))

    await world.alter({("b", 0): (3, 2)})
    await eventually(lambda: shows(at, moves_bytes=SIZE, moves_bytes_left=SIZE))
    await throttle(world, SIZE // 100)

    async def advances() -> bool:
        found = await scraped(at)
        return found["moves_bytes_left", ()] < SIZE and found["moves_remaining_seconds", ()] > 0

    await eventually(advances)
    await world.alter({("b", 0): None})
    await eventually(lambda: shows(at, **NOT_MOVING))
    part = await eventually(lambda: copied_before_the_cancel(world))
    assert 0 < part < SIZE
    assert await copied(at, {3: SIZE + part, 4: SIZE}, {1: 2 * SIZE + part}, live), "a counter keeps what was copied"
    await eventually(lambda: world.has_no(("b", 0), 3))

    await world.alter({("b", 0): (3, 2)})
    await eventually(lambda: shows(at, moves_bytes=SIZE))
    await world.release("b")
    await eventually(lambda: shows(at, **NOT_MOVING))
    await eventually(lambda: copied(at, {3: 2 * SIZE + part, 4: SIZE}, {1: 3 * SIZE + part}, live))
    numbers = {"started": 3, "retargeted": 0, "completed": 2, "cancelled": 1, "refused": 0}
    assert values(await scraped(at), "moves_total") == {(event,): number for event, number in numbers.items()}


async def copied_before_the_cancel(world: Cluster) -> int:
    """Bytes, of the one move that was cancelled."""
    [found] = [one["copied"] for one in await world.events() if one["event"] == "move.cancelled"]
    return int(found)


async def test_sv_7_after_a_failover_the_next_controller_shows_the_same_figures_and_counts_from_zero(
    world: Cluster, zk_connect: str
) -> None:
    first = world.metrics_address
    await world.create_topic("held", {0: (2, 1)}, held=True)
    await world.create_topic("lost", {0: (4,)})
    await world.create_topic("sick", {0: (4, 2), 1: (2, 3), 2: (3, 4)})
    await world.configure("brokers", "2", {LEADER_RATE: "12345"})
    await throttle(world, 0, **{MAX_PER_CLUSTER: "5"})
    await world.alter({("held", 0): (3, 1)})
    await world.kill_broker(4)
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")

    standby = ServerConfig(zk_connect, LISTENERS, server_id=1002, metrics_listener=("127.0.0.1", 0), sampling=SAMPLING)
    async with ControllerProcess(standby) as server:
        await server.ready()
        second = server.metrics_address or ""
        found = await scraped(second)
        assert {labels[0] for labels in values(found, "events_total")} == {*EVENTS}
        assert {f"move.{labels[0]}" for labels in values(found, "moves_total")} == {*COUNTED_MOVES}
        assert {*values(found, "events_total").values(), *values(found, "moves_total").values()} == {0}
        assert await shows(
            second,
            **{**NOT_MOVING, "moves_remaining_seconds": -1},
            partitions_under_replicated=0,
            partitions_offline=0,
            reassignments_enabled=1,
        ), "a standby knows nothing of moves"
        assert {*values(found, "cap").values()} == {-1}
        for name in (*COPIED, "broker_throttle_bytes_per_second"):
            assert values(found, name) == {}

        await eventually(lambda: figures_are_right(first))
        await world.stop_server()
        await eventually(lambda: figures_are_right(second))
        assert await copied(second, {}, {}, (1, 2, 3))
        await eventually(lambda: was_elected(second))
        await world.release("held")
        await eventually(lambda: shows(second, **NOT_MOVING))
        await eventually(lambda: copied(second, {3: SIZE}, {2: SIZE}, (1, 2, 3)))
        await world.start_broker(4)
        await eventually(lambda: shows(second, partitions_under_replicated=0, partitions_offline=0))


async def was_elected(address: str) -> bool:
    return await counted(address, "events_total", "controller.elected") == 1


async def figures_are_right(address: str) -> bool:
    """One move of SIZE bytes that makes no progress; broker 4 is away; caps, throttles and the switch as configured."""
    found = await scraped(address)
    assert values(found, "broker_throttle_bytes_per_second") == {
        **{("1", "none", "leader"): -1, ("2", "config", "leader"): 12345, ("3", "none", "leader"): -1},
        **{(broker, "default", "follower"): 0 for broker in "123"},
    }
    assert found["cap", ("moves_per_cluster",)] == 5
    return await shows(
        address,
        moves_in_flight=1,
        moves_bytes=SIZE,
        moves_bytes_left=SIZE,
        partitions_under_replicated=2,
        partitions_offline=1,
        reassignments_enabled=0,
    )
