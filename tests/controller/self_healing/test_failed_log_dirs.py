"""Repairs of what a live broker has lost with a log dir, with a clock that the test sets."""

import pytest

from kafka_reassign_rpc.controller.commands.leadership_commands import LogDirsAnswered
from kafka_reassign_rpc.controller.duties.progress_sampling import Sample
from kafka_reassign_rpc.controller_channel.replica_answers import LogDirAnswer
from kafka_reassign_rpc.core.healing.repair_targets import NO_COST
from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair, LogDirFailure
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController
from kafka_reassign_rpc.core.settings.healing_settings import GRACE_MS
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import decode_failed_log_dirs
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, Name, Replicas, batch, elected_controller, register
from tests.controller.self_healing.healing_controller import MINUTE, HealingController, failed, put, queued, targets

WHERE: dict[Name, Replicas] = {("a", 0): (3, 1), ("a", 1): (1, 2), ("b", 0): (2, 3), ("b", 1): (4, 3)}
ALL = (1, 2, 3, 4, 5)
ON_DISK: list[Name] = [("a", 0), ("b", 0)]
"""Of the replicas of broker 3, those on the log dir that fails."""
DISK = "/data/2"


async def answers(healing: HealingController, *offline: Name, online: list[Name] | None = None) -> None:
    """Broker 3 answers for all of its replicas."""
    cluster = healing.controller.cluster
    told = [(name, True) for name in offline] + [(name, False) for name in online or ()]
    found = [LogDirAnswer(TopicPartition(*name), cluster.topics[name[0]].id, is_offline=off) for name, off in told]
    await healing.controller.loop.submit(LogDirsAnswered(cluster.brokers[3], found, is_complete=True))


async def with_failed_disk(controller: BareController, *offline: Name) -> HealingController:
    """Broker 3 has lost DISK with these replicas, and the healer has noticed."""
    healing = HealingController(controller)
    healing.failed_dirs[3] = (DISK,)
    await answers(healing, *offline)
    await healing.diagnose()
    return healing


async def recorded(zk: ZooKeeper) -> dict[int, FailedLogDirs]:
    paths = [f"{znode_paths.FAILED_LOG_DIRS}/{name}" for name in await zk.children(znode_paths.FAILED_LOG_DIRS)]
    return {int(path.split("/")[-1]): decode_failed_log_dirs((await zk.get(path))[0], path) for path in paths}


async def test_dh_3_what_a_failed_log_dir_held_is_repaired_elsewhere_after_the_interval(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        healing.failed_dirs[3] = (DISK,)
        await healing.diagnose()
        assert (healing.new_events(), await recorded(zk)) == ([], {})
        await answers(healing, *ON_DISK)
        await healing.diagnose()
        assert healing.new_events() == [("heal.noticed", f"log dir {DISK} failed, with 2 replicas")]
        assert await recorded(zk) == {3: FailedLogDirs(0, (DISK,))}
        status = await healing.healer.status()
        assert (status.failed, status.log_dirs) == ([], [LogDirFailure(3, (DISK,), 0, MINUTE, 2)])
        await healing.diagnose(after_ms=MINUTE - 1)
        assert queued(controller) == {}, "not a moment too early"
        await healing.diagnose(after_ms=1)
        planned = queued(controller)
        assert planned.keys() == set(ON_DISK), "its other log dirs work"
        assert all(3 not in target and set(WHERE[name]) - {3} < set(target) for name, target in planned.items())
        assert await recorded(zk) == {3: FailedLogDirs(0, (DISK,))}, "it is shown until it holds nothing"
        await controller.start_queued_moves()
        move = controller.partition("a", 0).move
        assert move is not None
        assert (move.terms.route, move.terms.reason) == (HEAL, "heal log dirs of broker 3")
        assert (await healing.healer.status()).repairs == [BrokerRepair(3, waiting=0, moving=2, cost=NO_COST)]
        await answers(healing, ON_DISK[0], online=ON_DISK[1:])
        assert not (await healing.healer.status()).repairs[0].is_back, "not all of its replicas are back"
        await answers(healing, online=ON_DISK)
        assert (await healing.healer.status()).repairs == [
            BrokerRepair(3, waiting=0, moving=2, is_back=True, cost=NO_COST)
        ]
        await controller.finish_moves()
        await healing.diagnose()
        over = "failed log dirs: they are good again, or no longer hold anything"
        done = "heal log dirs of broker 3: its last move has ended"
        assert {("heal.over", over), ("heal.done", done)} <= set(healing.new_events())
        assert await recorded(zk) == {}
        assert all(len(target) == 2 for target in targets(controller).values())
        await controller.check()


async def test_dh_8_what_the_repair_of_a_failed_log_dir_copies_is_shown_before_it_is_queued(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = await with_failed_disk(controller, *ON_DISK)
        healing.sample = Sample({TopicPartition(*name): 6_000_000 for name in WHERE}, {})
        await healing.healer.ask_for_sizes()
        [failure] = (await healing.healer.status()).log_dirs
        assert failure.cost is not None
        assert failure.cost.bytes == 12_000_000, "two replicas of 6 MB each; its other log dirs cost nothing"


async def test_dh_3_the_next_controller_keeps_the_clock_and_forgets_nothing_before_the_broker_has_answered(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = await with_failed_disk(controller, *ON_DISK)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, now=MINUTE)
        await healing.diagnose()
        status = await healing.healer.status()
        assert status.log_dirs == [LogDirFailure(3, (DISK,), 0, None, None)], "what is offline is not known yet"
        healing.failed_dirs[3] = (DISK,)
        await answers(healing, *ON_DISK)
        await healing.diagnose()
        assert queued(controller) == {}, "this controller has not watched long enough"
        await healing.diagnose(after_ms=GRACE_MS)
        assert queued(controller).keys() == set(ON_DISK)


async def test_dh_3_a_disk_that_comes_back_in_time_ends_the_failure_and_another_one_begins_its_own_clock(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = await with_failed_disk(controller, *ON_DISK)
        healing.failed_dirs[3] = ("/data/1",)
        await answers(healing, ("b", 1), online=ON_DISK)
        await healing.diagnose(after_ms=MINUTE // 2)
        assert await recorded(zk) == {3: FailedLogDirs(MINUTE // 2, ("/data/1",))}
        healing.failed_dirs[3] = ()
        await answers(healing, online=[("b", 1)])
        await healing.diagnose(after_ms=MINUTE // 2)
        assert (await recorded(zk), queued(controller)) == ({}, {})


async def test_dh_3_a_log_dir_that_fails_after_the_repair_of_another_is_queued_has_its_own_clock(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = await with_failed_disk(controller, *ON_DISK)
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller).keys() == set(ON_DISK)
        healing.failed_dirs[3] = (DISK, "/data/3")
        await answers(healing, *ON_DISK, ("b", 1))
        await healing.diagnose(after_ms=MINUTE)
        assert await recorded(zk) == {3: FailedLogDirs(2 * MINUTE, (DISK, "/data/3"))}
        await healing.diagnose(after_ms=MINUTE - 1)
        assert queued(controller).keys() == set(ON_DISK), "not at once"
        await healing.diagnose(after_ms=1)
        assert queued(controller).keys() == {*ON_DISK, ("b", 1)}
        await controller.start_queued_moves()
        await controller.finish_moves()
        await healing.diagnose()
        assert await recorded(zk) == {}


async def test_dh_3_a_broker_that_says_that_all_its_log_dirs_work_has_lost_none(zk: ZooKeeper, zk_connect: str) -> None:
    """The replica is offline since its log is of an earlier topic."""
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        healing.failed_dirs[3] = ()
        await answers(healing, ("a", 0))
        await healing.diagnose()
        await healing.diagnose(after_ms=2 * MINUTE)
        assert (await recorded(zk), queued(controller), healing.new_events()) == ({}, {}, [])
        with pytest.raises(InvalidRequest, match="nothing to heal"):
            await healing.healer.heal(3, Requester("me"), dry_run=True)


async def test_dh_3_a_broker_that_dies_with_a_failed_log_dir_is_repaired_once(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        healing.sample = Sample({TopicPartition(*name): 6_000_000 for name in WHERE}, {})
        await answers(healing, *ON_DISK)
        await healing.diagnose()
        assert await recorded(zk) == {3: FailedLogDirs(0)}, "it does not name the log dir"
        await zk.delete(znode_paths.broker(3))
        await healing.read_brokers()
        await healing.diagnose(after_ms=MINUTE // 2)
        assert (await failed(zk), queued(controller)) == (["3"], {})
        await healing.healer.ask_for_sizes()
        status = await healing.healer.status()
        told = [(one.broker, one.replicas, one.cost and one.cost.bytes) for one in status.failed]
        assert (told, status.log_dirs) == ([(3, 3, 18_000_000)], []), "once, with the bytes of the whole broker"
        assert healing.healer.last_diagnosed.log_dirs == 0
        await healing.diagnose(after_ms=MINUTE // 2)
        assert queued(controller) == {}, "the clock of the whole broker runs from its own loss"
        await healing.diagnose(after_ms=MINUTE // 2)
        assert queued(controller).keys() == {("a", 0), ("b", 0), ("b", 1)}
        await controller.start_queued_moves()
        await controller.finish_moves()
        await healing.diagnose(after_ms=MINUTE)
        assert (await failed(zk), await recorded(zk), queued(controller)) == ([], {}, {})


async def test_dh_3_an_operator_may_heal_now_and_nothing_goes_to_a_broker_with_a_failed_disk(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (3, 1), ("a", 1): (1, 2)}, (1, 2, 3))
    async with elected_controller(zk_connect) as controller:
        healing = await with_failed_disk(controller, ("a", 0))
        shown = await healing.healer.heal(3, Requester("me"), dry_run=True)
        assert [(move.replicas, move.target) for move in shown.moves] == [((3, 1), (2, 1))]
        await healing.healer.heal(3, Requester("me"), dry_run=False)
        assert queued(controller) == {("a", 0): (2, 1)}


async def test_dh_3_a_move_that_waits_is_no_part_of_a_repair_where_its_replica_is_on_another_log_dir(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (3, 1), ("a", 1): (3, 1), ("a", 2): (3, 1)}, (1, 2, 3))
    async with elected_controller(zk_connect) as controller:
        controller.start_with(caps=InFlightCaps(per_cluster=0))
        await zk.create(znode_paths.REASSIGN_QUEUE, batch({("a", 0): (2, 1), ("a", 1): (2, 1)}))
        await controller.read_admin_znodes()
        healing = await with_failed_disk(controller, ("a", 0), ("a", 2))
        shown = await healing.healer.heal(3, Requester("me"), dry_run=True)
        assert {move.partition for move in shown.moves} == {("a", 0), ("a", 2)}
        await healing.heal_when_due()
        routes = {name: place.move.terms.route for name, place in controller.cluster.queue.topics["a"].items()}
        assert routes == {0: HEAL, 1: QUEUE, 2: HEAL}


async def test_dh_3_a_controller_killed_between_any_two_writes_leaves_the_repair_to_the_next(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    lives, over = 0, False
    while not over:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as zk:
            await put(zk, WHERE, ALL)
            async with elected_controller(connect) as controller:
                controller.zk.lives = lives
                healing = HealingController(controller)
                healing.failed_dirs[3] = (DISK,)
                try:
                    await answers(healing, *ON_DISK)
                    await healing.heal_when_due()
                    over = True
                except NotController:
                    pass
            async with elected_controller(connect) as controller:
                healing = HealingController(controller, now=healing.now)
                healing.failed_dirs[3] = (DISK,)
                await answers(healing, *(name for name in ON_DISK if 3 in controller.partition(*name).replicas))
                for _ in range(3):
                    await healing.diagnose(after_ms=MINUTE)
                    await controller.start_queued_moves()
                    await controller.finish_moves()
                await controller.check()
                assert await recorded(zk) == {}
                for name, before in WHERE.items():
                    assert set(before) - ({3} if name in ON_DISK else set()) <= set(targets(controller)[name])
                    assert len(targets(controller)[name]) == len(before)
                    assert (3 in targets(controller)[name]) is (3 in before and name not in ON_DISK)
        lives += 1
    assert lives > 4, "the repair has several writes"


async def test_dh_3_a_restart_with_a_good_disk_drops_what_has_not_started(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = await with_failed_disk(controller, *ON_DISK)
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller).keys() == set(ON_DISK)
        await zk.delete(znode_paths.broker(3))
        await healing.read_brokers()
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert queued(controller).keys() == set(ON_DISK), "it has not answered yet"
        await answers(healing)
        await healing.diagnose()
        assert (queued(controller), targets(controller)) == ({}, WHERE)
