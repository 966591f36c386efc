"""A controller keeps `/feature`, which Kafka's tools and brokers read (KIP-584)."""

import json

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import Cluster

pytestmark = pytest.mark.gate

FOREIGN = b'{"version":2,"status":0,"features":{"f":{"max_version_level":3}}}'


@pytest.mark.parametrize("there", [None, FOREIGN], ids=["absent", "left by another controller"])
async def test_sv_4_a_controller_creates_the_feature_znode_and_leaves_one_that_is_there(
    cluster: Cluster, there: bytes | None
) -> None:
    if there is not None:
        await cluster.zk.create(znode_paths.FEATURE, there)

    await cluster.server("a")
    await cluster.controlled_by("a")

    found, stat = await cluster.zk.get(znode_paths.FEATURE)
    if there is None:
        assert json.loads(found) == {"version": 1, "status": 1, "features": {}}
    else:
        assert (found, stat.version) == (there, 0)
    assert znode_paths.FEATURE not in cluster.servers["a"].log


@pytest.mark.parametrize("garbage", [b"", b"{", b'{"version":0,"status":1,"features":{}}', b'{"version":1,"status":1}'])
async def test_sv_4_a_feature_znode_that_is_garbage_is_said_once_with_its_path_and_stays(
    cluster: Cluster, garbage: bytes
) -> None:
    await cluster.zk.create(znode_paths.FEATURE, garbage)

    await cluster.server("a")
    await cluster.controlled_by("a")

    found, stat = await cluster.zk.get(znode_paths.FEATURE)
    assert (found, stat.version) == (garbage, 0)
    assert cluster.servers["a"].log.count(f"which stays as it is: {znode_paths.FEATURE}: ") == 1
