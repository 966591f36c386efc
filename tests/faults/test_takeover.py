"""When a server becomes the controller (never, if there is none, also in place of a stock broker), and how it ends."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import AlterPartitionReassignmentsResponse, MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller
from tests.faults.cluster import NOT_CONTROLLER, Cluster, Name, alter_request, listed, metadata
from tests.raw_client import connected
from tests.waiting import eventually

pytestmark = pytest.mark.gate

BROKER = 9


async def controlled_by_a_broker(cluster: Cluster) -> None:
    """Register a broker that is the controller, as long as the test's session lives."""
    await cluster.zk.ensure_path(znode_paths.BROKER_IDS)
    await cluster.zk.create(znode_paths.CONTROLLER_EPOCH, b"7")
    here = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)
    await cluster.zk.create(znode_paths.broker(BROKER), encode_broker([here], 0), ephemeral=True)
    await cluster.zk.create(znode_paths.CONTROLLER, encode_controller(BROKER, 0, []), ephemeral=True)


async def test_sv_3_a_server_that_never_takes_over_answers_reads_and_leaves_a_vacant_controllership_to_others(
    cluster: Cluster,
) -> None:
    await cluster.server("a")
    await cluster.fleet("1,2", "t:3:2:0")
    await cluster.server("b", "--controller-takeover", "never", broker_id=1001)
    shown = await metadata(cluster.address("b"), "t")
    assert shown.controller_id == 1000
    assert [len(topic.partitions) for topic in shown.topics] == [3]
    assert (await listed(cluster.address("b"))).error_code == NOT_CONTROLLER
    before = await cluster.epoch()

    assert await cluster.servers["a"].stop() == 0
    await cluster.server("c", "--controller-takeover", "vacant", broker_id=1002)

    await cluster.controlled_by("c")
    assert await cluster.epoch() == before + 1, "somebody else was the controller in between"
    await eventually(lambda: is_directed_to(cluster, "b", 1002))


async def is_directed_to(cluster: Cluster, server: str, controller: int) -> bool:
    return bool((await metadata(cluster.address(server))).controller_id == controller)


async def test_sv_3_a_server_that_takes_a_vacant_controllership_leaves_a_brokers_alone(cluster: Cluster) -> None:
    await controlled_by_a_broker(cluster)

    await cluster.server("a", "--controller-takeover", "vacant")

    assert await is_directed_to(cluster, "a", BROKER)
    assert (await listed(cluster.address("a"))).error_code == NOT_CONTROLLER
    assert await cluster.epoch() == 7
    await cluster.zk.delete(znode_paths.CONTROLLER)
    await cluster.controlled_by("a")
    assert await cluster.epoch() == 8


async def test_sv_3_a_server_that_always_takes_over_takes_the_controllership_from_a_broker_but_not_from_a_server(
    cluster: Cluster,
) -> None:
    await controlled_by_a_broker(cluster)

    await cluster.server("a", "--controller-takeover", "always")
    assert await cluster.is_controller("a")
    assert await cluster.epoch() == 8
    await cluster.server("b", "--controller-takeover", "always", broker_id=1001)

    assert await is_directed_to(cluster, "b", 1000)
    assert await cluster.is_controller("a")
    assert await cluster.epoch() == 8


async def test_sv_3_on_sigterm_the_controllership_is_given_back_before_connections_are_drained(
    cluster: Cluster,
) -> None:
    server = await cluster.server("a")
    await cluster.fleet("1,2", "t:2000:2:0")
    await cluster.server("b", "--controller-takeover", "vacant", broker_id=1001)
    await eventually(lambda: has_partitions(cluster, "a", 2000))
    async with connected(cluster.address("a"), receive_buffer=4096) as client:
        # A client that reads no answers: the drain waits for it up to its deadline of ten seconds.
        asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t")])
        await client.send(b"".join(client.request(asked, 8) for _ in range(200)))
        await client.frame()

        os.kill(server.pid, signal.SIGTERM)

        await eventually(lambda: cluster.is_controller("b"))
        assert server.alive, "the drain has ended before the other server was elected: the test shows nothing"
    assert await cluster.epoch() == 2


async def has_partitions(cluster: Cluster, server: str, count: int) -> bool:
    shown = await metadata(cluster.address(server), "t")
    return sum(len(topic.partitions) for topic in shown.topics) == count


async def test_sv_3_moves_that_were_answered_before_sigterm_are_carried_on_and_the_others_are_refused(
    cluster: Cluster,
) -> None:
    server = await cluster.server("a")
    await cluster.fleet("1,2", "t:50:1:0")
    await cluster.server("b", "--controller-takeover", "vacant", broker_id=1001)
    before = await cluster.replicas()
    targets = {name: [3 - replicas[0]] for name, replicas in before.items()}
    answers: dict[Name, int] = {}
    async with connected(cluster.address("a")) as client:
        for name, target in targets.items():
            await client.send(client.request(alter_request({name: target}), 0))
        os.kill(server.pid, signal.SIGTERM)
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # requests that had not arrived get no answer
            for name in targets:
                _, answer = decode_response(AlterPartitionReassignmentsResponse, await client.frame(), version=0)
                answers[name] = answer.error_code

    assert set(answers.values()) <= {0, NOT_CONTROLLER}
    await cluster.controlled_by("b")
    await cluster.rests_at({name: targets[name] for name, error in answers.items() if not error})
