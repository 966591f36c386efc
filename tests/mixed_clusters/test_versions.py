"""Stock brokers of 2.8.2, 3.3.2 and 3.9.1 in one cluster, as during a rolling upgrade. Our server is the controller."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from functools import partial

import pytest
import pytest_asyncio
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.faults.cluster import address_of, metadata
from tests.stock.cluster import StockBroker
from tests.waiting import eventually

from .mixed_cluster import MixedCluster, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(600)]

OLD_VERSIONS, PROTOCOL = {1: "3.3.2", 2: "2.8.2"}, "2.8"
PARTITIONS = 1020
"""More than two LeaderAndIsr requests have, other than the first after a registration."""
_BEGINS = re.compile(rb"Log loaded for partition (\w+)-(\d+) with initial high watermark (\d+)")
_LEAVES = re.compile(rb"Controlled shutdown request returned successfully")
_TRIES_AGAIN = re.compile(rb"Retrying controlled shutdown|Error from controller|Remaining partitions to move")
_STOPPED = re.compile(rb"Received StopReplica request .*deletePartition=(\w+)\).* for partition (\w+)-(\d+)")
LEFT = {0: (2, 3), 1: (2, 3), 2: (3, 2)}
"""A topic of which broker 3 of 3.9.1 follows broker 2 of 2.8.2 in two partitions, and leads the third."""


@pytest_asyncio.fixture
async def mixed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MixedCluster]:
    """Broker 1 is of 3.3.2, broker 2 of 2.8.2, broker 3 of 3.9.1."""
    overrides = {"inter.broker.protocol.version": PROTOCOL}
    directory = tmp_path_factory.mktemp("versions")
    async with behind_our_server(directory, overrides=overrides, versions=OLD_VERSIONS) as mixed:
        yield mixed


async def test_sv_10_a_broker_of_3_9_leaves_partitions_that_a_broker_of_2_8_leads_at_once_and_comes_back(
    mixed: MixedCluster,
) -> None:
    """A partition that it has alone keeps no broker from leaving (KafkaController.doControlledShutdown). Those that it
    follows have stopped when it is told that it may leave: from then on it takes no request."""
    leaving = mixed.stock.brokers[3]
    await mixed.create("left", LEFT)
    await mixed.create("alone", {0: (3,)})
    await mixed.rest_at({("left", index): replicas for index, replicas in LEFT.items()})
    await mixed.logs_state_changes(3)
    async with mixed.load("left", len(LEFT)) as load:
        await eventually(lambda: load.acked)
        await leaving.stop()
        printed = leaving.printed()
        assert (len(_LEAVES.findall(printed)), _TRIES_AGAIN.findall(printed)) == (1, [])
        before = _LEAVES.split(printed)[0]
        stopped = {(topic, int(index)): deleted for deleted, topic, index in _STOPPED.findall(before)}
        assert {(b"left", 0), (b"left", 1)} <= stopped.keys()
        assert set(stopped.values()) == {b"false"}
        for index in LEFT:
            state = await mixed.cluster.state(("left", index))
            assert (state["leader"], state["isr"]) == (2, [2])
        await eventually(lambda: _shows(mixed.stock.brokers[2], {2}))
        acked = load.acked
        await eventually(lambda: load.acked > acked + 20)
        await leaving.start()
        begun = await _high_watermarks(leaving, "left", len(LEFT))
        assert 0 not in begun.values(), "its logs were kept"
        for broker in mixed.stock.brokers.values():
            await eventually(partial(_shows, broker, {2, 3}))


async def _shows(broker: StockBroker, in_sync: set[int]) -> bool:
    """Whether a broker shows all partitions of the topic `left` with these replicas in sync."""
    (topic,) = (await metadata(address_of(broker.address), "left")).topics
    return [{*one.isr_nodes} for one in topic.partitions] == [in_sync] * len(LEFT)


async def test_sv_10_brokers_of_three_versions_are_served_and_none_forgets_its_high_watermarks(
    mixed: MixedCluster,
) -> None:
    """A broker writes its file of high watermarks once it has got a LeaderAndIsr: the first one has all replicas."""
    await asyncio.to_thread(_create, mixed.stock.bootstrap)
    await eventually(lambda: _all_in_sync(mixed.stock.brokers.values()), within=120)
    await asyncio.to_thread(_fill, mixed.stock.bootstrap)
    async with mixed.load("many", 4) as load:
        await mixed.start({("many", 0): (3, 1), ("many", 1): (1, 3)})
        await mixed.rest_at({("many", 0): (3, 1), ("many", 1): (1, 3)})
        restarted = mixed.stock.brokers[2]
        await restarted.stop()
        await restarted.start()
        assert 0 not in (await _high_watermarks(restarted, "many", PARTITIONS - 2)).values()  # two have moved to 3
        await eventually(lambda: _all_in_sync([restarted]), within=60)
        acked = load.acked
        await eventually(lambda: load.acked > acked + 20)


async def _high_watermarks(broker: StockBroker, topic: str, replicas: int) -> dict[int, int]:
    """At which high watermark each of the topic's replicas has begun since the broker's start."""

    def begun() -> dict[int, int]:
        found = _BEGINS.findall(broker.printed())
        return {int(index): int(offset) for name, index, offset in found if name == topic.encode()}

    await eventually(lambda: len(begun()) == replicas, within=60)
    return begun()


async def _all_in_sync(brokers: Iterable[StockBroker]) -> bool:
    """Whether these brokers say that all replicas are in sync and online."""
    for broker in brokers:
        (topic,) = (await metadata(address_of(broker.address), "many")).topics
        assert len(topic.partitions) == PARTITIONS
        if not all(len(one.isr_nodes) == 2 and not one.offline_replicas for one in topic.partitions):
            return False
    return True


def _create(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    pairs = [[1, 2], [2, 1], [3, 2], [2, 3]]  # broker 2 has a replica of each
    assignment = [pairs[index % len(pairs)] for index in range(PARTITIONS)]
    new = NewTopic("many", num_partitions=PARTITIONS, replica_assignment=assignment)
    admin.create_topics([new], operation_timeout=60)["many"].result(90)


def _fill(bootstrap: str) -> None:
    """A record in each partition, which both of its replicas have."""
    stored: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    for index in range(PARTITIONS):
        producer.produce("many", b"0 ", partition=index, on_delivery=lambda error, _: stored.append(error))
    producer.flush(200)
    assert stored == [None] * PARTITIONS, stored[:3]
