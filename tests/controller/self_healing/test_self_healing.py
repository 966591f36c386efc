"""Repairs of failed brokers (KIP-46) with a clock that the test sets: what is queued, when, and when withdrawn."""

from collections import Counter

import pytest

from kafka_reassign_rpc.controller.commands import cluster_commands
from kafka_reassign_rpc.controller.duties.progress_sampling import Disk, Sample, disk_of
from kafka_reassign_rpc.controller.duties.self_healing import DIAGNOSE_EVERY_S
from kafka_reassign_rpc.core.healing.failed_brokers import PREPARE_MS, RETRY_MS
from kafka_reassign_rpc.core.healing.repair_targets import NO_COST
from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, PolicyViolation
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.settings.healing_settings import GRACE_MS, HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.planner.planner_cluster import Volume
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, register
from tests.controller.self_healing.healing_controller import (
    MINUTE,
    WHERE,
    HealingController,
    failed,
    failed_since,
    put,
    queued,
    targets,
)

ME = Requester("me")
TOO_FEW = "replication factor 3 is larger than the 2 brokers that can hold a replica"


async def test_46_3_and_46_4_a_repair_is_queued_moves_like_any_other_and_its_end_is_reported(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        assert [event for event, _ in healing.new_events()] == ["heal.noticed"]
        assert await healing.diagnose(after_ms=MINUTE // 2) == DIAGNOSE_EVERY_S
        assert [event for event, _ in healing.new_events()] == ["heal.alert"]
        assert (await healing.diagnose(after_ms=MINUTE // 2 - 1), queued(controller)) == (0.001, {}), (
            "not a moment too early"
        )
        await healing.diagnose(after_ms=1)
        assert healing.new_events() == [("heal.scheduled", "3 moves joined the queue")]
        assert queued(controller).keys() == {("a", 0), ("b", 0), ("b", 1)}
        assert (await healing.healer.status()).repairs == [BrokerRepair(3, waiting=3, moving=0)]
        assert await failed(zk) == []
        await controller.start_queued_moves()
        moves = [controller.partition(*name).move for name in WHERE if controller.partition(*name).is_moving]
        assert [(move.terms.route, move.terms.reason) for move in moves if move] == [(HEAL, "heal broker 3")] * 3
        await healing.diagnose()
        status = await healing.healer.status()
        assert (status.failed, status.repairs) == ([], [BrokerRepair(3, waiting=0, moving=3, cost=NO_COST)])
        assert healing.new_events() == []
        await controller.finish_moves()
        healing.healer.nothing_moves()
        assert await healing.diagnose() is None, "nothing is left to look at"
        assert healing.new_events() == [("heal.done", "heal broker 3: its last move has ended")]
        await healing.diagnose()
        assert (healing.new_events(), (await healing.healer.status()).repairs) == ([], [])


async def test_46_3_impossible_repairs_are_reported_once_and_tried_again_when_brokers_register(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Two live brokers cannot hold three replicas, and a partition with replicas on the failed broker only is lost."""
    where = {("a", 0): (1, 2, 3), ("a", 1): (2, 3), ("b", 0): (3,)}
    await put(zk, where, brokers=(1, 2))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.heal_when_due()
        new_events = healing.new_events()
        assert queued(controller) == {}
        assert targets(controller)["a", 1] == (2, 1), "what can be healed is"
        assert [event for event, _ in new_events] == [
            "heal.noticed", "heal.alert", "heal.scheduled", "heal.impossible", "heal.impossible",
        ]  # fmt: skip
        assert {reason for event, reason in new_events if event == "heal.impossible"} == {
            f"1 partition stays as it is (a-0): {TOO_FEW}",
            "1 partition stays as it is (b-0): no live replica is in sync: there is nothing to copy from",
        }
        assert await failed(zk) == ["3"], "it is not over"
        await controller.finish_moves()
        for _ in range(5):
            assert await healing.diagnose(after_ms=1000) == DIAGNOSE_EVERY_S
        assert (healing.new_events(), healing.samples) == ([("heal.done", "heal broker 3: its last move has ended")], 1)
        await healing.diagnose(after_ms=RETRY_MS)
        assert (healing.new_events(), healing.samples) == ([], 2)
        await register(zk, 7)
        await healing.read_brokers()
        await healing.diagnose()
        assert queued(controller) == {}, "where one comes, others may be coming"
        await healing.diagnose(after_ms=GRACE_MS)
        assert healing.samples == 3
        assert queued(controller) == {("a", 0): (1, 2, 7)}


async def test_46_a_broker_that_flaps_all_day_is_never_healed_and_always_reported(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """The broker is gone for 59 of every 60 seconds of the interval. It is healed when it stays away at last."""
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        for _ in range(24):
            await healing.diagnose()
            first = await failed_since(zk)
            assert first == {3: healing.now}
            await healing.diagnose(after_ms=MINUTE // 2)
            await healing.diagnose(after_ms=MINUTE // 2 - 1)
            assert await failed_since(zk) == first
            await register(zk, 3)
            await healing.read_brokers()
            await healing.diagnose()
            assert await failed_since(zk) == {}
            assert [event for event, _ in healing.new_events()] == ["heal.noticed", "heal.alert", "heal.over"]
            await zk.delete(znode_paths.broker(3))
            await healing.read_brokers()
            healing.now += 1
        assert queued(controller) == {}
        await healing.heal_when_due()
        assert [event for event, _ in healing.new_events()] == ["heal.noticed", "heal.alert", "heal.scheduled"]


async def test_46_racks_on_some_brokers_only_are_reported_and_used_as_far_as_possible(
    zk: ZooKeeper, zk_connect: str
) -> None:
    racks = {1: "r1", 2: None, 4: None, 5: "r1", 6: "r3"}
    await put(zk, {("a", 0): (3, 1), ("a", 1): (3, 2), ("a", 2): (3, 1, 2)}, racks=racks)
    problem = "brokers 2, 4 have no rack, others do: those without are taken for one rack of their own"
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        assert ("heal.misconfigured", problem) in healing.new_events()
        await healing.diagnose(after_ms=MINUTE)
        assert "heal.misconfigured" not in dict(healing.new_events()), "once"
        assert (await healing.healer.status()).problems == [problem]
        found = queued(controller)
        assert found["a", 0][0] in (2, 4, 6)
        assert found["a", 1][0] in (1, 5, 6)
        assert found["a", 2] == (6, 1, 2)


async def test_46_3_a_repair_whose_new_broker_fails_too_gets_another_target(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, {("a", 0): (1, 3), ("a", 1): (1, 2)}, brokers=(1, 2, 4))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.heal_when_due()
        (_, new) = targets(controller)["a", 0]
        await zk.delete(znode_paths.broker(new))
        await healing.read_brokers()
        await healing.heal_when_due()
        assert targets(controller)["a", 0] == (1, {2: 4, 4: 2}[new])
        move = controller.partition("a").move
        assert move is not None
        assert (move.terms.route, move.terms.reason, move.original) == (HEAL, f"heal broker {new}", (1, 3))


async def test_46_3_a_repair_is_planned_early_and_compared_with_the_cluster_when_it_is_due(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        assert await healing.diagnose(after_ms=MINUTE - PREPARE_MS - 1) == 0.001
        assert healing.samples == 0
        await healing.diagnose(after_ms=1)
        await healing.diagnose(after_ms=PREPARE_MS // 2)
        assert (healing.samples, queued(controller)) == (1, {}), "planned once, and only planned"
        assert await controller.alter({("a", 0): (4, 1)}) == {("a", 0): None}
        await healing.diagnose(after_ms=PREPARE_MS // 2)
        assert (healing.samples, set(queued(controller))) == (1, {("b", 0), ("b", 1)}), "the plan is what is queued"
        assert targets(controller)["a", 0] == (4, 1), "what an operator has done since stays"
        assert await failed(zk) == ["3"], "it holds a replica until that move has ended"
        await controller.caught_up(("a", 0))
        await healing.diagnose()
        assert await failed(zk) == []


async def test_dh_2_a_repair_puts_nothing_on_a_broker_that_is_cordoned_also_after_it_was_planned(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Replicas of broker 3 have room on 2, 4 and 5 at first, and on 5 alone when the repair is due."""
    await put(zk, {("a", 0): (3, 1), ("a", 1): (1, 3), ("a", 2): (3, 1)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.cordon("2")
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE - PREPARE_MS)
        assert (healing.samples, queued(controller)) == (1, {}), "planned"
        await healing.cordon("2,4")
        await healing.diagnose(after_ms=PREPARE_MS)
        assert {frozenset(target) for target in queued(controller).values()} == {frozenset({1, 5})}
        assert len(queued(controller)) == 3


async def test_dh_2_where_all_brokers_are_cordoned_no_repair_starts_and_the_reason_says_so(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.cordon("1,2,4,5")
        with pytest.raises(PolicyViolation, match="are cordoned: `kafka-reassign cordon` opens them"):
            await healing.healer.heal(3, ME, dry_run=False)
        assert queued(controller) == {}
        await healing.cordon("1,2,4")
        await healing.healer.heal(3, ME, dry_run=False)
        assert {broker for target in queued(controller).values() for broker in target} <= {1, 2, 4, 5}
        assert all(5 in target for target in queued(controller).values())


@pytest.mark.parametrize(
    ("seen", "rate", "link"),
    [
        (0, 31_250_000, "no broker's link was seen, 125000000 B/s are assumed"),
        (8_000_000, 2_000_000, "a broker was seen to receive 8000000 B/s"),
    ],
)
async def test_46_5_the_throttle_of_a_repair_may_be_a_share_of_the_observed_throughput(
    zk: ZooKeeper, zk_connect: str, seen: int, rate: int, link: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(
            controller, HealingSettings(interval_ms=MINUTE, throttle=HealingThrottle(percent=25))
        )
        healing.throughput.fastest = seen
        await healing.heal_when_due()
        assert healing.new_events()[-1] == (
            "heal.scheduled", f"3 moves joined the queue, at {rate} B/s for each broker, 25%: {link}",
        )  # fmt: skip
        moves = [controller.partition(*name).move for name in WHERE if controller.partition(*name).is_moving]
        assert [move.terms.throttle for move in moves if move] == [rate] * 3


@pytest.mark.parametrize("how", ["a broker comes", "it is too old"])
async def test_46_3_a_repair_is_planned_again_when_the_cluster_has_changed(
    zk: ZooKeeper, zk_connect: str, how: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE - PREPARE_MS)
        assert healing.samples == 1
        if how == "a broker comes":
            await register(zk, 7)
            await healing.read_brokers()
        await healing.diagnose(after_ms=PREPARE_MS if how == "a broker comes" else 3 * PREPARE_MS)
        assert healing.samples == 2
        assert queued(controller).keys() == {("a", 0), ("b", 0), ("b", 1)}


async def test_46_3_a_partition_with_one_replica_left_since_planning_is_repaired_first(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 2, 3), ("b", 0): (1, 2, 3)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE - PREPARE_MS)
        assert healing.samples == 1
        await controller.isr(("b", 0), (1,))
        await healing.diagnose(after_ms=PREPARE_MS)
        assert healing.samples == 1
        assert [name for _, name in sorted(controller.cluster.queue.names.items())] == [("b", 0), ("a", 0)]


async def test_46_7_a_broker_that_comes_back_while_its_repair_is_planned_is_not_healed(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {**WHERE, ("c", 0): (6, 1)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()

        async def come_back() -> None:
            await register(zk, 3)
            await healing.read_brokers()

        healing.meanwhile = come_back
        with pytest.raises(Exception, match="broker 3 is live"):
            await healing.diagnose(after_ms=MINUTE)
        assert queued(controller) == {}
        healing.meanwhile = None
        await healing.diagnose()
        assert queued(controller).keys() == {("c", 0)}, "the other one is healed at the next look"
        assert await failed(zk) == []


async def test_46_7_when_one_of_two_brokers_returns_only_the_repair_of_the_other_goes_on(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (3, 4, 1), ("a", 1): (3, 1), ("a", 2): (4, 1)}, brokers=(1, 2, 5, 6, 7))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE)
        planned = queued(controller)
        assert len(planned) == 3
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert queued(controller) == {("a", 0): (3, *planned["a", 0][1:]), ("a", 2): planned["a", 2]}


async def test_46_a_broker_whose_replicas_are_all_being_deleted_has_not_failed(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        for topic in controller.cluster.topics.values():
            topic.deleting = True
        assert await HealingController(controller).diagnose() is None
        assert await failed(zk) == []


async def test_46_a_queued_move_to_a_broker_that_is_down_is_neither_a_failure_nor_a_repair(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("a", 1): (1, 9), ("a", 0): (1, 9)}, queue=True) == {
            ("a", 0): None,
            ("a", 1): None,
        }
        healing = HealingController(controller)
        await healing.heal_when_due()
        assert targets(controller)["a", 0] in {(2, 1), (4, 1), (5, 1)}
        assert queued(controller) == {("a", 1): (1, 9)}


async def test_46_a_senseless_order_to_heal_is_refused_and_a_dry_run_changes_nothing(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, HealingSettings(paused=True))
        with pytest.raises(InvalidRequest, match="registered"):
            await healing.healer.heal(1, ME, dry_run=False)
        with pytest.raises(InvalidRequest, match="holds no replica"):
            await healing.healer.heal(77, ME, dry_run=False)
        with pytest.raises(PolicyViolation, match="paused"):
            await healing.healer.heal(3, ME, dry_run=False)
        healing.new_events()
        shown = await healing.healer.heal(3, ME, dry_run=True)
        assert {one.partition for one in shown.moves} == {("a", 0), ("b", 0), ("b", 1)}
        assert (queued(controller), healing.new_events()) == ({}, [])


async def test_46_3_partitions_below_min_isr_are_repaired_first_then_those_with_one_replica_left(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 2, 3), ("b", 0): (3, 1), ("c", 0): (2, 3)})
    await zk.ensure_path(f"{znode_paths.CONFIG}/topics")
    await zk.create(f"{znode_paths.CONFIG}/topics/c", b'{"version":1,"config":{"min.insync.replicas":"2"}}')
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE)
        assert [name for _, name in sorted(controller.cluster.queue.names.items())] == [("c", 0), ("b", 0), ("a", 0)]


async def where_repairs_go(zk: ZooKeeper, zk_connect: str, sample: Sample) -> tuple[Counter[int], Counter[int]]:
    """By broker: how many of broker 3's 120 replicas it gets, and how many lead. The others are on broker 1."""
    await put(zk, {("a", index): ((3, 1), (1, 3))[index % 2] for index in range(120)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        healing.sample = sample
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE)
        found = queued(controller).values()
    return Counter(replica for target in found for replica in target if replica != 1), Counter(to for to, _ in found)


async def test_46_3_replicas_and_leadership_are_spread_evenly_where_no_size_is_known(
    zk: ZooKeeper, zk_connect: str
) -> None:
    replicas, leaders = await where_repairs_go(zk, zk_connect, Sample({}, {}))
    assert replicas.total() == 120
    assert leaders.total() - leaders[1] == 60
    for broker in (2, 4, 5):
        assert 34 <= replicas[broker] <= 46, replicas
        assert 16 <= leaders[broker] <= 24, leaders


async def test_46_3_the_broker_with_most_free_bytes_gets_most_whatever_the_size_of_its_disks(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """All disks have one size. Other data on them cannot be moved."""
    free = {1: 50_000, 2: 90_000, 4: 20_000, 5: 3_000}
    sizes = {TopicPartition("a", index): 100 for index in range(120)}
    sample = Sample(sizes, {broker: Disk(100_000, room) for broker, room in free.items()}, {})
    replicas, _ = await where_repairs_go(zk, zk_connect, sample)
    assert replicas.total() == 120
    assert replicas[2] > 1.5 * replicas[4] > replicas[5] == 0, "nothing where hardly anything is free"


async def test_46_3_a_repair_leaves_room_for_what_moves_have_yet_to_copy(zk: ZooKeeper, zk_connect: str) -> None:
    """Broker 2 has 1000 bytes free, 900 of which b-0 will take; 4 is full. Nothing is left for the 900 bytes of a-0."""
    await put(zk, {("a", 0): (3, 1), ("b", 0): (1, 4)}, brokers=(1, 2, 4))
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("b", 0): (1, 2)}) == {("b", 0): None}
        healing = HealingController(controller)
        disks = {1: Disk(2000, 0), 2: Disk(2000, 1000), 4: Disk(2000, 0)}
        healing.sample = Sample({TopicPartition(topic, 0): 900 for topic in "ab"}, disks)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller) == {}
        assert healing.healer.last_diagnosed.failed == 1


DISKS = [
    ([], Disk()),
    ([SampledLogDir("/a", 0, 1000, 0, {})], Disk(1000, 0, (Volume(1000, 0),))),
    (
        [SampledLogDir("/a", 0, 1000, 9, {}), SampledLogDir("/b", 56, None, None, {})],
        Disk(1000, 9, (Volume(1000, 9),), (("/b", 56),)),
    ),
    ([SampledLogDir("/a", 56, None, None, {})], Disk(0, 0, failed=(("/a", 56),))),
    ([SampledLogDir("/a", 0, 1000, 9, {}), SampledLogDir("/b", 0, None, None, {})], Disk()),
    ([SampledLogDir(path, 0, 1000, 9, {}) for path in ("/a", "/b")], Disk(1000, 9, (Volume(1000, 9),))),
]


@pytest.mark.parametrize(("dirs", "disk"), DISKS)
def test_46_3_the_room_of_a_broker_is_that_of_its_volumes_that_are_online(
    dirs: list[SampledLogDir], disk: Disk
) -> None:
    assert disk_of(dirs) == disk


async def test_46_an_invalid_config_is_reported_once_and_the_former_value_stays_in_force(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        nonsense = {"<default>": {"failure.interval.ms": "soon", "self.healing.throttle": "7"}}
        await controller.loop.submit(cluster_commands.ConfigsRead("brokers", nonsense))
        await healing.heal_when_due()
        assert [found for found in healing.new_events() if found[0] == "heal.misconfigured"] == [
            (
                "heal.misconfigured",
                "failure.interval.ms='soon' is ignored, so a weaker or the default value holds: "
                f"a whole number from -1 to {10**14} is expected",
            )
        ]
        moves = [controller.partition(*name).move for name in WHERE if controller.partition(*name).is_moving]
        assert [move.terms.throttle for move in moves if move] == [7, 7, 7]
