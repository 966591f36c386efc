"""One truth on every screen: API, stream, metrics, vendor API and commands, asked at one instant, in 20 states.

They are `OF_WAITING` (8: moves that wait, drained brokers, repairs) and `OF_FAILURES` (12, a failover among them).
"""

import asyncio
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import to_builtins

from kafka_reassign_rpc.cli import status_command
from kafka_reassign_rpc.client import AsyncReassignmentClient, LogDirProgressTracker, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.client.move_progress import read_progress
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.settings.healing_settings import APPROVAL, INTERVAL, MAX_BROKERS, MAX_PERCENTAGE, PAUSED
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, ENABLED, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.settings.windows import DAYS, WINDOWS
from kafka_reassign_rpc.preflight import read_status
from kafka_reassign_rpc.reassign_command import action_describe, action_status, action_watch
from kafka_reassign_rpc.reassign_command.action_context import Output
from tests.controller.cluster import LISTENERS, RATE, SIZE, cluster
from tests.controller.telemetry.test_metrics import Samples, scraped
from tests.http_client import get, streamed
from tests.status_page.conftest import Look
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

SAMPLING = Sampling(interval_s=0.2, stall_s=3.0)
Json = dict[str, Any]
OF_WAITING = (
    "window",
    "held",
    "cap",
    "cordon-and-drain",
    "lease-under-a-foreign-config",
    "failed-log-dir",
    "failed-log-dir-then-death",
    "approval",
)
OF_FAILURES = (
    "idle",
    "moving",
    "throttled-low",
    "no-zookeeper",
    "zookeeper-is-back",
    "cancel-in-the-middle",
    "dead-and-a-move-to-it",
    "disabled-and-paused",
    "two-dead",
    "failover",
    "healing",
    "done",
)


def of_commands(bootstrap: str) -> tuple[Json, Json, Json]:
    """What the vendor API tells, and the documents of `kafka-reassign status` and `watch`."""
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        stream = io.StringIO()
        context: Any = SimpleNamespace(client=client, client_of=None, output=Output(stream, as_json=True))
        told = to_builtins(client.status())
        action_status.run(context, sleep=lambda _: None)
        context.output.finish()
        _, snapshot = read_progress(client, LogDirProgressTracker(), 0.0, with_document=True)
        return (
            told,
            json.loads(stream.getvalue()),
            {**action_watch.document(snapshot), "line": action_watch.summary(snapshot)},
        )


async def read(page: str) -> Json:
    answer = await get(page, "/api/v1/status")
    assert answer.status == 200
    return timeless(json.loads(answer.body))


def timeless(status: Json) -> Json:
    """Without what differs from one moment to the next."""
    return {name: value for name, value in status.items() if name != "at"}


async def agreed(page: str, bootstrap: str, zk_connect: str, is_so: Callable[[Json], object]) -> Json:
    """Waits for a state, and asks every screen while it lasts."""
    while True:

        async def reached() -> bool:
            return bool(is_so(await read(page)))

        await eventually(reached)
        before = await read(page)
        metrics = await scraped(page)
        [(_, streamed_now)] = await streamed(f"http://{page}/api/v1/stream", 1)
        told, by_status, by_watch = await asyncio.to_thread(of_commands, bootstrap)
        by_zookeeper = status_command.document(await read_status.from_zookeeper(zk_connect, 10.0))
        if await read(page) == before:
            break
    assert timeless(streamed_now) == before
    assert timeless(told) == before
    assert timeless(by_status["status"]) == before
    compare_command(before, by_status, by_watch)
    compare_with_zookeeper(before, by_status, by_zookeeper)
    compare_metrics(before, metrics)
    return before


def compare_command(status: Json, by_status: Json, by_watch: Json) -> None:
    totals, work = status["totals"], status["work"]
    for found in (by_status, by_watch):
        assert found["stalled"] == (totals["stalled"] or 0)
        assert found["waiting"] == sum(totals["waiting"].values())
        assert found["total"]["done_bytes"] == work["bytes_copied"]
        assert found["total"]["total_bytes"] == work["bytes_total"]
        assert found["total"]["bytes_per_second"] == totals["rate"]
        assert found["total"]["no_estimate"] == work["no_estimate"]
        seconds = None if work["done_ms"] is None else round(work["done_ms"] / 1000, 1)
        assert found["total"]["remaining_seconds"] == seconds
    assert by_status["problems"] == status["problems"]
    assert sum(one["state"] == "moving" for one in by_status["moves"]) == len(by_watch["moves"]) == totals["in_flight"]
    assert (by_status["under_replicated"], by_status["offline"]) == (totals["under_replicated"], totals["offline"])
    assert by_status["disabled"] == status["disabled_by"]
    moving = [one for one in by_status["moves"] if one["state"] == "moving"]
    same = "total_bytes", "done_bytes", "bytes_per_second", "remaining_seconds", "stalled"
    assert [[one[key] for key in same] for one in moving] == [[one[key] for key in same] for one in by_watch["moves"]]
    compare_healing(status["healing"], by_status["healing"])
    assert by_watch["line"].startswith(f"{totals['in_flight']} move" if totals["in_flight"] else "Nothing moves")


def compare_healing(healing: Json | None, by_status: Json | None) -> None:
    """`heal` and `--status` against the document: one line for each lost broker."""
    if healing is None or by_status is None:
        return
    lists = {"failed": "failedBrokers", "failed_log_dirs": "failedLogDirs", "gone": "goneBrokers", "repairs": "repairs"}
    same = "broker", "fate", "command", "bytes", "since", "replicas", "impossible", "repaired", "awaited"
    for name, by_name in lists.items():
        for one, other in zip(healing[name], by_status[by_name], strict=True):
            both = [key for key in same if key in one and key in other]
            assert {key: one[key] for key in both} == {key: other[key] for key in both}, name
    told = [one["broker"] for name in ("failed", "failed_log_dirs", "gone") for one in healing[name]]
    assert len(told) == len(set(told)), "one line for each"
    assert by_status["heldBack"] == healing["held_back"]
    assert (by_status["waitingMoves"], by_status["activeMoves"]) == (healing["waiting"], healing["in_flight"])


def compare_with_zookeeper(status: Json, by_nodes: Json, by_zookeeper: Json) -> None:
    totals, stored = status["totals"], by_zookeeper["status"]
    for found in (by_nodes, by_zookeeper):
        assert sum(one["state"] == "moving" for one in found["moves"]) == totals["in_flight"]
        assert found["waiting"] == sum(totals["waiting"].values())
        assert sum(one["alive"] for one in found["brokers"]) == status["brokers_live"]
        assert found["controller"]["id"] == status["controller"]["id"]
        assert found["controller"]["epoch"] == status["controller"]["epoch"]
    same = "in_flight", "waiting"  # a server counts the health of partitions now and then
    assert {key: stored["totals"][key] for key in same} == {key: totals[key] for key in same}
    of_place = "cluster", "brokers_live", "brokers_lost", "enabled", "disabled_by", "caps"
    assert {key: stored[key] for key in of_place} == {key: status[key] for key in of_place}


def compare_metrics(status: Json, metrics: Samples) -> None:
    totals, work, healing = status["totals"], status["work"], status["healing"]
    told = {
        "moves_in_flight": totals["in_flight"],
        "moves_held": totals["held"],
        "moves_stalled": totals["stalled"],
        "moves_bytes": totals["bytes_total"],
        "moves_bytes_left": totals["bytes_left"],
        "all_done_seconds": -1 if work["done_ms"] is None else work["done_ms"] / 1000,
        "moves_remaining_seconds": -1 if totals["remaining_ms"] is None else totals["remaining_ms"] / 1000,
        "partitions_under_replicated": totals["under_replicated"],
        "partitions_offline": totals["offline"],
        "brokers_live": status["brokers_live"],
        "reassignments_enabled": int(status["enabled"]),
        "healing_paused": int(healing["paused"]),
        "brokers_failed": len(healing["failed"]) + len(healing["gone"]),
        "brokers_with_failed_log_dirs": len(healing["failed_log_dirs"]),
        "controller_epoch": status["controller"]["epoch"],
    }
    assert {name: metrics.get((name, ())) for name in told} == told
    for route in ("rpc", "queue", "batch", "heal"):
        assert metrics["moves_waiting", (route,)] == totals["waiting"].get(route, 0)


async def test_sv_11_all_tell_the_same_of_moves_that_wait_of_drained_brokers_and_of_repairs(
    zk_connect: str, tmp_path: Path, look: Look
) -> None:
    """Broker 5 loses a log dir, and dies with it."""
    async with cluster(
        zk_connect, sampling=SAMPLING, metrics=True, status_page="full", event_log=tmp_path / "events"
    ) as world:
        page, bootstrap, names = world.metrics_address, world.bootstrap, iter(OF_WAITING)

        async def state(name: str, is_so: Callable[[Json], object]) -> Json:
            assert next(names) == name
            found = await agreed(page, bootstrap, zk_connect, is_so)
            await look(name, page)
            return found

        def no_estimate(now: Json) -> str:
            return str(now["work"]["no_estimate"])

        async def asked(what: Callable[[ReassignmentClient], Any]) -> Any:
            def ask() -> Any:
                with ReassignmentClient(bootstrap_servers=bootstrap) as client:
                    return what(client)

            return await asyncio.to_thread(ask)

        async def waits_for() -> list[str]:
            found = json.loads((await get(page, "/api/v1/moves?state=waiting")).body)["moves"]
            told = await asked(action_describe.why_they_wait)
            assert told == {TopicPartition(one["topic"], one["partition"]): one["waits_for"] for one in found}
            return sorted({one["waits_for"] for one in found})

        await world.create_topic("a", {0: (1, 2)}, held=True)
        await world.create_topic("b", {0: (5, 2), 1: (5, 1)}, held=True)
        await world.configure("brokers", "<default>", {RATE: "0"})
        in_two_days = DAYS[(datetime.now(UTC).weekday() + 2) % 7]
        await world.settings({WINDOWS: f"{in_two_days} 02:00-03:00 UTC"})
        await world.alter({("a", 0): (3, 2)}, reason="one", queue=True)
        found = await state(
            "window", lambda now: now["window"] and not now["window"]["open"] and now["totals"]["waiting"]
        )
        assert no_estimate(found) == "1 waiting move waits for a window"
        [why] = await waits_for()
        assert why.startswith("a window: "), "window"

        await asked(lambda client: client.hold(topics=["a"], reason="disks"))
        found = await state("held", lambda now: now["totals"]["held"] == 1)
        assert no_estimate(found) == "1 waiting move is held until it is released"
        [why] = await waits_for()
        assert why.startswith("its release: held by User:ANONYMOUS"), "held"

        await asked(lambda client: client.release(topics=["a"]))
        await world.settings({MAX_PER_CLUSTER: "0"})
        found = await state("cap", lambda now: not now["window"] and now["caps"]["moves_per_cluster"] == 0)
        assert await waits_for() == ["room in the cluster: at most 0 moves in flight"], "a cap"

        await world.settings({CORDONED_BROKERS: "5"})
        answer = await world.alter({("b", 0): (4, 2), ("b", 1): (4, 1)}, reason="drain 5", throttle=5_000)
        assert set(answer.values()) == {(0, None)}
        found = await state(
            "cordon-and-drain", lambda now: now["totals"]["in_flight"] == 3 and now["totals"]["stalled"] == 3
        )
        brokers = {one.id: one for one in (await asked(lambda client: client.brokers())).brokers}
        assert (brokers[5].cordoned, {one["reason"] for one in found["groups"]}) == (True, {"one", "drain 5"})

        await world.configure("brokers", "4", {RATE: "7"})

        async def is_in_place_of_the_lease() -> bool:
            """Bytes arrive now, so that no two answers are the same."""
            of_client = next(one for one in (await asked(lambda client: client.brokers())).brokers if one.id == 4)
            of_page = json.loads((await get(page, "/api/v1/brokers")).body)["brokers"][3]
            assert to_builtins(of_client.throttle_in) == of_page["throttle_in"] == {"rate": 7, "by": "config"}
            return True

        assert next(names) == "lease-under-a-foreign-config"
        await eventually(is_in_place_of_the_lease)
        await look("lease-under-a-foreign-config", page)

        await world.alter({("b", 0): None, ("b", 1): None, ("a", 0): None})
        healed = {INTERVAL: "3600000", MAX_BROKERS: "5", MAX_PERCENTAGE: "100", APPROVAL: "required"}
        await world.settings(healed)
        await world.fleets[5].brokers[5].lose_log_dirs([0])
        found = await state(
            "failed-log-dir", lambda now: now["healing"]["failed_log_dirs"] and not now["totals"]["in_flight"]
        )
        [lost] = found["healing"]["failed_log_dirs"]
        assert lost["fate"].startswith("ready for approval at "), "a failed log dir"

        await world.kill_broker(5)
        found = await state(
            "failed-log-dir-then-death", lambda now: now["healing"]["failed"] and not now["healing"]["failed_log_dirs"]
        )
        assert [one["broker"] for one in found["healing"]["failed"]] == [5], "then its death, counted once"

        await world.settings({**healed, INTERVAL: "1"})
        found = await state("approval", lambda now: now["healing"]["repairs"] and not now["healing"]["failed"])
        [gone] = found["healing"]["gone"]
        assert "for approval)" in gone["fate"]
        assert gone["command"].endswith("--approve --brokers 5")
        assert all(why.startswith("approval since ") for why in await waits_for()), "approval"
        assert next(names, None) is None


async def test_sv_11_page_api_metrics_vendor_api_and_commands_tell_the_same_in_each_state(
    zk_connect: str, tmp_path: Path, look: Look
) -> None:
    address, _, chroot = zk_connect.partition("/")
    async with (
        Proxy(address) as zookeeper,
        cluster(
            zk_connect,
            sampling=SAMPLING,
            metrics=True,
            status_page="full",
            event_log=tmp_path / "events",
            connect_of_server=f"127.0.0.1:{zookeeper.port}/{chroot}",
        ) as world,
    ):
        page, bootstrap, names = world.metrics_address, world.bootstrap, iter(OF_FAILURES)

        def kinds(status: Json) -> list[str]:
            return [one["kind"] for one in status["problems"]]

        def lost(status: Json) -> list[int]:
            return [one["broker"] for one in [*status["healing"]["failed"], *status["healing"]["gone"]]]

        async def state(name: str, is_so: Callable[[Json], object]) -> Json:
            assert next(names) == name
            found = await agreed(page, bootstrap, zk_connect, is_so)
            await look(name, page)
            return found

        found = await state("idle", lambda now: now["healing"] and now["totals"]["offline"] == 0)
        assert (found["work"]["moves"], found["work"]["done_ms"], kinds(found)) == (0, 0, []), "nothing to do"

        await world.create_topic("a", {0: (1, 2), 1: (2, 1)}, held=True)
        await world.create_topic("b", {0: (1, 2)}, held=True)
        await world.create_topic("c", {0: (4, 5)}, held=True)
        await world.configure("brokers", "<default>", {RATE: "0"})
        await world.settings({MAX_PER_CLUSTER: "2"})
        await world.alter({("a", 0): (3, 2), ("a", 1): (3, 1)}, reason="one", throttle=5_000)
        await world.alter({("b", 0): (4, 2)}, reason="two", queue=True)
        found = await state(
            "moving", lambda now: now["work"]["bytes_total"] == 3 * SIZE and not now["totals"]["stalled"]
        )
        assert (found["totals"]["in_flight"], found["totals"]["waiting"]) == (2, {"queue": 1}), (
            "in flight, waiting, throttled"
        )
        found = await state("throttled-low", lambda now: now["totals"]["stalled"] == 2)
        assert (kinds(found), found["work"]["no_estimate"]) == (["stalled"], "2 moves are stalled")
        assert {one["reason"]: one["waiting"] for one in found["groups"]} == {"one": 0, "two": 1}

        zookeeper.refusing = "close"
        zookeeper.fin()
        found = await state("no-zookeeper", lambda now: now["role"] == "none" and now["totals"]["stalled"] == 2)
        assert found["reason"] == "ZooKeeper is not connected"
        assert kinds(found) == ["no_controller", "stalled"], "no ZooKeeper: what the controller knows is shown"
        zookeeper.refusing = ""
        await state("zookeeper-is-back", lambda now: now["role"] == "controller")

        assert set((await world.alter({("a", 1): None})).values()) == {(0, None)}
        found = await state(
            "cancel-in-the-middle", lambda now: now["totals"]["stalled"] == 2 and not now["totals"]["waiting"]
        )
        assert (found["totals"]["in_flight"], found["work"]["moves"]) == (2, 3), "cancelled: what waited has begun"

        await world.kill_broker(4)
        found = await state(
            "dead-and-a-move-to-it",
            lambda now: now["brokers_live"] == 4 and lost(now) == [4] and now["totals"]["stalled"] == 2,
        )
        [alone] = found["healing"]["failed"]
        assert (alone["replicas"], alone["bytes"], alone["heal_at"]) == (1, SIZE, None), "what is lost"
        assert (alone["fate"], found["healing"]["interval_ms"]) == ("never healed by itself", None)
        assert alone["command"].endswith(" --now 4"), "what makes it happen"

        await world.settings({ENABLED: "false", PAUSED: "true"})
        found = await state("disabled-and-paused", lambda now: now["enabled"] is False and now["healing"]["paused"])
        assert kinds(found)[:4] == ["lost_brokers", "stalled", "disabled", "healing_paused"]

        await world.kill_broker(3)
        found = await state("two-dead", lambda now: now["brokers_live"] == 3 and {3, 4} <= {*lost(now)})
        assert found["brokers_lost"] == len(lost(found))
        assert "4 since " in found["problems"][0]["text"]
        assert "1 move waits for it" in found["problems"][0]["text"], "a move alone would fill broker 3"

        standby = ServerConfig(
            zk_connect, LISTENERS, server_id=1002, metrics_listener=("127.0.0.1", 0), sampling=SAMPLING,
            status_page="full", event_log=EventLogConfig(tmp_path / "second"),
        )  # fmt: skip
        async with ControllerProcess(standby) as server:
            await server.ready()
            await world.stop_server()
            page, bootstrap = str(server.metrics_address), server.bootstrap
            found = await state(
                "failover", lambda now: now["role"] == "controller" and now["healing"] and now["totals"]["stalled"] == 2
            )
            assert (found["totals"]["bytes_left"], found["work"]["share"]) == (None, None), "nobody has measured them"

            healed = {INTERVAL: "1000", MAX_BROKERS: "5", MAX_PERCENTAGE: "100"}
            await world.settings({ENABLED: "true", PAUSED: "false", **healed})
            found = await state("healing", lambda now: now["healing"]["waiting"] + now["healing"]["in_flight"])
            assert found["healing"]["repairs"], "healing"

            await world.settings({INTERVAL: "-1", MAX_PER_CLUSTER: "100"})
            await world.configure("brokers", "<default>", {})
            for topic in ("a", "b", "c"):
                await world.release(topic)
            async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
                await client.alter_partition_reassignments({TopicPartition("a", 0): None})  # its lease is slow
            for number in (3, 4):
                await world.start_broker(number)
            found = await state(
                "done",
                lambda now: (
                    now["brokers_live"] == 5
                    and not now["totals"]["in_flight"]
                    and not now["totals"]["waiting"]
                    and now["totals"]["under_replicated"] == 0
                    and not now["work"]["moves"]
                ),
            )
            assert (found["work"]["done_ms"], found["brokers_lost"], found["totals"]["bytes_left"]) == (0, 0, 0), "done"
            assert next(names, None) is None
