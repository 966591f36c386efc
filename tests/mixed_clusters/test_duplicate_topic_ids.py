"""Two topics of stock brokers 3.9.1 get one id: no stock broker can be elected, our server serves the one that had it
first, and the commands that the check prints bring the other back with all its records."""

import json
import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import metadata
from tests.fork_server import CLI, output_of
from tests.migration.page import put_stock_tools, shell
from tests.waiting import eventually

from .mixed_cluster import PARTITION_BYTES, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]

NOT_ELECTED = re.compile(rb"topic name map already contained ID|error while electing or becoming controller")


async def test_sv_4_of_topics_of_stock_brokers_with_one_id_the_first_is_served_and_the_other_comes_back_with_its_logs(
    tmp_path: Path,
) -> None:
    put_stock_tools(tmp_path / "bin")
    async with behind_our_server(tmp_path, (1, 2)) as mixed, shell(tmp_path, tmp_path / "bin") as operator:
        zk, stock = mixed.zk, mixed.stock
        for topic in ("kept", "twin"):
            await mixed.create(topic, {0: (1, 2)})
        kept, twin = [await mixed.cluster.topic(topic) for topic in ("kept", "twin")]
        await zk.set(znode_paths.topic("twin"), json.dumps(twin | {"topic_id": kept["topic_id"]}).encode())
        await mixed.cluster.servers["a"].kill()
        await stock.brokers[1].wait_for_line(NOT_ELECTED)

        await mixed.serve("b")
        shown = (await metadata(mixed.cluster.address("b"), "kept", "twin")).topics
        assert {one.name: one.error_code == 0 for one in shown} == {"kept": True, "twin": False}
        await mixed.start({("kept", 0): (2, 1)})
        await mixed.rest_at({("kept", 0): (2, 1)})
        for name in ("kept", "twin"):
            assert all(broker.has(name, 0) for broker in stock.brokers.values())

        for flags in ((), ("--for-kraft",)):
            printed = await output_of(CLI, ["check", "--json", "--zookeeper-connect", mixed.cluster.connect, *flags])
            (found,) = [one for one in json.loads(printed.out)["findings"] if one["subject"] == "twin-ids"]
            assert found["level"] == "UNSAFE"
            assert f"topics kept, twin have one id, {kept['topic_id']}" in found["text"]
            assert f"kept keeps its id; brokers know twin under {twin['topic_id']}" in found["advice"]
        for command in found["commands"]:
            await operator.run(command)

        async def serves_both() -> bool:
            shown = (await metadata(mixed.cluster.address("b"), "kept", "twin")).topics
            return all(one.error_code == 0 for one in shown)

        await eventually(serves_both)
        assert await mixed.cluster.topic("twin") == twin
        await mixed.start({("twin", 0): (2, 1)})
        await mixed.rest_at({("twin", 0): (2, 1)})
        assert await mixed.read_in_group("twin") == PARTITION_BYTES
