"""The controller's process is killed, frozen or cut off in the middle of moves; another one continues."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import NOT_CONTROLLER, SESSION_MS, Cluster, Name, Replicas, alter, ask, listed, metadata
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy, WriteCut

pytestmark = pytest.mark.gate

SLOW = 300_000
"""Bytes/s: a move of TOPIC takes some seconds."""
TOPIC = "t:4:2:400000"
NAMES = [("t", index) for index in range(4)]


async def targets_elsewhere(cluster: Cluster) -> dict[Name, Replicas]:
    """Targets for every partition: two brokers without a replica of it."""
    partitions = (await cluster.topic("t"))["partitions"]
    return {
        ("t", int(index)): [broker for broker in (1, 2, 3, 4) if broker not in replicas]
        for index, replicas in partitions.items()
    }


async def two_servers(cluster: Cluster) -> dict[Name, Replicas]:
    """Start `a` as the controller, `b` as standby, and four brokers with TOPIC. Returns targets for its partitions."""
    await cluster.server("a", broker_id=1000)
    await cluster.fleet("1,2,3,4", TOPIC, bandwidth=SLOW)
    await cluster.server("b", broker_id=1001)
    return await targets_elsewhere(cluster)


async def started(cluster: Cluster, targets: Mapping[Name, Replicas]) -> None:
    assert set((await cluster.alter("a", targets)).values()) == {0}
    assert await cluster.records() == set(targets), "in mid-move"


async def test_sv_3_the_standby_directs_clients_to_the_controller(cluster: Cluster) -> None:
    targets = await two_servers(cluster)

    answer = await listed(cluster.address("b"))
    assert answer.error_code == NOT_CONTROLLER
    with pytest.raises(AssertionError, match="error 41"):
        await cluster.alter("b", targets)

    seen = await metadata(cluster.address("b"), "t")
    assert seen.controller_id == 1000
    (shown,) = [broker for broker in seen.brokers if broker.node_id == 1000]
    assert (shown.host, shown.port) == cluster.address("a")
    assert {broker.node_id for broker in seen.brokers} >= {1, 2, 3, 4}
    assert len(seen.topics[0].partitions) == 4, "a server that stands by knows the topics"
    assert set((await alter((shown.host, shown.port), targets)).values()) == {0}
    await cluster.rests_at(targets)


async def test_sv_3_and_455_9_the_next_controller_completes_the_moves_of_a_killed_one(
    cluster: Cluster,
) -> None:
    targets = await two_servers(cluster)
    epoch = await cluster.epoch()
    await started(cluster, targets)

    await cluster.servers["a"].kill()

    await cluster.controlled_by("b")
    assert await cluster.epoch() == epoch + 1
    seen = await metadata(cluster.address("b"))
    assert seen.controller_id == 1001
    await cluster.rests_at(targets)
    await eventually(lambda: cluster.moves_nothing("b"))


async def test_sv_3_an_answered_request_survives_a_kill_of_the_controller_right_after_the_answer(
    cluster: Cluster,
) -> None:
    targets = await two_servers(cluster)
    await started(cluster, targets)
    kept = {name: target for name, target in targets.items() if name[1] % 2}
    cancelled = {name: None for name in targets if name not in kept}
    origin = {name: (await cluster.topic("t"))["partitions"][str(name[1])][2:] for name in cancelled}
    answers = await cluster.alter("a", cancelled)
    await cluster.servers["a"].kill()

    assert set(answers.values()) == {0}
    await cluster.rests_at(kept | origin)


async def test_sv_3_a_frozen_controller_that_was_replaced_answers_not_controller_and_writes_nothing(
    cluster: Cluster,
) -> None:
    targets = await two_servers(cluster)
    await started(cluster, targets)
    epoch = await cluster.epoch()
    first, last = NAMES[0], NAMES[3]

    cluster.servers["a"].freeze()
    # What a client has sent to the frozen one is read by it when it wakes up.
    late = [asyncio.create_task(cluster.alter("a", {name: None})) for name in (first, last)]
    await cluster.controlled_by("b", within=20 + SESSION_MS / 1000)
    assert await cluster.epoch() == epoch + 1
    await cluster.rests_at(targets)
    before = await cluster.everything()
    cluster.servers["a"].thaw()

    for task in late:
        with pytest.raises((AssertionError, OSError, EOFError)):
            await task
    assert (await listed(cluster.address("a"))).error_code == NOT_CONTROLLER
    assert await cluster.everything() == before
    await eventually(lambda: _shows_controller(cluster, "a", 1001))
    seen = await metadata(cluster.address("a"))
    assert {broker.node_id for broker in seen.brokers} >= {1, 2, 3, 4}
    assert cluster.servers["a"].alive

    await cluster.servers["b"].kill()
    await cluster.controlled_by("a")
    assert set((await cluster.alter("a", {first: targets[last]})).values()) == {0}


async def _shows_controller(cluster: Cluster, server: str, controller: int) -> bool:
    seen: int = (await metadata(cluster.address(server))).controller_id
    return seen == controller


async def test_sv_3_after_a_stop_of_the_controller_the_standby_is_elected_at_once(cluster: Cluster) -> None:
    targets = await two_servers(cluster)
    await started(cluster, targets)

    assert await cluster.servers["a"].stop() == 0

    await cluster.controlled_by("b")
    await cluster.rests_at(targets)


@pytest.mark.parametrize("cut", ["fin", "rst", "silence"])
async def test_sv_3_a_controller_whose_connection_is_cut_keeps_its_session_or_is_replaced(
    cluster: Cluster, zookeeper: EmbeddedZooKeeper, cut: str
) -> None:
    chroot = cluster.connect.removeprefix(zookeeper.address)
    async with Proxy(zookeeper.address) as proxy:
        await cluster.server("a", connect=proxy.address + chroot)
        await cluster.fleet("1,2,3,4", TOPIC, bandwidth=SLOW)
        await cluster.server("b", broker_id=1001)
        targets = await targets_elsewhere(cluster)
        await started(cluster, targets)
        epoch = await cluster.epoch()

        getattr(proxy, cut)()

        if cut == "silence":
            await cluster.controlled_by("b", within=20 + SESSION_MS / 1000)
            assert (await listed(cluster.address("a"))).error_code == NOT_CONTROLLER
            await cluster.rests_at(targets)
            before = await cluster.everything()
            proxy.heal()
            await eventually(lambda: _shows_controller(cluster, "a", 1001))
            assert await cluster.everything() == before
        else:
            # The session is kept: the same server goes on, in the same term.
            await eventually(lambda: proxy.accepted > 1)
            await cluster.rests_at(targets)
            assert await cluster.is_controller("a")
            assert not await cluster.is_controller("b")
            assert await cluster.epoch() == epoch


async def _epoch_is(cluster: Cluster, epoch: int) -> bool:
    return await cluster.epoch() == epoch


async def test_sv_3_a_server_without_zookeeper_goes_on_naming_the_brokers_and_topics_that_it_knew(
    cluster: Cluster, zookeeper: EmbeddedZooKeeper
) -> None:
    chroot = cluster.connect.removeprefix(zookeeper.address)
    async with Proxy(zookeeper.address) as proxy:
        await cluster.server("a", connect=proxy.address + chroot)
        await cluster.fleet("1,2,3,4", TOPIC)
        await names_all(cluster, "a")

    await eventually(lambda: _has_no_controller(cluster, "a"))
    await names_all(cluster, "a")


async def names_all(cluster: Cluster, name: str) -> None:
    """Clients that learn of no broker forget all of them; those that learn of no topic leave their partitions."""

    async def shown() -> bool:
        one = await metadata(cluster.address(name), "t")
        every = await ask(cluster.address(name), MetadataRequest(topics=None), 8)
        return all(
            {broker.node_id for broker in answer.brokers} >= {1, 2, 3, 4}
            and [(topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics] == [("t", 0, 4)]
            for answer in (one, every)
        )

    await eventually(shown)


async def _has_no_controller(cluster: Cluster, name: str) -> bool:
    return bool((await metadata(cluster.address(name), "t")).controller_id == -1)


async def test_hm_3_and_sv_3_a_write_whose_answer_is_lost_is_answered_as_done_when_the_connection_is_back(
    cluster: Cluster, zookeeper: EmbeddedZooKeeper
) -> None:
    chroot = cluster.connect.removeprefix(zookeeper.address)
    async with Proxy(zookeeper.address) as proxy:
        await cluster.server("a", connect=proxy.address + chroot)
        await cluster.fleet("1,2,3,4", TOPIC, bandwidth=SLOW)
        targets = await targets_elsewhere(cluster)
        epoch = await cluster.epoch()

        proxy.cut_writes([WriteCut(before=False, fin=True)])
        assert set((await cluster.alter("a", targets)).values()) == {0}

        assert proxy.cuts == 1
        await cluster.rests_at(targets)
        assert await cluster.epoch() == epoch


async def test_sv_3_a_controller_znode_deleted_by_hand_starts_an_election(cluster: Cluster) -> None:
    targets = await two_servers(cluster)
    await started(cluster, targets)
    epoch = await cluster.epoch()

    await cluster.zk.delete(znode_paths.CONTROLLER)

    await eventually(lambda: _epoch_is(cluster, epoch + 1))
    elected = json.loads((await cluster.zk.get(znode_paths.CONTROLLER))[0])["brokerid"]
    (winner,) = [name for name, id_ in cluster.ids.items() if id_ == elected]
    (other,) = {"a", "b"} - {winner}
    await cluster.controlled_by(winner)
    await eventually(lambda: _refuses(cluster, other))  # the former one answers until ZooKeeper has told it
    await cluster.rests_at(targets)


async def _refuses(cluster: Cluster, server: str) -> bool:
    return bool((await listed(cluster.address(server))).error_code == NOT_CONTROLLER)
