"""Watch on stock Kafka in KRaft mode of several releases, one cluster each: what stops a move is produced for real,
one reason after another, with moves of each release's own tool.

The gate has `IN_CI` in turn and after a change of watch, and `test_on_stock_kafka` runs 4.1; the variable
KAFKA_RELEASES names others, with commas between them: each needs a pom in tests/stock/poms.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ACLOperation, ResourceType

from kafka_reassign_rpc.client import throttle_configs
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.support.wall_clock import now_ms
from tests.reassign_command.run_command import Command
from tests.stock.jars import require
from tests.waiting import eventually
from tests.watch.disks_and_tiers import Storage, storage_of
from tests.watch.kraft_world import BROKERS, GUEST, RECORD_BYTES, KRaftWorld, failed, kraft_world
from tests.watch.stage import Stage
from tests.watch.watching import looks_every, watching

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(400)]

IN_CI = "3.9.1,4.3.1"
RELEASES = os.environ.get("KAFKA_RELEASES", IN_CI).split(",")
RECORDS = 60
RATE = 1_000
"""Kafka lets through what eleven seconds at this rate allow, then this rate: the records take five minutes."""
PATIENCE: dict[str, Any] = {"request_timeout_ms": 10_000}
"""As the command: a frozen broker keeps nobody waiting, and no sound one is given up because the machine is busy."""


async def bytes_and_times_are_true(stage: Stage) -> None:
    """Of moves of the stock tool. Too few replicas for `min.insync.replicas` stop producers, and no move.

    The move to another broker starts last: it could use up the leader's throttle for a minute, since each of its
    fetches takes what the throttle lets through in eleven seconds.
    """
    world, stays, target, lost = stage.world, stage.stays, stage.target, stage.lost
    await stage.configs({(TOPIC, "moved"): {"min.insync.replicas": "2"}})
    before = now_ms()
    await world.reassign({"moved": [target], "slow": [target]}, RATE)

    async def copied() -> Any:
        one = (await stage.watch.moves())["moved-0"]
        assert one["bytes_copied"], one
        return one

    one = await eventually(copied)
    assert (one["original"], one["target"], one["adding"], one["leader"]) == ([stays], [target], [target], stays)
    assert before <= one["since"] <= now_ms()
    assert one["bytes_total"] == world.on_disk(stays, "moved") > RECORDS * RECORD_BYTES
    assert one["bytes_copied"] <= world.on_disk(target, "moved") < one["bytes_total"]
    assert one["copied"] == {str(target): one["bytes_copied"]}
    held = world.on_disk(target, "moved")

    async def follows() -> bool:
        return bool((await stage.watch.moves())["moved-0"]["bytes_copied"] >= held)

    await eventually(follows)
    await stage.hold(["kept"], stays, [lost], RATE)
    await stage.moves({"kept": [lost]})


async def throttles_are_named(stage: Stage) -> None:
    await stage.configs(throttle_configs.rates(BROKERS, 1))
    throttled = f"broker {stage.target} fetches nothing from broker {stage.stays}, throttled to 1 B/s"
    await stage.stalled("moved", throttled)
    with stage.world.producing("slow"):

        async def is_named() -> bool:
            why = (await stage.watch.moves())["slow-0"]["stalled"]
            return why is not None and why.startswith("throttled to 1 B/s (") and why.endswith(" B/s are produced")

        await eventually(is_named)

    async def is_measured() -> bool:
        told = (await stage.watch.moves())["slow-0"]["bytes_total"]
        return bool(told == stage.world.on_disk(stage.stays, "slow"))

    await eventually(is_measured)
    await stage.configs({(TOPIC, "moved"): dict.fromkeys(throttle_configs.TOPIC_THROTTLES)})
    await stage.completed("moved")
    assert stage.world.on_disk(stage.target, "moved") >= RECORDS * RECORD_BYTES


async def a_replica_that_is_added_and_removed_is_named(stage: Stage) -> None:
    """A move that is led back before its end, by another move and not by a cancel: KRaft 4 never ends that, with no
    throttle either; 3.9 ends it at once."""
    there, back = [stage.target, stage.lost], [stage.stays, stage.lost]
    await stage.hold(["both"], stage.stays, [stage.target])
    await stage.moves({"both": there})
    await stage.moves({"both": back})
    await stage.configs({(TOPIC, "both"): dict.fromkeys(throttle_configs.TOPIC_THROTTLES)})
    never = f"broker {stage.target} is both added and removed, which never ends: end the move with "
    await stage.stalled("both", never)
    await stage.cancel("both")

    async def is_cancelled() -> bool:
        return ("move.cancelled", "both") in await stage.watch.events()

    await eventually(is_cancelled, within=90)
    assert ("move.completed", "both") not in await stage.watch.events()


async def a_lost_broker_is_named_in_each_of_its_states(stage: Stage) -> None:
    world, lost = stage.world, stage.lost
    broken = world.log_dir_of(lost, "kept")
    with failed(broken):
        await stage.stalled("kept", f"log dir {broken} of broker {lost} has failed")
        world.nodes[lost].freeze()
        state = "fenced" if stage.release >= (4, 0) else "dead"
        await stage.stalled("kept", f"broker {lost} is {state}")
        await stage.moves({"sick": [stage.target, lost], "alone": [stage.target]})
        if stage.release >= (4, 3):  # it waits for adding replicas alone, and may be over before it is seen
            await eventually(stage.sick_is_moved)
        else:
            await stage.stalled("sick", f"broker {lost} stays and is out of sync (broker {lost} is {state}): mend it")
        eligible = f": broker {lost} is eligible, start it" if stage.release >= (4, 1) else ""
        await stage.stalled("alone", f"there is no leader to copy from{eligible}")
        await eventually(lambda: status_says_the_same(stage))  # each looks when it looks
        await world.nodes[lost].kill()


async def status_says_the_same(stage: Stage) -> bool:
    """At once, and without any process that has watched before."""
    told = await Command(stage.bootstrap).json("status")
    seen = await stage.watch.moves()
    keys = ("target", "adding", "removing", "leader", "stalled")
    of_status = {f"{one['topic']}-{one['partition']}": one for one in told["moves"]}
    assert of_status.keys() == seen.keys()
    for name in seen.keys() - {"slow-0"}:  # that a throttle is too low takes its time to show
        assert [of_status[name][key] for key in keys] == [seen[name][key] for key in keys]
    status = await stage.watch.document("status")
    assert told["controller"]["id"] == status["controller"]["id"] != stage.lost
    kinds = [one["kind"] for one in told["problems"]]
    assert {"lost_brokers", "offline", "stalled"} <= set(kinds)
    return True


async def a_broker_comes_back_at_another_port(stage: Stage) -> None:
    stage.world.move_to_another_port(stage.lost)
    await stage.world.nodes[stage.lost].start()

    async def is_lifted() -> bool:
        """As soon as the broker that is asked has learned of the one that came back."""
        await stage.configs(throttle_configs.no_broker_throttles(BROKERS))
        return True

    await eventually(is_lifted)
    await stage.completed("alone", "kept")
    await eventually(stage.sick_is_moved)
    assert stage.world.on_disk(stage.lost, "kept") >= RECORDS * RECORD_BYTES


async def each_right_that_is_missing_is_named(world: KRaftWorld, folder: Path) -> None:
    """With moves under way: the guest comes without rights, and gets one after another."""

    async with watching(world.bootstrap_of_guests, folder / "guest", **PATIENCE, **GUEST) as watch:

        async def problems(*beginnings: str) -> bool:
            texts = await watch.problems()
            return all(any(text.startswith(one) for text in texts) for one in beginnings)

        wrong = {**GUEST, "sasl_plain_password": "wrong"}
        async with watching(world.bootstrap_of_guests, folder / "stranger", **PATIENCE, **wrong) as stranger:

            async def is_named() -> bool:
                (text,) = await stranger.problems()
                return text.startswith("the cluster cannot be seen: 127.0.0.1:") and "Authentication failed" in text

            await eventually(is_named)
        refused = "the cluster cannot be seen: to see moves this principal needs the operation DESCRIBE on the cluster"
        topics = "Leaders and ISRs of 2 topics are not seen: they need the operation DESCRIBE on them (kept, slow)"
        configs = "Throttles are not all seen (the operation DESCRIBE_CONFIGS on the cluster and on topics shows them)"
        await eventually(lambda: problems(refused))
        await asyncio.to_thread(world.allow_guest, ACLOperation.DESCRIBE, ResourceType.CLUSTER, "kafka-cluster")
        await eventually(lambda: problems(topics, configs))
        assert sorted(await watch.moves()) == ["kept-0", "slow-0"]
        await asyncio.to_thread(world.allow_guest, ACLOperation.DESCRIBE, ResourceType.TOPIC, "*")
        await asyncio.to_thread(world.allow_guest, ACLOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "*")
        await asyncio.to_thread(world.allow_guest, ACLOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, "kafka-cluster")

        async def all_is_seen() -> bool:
            kinds = {one["kind"] for one in (await watch.document("status"))["problems"]}
            return "unseen" not in kinds and "no_controller" not in kinds

        await eventually(all_is_seen)


async def that_nobody_tells_the_moves_is_said(stage: Stage) -> None:
    """Without an active controller each broker keeps a List."""
    stage.world.nodes[stage.stays].freeze()

    async def is_said() -> bool:
        texts = await stage.watch.problems()
        return any(text.startswith("No broker has said since ") or text.endswith(" UTC)") for text in texts)

    await eventually(is_said, within=60)


async def another_cluster_at_the_address_is_said(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    for node in stage.world.nodes.values():
        await node.kill()
    other = stage.world.replaced()
    try:
        await other.start()
        await eventually(lambda: stage.watch.watcher.cluster_id == other.cluster_id, within=90)
        await eventually(lambda: stage.watch.watcher.answers)
        assert await stage.watch.moves() == {}
    finally:
        await other.kill()
    assert f"another cluster answers at the same address: {other.cluster_id}" in caplog.text


@asynccontextmanager
async def stage_of(
    version: str, folder: Path, controllers: tuple[int, ...], storage: Storage | None
) -> AsyncIterator[Stage]:
    async with (
        kraft_world(version, folder / "nodes", controllers, {} if storage is None else storage.settings()) as world,
        watching(world.bootstrap, folder / "events", **PATIENCE) as watch,
    ):
        await eventually(lambda: watch.watcher.answers)
        active = (await watch.document("status"))["controller"]["id"]
        stage = Stage(world, watch, active if len(controllers) > 1 else BROKERS[-1])
        stays, lost = stage.stays, stage.lost
        if storage is not None:
            await storage.close_small_disk(stage)
        topics = {"moved": [stays], "slow": [stays], "kept": [stays], "sick": [stays, lost], "alone": [lost]}
        topics["both"] = [stays, lost]
        await asyncio.to_thread(world.create, topics, RECORDS)
        yield stage


@pytest.mark.parametrize("version", RELEASES)
async def test_kr_1_whatever_stops_a_move_on_a_cluster_of_each_release_is_named_and_its_bytes_are_those_on_disk(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Three controllers before 4.0, of which the active one is lost; later one, whose cluster is replaced at last. From
    4.3 on also cordoned log dirs, a full disk and tiered topics."""
    require(version)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALL_S", 2.0)
    looks_every(1.0, monkeypatch)
    with storage_of(version, tmp_path) as storage:
        await whatever_stops_a_move_is_named(version, tmp_path, caplog, storage)


async def whatever_stops_a_move_is_named(
    version: str, folder: Path, caplog: pytest.LogCaptureFixture, storage: Storage | None
) -> None:
    controllers = (1,) if version.startswith("4.") else BROKERS
    async with stage_of(version, folder, controllers, storage) as stage:
        await bytes_and_times_are_true(stage)
        await throttles_are_named(stage)
        if stage.release >= (4, 0):
            await a_replica_that_is_added_and_removed_is_named(stage)
        if len(controllers) == 1:
            await each_right_that_is_missing_is_named(stage.world, folder)
        await a_lost_broker_is_named_in_each_of_its_states(stage)
        if len(controllers) > 1:
            await eventually(lambda: stage.watch.watcher.view().controller.id in (stage.stays, stage.target))
        await a_broker_comes_back_at_another_port(stage)
        if storage is not None:
            await storage.is_told(stage)
        if len(controllers) == 1:
            await that_nobody_tells_the_moves_is_said(stage)
            await another_cluster_at_the_address_is_said(stage, caplog)
    assert "a defect" not in caplog.text
