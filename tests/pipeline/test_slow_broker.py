"""Submit on a real server with a slow broker: its moves do not keep those of other brokers from starting."""

import asyncio
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from tests.controller.cluster import RATE, SIZE, cluster
from tests.pipeline.plans import write_plan
from tests.pipeline.test_submit import cluster_id, submission
from tests.waiting import eventually

pytestmark = pytest.mark.gate

SLOW, QUICK = range(8), range(8, 20)
"""Partitions of broker 1: the first go to broker 5, which copies a byte a second, the others to the other brokers."""


@pytest.mark.parametrize("queues", [True, False], ids=["in the queue of the server", "in the window of submit"])
async def test_dp_7_moves_to_a_slow_broker_do_not_stall_others(
    zk_connect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queues: bool
) -> None:
    """`submit` keeps a window of moves itself where the controller has no queue, as stock Kafka."""
    if not queues:
        monkeypatch.setattr(ReassignmentClient, "can_queue", lambda _: False)
    async with cluster(zk_connect, event_log=tmp_path / "events") as world:
        for broker in (2, 3, 4):
            await world.configure("brokers", str(broker), {RATE: str(20 * SIZE)})
        await world.create_topic("t", dict.fromkeys((*SLOW, *QUICK), (1,)), held=True)
        targets = {("t", index): (5 if index in SLOW else 2 + index % 3,) for index in (*SLOW, *QUICK)}

        def execute() -> int:
            with ReassignmentClient(bootstrap_servers=world.bootstrap) as client:
                batch = {name: (target, (1,)) for name, target in targets.items()}
                path = write_plan(tmp_path / "p", cluster_id(client), batch)
                return submission(client, path, caps=PlanCaps(3, 100)).execute()

        carried_out = asyncio.create_task(asyncio.to_thread(execute))

        async def quick_ones_are_done() -> bool:
            return all([await world.assignment("t", index) == list(targets["t", index]) for index in QUICK])

        try:
            await eventually(quick_ones_are_done)
            in_flight = {name for name, state in (await world.states()).items() if state == "moving"}
            assert in_flight
            assert in_flight <= {("t", index) for index in SLOW}
        finally:
            await world.release("t")
            begun = await carried_out
        assert begun == len(targets)
        ended = [one["partition"] for one in await world.events() if one["event"] == "move.completed"]
        assert sorted(ended[: len(QUICK)]) == list(QUICK), "all of these before the first to broker 5"
        assert len(ended) == len(targets)
