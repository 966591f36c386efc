"""kr-1: one broker of a stock KRaft cluster is frozen (SIGSTOP), and delays nothing else, whatever watch asks of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.stock.jars import require
from tests.stock.kraft import VERSION
from tests.waiting import eventually
from tests.watch.hung import IMPATIENT, Looks, is_heard_again, others_go_on, silence_is_said
from tests.watch.kraft_world import BROKERS, kraft_world
from tests.watch.stage import Stage
from tests.watch.watching import watching

pytestmark = [pytest.mark.stock, pytest.mark.in_ci, pytest.mark.timeout(400)]

RECORDS = 60
RATE = 2_000
HUNG = BROKERS[-1]
STAYS_REGISTERED = {"broker.session.timeout.ms": "120000"}


async def test_kr_1_while_a_stock_broker_hangs_moves_of_others_and_their_throttles_are_seen_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is registered all the while, so that brokers name it as the controller; and it is the first address."""
    require(VERSION)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALL_S", 2.0)
    looks = Looks(monkeypatch)
    settings = dict.fromkeys(BROKERS, STAYS_REGISTERED)
    async with kraft_world(VERSION, tmp_path / "nodes", (1,), settings) as world:
        first = f"127.0.0.1:{world.nodes[HUNG].port},{world.bootstrap}"
        async with watching(first, tmp_path / "events", **IMPATIENT) as watch:
            await eventually(lambda: watch.watcher.answers)
            stage = Stage(world, watch, HUNG)
            topics = {"good": [stage.stays], "bad": [stage.stays]}
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
