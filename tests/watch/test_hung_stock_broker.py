"""kr-1: one broker of a stock KRaft cluster is frozen (SIGSTOP), and delays nothing else, whatever watch asks of it.
Then reasons of stalls that need a broker which is there, and yet of no use.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ACLOperation, ResourceType

from kafka_reassign_rpc.client import throttle_configs
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_REPLICAS
from tests.stock.jars import require
from tests.stock.kraft import VERSION
from tests.waiting import eventually
from tests.watch.hung import IMPATIENT, Looks, is_heard_again, others_go_on, silence_is_said
from tests.watch.kraft_world import BROKERS, GUEST, KRaftWorld, started
from tests.watch.stage import Stage
from tests.watch.watching import looks_every, watching
from tests.zookeeper.proxy import Proxy

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(400)]

RECORDS = 60
RATE = 2_000
HUNG = BROKERS[-1]
STAYS_REGISTERED = {"broker.session.timeout.ms": "300000"}


async def test_kr_1_while_a_stock_broker_hangs_moves_of_others_and_their_throttles_are_seen_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is registered all the while, so that brokers name it as the controller; and it is the first address."""
    require(VERSION)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALL_S", 2.0)
    looks_every(0.3, monkeypatch)
    looks = Looks(monkeypatch)
    world = KRaftWorld(VERSION, tmp_path / "nodes", (1,), dict.fromkeys(BROKERS, STAYS_REGISTERED))
    first = f"127.0.0.1:{world.nodes[HUNG].port},{world.bootstrap}"
    async with (
        Proxy(world.nodes[1].controller) as to_controller,
        started(reached_through(world, to_controller)),
        watching(first, tmp_path / "events", **IMPATIENT) as watch,
    ):
        await eventually(lambda: watch.watcher.answers)
        stage = Stage(world, watch, HUNG)
        topics = {"good": [stage.stays], "bad": [stage.stays], "late": [stage.target]}
        await asyncio.to_thread(world.create, topics, RECORDS)
        await world.reassign({"good": [stage.target], "bad": [HUNG]}, RATE)

        async def are_measured() -> bool:
            moves = await watch.moves()
            return len(moves) == 2 and all(one["bytes_copied"] for one in moves.values())

        await eventually(are_measured)
        world.nodes[HUNG].freeze()
        await silence_is_said(watch, HUNG)
        held = (await watch.moves())["good-0"]["bytes_copied"]

        def copied(moves: Any) -> bool:
            return bool(moves["good-0"]["bytes_copied"] > held)

        await others_go_on(watch, looks, HUNG, copied, other=stage.stays)
        await stage.stalled("bad", f"no answer from broker {HUNG}, and no fetch of the metadata for ")
        async with watching(first, tmp_path / "later", **IMPATIENT) as later:
            await eventually(lambda: later.watcher.answers)
            assert sorted(await later.moves()) == ["bad-0", "good-0"]
        world.nodes[HUNG].thaw()
        await is_heard_again(watch, HUNG)
        await a_target_that_copies_too_slowly_is_named_by_one_who_may_not_see_the_throttle(stage, tmp_path)
        async with watching(world.bootstrap, tmp_path / "last") as other:
            await a_target_that_has_everything_and_stays_out_of_sync_is_named(Stage(world, other, HUNG), to_controller)


def reached_through(world: KRaftWorld, proxy: Proxy) -> KRaftWorld:
    """Broker 2 reaches the controller by this way alone."""
    world.nodes[2].properties["controller.quorum.voters"] = f"1@127.0.0.1:{proxy.port}"
    return world


async def a_target_that_copies_too_slowly_is_named_by_one_who_may_not_see_the_throttle(
    stage: Stage, folder: Path
) -> None:
    for resource, name in ((ResourceType.CLUSTER, "kafka-cluster"), (ResourceType.TOPIC, "*")):
        await asyncio.to_thread(stage.world.allow_guest, ACLOperation.DESCRIBE, resource, name)
    async with watching(stage.world.bootstrap_of_guests, folder / "guest", **IMPATIENT, **GUEST) as watch:
        with stage.world.producing("good"):

            async def is_named() -> bool:
                why = (await watch.moves())["good-0"]["stalled"] or ""
                return why.startswith(f"broker {stage.target} copies ") and why.endswith(" B/s are produced")

            await eventually(is_named, within=90)


async def a_target_that_has_everything_and_stays_out_of_sync_is_named(stage: Stage, to_controller: Proxy) -> None:
    """The leader cannot tell the controller that it is in sync. Nor can it pass on for a minute what it is asked: this
    watch has to give up such an answer."""
    hold = {FOLLOWER_REPLICAS: f"0:{HUNG}"}
    await stage.configs({**throttle_configs.rates([HUNG], 1), (TOPIC, "late"): hold})
    await stage.moves({"late": [HUNG]})

    async def has_begun() -> bool:
        return (await stage.watch.moves())["late-0"]["bytes_copied"] is not None

    await eventually(has_begun)
    to_controller.silence()
    await stage.configs(throttle_configs.no_broker_throttles([HUNG]))
    await stage.stalled("late", f"full ISR never reached: broker {HUNG} has everything, out of sync all the same")
    to_controller.heal()
    await stage.completed("late")
