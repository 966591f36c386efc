"""Self-healing (KIP-46) in front of KRaft: what looks say of brokers and log dirs, repairs by the queue, the brake."""

import asyncio
from collections.abc import Collection, Mapping
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.controller.commands import queue_repairs_command
from kafka_reassign_rpc.controller.commands.cluster_commands import Barrier
from kafka_reassign_rpc.controller.duties.progress_sampling import ProgressSampler
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.healing.failed_brokers import DescribedLogDirs, LostReplicas
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, PolicyViolation
from kafka_reassign_rpc.core.phases import phases
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED, HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered
from kafka_reassign_rpc.core.writers.look_facts import TopicsSeen
from kafka_reassign_rpc.kraft.kraft_commands import ChangeSettings, LookSeen
from kafka_reassign_rpc.kraft.ports import Look
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.memory_term import NAME, OTHER, SELDOM, THIRD, Here, looked
from tests.kraft.test_settings import ALICE, change
from tests.waiting import eventually

MINUTE = 60_000
ON = HealingSettings(interval_ms=MINUTE)
ALL = (NAME, OTHER, THIRD)


class Hurt(Here):
    """Broker 2 holds a replica of each partition, in sync with broker 1."""

    def __init__(self) -> None:
        super().__init__()
        self.described: dict[int, tuple[str, ...] | None] = {}

    async def ask(self, brokers: Collection[int]) -> Mapping[int, DescribedLogDirs]:  # type: ignore[override]
        live = self.loop.cluster.brokers
        return {one: DescribedLogDirs(live[one].epoch, self.described.get(one)) for one in brokers if one in live}

    async def others_cancel(self) -> None:
        """A move of NAME to brokers 2 and 4, of which 2 has died."""
        partition = self.cluster.partitions[NAME]
        await self.answers([NAME], (2, 4))
        await eventually(lambda: partition.at.is_moving)
        self.kill(2)
        await eventually(lambda: self.loop.cluster.failed != {})
        partition.alter(None)
        await looked(self)

    def kill(self, broker: int) -> None:
        """As KRaft does it: it is fenced, and leaves the ISRs."""
        del self.cluster.brokers[broker]
        for one in self.cluster.partitions.values():
            one.isr = tuple(replica for replica in one.isr if replica != broker) or one.isr

    async def pass_by(self, ms: int) -> None:
        self.now += ms
        self.begun.healer.diagnose_again()

    def healed(self) -> list[str]:
        return [one.event for one in self.events if one.event.startswith("heal.")]

    def repairs(self) -> set[TopicPartition]:
        return {name for name, one in self.cluster.partitions.items() if one.at.is_moving and 2 in one.at.removing}

    def catch_up(self) -> None:
        for one in self.cluster.partitions.values():
            if one.at.is_moving:
                one.catch_up()

    def lost(self) -> set[TopicPartition]:
        return {name for name, one in self.cluster.partitions.items() if 2 in one.at.replicas}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Hurt:
    made = Hurt()

    async def ask(_: ProgressSampler, brokers: Collection[int]) -> Mapping[int, DescribedLogDirs]:
        return await made.ask(brokers)

    monkeypatch.setattr(ProgressSampler, "failed_log_dirs", ask)
    return made


async def test_46_2_and_46_3_the_replicas_of_a_broker_that_is_gone_for_the_interval_are_moved_by_the_queue(
    here: Hurt,
) -> None:
    async with here.term(healing=ON) as loop:
        here.kill(2)
        await eventually(lambda: loop.cluster.failed == {2: here.now})
        await here.pass_by(MINUTE - 1)
        await eventually(lambda: catalogue.HEAL_ALERT in here.healed())
        assert not here.repairs()
        await here.pass_by(1)
        await eventually(lambda: here.repairs() == set(ALL))
        assert {one.route for one in here.events if one.event == catalogue.MOVE_STARTED} == {HEAL}
        assert loop.cluster.failed == {}, "46-4: its repair is queued"
        here.catch_up()
        await eventually(lambda: catalogue.HEAL_DONE in here.healed())
        assert not here.lost()
    assert here.healed() == [
        catalogue.HEAL_NOTICED,
        catalogue.HEAL_ALERT,
        catalogue.HEAL_SCHEDULED,
        catalogue.HEAL_DONE,
    ]
    assert [sorted(one.at.replicas)[0] for one in here.cluster.partitions.values()] == [1, 1, 1], "only the lost moved"


async def test_46_1_and_46_4_a_server_that_takes_over_keeps_the_time_of_the_loss_and_goes_on_with_a_repair(
    here: Hurt,
) -> None:
    lost_at = here.now
    async with here.term(healing=ON) as loop:
        here.kill(2)
        await eventually(lambda: loop.cluster.failed == {2: lost_at})
    here.now += MINUTE // 2
    async with here.term(healing=ON) as loop:
        assert loop.cluster.failed == {2: lost_at}
        await here.begun.healer.status()
        await here.pass_by(MINUTE // 2)
        await eventually(lambda: here.repairs() == set(ALL))
    here.cluster.partitions[NAME].catch_up()
    async with here.term(healing=ON):
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
        here.catch_up()
        await eventually(lambda: not here.lost())
        await eventually(lambda: sorted(here.named(catalogue.MOVE_COMPLETED)) == sorted(ALL))
    assert here.healed().count(catalogue.HEAL_SCHEDULED) == 1


async def test_46_2_a_broker_that_one_look_leaves_out_or_that_is_back_in_time_is_not_repaired(here: Hurt) -> None:
    async with here.term(healing=ON) as loop:
        for _ in range(3):
            here.cluster.left_out = {2: 1}
            await looked(here)
        assert here.healed() == []
        assert catalogue.BROKER_LOST not in [one.event for one in here.events]
        back = here.cluster.brokers[2]
        here.kill(2)
        await eventually(lambda: loop.cluster.failed != {})
        await here.pass_by(MINUTE - 1)
        here.cluster.brokers[2] = back
        await eventually(lambda: loop.cluster.failed == {})
        await here.pass_by(MINUTE)
        assert not here.repairs()
    assert here.healed()[-1] == catalogue.HEAL_OVER


@pytest.mark.parametrize("grows", [False, True])
async def test_46_2_replicas_that_others_put_on_a_broker_that_is_gone_already_are_lost_from_then_on(
    here: Hurt, grows: bool
) -> None:
    """KRaft takes such a topic, and such partitions: a fenced broker is registered."""
    name = TopicPartition("t", 3) if grows else TopicPartition("u", 0)
    here.cluster.ids["u"] = UUID(int=9 << 65)
    async with here.term(healing=ON) as loop:
        here.kill(4)
        await eventually(lambda: 4 not in loop.cluster.brokers)
        await looked(here)
        assert loop.cluster.failed == {}, "it holds nothing"
        here.now += MINUTE
        here.cluster.partitions[name] = KRaftPartition(1, 4)
        await eventually(lambda: loop.cluster.failed == {4: here.now})
        await here.pass_by(MINUTE)
        await eventually(lambda: here.cluster.partitions[name].at.removing == (4,))


async def test_46_2_a_term_that_begins_with_the_look_of_a_broker_that_lags_notices_no_loss(
    here: Hurt, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, goes_on = MemoryCluster.look, asyncio.Event()

    async def slow(cluster: MemoryCluster, topics: Collection[str] | None = None) -> Look:
        if cluster.looks:
            await goes_on.wait()
        return await look(cluster, topics)

    monkeypatch.setattr(MemoryCluster, "look", slow)
    here.cluster.left_out = {2: 1}
    async with here.term(healing=ON) as loop:
        assert 2 not in loop.cluster.brokers
        for _ in range(3):
            await loop.submit(Barrier())
        assert here.begun.healer.last_status is None
        goes_on.set()
        await eventually(lambda: here.begun.healer.last_status is not None)
        assert 2 in loop.cluster.brokers
    assert here.healed() == []


async def test_46_6_while_too_many_brokers_are_gone_or_healing_is_paused_nothing_is_repaired(here: Hurt) -> None:
    here.cluster.partitions[THIRD] = KRaftPartition(1, 3)
    service = MovesService()
    async with here.term(healing=HealingSettings(interval_ms=MINUTE, max_brokers=1)):
        back = here.cluster.brokers[3]
        here.kill(2)
        here.kill(3)
        await eventually(lambda: here.healed().count(catalogue.HEAL_NOTICED) == 2)
        await here.pass_by(MINUTE)
        await eventually(lambda: catalogue.HEAL_HELD_BACK in here.healed())
        service.begin(here.begun, lambda: 1.0)
        with pytest.raises(PolicyViolation, match="2 brokers are gone"):
            await service.heal(2, RequestContext(0, 0, 1, "ops"), dry_run=False)
        await change(here, {PAUSED: "true"})
        here.cluster.brokers[3] = back
        await eventually(lambda: catalogue.HEAL_OVER in here.healed())
        await here.pass_by(MINUTE)
        with pytest.raises(PolicyViolation, match="healing is paused"):
            await service.heal(2, RequestContext(0, 0, 1, "ops"), dry_run=False)
        assert not here.repairs()
        assert (await service.healing()).paused
        await change(here, {PAUSED: None})
        await here.pass_by(MINUTE)
        await eventually(lambda: here.repairs() == {NAME, OTHER})


async def _one_of_three_repairs_moves(here: Hurt) -> None:
    here.kill(2)
    await eventually(lambda: here.healed() == [catalogue.HEAL_NOTICED])
    await here.pass_by(MINUTE)
    await eventually(lambda: len(here.repairs()) == 1 and len(here.loop.cluster.queue) == 2)


ONE_MOVE = HealingSettings(interval_ms=MINUTE, max_brokers=1, chunk=1)


@pytest.fixture
def large(here: Hurt) -> Hurt:
    """Brokers 5 and 6 hold replicas too, and get none of a repair."""
    here.cluster.brokers |= {one: replace(here.cluster.brokers[4], id=one) for one in (5, 6)}
    here.cluster.partitions |= {TopicPartition("t", one - 2): KRaftPartition(1, one) for one in (5, 6)}
    here.cluster.of_configs |= {Entity(BROKERS, str(one)): {"cordoned.log.dirs": "*"} for one in (5, 6)}
    return here


async def test_46_6_a_server_that_takes_over_starts_no_waiting_repair_while_too_many_are_gone(large: Hurt) -> None:
    async with large.term(healing=ONE_MOVE):
        await _one_of_three_repairs_moves(large)
    large.catch_up()
    large.kill(5)
    large.kill(6)
    async with large.term(healing=ONE_MOVE) as loop:
        await eventually(lambda: len(large.named(catalogue.MOVE_COMPLETED)) == 1)
        await large.begun.healer.status()
        assert not large.repairs()
        assert len(loop.cluster.queue) == 2


async def test_46_6_the_brake_knows_of_a_loss_before_the_next_waiting_repair_may_start(large: Hurt) -> None:
    async with large.term(healing=ONE_MOVE, pace=SELDOM) as loop:
        await eventually(lambda: large.begun.healer.last_status is not None)  # the term's own look is over by then
        registered = {one: broker for one, broker in loop.cluster.brokers.items() if one != 2}
        await loop.submit(LookSeen([BrokersRegistered(registered), TopicsSeen({})], {}))
        await large.begun.healer.status()
        await large.pass_by(MINUTE)
        await eventually(lambda: len(loop.cluster.queue) == 2)
        left = {one: broker for one, broker in registered.items() if one not in (5, 6)}
        await loop.submit(LookSeen([BrokersRegistered(left), TopicsSeen({})], {}))
        assert loop.cluster.soft.gone == {5, 6}, "the healer has not diagnosed since"


async def test_46_7_waiting_moves_of_a_repair_go_when_the_broker_is_back(here: Hurt) -> None:
    back = here.cluster.brokers[2]
    async with here.term(healing=HealingSettings(interval_ms=MINUTE, chunk=1)) as loop:
        here.kill(2)
        await eventually(lambda: here.healed() == [catalogue.HEAL_NOTICED])
        await here.pass_by(MINUTE)
        await eventually(lambda: len(here.repairs()) == 1 and len(loop.cluster.queue) == 2)
        here.cluster.brokers[2] = back
        await eventually(lambda: not loop.cluster.queue)
        here.catch_up()
        await eventually(lambda: catalogue.HEAL_DONE in here.healed())
        assert len(here.lost()) == 2
    assert catalogue.HEAL_DROPPED in here.healed()


async def test_dh_2_a_repair_gives_no_replica_to_a_cordoned_broker_and_what_others_place_there_is_an_event(
    here: Hurt,
) -> None:
    async with here.term(healing=ON) as loop:
        await loop.submit(ChangeSettings(lambda _: {CORDONED_BROKERS: "4"}, ALICE))
        here.kill(2)
        await eventually(lambda: here.healed() == [catalogue.HEAL_NOTICED])
        await here.pass_by(MINUTE)
        await eventually(lambda: here.repairs() == set(ALL))
        assert {one.at.adding for one in here.cluster.partitions.values()} == {(3,)}
        assert catalogue.CORDON_BROKEN not in [one.event for one in here.events]
        here.cluster.partitions[TopicPartition("t", 3)] = KRaftPartition(4, 1)
        await eventually(lambda: catalogue.CORDON_BROKEN in [one.event for one in here.events])
    [broken] = [one for one in here.events if one.event == catalogue.CORDON_BROKEN]
    assert (broken.broker, broken.reason) == (4, "t-3")


async def test_dh_2_what_a_request_is_the_first_to_show_on_a_cordoned_broker_is_an_event_too(here: Hurt) -> None:
    new = TopicPartition("t", 3)
    async with here.term(pace=SELDOM) as loop:
        await loop.submit(ChangeSettings(lambda _: {CORDONED_BROKERS: "4"}, ALICE))
        here.cluster.partitions[new] = KRaftPartition(4, 1)
        assert await here.asked_by_api(new, (1, 2)) is None
        await eventually(lambda: catalogue.CORDON_BROKEN in [one.event for one in here.events])
    [broken] = [one for one in here.events if one.event == catalogue.CORDON_BROKEN]
    assert (broken.broker, broken.reason) == (4, "t-3")


async def test_dh_3_replicas_that_are_offline_on_a_live_broker_are_repaired_like_those_of_a_lost_one(
    here: Hurt,
) -> None:
    here.described = {2: ("/disk-b",)}
    async with here.term(healing=ON) as loop:
        here.cluster.offline = {NAME: (2,)}
        await eventually(lambda: 2 in loop.cluster.failed_log_dirs)
        assert loop.cluster.failed_log_dirs[2].paths == ("/disk-b",)
        status = await here.begun.healer.status()
        assert [(one.broker, list(one.paths), one.replicas) for one in status.log_dirs] == [(2, ["/disk-b"], 1)]
    async with here.term(healing=ON) as loop:
        assert loop.cluster.failed_log_dirs[2].paths == ("/disk-b",)
        await here.begun.healer.status()
        await here.pass_by(MINUTE)
        await eventually(lambda: here.repairs() == {NAME})
        here.catch_up()
        here.cluster.offline = {}
        await eventually(lambda: loop.cluster.failed_log_dirs == {})
        assert here.lost() == {OTHER, THIRD}
    assert here.cluster.partitions[NAME].at.replicas[0] == 1


async def test_dh_3_a_look_that_leaves_a_broker_out_says_nothing_of_its_log_dirs(here: Hurt) -> None:
    here.described = {2: ("/disk-b",)}
    async with here.term(healing=ON) as loop:
        here.cluster.offline = {NAME: (2,)}
        await eventually(lambda: 2 in loop.cluster.failed_log_dirs)
        for _ in range(3):
            here.cluster.left_out = {2: 1}
            await looked(here)
            await here.begun.healer.status()
        assert loop.cluster.live_with_failed_log_dirs.keys() == {2}
    assert here.healed() == [catalogue.HEAL_NOTICED]


async def test_dh_3_a_broker_that_comes_back_with_all_its_replicas_has_no_failed_log_dir_any_more(here: Hurt) -> None:
    here.described = {2: ("/disk-b",)}
    async with here.term(healing=ON) as loop:
        here.cluster.offline = {NAME: (2,)}
        await eventually(lambda: 2 in loop.cluster.failed_log_dirs)
        back = here.cluster.brokers[2]
        here.kill(2)
        await eventually(lambda: loop.cluster.failed != {})
        assert 2 in loop.cluster.failed_log_dirs
        here.described = {}
        here.cluster.offline = {}
        here.cluster.brokers[2] = back
        await eventually(lambda: not loop.cluster.failed and not loop.cluster.failed_log_dirs)


async def test_dh_3_a_broker_whose_log_dirs_all_work_has_lost_no_replica(here: Hurt) -> None:
    here.described = {2: ()}
    async with here.term(healing=ON) as loop:
        here.cluster.offline = {NAME: (2,)}
        await eventually(lambda: loop.cluster.get(*NAME).offline == (2,))  # type: ignore[union-attr]
        status = await here.begun.healer.status()
        await here.pass_by(2 * MINUTE)
        status = await here.begun.healer.status()
        assert list(status.log_dirs) == []
        here.cluster.offline = {}
        here.cluster.left_out = {2: 1}
        await eventually(lambda: loop.cluster.get(*NAME).offline == ())  # type: ignore[union-attr]
    assert here.healed() == []


async def test_46_2_a_broker_that_lives_is_not_healed_by_hand_and_a_lost_one_without_the_interval(here: Hurt) -> None:
    service, ctx = MovesService(), RequestContext(0, 0, 1, "ops")
    async with here.term():
        service.begin(here.begun, lambda: 1.0)
        with pytest.raises(InvalidRequest, match="registered"):
            await service.heal(2, ctx, dry_run=False)
        here.kill(2)
        await eventually(lambda: 2 not in here.loop.cluster.brokers)
        assert len((await service.heal(2, ctx, dry_run=True)).moves) == 3
        assert not here.repairs()
        assert len((await service.heal(2, ctx, dry_run=False)).moves) == 3
        await eventually(lambda: here.repairs() == set(ALL))


async def test_46_5_a_broker_that_dies_with_the_rates_of_a_repair_has_them_no_more_once_it_is_back(
    here: Hurt, caplog: pytest.LogCaptureFixture
) -> None:
    healing = HealingSettings(interval_ms=MINUTE, throttle=HealingThrottle(1_000))
    back = here.cluster.brokers[4]

    def throttled() -> set[str]:
        return {one.name for one, configs in here.cluster.of_configs.items() if one.kind == BROKERS and configs}

    async with here.term(healing=healing) as loop:
        here.kill(2)
        await eventually(lambda: here.healed() == [catalogue.HEAL_NOTICED])
        await here.pass_by(MINUTE)
        await eventually(lambda: here.repairs() == set(ALL))
        assert throttled() == {"1", "3", "4"}
        here.catch_up()
        here.kill(4)
        await eventually(lambda: catalogue.HEAL_DONE in here.healed())
        await eventually(lambda: throttled() == {"4"})
        here.cluster.brokers[4] = back
        await eventually(lambda: not throttled())
        await eventually(lambda: not loop.cluster.moving)
    texts = [one.message for one in caplog.records if "cannot be read" in one.message]
    assert sorted(set(texts)) == sorted(texts), "each is said once"


async def test_kr_10_a_move_that_others_have_just_cancelled_is_repaired_once_looks_are_sure_with_all_its_replicas(
    here: Hurt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its target had fewer."""
    partition = here.cluster.partitions[NAME] = KRaftPartition(1, 2, 3)
    async with here.term(healing=ON) as loop:
        with monkeypatch.context() as patched:
            patched.setattr(phases, "LOOKS_AT_OTHERS", 1_000_000)
            await here.others_cancel()
            await here.pass_by(MINUTE)
            await eventually(lambda: here.repairs() == {OTHER, THIRD})
            assert loop.cluster.queue.place(*NAME) is None
            assert loop.cluster.failed.keys() == {2}
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [NAME])
        await here.pass_by(MINUTE)
        await eventually(lambda: partition.at.is_moving)
        assert sorted(partition.at.target) == [1, 3, 4]


async def test_46_2_a_repair_by_hand_names_the_partition_whose_move_has_ended_nobody_is_sure_how(
    here: Hurt, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, ctx = MovesService(), RequestContext(0, 0, 1, "ops")
    here.cluster.partitions[NAME] = KRaftPartition(1, 2, 3)
    async with here.term() as loop:
        service.begin(here.begun, lambda: 1.0)
        with monkeypatch.context() as patched:
            patched.setattr(phases, "LOOKS_AT_OTHERS", 1_000_000)
            await here.others_cancel()
            found = await service.heal(2, ctx, dry_run=False)
        assert found.left_out == {NAME: queue_repairs_command.ENDS_UNSEEN}
        assert {one.partition for one in found.moves} == {OTHER, THIRD}
        assert loop.cluster.failed.keys() == {2}
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [NAME])
        found = await service.heal(2, ctx, dry_run=False)
        assert ([one.partition for one in found.moves], found.left_out) == ([NAME], {})


def test_kr_10_a_replica_that_an_old_answer_shows_after_its_repair_is_not_lost_again() -> None:
    repair = MoveRecord(MoveTerms((4, 2), HEAL, "heal broker 3"), (4, 3), phase=Phase.MOVING)
    losses = LostReplicas(Cluster(brokers={one: Broker(one, -1, ()) for one in (1, 2, 4)}))
    losses.count(Partition((4, 2, 3), isr=(4, 2), leader=4, move=repair))
    assert (losses.replicas, losses.brokers) == ({}, frozenset())
    losses.count(Partition((4, 2, 3), isr=(4, 2), leader=4))
    assert losses.replicas == {3: 1}
