"""Another rate for leases, of moves in flight and of moves that wait, in one command (dh-4)."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial

import pytest

from kafka_reassign_rpc.controller.commands.cluster_commands import BrokerSettingsLearnt
from kafka_reassign_rpc.controller.commands.queue_commands import ChangeLeaseRates
from kafka_reassign_rpc.controller.telemetry.server_status import figures_of
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import KafkaError, PolicyViolation
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.state.requesters import client
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    Name,
    batch,
    elected_controller,
    queue_json,
    waiting_moves,
)
from tests.controller.crash_points import FIRST, every_death, is_over_before_death, put_cluster
from tests.waiting import eventually

ALICE = client("User:alice", "cli", "10.0.0.1", "PLAINTEXT", "")
MOVING: Name = ("a", 0)
WAITING: tuple[Name, ...] = (("b", 0), ("a", 1))
BROKERS = (1, 2, 3, 4)
"""Those of the move in flight."""


async def start(controller: BareController) -> None:
    await controller.alter({MOVING: FIRST[MOVING]}, throttle=6, reason="out")
    for name in WAITING:
        await controller.alter({name: FIRST[name]}, throttle=6, reason="later", queue=True, by=ALICE)


async def faster(controller: BareController) -> ThrottledMoves | KafkaError:
    return await controller.loop.submit(ChangeLeaseRates(None, 40, ALICE))


def rates(controller: BareController) -> Mapping[Name, int | None]:
    """Of moves in flight and waiting."""
    moves = {name: controller.partition(*name).move for name in (MOVING, *WAITING)}
    waiting = {name: one.terms.throttle for name, one in waiting_moves(controller.cluster.queue).items()}
    return {name: one.terms.throttle for name, one in moves.items() if one is not None} | waiting


async def are(zk: ZooKeeper, *rates: str | None) -> bool:
    configs = ConfigStore(zk)
    found = [await configs.get("brokers", str(broker)) for broker in BROKERS]
    return [one.get(name) for one in found for name in (LEADER_RATE, FOLLOWER_RATE)] == list(rates)


async def test_dh_4_the_rate_of_moves_in_flight_and_waiting_changes_at_once_and_nothing_else_of_them(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_cluster(zk)
    async with elected_controller(zk_connect) as controller:
        await start(controller)
        assert await are(zk, *["6"] * 8)
        before, queue = controller.partition(*MOVING), list(controller.cluster.queue.names.items())
        written = await queue_json(zk)
        for rate in (40, 3):
            controller.events.clear()
            assert await controller.loop.submit(ChangeLeaseRates(None, rate, ALICE)) == ThrottledMoves(1, 2, 0)
            await eventually(partial(are, zk, *[str(rate)] * 8))
            assert set(rates(controller).values()) == {rate}
            [told] = [one for one in controller.events if one.event == catalogue.THROTTLE_CHANGED]
            assert (told.bytes, told.reason, told.principal) == (rate, "1 move in flight, 2 waiting", "User:alice")
        after = controller.partition(*MOVING)
        assert before.move is not None
        assert after.move is not None
        assert (after.leader_epoch, after.partition_epoch, after.move.id) == (
            before.leader_epoch,
            before.partition_epoch,
            before.move.id,
        )
        assert (after.move.terms.reason, after.move.terms.route, after.move.terms.by) == (
            before.move.terms.reason,
            "rpc",
            before.move.terms.by,
        )
        assert list(controller.cluster.queue.names.items()) == queue, "each waits at its place"
        assert written is not None
        assert await queue_json(zk) == {name: {**entry, "throttle": 3} for name, entry in written.items()}
        await controller.check()
        changed = await controller.loop.submit(ChangeLeaseRates({"b": None, "a": [1, 7]}, 5, ALICE))
        assert changed == ThrottledMoves(0, 2, 0)
        assert rates(controller) == {MOVING: 3, **dict.fromkeys(WAITING, 5)}
        changed = await controller.loop.submit(ChangeLeaseRates({"a": [0], "none": None}, 0, ALICE))
        assert changed == ThrottledMoves(1, 0, 0)
        await eventually(lambda: are(zk, *[None] * 8))
        await controller.start_queued_moves()
        moves = [controller.partition(*name).move for name in WAITING]
        assert [(one.terms.throttle, one.terms.reason, one.terms.by) for one in moves if one] == [
            (5, "later", ALICE)
        ] * 2
    async with elected_controller(zk_connect) as controller:
        await controller.check()
        assert (await controller.loop.submit(ChangeLeaseRates({}, 5, ALICE))) == ThrottledMoves(0, 0, 0)


async def test_dh_4_a_controller_that_dies_while_it_changes_rates_loses_no_move_and_no_place(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live_through(zk: ZooKeeper, connect: str, lives: int) -> bool:
        over = await is_over_before_death(connect, (start,), (faster,), lives)
        async with elected_controller(connect) as successor:
            await successor.check()
            found = rates(successor)
            assert found.keys() == {MOVING, *WAITING}
            assert set(found.values()) <= ({40} if over else {6, 40})
            await successor.start_queued_moves()
            assert await faster(successor) == ThrottledMoves(3, 0, 0)
            assert rates(successor) == dict.fromkeys((MOVING, *WAITING), 40)
            await eventually(lambda: are(zk, *["40"] * 8))
            await successor.finish_moves()
            await eventually(lambda: are(zk, *[None] * 8))
        return over

    await every_death(zk_connect, monkeypatch, live_through)


async def test_fg_4_a_waiting_move_lifts_stricter_rates_when_it_starts_also_under_the_next_controller(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_cluster(zk)
    configs, strict = ConfigStore(zk), {LEADER_RATE: "5", FOLLOWER_RATE: "5"}
    for broker in BROKERS:
        await configs.alter("brokers", str(broker), lambda _: strict)
    async with elected_controller(zk_connect) as controller:
        await controller.alter({MOVING: FIRST[MOVING]}, throttle=40, lifts=True, queue=True)
        entries = await queue_json(zk)
        assert entries is not None
        assert entries[MOVING]["lifts"] is True
    async with elected_controller(zk_connect) as controller:
        await controller.start_queued_moves()
        await eventually(lambda: are(zk, *["40"] * 8))
        assert await controller.loop.submit(ChangeLeaseRates(None, 30, ALICE)) == ThrottledMoves(1, 0, 0)
        await eventually(lambda: are(zk, *["30"] * 8))
    async with elected_controller(zk_connect) as controller:
        await controller.check()
        await controller.finish_moves()
        await eventually(lambda: are(zk, *["5"] * 8))


MIGRATING = frozenset({1, 3})


async def migration_begins(controller: BareController) -> None:
    await controller.loop.submit(BrokerSettingsLearnt(KAFKA_DEFAULTS, MIGRATING))


async def test_mg_3_once_a_broker_migrates_to_kraft_no_lease_is_given_and_the_present_ones_end(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Nothing would end them there. A rollback lets them be given again."""
    await put_cluster(zk)
    async with elected_controller(zk_connect) as controller:
        await start(controller)
        await migration_begins(controller)
        await eventually(lambda: are(zk, *[None] * 8))
        assert set(rates(controller).values()) <= {None, 0}
        told = [one.reason for one in controller.events if one.event == catalogue.THROTTLE_CHANGED]
        assert [text.partition("; ")[0] for text in told if text] == ["1 move in flight, 2 waiting"]
        refused = (await controller.alter({WAITING[1]: FIRST[WAITING[1]]}, throttle=6))[WAITING[1]]
        assert isinstance(refused, PolicyViolation)
        assert "2 brokers were restarted for the migration to KRaft (1, 3), and KRaft would leave it" in str(refused)
        assert await controller.alter({WAITING[1]: FIRST[WAITING[1]]}) == {WAITING[1]: None}, "without one it moves"
        controller.start_with(healing=HealingSettings(throttle=HealingThrottle(7)))
        assert controller.cluster.soft.in_force.healing.throttle == HealingThrottle()
        await controller.loop.submit(BrokerSettingsLearnt(KAFKA_DEFAULTS))
        assert await faster(controller) == ThrottledMoves(2, 1, 0)
        assert controller.cluster.soft.in_force.healing.throttle == HealingThrottle(7)
        await controller.check()


async def test_mg_3_an_entry_of_the_queue_with_a_throttle_that_comes_while_brokers_migrate_moves_without_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_cluster(zk)
    by_hand = json.loads(batch({MOVING: FIRST[MOVING]}))
    by_hand["partitions"][0]["throttle"] = 9
    async with elected_controller(zk_connect) as controller:
        await migration_begins(controller)
        await zk.create(znode_paths.REASSIGN_QUEUE, json.dumps(by_hand).encode())
        await controller.read_admin_znodes()
        await controller.start_queued_moves()
        assert controller.partition(*MOVING).target == FIRST[MOVING]
        assert rates(controller) == {MOVING: None}
        assert await are(zk, *[None] * 8)
        told = [one.reason for one in controller.events if one.event == catalogue.THROTTLE_CHANGED]
        assert [text.partition("; ")[0] for text in told if text] == ["0 moves in flight, 1 waiting"]


async def test_mg_3_a_rate_that_was_asked_for_while_the_migration_became_known_is_refused(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Both wait for the same round: leases have ended by the time that the rate would give them again."""
    await put_cluster(zk)
    async with elected_controller(zk_connect) as controller:
        await start(controller)
        _, refused = await asyncio.gather(migration_begins(controller), faster(controller))
        assert isinstance(refused, PolicyViolation)
        assert set(rates(controller).values()) <= {None, 0}
        changed = await controller.loop.submit(ChangeLeaseRates(None, 0, ALICE))
        assert changed == ThrottledMoves(1, 2, 0), "to end them is no lease"


async def closed_config(zk: ZooKeeper, broker: int, permissions: int) -> None:
    """The config of a broker stays as before, and all users have only this right on it."""
    path = znode_paths.config(f"brokers/{broker}")
    data, _ = await zk.get(path)
    await zk.delete(path)
    async with ZooKeeper(
        zk.connect, access=Access(acl_of=always((AclEntry(permissions, "world", "anyone"),)))
    ) as author:
        await author.create(path, data)


async def test_mg_3_leases_that_cannot_be_taken_back_while_brokers_migrate_are_counted_until_they_can(
    zk: ZooKeeper, zk_connect: str
) -> None:
    read, everything = 1, 31
    await put_cluster(zk)
    async with elected_controller(zk_connect) as controller:
        await start(controller)
        await eventually(lambda: are(zk, *["6"] * 8))
        refused = controller.loop.throttle_leases
        assert refused.refused == 0
        await closed_config(zk, 1, read)
        await migration_begins(controller)
        await eventually(lambda: refused.refused == 1)
        await eventually(lambda: are(zk, "6", "6", *[None] * 6))
        figures = figures_of(controller.cluster, ProgressTracker(0), refused=refused.refused)
        assert (figures.migrating, figures.refused) == (len(MIGRATING), 1)
        await closed_config(zk, 1, everything)
        await eventually(lambda: are(zk, *[None] * 8))
        await eventually(lambda: refused.refused == 0)
