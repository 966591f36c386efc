"""Repairs that wait or move follow `self.healing.throttle` (dh-4)."""

import pytest

from kafka_reassign_rpc.controller.commands.queue_commands import ChangeLeaseRates
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.healing.repair_targets import renewed
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, waiting_moves
from tests.controller.self_healing.healing_controller import MINUTE, WHERE, HealingController, put

SLOW = HealingSettings(interval_ms=MINUTE, throttle=HealingThrottle(6))


def rates(controller: BareController) -> tuple[list[int | None], list[int | None]]:
    """Of the repairs in flight, and of those that wait."""
    moves = [controller.partition(*name).move for name in WHERE if controller.partition(*name).is_moving]
    waiting = [
        one.terms.throttle for one in waiting_moves(controller.cluster.queue).values() if one.terms.route == HEAL
    ]
    return [one.terms.throttle for one in moves if one], waiting


def told(controller: BareController) -> list[tuple[int | None, str | None]]:
    found = [(one.bytes, one.reason) for one in controller.events if one.event == catalogue.THROTTLE_CHANGED]
    controller.events.clear()
    return found


async def test_dh_4_repairs_in_flight_and_waiting_follow_the_setting_also_of_a_next_controller(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, SLOW)
        await healing.configure(self_healing_max_moves="1")
        await healing.heal_when_due()
        assert rates(controller) == ([6], [6, 6])
        place = list(controller.cluster.queue.names)
        assert await controller.loop.submit(ChangeLeaseRates(None, 50)) == ThrottledMoves(0, 0, 3), (
            "they follow the setting alone"
        )
        for text, rate in (("40", 40), ("-1", -1), ("3", 3), ("50%", 62_500_000), ("9", 9)):
            await healing.configure(self_healing_throttle=text, self_healing_max_moves="1")
            await healing.diagnose()
            moving, waiting = rates(controller)
            assert [one or -1 for one in (*moving, *waiting)] == [rate] * 3
            why = f"1 move in flight, 2 waiting; repairs follow self.healing.throttle={text}"
            assert told(controller) == [(rate if rate > 0 else None, why)]
            await healing.diagnose()
            assert told(controller) == []
        assert list(controller.cluster.queue.names) == place
        await healing.configure(self_healing_throttle="8", self_healing_max_moves="1")  # and the controller dies
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, SLOW)
        await healing.configure(self_healing_throttle="8", self_healing_max_moves="1")
        await healing.diagnose()
        moving, waiting = rates(controller)
        assert [*moving, *waiting] == [8, 8, 8]


@pytest.mark.parametrize(
    ("throttle", "present", "fastest", "former", "rate"),
    [
        ("40", 6, 0, None, 40),
        ("-1", 6, 0, None, -1),
        ("50%", 6, 1000, "6", 500),
        ("50%", 6, 0, "6", 62_500_000),
        ("50%", 500, 9000, "50%", 500),  # an observation changes no repair under way
        ("50%", 500, 0, None, 500),  # a controller that is new has observed nothing
        ("50%", -1, 9000, None, 4500),  # nothing but a change of the setting can have left it without
    ],
)
def test_dh_4_a_number_holds_at_once_and_a_share_is_worked_out_when_the_setting_changes(
    throttle: str, present: int, fastest: int, former: str | None, rate: int
) -> None:
    known = None if former is None else HealingThrottle.parse(former)
    own = HealingThrottle.parse(throttle)
    assert own is not None
    assert renewed(own, present, fastest, known) == rate
