"""`kafka-reassign hold` and `release`, on a cluster of a server and simulated brokers."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.settings.windows import DAYS
from tests.controller.cluster import Cluster, cluster
from tests.reassign_command.run_command import kafka_reassign
from tests.stock.tools import Output
from tests.vendor_requests import order, told, wanted
from tests.waiting import eventually


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, brokers=(1, 2, 3)) as made:
        await made.create_topic("t", {0: [1], 1: [1]})
        yield made


async def run(world: Cluster, *args: str) -> Output:
    return await kafka_reassign(*args, "--bootstrap-server", world.bootstrap)


async def test_dh_5_operators_hold_and_release_moves_of_the_queue(world: Cluster) -> None:
    assert (await run(world, "--disable")).code == 0
    queued = await run(world, "move", "t", "-p", "0:2", "-p", "1:3", "--queue", "--reason", "PLAN-8")
    assert queued.code == 0, queued.err
    held = await run(world, "hold", "--broker", "2", "--request", "PLAN-8", "--reason", "disks are replaced")
    assert (held.code, held.lines, held.err) == (0, ["1 move held."], "")
    again = await run(world, "hold", "--all", "--json")
    assert json.loads(again.out) == {"held": 1, "unchanged": 1, "in_flight": 0}
    for named, hint in (
        (("--topic", "tt"), "there is no topic tt (is t meant?)"),
        (
            ("--broker", "33", "--request", "PLAN-9"),
            "there is no broker 33 (is 3 meant?) and no reason PLAN-9 (is PLAN-8 meant?)",
        ),
    ):
        for verb in ("hold", "release"):
            nothing = await run(world, verb, *named)
            assert (nothing.code, nothing.lines) == (1, [f"No such move is in the queue: {hint}."])
    listed = await run(world, "--list")
    assert " held by User:ANONYMOUS as " in listed.out
    assert " UTC: disks are replaced. route: queue. reason: PLAN-8" in listed.out
    assert (await run(world, "--enable")).code == 0
    shown = told(await world.ask(wanted("moves"), 0))
    found = {one["partition"]: one for one in shown["moves"]}
    assert {one["state"] for one in found.values()} == {"waiting"}
    assert found[0]["waits_for"].startswith("its release: held by User:ANONYMOUS as ")
    status = told(await world.ask(wanted("status"), 0))
    assert status["work"]["no_estimate"] == "2 waiting moves are held until they are released"
    assert (status["totals"]["waiting"], status["totals"]["held"]) == ({"queue": 2}, 2)
    released = await run(world, "release", "--topic", "t")
    assert (released.code, released.lines) == (0, ["2 moves released."])
    assert (await run(world, "release", "--all")).lines[0].startswith("0 moves released")
    done = await run(world, "watch")
    assert done.code == 0
    assert (await run(world, "--list")).lines == ["No partition reassignments found."]
    over = await run(world, "release", "--topic", "t", "--json")
    why = "No such move is in the queue."
    assert (over.code, json.loads(over.out)) == (1, {"released": 0, "unchanged": 0, "in_flight": 0, "error": why})


async def test_dh_5_operators_set_windows_see_them_and_learn_what_is_wrong_with_one(world: Cluster) -> None:
    wrong = await run(world, "settings", "--set", "reassignment.windows=mon-fri 22:00-06:00")
    assert wrong.code == 1
    assert "write days, times and time zone, such as mon-fri 22:00-06:00 Europe/Berlin" in wrong.out
    later = DAYS[(datetime.now(UTC).weekday() + 3) % 7]
    assert (await run(world, "settings", "--set", f"reassignment.windows={later} 10:00-11:00 UTC")).code == 0
    moved = await run(world, "move", "t", "-p", "0:2")
    assert moved.code == 0
    assert "Successfully started" not in moved.out
    assert moved.lines[-1].startswith(
        "1 partition reassignment waits in the controller's queue for t-0: outside of windows until "
    )
    shown = " ".join((await run(world, "status")).out.split())
    assert "New moves wait for a window. caps: " in shown
    assert "windows: outside of windows until " in shown
    assert "for a window: outside of windows until " in shown
    status = told(await world.ask(wanted("status"), 0))
    assert (status["window"]["open"], status["totals"]["waiting"]) == (False, {"rpc": 1})
    assert status["work"]["no_estimate"] == "1 waiting move waits for a window"
    slow = f"reassignment.windows={later} 10:00-11:00 UTC; otherwise max.per.cluster=0 rate=3kB"
    assert (await run(world, "settings", "--set", slow)).code == 0

    async def is_told_of() -> bool:
        lines = (await run(world, "throttle", "5MB")).lines
        assert lines[0] == "0 moves in flight and 1 waiting move: 5000000 B/s on each broker."
        return lines[-1].startswith("The rate of the window goes before it: outside of windows until ")

    await eventually(is_told_of)
    asked = await run(world, "move", "t", "-p", "0:2", "--additional", "--throttle", "5MB", "--lease")
    assert any(line.startswith("The rate of the window goes before it: outside of windows ") for line in asked.lines)
    assert (await run(world, "throttle", "0")).code == 0
    assert (await run(world, "settings", "--delete", "reassignment.windows")).code == 0
    assert (await run(world, "watch")).code == 0


async def test_dh_2_a_cordon_says_which_ids_no_broker_has(world: Cluster) -> None:
    slip = await run(world, "cordon", "--brokers", "3,33,1000")
    away = "There is no broker 33 (is 3 meant?) and no broker 1000 (known: 1, 2, 3). The cordon holds all the same."
    assert (slip.code, slip.lines) == (1, ["Cordoned: 3,33,1000.", away])
    back = await run(world, "cordon", "--brokers", "33,1000", "--uncordon")
    assert (back.code, back.lines) == (0, ["Cordoned: 3."])


@pytest.mark.parametrize(
    "args",
    [
        ("hold",),
        ("release",),
        ("hold", "--all", "--topic", "t"),
        ("hold", "--broker", "x"),
        ("release", "--reason", "x"),
    ],
)
async def test_dh_5_a_hold_that_does_not_say_of_what_is_not_sent(args: tuple[str, ...]) -> None:
    done = await kafka_reassign(*args, "--bootstrap-server", "127.0.0.1:1")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith(f"kafka-reassign {args[0]}: ")


async def test_dh_5_a_request_that_names_nothing_or_too_much_is_invalid(world: Cluster) -> None:
    for wrong in (
        order("hold"),
        order("hold", all=True, topics=["t"]),
        order("hold", all=True, reason="x" * 201),
    ):
        answer = await world.ask(wrong, 0)
        assert (answer.error_code, answer.body) == (42, b"")
