"""A broker that has lost a log dir: its replicas there count as dead, until it registers anew."""

import json
from collections.abc import AsyncIterator
from functools import partial

import pytest

from kafka_reassign_rpc.api.a43_elect_leaders import API as ELECT_LEADERS
from kafka_reassign_rpc.protocol.messages import ElectLeadersRequest, MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.operations import AclEntry, Create
from kafka_reassign_rpc.zookeeper.transactions import pipeline, split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import GARBAGE
from tests.controller.bare_controller import topic_json
from tests.faults.cluster import alter, ask
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

from .scripted_cluster import ScriptedCluster, scripted_cluster

EVENTS = znode_paths.LOG_DIR_EVENTS
INELIGIBLE_REPLICA = 107
PREFERRED_LEADER_NOT_AVAILABLE = 80


@pytest.fixture
async def cluster(zk: ZooKeeper, zk_connect: str) -> AsyncIterator[ScriptedCluster]:
    """A server with partitions on 1 and 2: a leader on each, one that broker 1 holds alone, and one on 1, 2 and 3."""
    assignment = {0: (1, 2), 1: (2, 1), 2: (1,), 3: (1, 2, 3)}
    async with scripted_cluster(zk, zk_connect, assignment) as made, made.serving():
        await eventually(lambda: None not in made.shown(3))
        yield made


async def test_sv_10_an_in_sync_replica_leads_in_place_of_one_whose_log_dir_has_failed(
    cluster: ScriptedCluster,
) -> None:
    await cluster.lose_log_dir(1, 0, 1, 2)

    await eventually(lambda: cluster.has(0, 2, [2]))
    assert await cluster.state(1) == (2, [2])
    assert await cluster.state(2) == (-1, [1]), "no other replica has the records"
    assert await cluster.state(3) == (1, [1, 2, 3]), "its replica is on another dir"
    await eventually(lambda: cluster.shown(0) == [(2, [2], [1])] * 3)
    await eventually(lambda: cluster.shown(2) == [(-1, [1], [1])] * 3)
    assert cluster.shown(3) == [(1, [1, 2, 3], [])] * 3
    await eventually(lambda: cluster.is_gone(EVENTS))
    answer = await ask(cluster.server, MetadataRequest(version=7, topics=None), 7)
    assert {one.partition_index: (one.leader_id, one.offline_replicas) for one in answer.topics[0].partitions} == {
        0: (2, [1]),
        1: (2, [1]),
        2: (-1, [1]),
        3: (1, []),
    }


async def test_sv_10_a_replica_on_a_failed_log_dir_is_not_elected_and_does_not_join_the_isr(
    cluster: ScriptedCluster,
) -> None:
    await cluster.lose_log_dir(1, 0)
    await eventually(lambda: cluster.has(0, 2, [2]))

    assert await cluster.alter_isr(0, [2, 1]) == INELIGIBLE_REPLICA
    partitions = ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0])
    request = ElectLeadersRequest(version=2, election_type=0, topic_partitions=[partitions], timeout_ms=10_000)
    answer = await ask(cluster.server, request, ELECT_LEADERS.max_version)
    assert answer.replica_election_results[0].partition_result[0].error_code == PREFERRED_LEADER_NOT_AVAILABLE
    await cluster.unregister(2)
    await eventually(lambda: cluster.has(0, -1, [2]))


async def test_sv_10_a_replica_is_online_again_once_its_broker_has_registered_anew(cluster: ScriptedCluster) -> None:
    await cluster.lose_log_dir(1, 0, 2)
    await eventually(lambda: cluster.shown(2) == [(-1, [1], [1])] * 3)

    await cluster.unregister(1)
    await eventually(lambda: cluster.has(3, 2, [2, 3]))
    cluster.brokers[1].offline.clear()
    await cluster.register(1)
    await eventually(lambda: cluster.has(2, 1, [1]))
    await eventually(lambda: cluster.shown(2) == [(1, [1], [])] * 3)
    assert await cluster.alter_isr(0, [2, 1]) == 0


async def test_sv_10_a_dir_that_is_still_lost_after_a_restart_is_noticed_without_a_notification(
    cluster: ScriptedCluster,
) -> None:
    cluster.brokers[1].offline.add(0)
    await cluster.unregister(1)
    await cluster.register(1)
    await eventually(lambda: cluster.shown(0) == [(2, [2], [1])] * 3)
    await cluster.unregister(2)
    await eventually(lambda: cluster.has(0, -1, [2]))


async def test_sv_10_foreign_writes_of_the_topic_do_not_make_an_offline_replica_forgotten(
    cluster: ScriptedCluster,
) -> None:
    await cluster.lose_log_dir(1, 0)
    await eventually(lambda: cluster.has(0, 2, [2]))
    data, _ = await cluster.zk.get(znode_paths.topic("t"))
    before = len(cluster.brokers[2].received)
    await cluster.zk.set(znode_paths.topic("t"), json.dumps(json.loads(data) | {"foreign": 1}).encode())
    await eventually(lambda: len(cluster.brokers[2].received) > before)
    assert await cluster.alter_isr(0, [2, 1]) == INELIGIBLE_REPLICA

    state, _ = await cluster.zk.get(znode_paths.partition_state("t", 3))
    await cluster.zk.set(znode_paths.partition_state("t", 3), state)
    assert await alter(cluster.server, {("t", 3): [1, 2]}) == {("t", 3): 0}, "it has read the whole cluster again"
    assert await cluster.alter_isr(0, [2, 1]) == INELIGIBLE_REPLICA


async def test_455_4_a_move_ends_without_the_leader_whose_log_dir_has_failed(cluster: ScriptedCluster) -> None:
    assert await alter(cluster.server, {("t", 0): [3, 2]}) == {("t", 0): 0}
    await cluster.lose_log_dir(1, 0)
    await eventually(lambda: cluster.has(0, 2, [2]))
    assert await cluster.alter_isr(0, [2, 3]) == 0

    async def done() -> bool:
        return bool((await topic_json(cluster.zk, "t"))["partitions"]["0"] == [3, 2])

    await eventually(done)
    assert await cluster.state(0) == (2, [2, 3])


async def test_sv_10_a_move_waits_for_a_target_replica_whose_log_dir_has_failed(cluster: ScriptedCluster) -> None:
    cluster.brokers[3].offline.add(0)
    assert await alter(cluster.server, {("t", 0): [3, 2]}) == {("t", 0): 0}
    await eventually(lambda: cluster.shown(0) == [(1, [1, 2], [3])] * 3)
    assert await cluster.alter_isr(0, [1, 2, 3]) == INELIGIBLE_REPLICA
    assert await alter(cluster.server, {("t", 0): None}) == {("t", 0): 0}
    await eventually(lambda: cluster.shown(0) == [(1, [1, 2], [])] * 3)


async def test_sv_10_at_a_takeover_offline_replicas_are_found_and_old_notifications_go(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        await cluster.lose_log_dir(1, 0)
        async with cluster.serving():
            await eventually(lambda: cluster.has(0, 2, [2]))
            await eventually(lambda: cluster.is_gone(EVENTS))


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_sv_3_garbage_among_the_notifications_is_reported_and_removed(
    cluster: ScriptedCluster, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for unusable in (garbage, b'{"broker":-1}', b'{"broker":99999999999}', b'{"broker":"1"}', b'{"broker":77}'):
        await cluster.notify(unusable)
    await cluster.lose_log_dir(1, 0)
    await eventually(lambda: cluster.has(0, 2, [2]))
    await eventually(lambda: cluster.is_gone(EVENTS))
    text = caplog.text
    assert all(f"{EVENTS}/log_dir_event_{number:010d}: " in text for number in range(4)), text
    assert not [record.getMessage() for record in caplog.records if record.exc_info]


async def test_sv_3_a_notification_that_cannot_be_deleted_is_left_alone_and_reported_once(
    cluster: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"{EVENTS}/has_children"
    await cluster.zk.ensure_path(f"{path}/child")
    for index in (0, 1):
        await cluster.lose_log_dir(1, index)
        await eventually(partial(cluster.has, index, 2, [2]))
    await eventually(lambda: only(cluster.zk, "has_children"))
    assert sum("left alone" in record.getMessage() for record in caplog.records) == 1
    await delete_tree(cluster.zk, path)


async def only(zk: ZooKeeper, name: str) -> bool:
    return await zk.children(EVENTS) == [name]


async def test_sv_3_a_notification_that_may_not_be_read_is_left_alone_and_reported_and_the_one_beside_it_is_removed(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        administered = Access(acl_of=always((AclEntry(16, "world", "anyone"),)))
        async with ZooKeeper(zk_connect, access=administered) as author:
            await author.create(f"{EVENTS}/closed")
        await cluster.lose_log_dir(1, 0)
        async with cluster.serving():
            await eventually(lambda: cluster.has(0, 2, [2]))
            await eventually(lambda: only(zk, "closed"))
    (told,) = [text for record in caplog.records if "left alone" in (text := record.getMessage())]
    assert f"{EVENTS}/closed: " in told


async def test_sv_3_a_flood_of_notifications_is_dealt_with_in_slices(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        data = (b'{"version":1,"broker":1,"event":1}', b"garbage")
        flood = [Create(f"{EVENTS}/log_dir_event_", data[number % 2], sequence=True) for number in range(100_000)]
        await pipeline(zk.submit_multi, list(split_ops(flood)))
        cluster.brokers[1].offline.add(0)
        async with cluster.serving():
            await eventually(lambda: cluster.has(0, 2, [2]))
            await eventually(lambda: cluster.is_gone(EVENTS), within=60)
            asked = [body for body in cluster.brokers[1].received if hasattr(body, "live_leaders")]
            assert len(asked) < 20
        reported = [record.getMessage() for record in caplog.records if EVENTS in record.getMessage()]
        assert 0 < len(reported) < 30
