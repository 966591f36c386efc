"""When preferred leaders are elected: as the settings say that are in force at the time."""

import asyncio
from typing import Any, cast

from msgspec.structs import replace

from kafka_reassign_rpc.controller.commands.leadership_commands import RebalanceLeaders
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.leader_balance import LeaderBalance
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.tasks import end

TURNS = 20
"""Turns of the event loop: many more than an interval of no length, and the election after it, take."""


class Elections:
    """The loop as `LeaderBalance` sees it. It keeps the commands that it gets."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.commands: list[Any] = []

    def balances(self, enabled: bool) -> None:
        """From now on preferred leaders are elected all the time, or never."""
        self.cluster.soft.broker_settings = replace(
            KAFKA_DEFAULTS, auto_leader_rebalance_enable=enabled, leader_imbalance_check_interval_seconds=0
        )

    async def submit(self, command: Any) -> int:
        self.commands.append(command)
        return 0

    async def after_turns(self) -> list[type]:
        self.commands.clear()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return [type(command) for command in self.commands]


async def test_sv_4_no_preferred_leader_is_elected_while_auto_leader_rebalance_is_switched_off() -> None:
    elections = Elections()
    elections.balances(False)
    balance = LeaderBalance(cast(ControllerLoop, elections), lambda: True)
    task = asyncio.create_task(balance.run())
    try:
        assert await elections.after_turns() == []

        elections.balances(True)
        balance.settings_changed()
        assert set(await elections.after_turns()) == {RebalanceLeaders}

        elections.balances(False)
        balance.settings_changed()
        await elections.after_turns()  # one that has begun ends
        assert await elections.after_turns() == []
    finally:
        await end(task)
