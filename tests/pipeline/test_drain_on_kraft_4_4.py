"""A drain of two cordoned brokers of stock Kafka 4.4, which refuses a target that keeps one of them."""

import asyncio
import json
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import ReassignmentClient, TopicPartition
from kafka_reassign_rpc.client.config_calls import BROKER
from tests.pipeline.test_real_clusters import fill
from tests.pipeline.test_submit import assignment
from tests.stock.jars import require
from tests.stock.kraft import kraft_cluster, start_all
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(600)]

VERSION = "4.4.0"
STAYING, DRAINED = (1, 2), (3, 4)
WHERE = [[3, 4], [4, 3], [3, 1], [2, 4], [1, 2]]


async def ours(*arguments: str) -> int:
    return await asyncio.to_thread(main, list(arguments))


async def test_dh_2_two_cordoned_brokers_that_share_partitions_are_drained_in_one_step_on_kafka_4_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require(VERSION)
    nodes = kraft_cluster(tmp_path / "nodes", (*STAYING, *DRAINED), version=VERSION)
    bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    try:
        await start_all(nodes)
        await asyncio.to_thread(fill, bootstrap, {"t": [(replicas, 20) for replicas in WHERE]})
        with ReassignmentClient(bootstrap_servers=bootstrap) as client:
            cordon = {(BROKER, str(broker)): {"cordoned.log.dirs": "*"} for broker in DRAINED}
            assert set((await asyncio.to_thread(client.change_configs, cordon)).values()) == {None}
            snapshot, plan = tmp_path / "snapshot", tmp_path / "plan"

            async def is_exported() -> bool:
                out = tmp_path / f"look-{len(list(tmp_path.glob('look-*')))}"
                assert await ours("export", "--bootstrap-server", bootstrap, "--out", str(out)) == 0
                assert (
                    await ours("plan", "drain", "--brokers", "3,4", "--snapshot", str(out), "--out", f"{out}-plan") == 0
                )
                summary = json.loads((out.with_name(f"{out.name}-plan") / "summary.json").read_text())
                if "brokers 3, 4 are cordoned: the plan brings no replica there" not in summary["notes"]:
                    return False
                out.rename(snapshot)
                out.with_name(f"{out.name}-plan").rename(plan)
                return True

            await eventually(is_exported, within=120)
            keeps_one = {TopicPartition("t", 0): (1, 4)}
            refused = await asyncio.to_thread(client.alter_partition_reassignments, keeps_one)
            [error] = refused.values()
            assert error is not None, "in two steps it could not be done"
            assert await ours("submit", "--plan", str(plan), "--bootstrap-server", bootstrap, "--execute") == 0
            told = capsys.readouterr()
            for broker in DRAINED:
                assert f"broker {broker} is empty" in told.err + told.out
            now = await asyncio.to_thread(assignment, client, "t")
            assert all(set(replicas) == set(STAYING) for replicas in now.values())
            assert len(now) == len(WHERE)
    finally:
        await asyncio.gather(*(node.kill() for node in nodes))
