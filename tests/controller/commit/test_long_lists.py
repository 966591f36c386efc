"""Long lists of names are decoded off the event loop."""

import threading

import pytest

from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.zookeeper import jute, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.zookeeper_client import DECODED_AT_ONCE_BYTES, ZooKeeper


async def test_sv_5_a_takeover_decodes_a_long_list_of_names_in_a_thread(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    await zk.ensure_path(znode_paths.DELETE_TOPICS)
    names = [f"{number:0249}" for number in range(1 + DECODED_AT_ONCE_BYTES // 249)]
    await zk.multi([Create(znode_paths.delete_topic(name)) for name in names])
    decoded: list[tuple[bool, bool]] = []
    decode = jute.decode_strings

    def noted(answer: bytes, offset: int) -> tuple[list[str], int]:
        in_loop = threading.current_thread() is threading.main_thread()
        decoded.append((len(answer) > DECODED_AT_ONCE_BYTES, in_loop))
        return decode(answer, offset)

    monkeypatch.setattr(jute, "decode_strings", noted)
    loaded = await read_cluster(zk)
    assert loaded.cluster.stale_marks == set(names)
    assert [in_loop for is_long, in_loop in decoded if is_long] == [False]
