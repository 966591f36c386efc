"""Topics whose znode this server cannot write: ZooKeeper's packet limit (jute.maxbuffer) was raised.

A takeover goes on without the writes of these znodes, and says so.
"""

import json

import pytest

from kafka_reassign_rpc.controller.controller_loop import ATTEMPTS
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import topic_znodes, transactions, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, elected_controller, put_topic, records, register, topic_json
from tests.controller.cluster import LISTENERS
from tests.waiting import eventually

PARTITIONS = 150
LARGE = [f"large{number}" for number in range(ATTEMPTS + 2)]
"""More topics than a round has attempts."""


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 1000)


async def put_move_in_sync(zk: ZooKeeper, topic: str, partitions: int = PARTITIONS) -> None:
    """A stock controller has begun to move partition 0 from [1, 2] to [1, 2, 3]: broker 3 is in sync by now."""
    await put_topic(zk, topic, dict.fromkeys(range(partitions), (1, 2)), topic_id=None)
    assignments: dict[int, tuple[tuple[int, ...], ...]] = dict.fromkeys(range(partitions), ((1, 2), (), ()))
    assignments[0] = ((1, 2, 3), (3,), ())
    await zk.set(znode_paths.topic(topic), topic_znodes.encode_topic(None, assignments))
    await zk.set(znode_paths.partition_state(topic, 0), topic_znodes.encode_state(1, 4, (1, 2, 3), 1))


async def is_at_rest(zk: ZooKeeper, topic: str) -> bool:
    written = await topic_json(zk, topic)
    return bool(written["adding_replicas"] == {} and written["partitions"]["0"] == [1, 2, 3])


async def test_sv_3_a_takeover_completes_moves_of_topics_too_large_to_write_and_leaves_their_znodes_as_they_are(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await register(zk, 1, 2, 3, 4)
    for topic in LARGE:
        await put_move_in_sync(zk, topic)
    await put_move_in_sync(zk, "small", 1)
    before = {topic: await topic_json(zk, topic) for topic in LARGE}

    for _ in range(2):
        async with elected_controller(zk_connect) as controller:
            for topic in (*LARGE, "small"):
                value = controller.partition(topic)
                assert (value.is_moving, value.replicas, value.isr) == (False, (1, 2, 3), (1, 2, 3))
            assert await is_at_rest(zk, "small")
            assert {topic: await topic_json(zk, topic) for topic in LARGE} == before
            assert await records(zk) == set()
            answers = await controller.alter({(LARGE[0], 1): (3, 4)})
            assert isinstance(answers[LARGE[0], 1], PolicyViolation), "clients are told"
    assert sum("keeps its assignment and its moves in ZooKeeper" in message for message in caplog.messages) >= len(
        LARGE
    )

    monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 100_000)
    async with elected_controller(zk_connect) as controller:
        for topic in LARGE:
            assert await is_at_rest(zk, topic)
        await controller.check()


async def test_sv_3_the_servers_own_id_stays_in_a_topic_too_large_to_write(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "large", dict.fromkeys(range(PARTITIONS), (1, SERVER)), topic_id=None)
    before = await topic_json(zk, "large")

    async with elected_controller(zk_connect) as controller:
        assert controller.partition("large").replicas == (1, SERVER)
        assert await topic_json(zk, "large") == before


async def test_sv_3_confirmed_deletions_of_a_topic_too_large_to_write_need_no_write_of_its_znode(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", dict.fromkeys(range(PARTITIONS), (1, 2)), topic_id=None)
    async with elected_controller(zk_connect) as controller:
        monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 100_000)
        await controller.alter({("t", 0): (1, 3)})
        monkeypatch.setattr(transactions, "MAX_STEP_BYTES", 1000)
        await controller.caught_up(("t", 0))
        await controller.stopped(("t", 0))

        value = controller.partition("t")
        assert (value.replicas, value.pending_deletion, value.move) == ((1, 3), (), None)
        assert (await topic_json(zk, "t"))["removing_replicas"] == {"0": [2]}
        assert TopicPartition("t", 0) not in await records(zk)


async def test_sv_3_a_server_controls_a_cluster_with_a_topic_too_large_to_write(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_move_in_sync(zk, "large")
    await put_move_in_sync(zk, "small", 1)
    before = json.dumps(await topic_json(zk, "large"))

    async with ControllerProcess(ServerConfig(zookeeper_connect=zk_connect, listeners=LISTENERS)) as server:
        await server.ready()
        await eventually(lambda: is_at_rest(zk, "small"))
    assert json.dumps(await topic_json(zk, "large")) == before
