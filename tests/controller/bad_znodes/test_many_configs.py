"""Many configs, and many announcements of their changes, are read in slices."""

import asyncio
from collections.abc import Sequence

from kafka_reassign_rpc.controller.loading.load_cluster import read_named_configs
from kafka_reassign_rpc.zookeeper import znode_contents
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore, announcement
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.longest_turn import tries

MANY = 100_000


class ReadAlready(ZooKeeper):
    """A session whose reads are answered in no time: every child and every znode has the same content."""

    def __init__(self, names: Sequence[str], content: bytes) -> None:
        super().__init__("127.0.0.1:1")
        self._names = names
        self._content = content, Stat(*([0] * len(Stat._fields)))

    async def children(self, path: str, watch: bool = False, *, many: bool = False) -> list[str]:
        return list(self._names)

    async def multi_get(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        await asyncio.sleep(0)
        return [self._content for _ in paths]


async def test_sv_3_many_configs_are_decoded_in_slices() -> None:
    names = [f"topic-{number}" for number in range(MANY)]
    zk = ReadAlready(names, znode_contents.encode_config({"retention.ms": "1"}))
    for measured in tries():
        async with measured:
            found = await read_named_configs(zk, "topics", names)
        assert len(found.configs) == MANY
        del found


async def test_236_11_many_announcements_of_config_changes_are_read_in_slices() -> None:
    names = [f"config_change_{number:010}" for number in range(MANY)]
    store = ConfigStore(ReadAlready(names, announcement("topics/t").data))
    for since, changed in ((-1, ["topics/t"]), (MANY - 1, [])):
        for measured in tries():
            async with measured:
                found = await store.changes_since(since)
            assert found == (MANY - 1, changed, [])
