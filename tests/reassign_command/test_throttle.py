"""`kafka-reassign throttle`: another rate for moves in flight and waiting, on brokers that keep to it (dh-4)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.reassign_command.set_and_clear_throttles import LIFT_NEEDS_LEASE
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from tests.controller.cluster import BANDWIDTH, Cluster, cluster
from tests.reassign_command.run_command import kafka_reassign
from tests.stock.tools import Output
from tests.waiting import eventually


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, event_log=tmp_path) as made:
        await made.configure("brokers", "<default>", {})
        await made.zk.ensure_path("/simulated_fleet")
        for topic in ("a", "b-1"):
            await made.zk.create(f"/simulated_fleet/{topic}", b"%d" % BANDWIDTH)
            await made.create_topic(topic, {0: (1, 2), 1: (2, 3)})
        yield made


async def throttle(world: Cluster, *args: str) -> Output:
    return await kafka_reassign("throttle", "--bootstrap-server", world.bootstrap, *args)


async def test_dh_4_moves_in_flight_and_waiting_get_another_rate_in_one_command_and_keep_to_it(world: Cluster) -> None:
    """At a byte a second none of them would end."""
    await world.settings({MAX_PER_CLUSTER: "1"})
    targets = {("a", 0): (3, 4), ("b-1", 0): (4, 5), ("b-1", 1): (5, 1)}
    assert set((await world.alter(targets, throttle=1)).values()) == {(0, None)}
    await eventually(lambda: world.waits(("b-1", 0), ("b-1", 1)))
    ids = await world.ids()
    slow = await throttle(world, "2B", "--partitions", "b-1-1")
    assert (slow.code, slow.lines) == (0, ["0 moves in flight and 1 waiting move: 2 B/s on each broker."])
    done = await throttle(world, "50MB")
    assert (done.code, done.err) == (0, "")
    assert done.lines == ["1 move in flight and 2 waiting moves: 50000000 B/s on each broker."]
    told = [event for event in await world.events() if event["event"] == "throttle.changed"]
    assert [(one["bytes"], one["reason"], one["principal"]) for one in told] == [
        (2, "0 moves in flight, 1 waiting", "User:ANONYMOUS"),
        (50_000_000, "1 move in flight, 2 waiting", "User:ANONYMOUS"),
    ]
    assert (await world.ids()).get(("a", 0), ids["a", 0]) == ids["a", 0]
    await eventually(lambda: world.has(*((topic, index, to) for (topic, index), to in targets.items())))
    none = await throttle(world, "1B", "--topics", "a", "--json")
    counts = {"throttle": 1, "moving": 0, "waiting": 0, "repairs": 0}
    assert json.loads(none.out) == {**counts, "error": "No such move is in flight or waits."}
    configs = ConfigStore(world.zk)

    async def all_lifted() -> bool:
        return not any([LEADER_RATE in await configs.get("brokers", str(broker)) for broker in range(1, 6)])

    await eventually(all_lifted)


async def test_dh_4_a_stricter_limit_of_others_is_said(world: Cluster) -> None:
    await world.configure("brokers", "3", {FOLLOWER_RATE: "5"})
    await world.alter({("a", 0): (3, 4)}, throttle=1)
    done = await throttle(world, "9B", "--topics", "a")
    assert done.lines == [
        "1 move in flight and 0 waiting moves: 9 B/s on each broker.",
        "A stricter limit goes on: 5 B/s to receive on broker 3 (its own dynamic config).",
    ]
    done = await throttle(world, "0")
    stays = "A rate stays, for replicas that throttled.replicas name: 5 B/s to receive on broker 3 (its own dynamic"
    assert done.lines == [
        "1 move in flight and 0 waiting moves: no throttle of their own any more.",
        f"{stays} config).",
    ]
    for named, hint in (
        (("--topics", "none,c"), ": there is no topic c (known: a, b-1) and no topic none (known: a, b-1)"),
        (("--topics", "b-1"), ""),
        (("--partitions", "b-1-7,a-1"), ": there is no partition b-1-7 (is b-1-1 meant?)"),
    ):
        nothing = await throttle(world, "9B", *named)
        assert (nothing.code, nothing.lines) == (1, [f"No such move is in flight or waits{hint}."])


async def test_fg_4_a_lease_lifts_the_stricter_rates_that_are_set_and_exactly_those_come_back(world: Cluster) -> None:
    """At a byte a second the move would never end."""
    configs, strict = ConfigStore(world.zk), {FOLLOWER_RATE: "1", LEADER_RATE: "7"}
    await world.configure("brokers", "3", strict)
    await world.configure("brokers", "<default>", {FOLLOWER_RATE: "1"})
    move = ("move", "a", "-p", "0:3,4", "--bootstrap-server", world.bootstrap, "--throttle", "50MB")
    refused = await kafka_reassign(*move, "--lift-stricter")
    assert (refused.code, refused.out) == (1, f"Error: {LIFT_NEEDS_LEASE}\n")
    done = await kafka_reassign(*move, "--lease", "--lift-stricter")
    assert (done.code, done.err) == (0, "")
    assert [line for line in done.lines if line.startswith("Lifted")] == [
        "Lifted until then: 1 B/s to receive on brokers 1,2,4 (the dynamic config of all brokers)",
        "Lifted until then: 7 B/s to send and 1 B/s to receive on broker 3 (its own dynamic config)",
    ]
    await eventually(lambda: world.has(("a", 0, (3, 4))))

    async def as_before() -> bool:
        found = [await configs.get("brokers", str(broker)) for broker in (1, 2, 3, 4)]
        return found == [{}, {}, strict, {}]

    await eventually(as_before)


async def test_dh_4_repairs_in_flight_and_waiting_follow_their_setting_on_brokers_that_keep_to_it(
    world: Cluster,
) -> None:
    settings = {"failure.interval.ms": "100", "self.healing.throttle": "1", "self.healing.max.moves": "1"}
    await world.settings(settings)
    await world.kill_broker(2)
    await eventually(lambda: is_healing(world, 4))
    told = await throttle(world, "50MB")
    assert told.lines == [
        "There is no such move.",
        "4 moves of repairs follow self.healing.throttle instead: `kafka-reassign settings --bootstrap-server "
        f"{world.bootstrap} --set self.healing.throttle=50000000` changes them.",
    ]
    server = ("--bootstrap-server", world.bootstrap)
    assert (await kafka_reassign("settings", *server, "--set", "self.healing.throttle=50MB")).code == 0
    await eventually(lambda: is_healing(world, 0), within=30)
    [told_by] = [event for event in await world.events() if event["event"] == "throttle.changed"]
    assert (told_by["who"], told_by["bytes"]) == ("controller", 50_000_000)
    assert told_by["reason"].endswith("repairs follow self.healing.throttle=50000000")


async def is_healing(world: Cluster, moves: int) -> bool:
    return len(await world.moving()) == moves


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ((), "the following arguments are required: RATE"),
        (("fast",), "argument RATE: expected bytes per second, such as 40MB or 0, got [hidden]"),
        (("-1",), "argument RATE: expected bytes per second, such as 40MB or 0, got '-1'"),
        (("9223372036854775808",), "argument RATE: expected bytes per second"),
        (("5",), "argument RATE: 5 asks for a unit: 5MB per second, or 5B if that is meant"),
        (
            ("1MB", "--topics", ","),
            "argument --topics: expected names of topics with commas between them, got [hidden]",
        ),
        (
            ("1MB", "--partitions", "orders"),
            "argument --partitions: expected partitions such as orders-0, got [hidden]",
        ),
    ],
)
async def test_dh_4_a_command_line_that_makes_no_sense_is_refused(args: tuple[str, ...], why: str) -> None:
    refused = await kafka_reassign("throttle", "--bootstrap-server", "h:1", *args)
    assert refused.code == 1
    assert refused.err.splitlines()[-1].startswith("kafka-reassign throttle: ")
    assert why in refused.err
