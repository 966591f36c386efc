"""Throttle leases with the real server and simulated brokers that obey them (236-11)."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    DescribeReassignmentsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch
from tests.controller.cluster import BANDWIDTH, Cluster, cluster
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

BYTES = BANDWIDTH
"""Of each partition: a second's worth, so that brokers have read their configs long before."""
OWN = {"1": {LEADER_RATE: "30", FOLLOWER_RATE: "50000000"}, "2": {"log.cleaner.threads": "2"}}
"""Configs of brokers before each test."""
OF_TOPIC = {"retention.ms": "1000", LEADER_REPLICAS: "5:5"}


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, event_log=tmp_path) as made:
        await made.configure("brokers", "<default>", {})
        for broker, configs in OWN.items():
            await made.configure("brokers", broker, configs)
        await made.zk.ensure_path("/simulated_fleet")
        for topic in ("a", "b"):
            await made.zk.create(f"/simulated_fleet/{topic}", b"%d" % BYTES)
            await made.create_topic(topic, {0: (1, 2), 1: (2, 3)})
        await made.configure("topics", "a", OF_TOPIC)
        yield made


class ThrottleConfigs:
    """The throttle configs, by broker or topic."""

    def __init__(self, zk: ZooKeeper) -> None:
        self._configs = ConfigStore(zk)
        self._zk = zk

    async def rates(self, *brokers: int) -> list[tuple[str | None, str | None]]:
        """The rates of leaders and of followers."""
        found = [await self._configs.get("brokers", str(broker)) for broker in brokers]
        return [(configs.get(LEADER_RATE), configs.get(FOLLOWER_RATE)) for configs in found]

    async def lists(self, topic: str) -> tuple[str | None, str | None]:
        configs = await self._configs.get("topics", topic)
        return configs.get(LEADER_REPLICAS), configs.get(FOLLOWER_REPLICAS)

    async def as_before(self) -> bool:
        """Whether all configs are exactly as before, and no memory is left."""
        for broker in range(1, 6):
            assert await self._configs.get("brokers", str(broker)) == OWN.get(str(broker), {}), broker
        assert await self._configs.get("topics", "a") == OF_TOPIC
        assert await self._configs.get("topics", "b") == {}
        for kind in ("topics", "brokers"):
            assert await self._zk.children(znode_paths.throttle_memories(kind)) == []
        return True


@pytest.fixture
def configs(world: Cluster) -> ThrottleConfigs:
    return ThrottleConfigs(world.zk)


async def start(world: Cluster, targets: Mapping[tuple[str, int], tuple[int, ...] | None], throttle: int = -1) -> None:
    assert set((await world.alter(targets, throttle=throttle)).values()) == {(0, None)}


async def test_236_11_a_lease_throttles_the_replicas_of_its_move_and_no_others(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    await start(world, {("a", 0): (3, 4)}, throttle=1)
    assert await configs.lists("a") == ("5:5,0:1,0:2", "0:3,0:4"), "before it is answered"
    assert await configs.rates(1, 2, 3, 4, 5) == [("1", "1")] * 4 + [(None, None)]
    await start(world, {("a", 1): (4, 1), ("b", 0): (3, 4)})
    await eventually(lambda: world.has(("b", 0, (3, 4))))
    await eventually(lambda: moving_only(world, ("a", 0)))
    assert await configs.lists("a") == ("5:5,0:1,0:2", "0:3,0:4")

    await start(world, {("a", 0): (3, 4)}, throttle=0)

    await eventually(lambda: world.has(("a", 0, (3, 4)), ("a", 1, (4, 1))))
    await eventually(configs.as_before)
    expected = {
        *(("throttle.set", broker, 1) for broker in (1, 2, 3, 4)),
        ("throttle.restored", 1, 30),
        *(("throttle.restored", broker, None) for broker in (2, 3, 4)),
    }
    await eventually(lambda: throttles_told_are(world, expected))


async def throttles_told_are(world: Cluster, expected: set[tuple[str, int, int | None]]) -> bool:
    """Event, broker and bytes. What leases write is told once it is known to be written."""
    told = [one for one in await world.events() if one["event"].startswith("throttle.") and "broker" in one]
    assert {(one["event"], one["broker"], one.get("bytes")) for one in told} == expected
    return True


async def moving_only(world: Cluster, *names: tuple[str, int]) -> bool:
    return await world.moving() == set(names)


async def test_236_11_a_lease_ends_with_its_move_when_it_completes_under_it(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    started = asyncio.get_running_loop().time()
    await start(world, {("a", 1): (2, 4)}, throttle=BYTES // 3)
    await eventually(lambda: world.has(("a", 1, (2, 4))))
    assert asyncio.get_running_loop().time() - started > 2.0, "without a throttle it takes one second"
    await eventually(configs.as_before)


async def test_236_11_describe_shows_the_throttle_of_a_lease_at_once(world: Cluster) -> None:
    await start(world, {("b", 1): (2, 5)}, throttle=7)
    number = int((await world.zk.get(znode_paths.reassignment("b", 1)))[1].czxid)
    topic = DescribeReassignmentsRequest.DescribeReassignmentsTopic
    asked = topic(topic="b", reassignments=[topic.DescribeReassignmentsMove(partition_id=1, reassignment_id=number)])
    (found,) = (
        await world.ask(DescribeReassignmentsRequest(topic_reassignments=[asked], timeout_ms=1), 0)
    ).descriptions
    assert found.leader_throttle == 7
    assert {one.broker_id: one.follower_throttle for one in found.new_assigned}[5] == 7


@pytest.mark.parametrize("end", ["cancel", "delete", "its znodes vanish", "cancel the batch too"])
async def test_236_11_a_lease_ends_with_its_move_when_that_is_cancelled_or_its_topic_goes(
    world: Cluster, configs: ThrottleConfigs, end: str
) -> None:
    await start(world, {("b", 0): (3, 4), ("b", 1): (4, 5)}, throttle=1)
    await start(world, {("b", 1): (5, 1)})
    await eventually(lambda: lists_are(configs, "b", ("0:1,0:2,1:2,1:3", "0:3,0:4,1:5,1:1")))
    if end == "delete":
        await world.delete_topic("b")
    elif end == "its znodes vanish":
        await delete_tree(world.zk, znode_paths.topic("b"))
    elif end == "cancel":
        await start(world, {("b", 0): None, ("b", 1): None})
    else:
        await world.submit({("b", 0): (3, 4), ("b", 1): (5, 1)})
        await eventually(lambda: world.started(("b", 0), ("b", 1)))
        await world.cancel_all()
    await eventually(configs.as_before)


async def lists_are(configs: ThrottleConfigs, topic: str, wanted: tuple[str | None, str | None]) -> bool:
    found = await configs.lists(topic)
    assert [set((one or "").split(",")) for one in found] == [set((one or "").split(",")) for one in wanted]
    return True


async def test_236_11_a_lease_goes_on_and_ends_under_the_next_controller(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    await start(world, {("a", 0): (3, 4), ("b", 0): (3, 4)}, throttle=1)
    await world.stop_server()
    await world.start_server()
    assert await configs.lists("b") == ("0:1,0:2", "0:3,0:4")
    await start(world, {("a", 0): None})
    await eventually(lambda: lists_are(configs, "a", ("5:5", None)))
    assert await configs.rates(3) == [("1", "1")], "the other move needs it"
    await start(world, {("b", 0): None})
    await eventually(configs.as_before)


async def test_236_11_a_waiting_moves_replicas_are_listed_before_it_starts_and_its_rate_is_set_when_it_starts(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    """Brokers learn of configs later than of moves. If both came at once, a broker would copy without the throttle."""
    await world.configure("brokers", "<default>", {MAX_PER_CLUSTER: "1"})
    await start(world, {("a", 0): (3, 4)}, throttle=1)
    assert await world.alter({("b", 0): (4, 5)}, queue=True, throttle=1) == {("b", 0): (0, None)}
    await eventually(lambda: lists_are(configs, "b", ("0:1,0:2", "0:4,0:5")))
    assert await configs.rates(5) == [(None, None)], "it waits"
    await start(world, {("a", 0): None})
    await eventually(lambda: rates_are(configs, ("1", "1"), 1, 2, 4, 5))
    assert await configs.lists("b") == ("0:1,0:2", "0:4,0:5")
    await start(world, {("b", 0): None})
    await world.configure("brokers", "<default>", {})
    await eventually(configs.as_before)


async def test_236_11_nothing_of_a_lease_remains_when_its_move_leaves_the_queue_unstarted(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    await world.configure("brokers", "<default>", {MAX_PER_CLUSTER: "0"})
    await world.alter({("a", 0): (3, 4), ("b", 0): (4, 5)}, queue=True, throttle=1)
    await eventually(lambda: lists_are(configs, "a", ("5:5,0:1,0:2", "0:3,0:4")))
    await world.stop_server()
    await world.start_server()
    await eventually(lambda: lists_are(configs, "b", ("0:1,0:2", "0:4,0:5")))
    await world.alter({("a", 0): None, ("b", 0): None})
    await world.configure("brokers", "<default>", {})
    await eventually(configs.as_before)


async def test_236_11_two_operators_do_not_remove_each_others_throttles(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    """One operator has a lease. The other sets and clears all throttles as the stock tool does."""
    await start(world, {("a", 0): (3, 4)}, throttle=10)
    hand = ConfigStore(world.zk)
    await hand.alter("topics", "b", lambda _: {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3,0:4"})
    for broker in (1, 2, 3, 4):
        await hand.alter("brokers", str(broker), lambda old: {**old, LEADER_RATE: "10", FOLLOWER_RATE: "10"})
    await start(world, {("b", 0): (3, 4)})
    await start(world, {("a", 0): None})
    await eventually(lambda: lists_are(configs, "a", ("5:5", None)))
    assert await configs.rates(3, 4) == [("10", "10")] * 2, "the other's move goes on, under its throttle"

    await start(world, {("a", 0): (3, 4)}, throttle=7)
    assert await configs.rates(3, 4) == [("7", "7")] * 2
    await hand.alter("topics", "b", lambda _: {})
    for broker in (1, 2, 3, 4):
        await hand.alter("brokers", str(broker), without_rates)

    await eventually(lambda: rates_are(configs, ("7", "7"), 1, 2, 3, 4))
    await hand.alter("brokers", "3", lambda old: {**old, LEADER_RATE: "5000", FOLLOWER_RATE: "5000"})
    await hand.alter("brokers", "4", lambda old: {**old, FOLLOWER_RATE: "900"})
    in_place = "by somebody else, instead of the 7 B/s of leases"
    told = {(3, 5000, in_place), (4, 900, f"to receive: {in_place}")}
    await eventually(lambda: foreign_rates_are_reported(world, told))
    assert await configs.rates(3, 4) == [("5000", "5000"), ("7", "900")], "an operator's rate stays"
    await start(world, {("a", 0): None, ("b", 0): None})
    await eventually(lambda: rates_are(configs, (None, None), 1, 2))
    assert await configs.rates(3, 4) == [("5000", "5000"), (None, "900")]


def without_rates(old: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in old.items() if name not in (LEADER_RATE, FOLLOWER_RATE)}


async def rates_are(configs: ThrottleConfigs, wanted: tuple[str | None, str | None], *brokers: int) -> bool:
    assert await configs.rates(*brokers) == [wanted] * len(brokers)
    return True


async def foreign_rates_are_reported(world: Cluster, told: set[tuple[int, int, str]]) -> bool:
    """Besides those that the controller has put back."""
    rates = [one for one in await world.events() if one["event"] == "throttle.set" and one.get("reason")]
    changes = [one for one in rates if one.get("who") is None]
    assert {one["broker"] for one in rates if one.get("who") == CONTROLLER.who} == {1, 2, 3, 4}
    return {(one["broker"], one["bytes"], one["reason"]) for one in changes} == told


async def test_236_11_clients_configs_and_leases_do_not_overwrite_each_other(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    """Every acknowledged change by a client lasts, whatever leases begin and end in between."""
    cls = IncrementalAlterConfigsRequest

    async def change(count: int) -> None:
        config = cls.AlterConfigsResource.AlterableConfig(
            name="max.message.bytes", config_operation=0, value=str(1000 + count)
        )
        resource = cls.AlterConfigsResource(resource_type=2, resource_name="a", configs=[config])
        (result,) = (await other.call(cls, cls(resources=[resource], validate_only=False), 1)).responses
        assert result.error_code == 0
        assert (await ConfigStore(world.zk).get("topics", "a"))["max.message.bytes"] == str(1000 + count)

    other = await world.client()
    for count in range(20):
        target = (3, 4) if count % 2 == 0 else None
        await asyncio.gather(change(count), start(world, {("a", 0): target}, throttle=1 if target else -1))
    await eventually(lambda: lists_are(configs, "a", ("5:5", None)))
    other.close()
    await world.configure("topics", "a", OF_TOPIC)
    await eventually(configs.as_before)


async def test_236_11_a_cancel_of_the_batch_removes_the_stock_tools_throttle_of_the_cancelled_moves(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    """Only the cancelled replicas leave the lists. Rates go only on brokers without another throttled replica."""
    hand = ConfigStore(world.zk)
    await hand.alter("topics", "a", lambda _: {LEADER_REPLICAS: "0:1,0:2,1:2", FOLLOWER_REPLICAS: "0:3,0:4,1:4"})
    await hand.alter("topics", "b", lambda _: {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:5"})
    for broker in range(1, 6):
        await hand.alter("brokers", str(broker), lambda old: {**old, LEADER_RATE: "1", FOLLOWER_RATE: "1"})
    await world.submit({("a", 0): (3, 4)})
    await eventually(lambda: world.started(("a", 0)))

    await world.cancel_all()

    assert await configs.lists("a") == ("1:2", "1:4")
    assert await configs.lists("b") == ("0:1", "0:5")
    assert await configs.rates(1, 2, 3, 4, 5) == [("1", "1"), ("1", "1"), (None, None), ("1", "1"), ("1", "1")]
    assert (await hand.get("brokers", "2"))["log.cleaner.threads"] == "2"


async def test_236_11_a_hand_made_throttle_goes_when_the_queue_replaces_its_move(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    hand = ConfigStore(world.zk)
    await hand.alter("topics", "b", lambda _: {LEADER_REPLICAS: "0:1,0:2,1:2", FOLLOWER_REPLICAS: "0:3,0:4,1:4"})
    for broker in range(1, 6):
        await hand.alter("brokers", str(broker), lambda old: {**old, LEADER_RATE: "1", FOLLOWER_RATE: "1"})
    await start(world, {("b", 0): (3, 4)})

    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("b", 0): (4, 5)}))
    await eventually(lambda: world.moves_to(("b", 0), (4, 5)))

    assert await configs.lists("b") == ("0:1,0:2,1:2", "0:4,1:4"), "the new move has replicas 1, 2 and 4, too"
    assert await configs.rates(2, 3, 4) == [("1", "1"), (None, None), ("1", "1")]
    assert await world.alter({("b", 0): (3, 1)}, queue=True, throttle=9) == {("b", 0): (0, None)}
    await eventually(lambda: world.moves_to(("b", 0), (3, 1)))
    await start(world, {("b", 0): None})
    await eventually(lambda: lists_are(configs, "b", ("1:2", "1:4")))
    await eventually(lambda: rates_are(configs, ("1", "1"), 2, 4))


async def test_236_11_a_client_that_cancels_moves_without_a_lease_removes_their_throttles_itself(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    """Remove throttles as the stock tool does without --preserve-throttles."""
    hand = ConfigStore(world.zk)
    await hand.alter("topics", "b", lambda _: {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3,0:4"})
    await hand.alter("brokers", "3", lambda _: {FOLLOWER_RATE: "1"})
    await hand.alter("brokers", "4", lambda _: {FOLLOWER_RATE: "1"})
    await start(world, {("b", 0): (3, 4)})
    await start(world, {("b", 0): None})
    assert await configs.lists("b") == ("0:1,0:2", "0:3,0:4")
    assert await configs.rates(3) == [(None, "1")]


async def test_236_11_an_invalid_throttle_is_refused(world: Cluster, configs: ThrottleConfigs) -> None:
    cls = AlterPartitionReassignmentsRequest
    part = cls.ReassignableTopic.ReassignablePartition(partition_index=0, replicas=[3, 4])
    topics = [cls.ReassignableTopic(name=name, partitions=[part]) for name in ("a", "b")]
    answer = await world.ask(cls(timeout_ms=10_000, topics=topics, throttle=-2), 0)
    assert {one.error_code for topic in answer.responses for one in topic.partitions} == {InvalidRequest.code}
    assert "give a rate, or 0 for none" in answer.error_message
    answer = await world.ask(cls(timeout_ms=10_000, topics=topics, lift_stricter=True), 0)
    assert answer.error_message == "LiftStricter is for a throttle above 0"
    assert await world.moving() == set()


async def test_236_11_a_garbage_config_delays_no_move_and_no_other_throttle(
    world: Cluster, configs: ThrottleConfigs
) -> None:
    await world.zk.set(znode_paths.config_topic("b"), b"{")
    await world.zk.ensure_path(znode_paths.throttle_memory("brokers", "4"))
    await world.zk.set(znode_paths.throttle_memory("brokers", "4"), b"garbage")
    await start(world, {("a", 0): (3, 4), ("b", 0): (3, 4)}, throttle=1)
    await eventually(lambda: moving_only(world, ("a", 0), ("b", 0)))
    assert await configs.rates(3, 4) == [("1", "1")] * 2
    await start(world, {("a", 0): None, ("b", 0): None})
    await eventually(lambda: rates_are(configs, (None, None), 3, 4))
    assert (await world.zk.get(znode_paths.config_topic("b")))[0] == b"{"
