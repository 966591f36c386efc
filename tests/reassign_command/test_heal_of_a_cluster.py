"""`kafka-reassign heal` (KIP-46) on a cluster that has lost a broker."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.support.human_units import size
from tests.controller.cluster import cluster
from tests.reassign_command.run_command import kafka_reassign
from tests.stock.tools import Output as Printed
from tests.waiting import eventually

HOUR_MS = 3_600_000


async def heal(server: str, *arguments: str) -> Printed:
    output = await kafka_reassign("heal", "--bootstrap-server", server, *arguments)
    assert output.err == ""
    return output


async def heal_json(server: str, *arguments: str) -> Any:
    """Run `heal` with --json, check that it succeeds, and give the printed document."""
    output = await heal(server, *arguments, "--json")
    assert output.code == 0, output.out
    [line] = output.lines
    return json.loads(line)


async def test_46_6_an_operator_sees_a_lost_broker_holds_its_repair_back_and_orders_it(
    zk_connect: str, tmp_path: Path
) -> None:
    """A pause also holds under the next controller."""
    async with cluster(zk_connect, brokers=(1, 2, 3), event_log=tmp_path) as world:
        await world.create_topic("t", {0: (3, 1), 1: (1, 2)})
        await world.create_topic("u", {0: (3, 1, 2)})
        healthy = await heal(world.bootstrap, "--now", "3")
        assert (healthy.code, healthy.lines) == (
            1,
            [
                "Error: org.apache.kafka.common.errors.InvalidRequestException: Broker 3 is registered: there is "
                "nothing to heal."
            ],
        )
        await world.kill_broker(3)

        async def is_noticed() -> bool:
            lines = (await heal(world.bootstrap)).lines
            return lines[1].startswith("Broker 3: gone since 20") and ", 2 replicas" in lines[1]

        await eventually(is_noticed)
        for broker, hint in (("33", ": there is no broker 33 (is 3 meant?)"), ("3", "")):
            nothing = await heal(world.bootstrap, "--approve", "--brokers", broker)
            assert (nothing.code, nothing.lines) == (1, [f"No such repair waits for approval{hint}."])
        assert await heal_json(world.bootstrap, "--pause") == {"paused": True}
        await world.stop_server()
        await world.start_server(1001)
        lines = (await heal(world.bootstrap, "--status")).lines
        assert lines[:2] == ["Healing is off (failure.interval.ms=-1).", "Healing is paused."]
        held_back = await heal(world.bootstrap, "--now", "3")
        assert (held_back.code, held_back.lines) == (
            1,
            [
                "Error: org.apache.kafka.common.errors.PolicyViolationException: Nothing is healed: healing is paused "
                "(self.healing.paused=true)."
            ],
        )
        assert (await heal(world.bootstrap, "--resume")).lines == ["Healing is not paused any more."]
        stays = "replication factor 3 is larger than the 2 brokers that can hold a replica"
        planned = (await heal(world.bootstrap, "--dry-run")).lines
        assert re.fullmatch(r"Broker 3: 1 move(, 0 B to copy)?", planned[0])
        assert planned[1:] == ["  t-0: [3, 1] -> [2, 1]", f"  u-0 stays as it is: {stays}"]
        assert not await world.moving()
        ordered = await heal_json(world.bootstrap, "--now", "3")
        move = {"topic": "t", "partition": 0, "replicas": [3, 1], "target": [2, 1]}
        left = {"topic": "u", "partition": 0, "reason": stays}
        assert ordered["dryRun"] is False
        assert [(one["broker"], one["moves"], one["leftOut"]) for one in ordered["repairs"]] == [(3, [move], [left])]
        await eventually(lambda: world.has(("t", 0, (2, 1))))
        shown = await heal_json(world.bootstrap, "--status")
        assert (shown["intervalMs"], shown["paused"], shown["heldBack"]) == (None, False, None)
        assert [(one["broker"], one["healAt"], one["replicas"]) for one in shown["failedBrokers"]] == [(3, None, 1)]
        assert shown["problems"] == [f"1 partition stays as it is (u-0): {stays}"]
        told = await kafka_reassign("--bootstrap-server", world.bootstrap, "events")
        assert "heal.scheduled" in told.out
        assert "heal.impossible" in told.out


async def test_46_6_the_status_follows_a_repair_from_the_countdown_over_its_moves_to_its_end(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3, 4), event_log=tmp_path) as world:

        async def heal_after(interval_ms: int, most: str) -> None:
            await world.settings({MAX_PER_CLUSTER: most, INTERVAL: str(interval_ms)})

        await heal_after(HOUR_MS, "1")
        await world.create_topic("held", {0: (3, 1), 1: (1, 3), 2: (3, 2)}, held=True)
        await world.create_topic("wide", {0: (3, 1, 2, 4)})
        await world.kill_broker(3)

        async def status() -> Any:
            return await heal_json(world.bootstrap, "--status")

        async def is_counted_down() -> Any:
            found = await status()
            is_sized = any(one["bytes"] is not None for one in found["failedBrokers"])
            return found if is_sized and found["intervalMs"] == HOUR_MS else None

        before = await eventually(is_counted_down)
        [failed] = before["failedBrokers"]
        assert (failed["broker"], failed["replicas"]) == (3, 4)
        assert failed["healAt"] == failed["since"] + HOUR_MS
        assert (before["repairs"], before["activeMoves"], before["waitingMoves"]) == ([], 0, 0)
        since, due = (
            f"{datetime.fromtimestamp(failed[at] / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" for at in ("since", "healAt")
        )
        assert (await heal(world.bootstrap)).lines == [
            "A broker that is gone for 3600 s is healed (failure.interval.ms).",
            f"Broker 3: gone since {since}, 4 replicas, {size(failed['bytes'])} to copy, healed at {due}",
        ]

        await heal_after(1, "1")

        async def is_under_way() -> bool:
            return bool((await status())["activeMoves"])

        await eventually(is_under_way)
        stays = "replication factor 4 is larger than the 3 brokers that can hold a replica"
        lines = (await heal(world.bootstrap)).lines
        assert lines[0] == "A broker that is gone for 0.001 s is healed (failure.interval.ms)."
        assert lines[1].startswith(f"Broker 3: gone since {since}, 1 replica, ")
        assert f", none of them can be moved now: {stays}; tried again at " in lines[1]
        assert lines[1].endswith("; its repair is under way: 1 move in flight, 2 waiting"), "one line for the broker"
        assert lines[2:] == [
            f"Problem: 1 partition stays as it is (wide-0): {stays}.",
            "Repairs: 1 move in flight, 2 waiting.",
        ]
        during = await status()
        [repair] = during["repairs"]
        assert (repair["broker"], repair["activeMoves"], repair["waitingMoves"]) == (3, 1, 2)
        assert (during["activeMoves"], during["waitingMoves"], during["heldBack"]) == (1, 2, None)
        assert sorted((await world.states()).values()) == ["moving", "waiting", "waiting"]

        await heal_after(1, "3")
        await world.release("held")

        async def is_over() -> bool:
            return not (await status())["repairs"]

        await eventually(is_over)
        lines = (await heal(world.bootstrap)).lines
        assert lines[1].startswith(f"Broker 3: gone since {since}, 1 replica, ")
        assert lines[2:] == [f"Problem: 1 partition stays as it is (wide-0): {stays}."]
        assert not await world.moving()
        await world.start_broker(3)

        async def is_well() -> bool:
            return (await heal(world.bootstrap)).lines[1:] == ["No broker that holds replicas is lost."]

        await eventually(is_well)
