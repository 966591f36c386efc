"""Elects preferred leaders from time to time. Which: `core/leadership/elections.py`."""

import asyncio
import logging
from collections.abc import Callable

from kafka_reassign_rpc.controller.commands.leadership_commands import RebalanceLeaders
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.support.counted import counted

log = logging.getLogger(__name__)


FIRST_CHECK_S = 5.0
"""The wait after the election of a controller, and while brokers have not reported their settings
(KafkaController.scala, onControllerFailover).
"""


class LeaderBalance:
    """Elects preferred leaders: Kafka's auto.leader.rebalance.enable, leader.imbalance.check.interval.seconds and
    leader.imbalance.per.broker.percentage, as `SoftState.broker_settings` has them.

    `knows_settings`: whether the brokers have reported theirs, or have had the time to.
    """

    def __init__(self, loop: ControllerLoop, knows_settings: Callable[[], bool]) -> None:
        self._loop = loop
        self._knows_settings = knows_settings
        self._has_checked = False
        self._changed = asyncio.Event()

    def settings_changed(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            settings = self._loop.cluster.soft.broker_settings
            interval_s: float = settings.leader_imbalance_check_interval_seconds
            if not self._has_checked:
                interval_s = min(interval_s, FIRST_CHECK_S)
            try:
                async with asyncio.timeout(interval_s if settings.auto_leader_rebalance_enable else None):
                    await self._changed.wait()
            except TimeoutError:
                if not self._knows_settings():
                    continue
                self._has_checked = True
                if not await self._rebalance():
                    return

    async def _rebalance(self) -> bool:
        """Returns whether this is still the controller."""
        percentage = self._loop.cluster.soft.broker_settings.leader_imbalance_per_broker_percentage
        try:
            elected = await self._loop.submit(RebalanceLeaders(percentage))
        except NotController:
            return False
        except KafkaError as error:
            log.warning("no preferred leader is elected until the next check: %s", error)
        else:
            if elected:
                log.info("%s elected", counted(elected, "preferred leader"))
        return True
