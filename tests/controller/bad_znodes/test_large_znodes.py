"""A batch or a queue as large as ZooKeeper takes it, full of wrong entries, does not hold up the event loop."""

from collections import Counter

import pytest

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import REPORTED
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register
from tests.longest_turn import tries

LISTS = (znode_paths.REASSIGN_PARTITIONS, *znode_paths.QUEUES)
ENTRIES = {
    "numbers": ["0"] * 520_000,
    "empty objects": ["{}"] * 340_000,
    "one partition": ['{"topic":"t","partition":0,"replicas":[]}'] * 24_000,
    "wrong replicas": ['{"topic":"t","partition":0,"replicas":"' + "x" * 60 + '"}'] * 9_000,
}


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
async def test_236_5_a_batch_and_queues_of_a_mebibyte_of_wrong_entries_are_read_in_slices(
    zk_connect: str, entries: list[str]
) -> None:
    for number, measured in enumerate(tries()):
        connect = f"{zk_connect}/{number}"
        async with ZooKeeper(connect) as zk:
            await put_topic(zk, "t", {0: (1, 2)})
            await register(zk, 1, 2)
            async with elected_controller(connect) as controller:
                for path in LISTS:
                    await zk.create(path, f'{{"version":1,"partitions":[{",".join(entries)}]}}'.encode())
                async with measured:
                    await controller.read_admin_znodes()
                refused = Counter(event.who for event in controller.events if event.event == catalogue.ENTRY_REFUSED)
        assert refused.keys() == {f"znode {path}" for path in LISTS}
        assert max(refused.values()) <= REPORTED + 2
