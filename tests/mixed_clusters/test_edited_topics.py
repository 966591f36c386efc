"""Somebody takes a replica away in the topic znode, by an edit or by an older dump, while a producer with acks=1 writes
to it on stock brokers 3.9.1: the broker that led stops taking records at once, also where the controller is a new one.
"""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import KafkaError, Message, Producer

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete
from tests.waiting import eventually

from .load import EVERY_S, PATIENCE_S, read_to_end
from .mixed_cluster import MixedCluster, behind_our_server, controller

pytestmark = [pytest.mark.stock, pytest.mark.release]

CHANGE_OF_LEADER_S = 1.0
"""With acks=1, what a leader has taken and no follower has fetched is lost when another one leads: so it is with any
change of leader. Records that were acknowledged this long before are on the followers."""


class OneAck:
    """Writes numbered records with acks=1, and knows when each was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
        self.acked: dict[int, float] = {}
        self._end = threading.Event()

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(asyncio.to_thread(self._write))
        await self.writes_on()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def end(self) -> None:
        self._end.set()
        await self._writing

    async def writes_on(self, count: int = 100) -> None:
        wanted = len(self.acked) + count
        await eventually(lambda: len(self.acked) >= wanted, within=PATIENCE_S)

    def _write(self) -> None:
        config = {"bootstrap.servers": self._bootstrap, "acks": "1", "linger.ms": 0, "log_level": 0}
        producer = Producer({**config, "message.timeout.ms": PATIENCE_S * 1000})
        number = 0
        while not self._end.wait(EVERY_S / 2):
            producer.produce(self._topic, b"%d" % number, partition=0, on_delivery=self._on_delivery)
            producer.poll(0)
            number += 1
        producer.flush(PATIENCE_S)

    def _on_delivery(self, error: KafkaError | None, record: Message) -> None:
        if error is None:
            self.acked[int(record.value() or b"")] = time.monotonic()

    async def lost(self) -> list[float]:
        """When those records were acknowledged that cannot be read."""
        found = await asyncio.to_thread(self._read)
        return sorted(at for number, at in self.acked.items() if number not in found)

    def _read(self) -> set[int]:
        return {int(record.value() or b"") for record in read_to_end(self._bootstrap, [(self._topic, 0)])}


async def edited(mixed: MixedCluster, topic: str, *replicas: int) -> None:
    path = znode_paths.topic(topic)
    found = json.loads((await mixed.zk.get(path))[0])
    found["partitions"]["0"] = replicas
    await mixed.zk.set(path, json.dumps(found).encode())


async def in_sync(mixed: MixedCluster, topic: str) -> tuple[int, set[int]]:
    """The leader, and the ISR."""
    state = json.loads((await mixed.zk.get(znode_paths.partition_state(topic, 0)))[0])
    return state["leader"], set(state["isr"])


async def leads_elsewhere(mixed: MixedCluster, topic: str) -> bool:
    leader, isr = await in_sync(mixed, topic)
    return leader in (2, 3) and isr == {2, 3}


async def stops(mixed: MixedCluster, topic: str, load: OneAck, since: float) -> None:
    """Of what is written once another leads, only the first five hundred records may be lost, and the log of the one
    that led stays.
    """
    await eventually(lambda: leads_elsewhere(mixed, topic), within=60)
    await load.writes_on(500)
    stopped = time.monotonic()
    await load.writes_on()
    await load.end()
    lost = await load.lost()
    assert all(since - CHANGE_OF_LEADER_S < at for at in lost), "lost although it was acknowledged before the edit"
    assert all(at < stopped for at in lost), f"{len(lost)} of {len(load.acked)} records are lost"
    assert mixed.stock.brokers[1].has(topic, 0), "nobody has said that the log may go"


async def test_sv_4_a_leader_that_an_edit_or_an_older_topic_takes_away_stops_at_once_and_loses_no_former_record(
    tmp_path: Path,
) -> None:
    async with behind_our_server(tmp_path) as mixed:
        zk, bootstrap = mixed.zk, mixed.stock.bootstrap
        await mixed.create_empty("restored", {0: (2, 3)})
        paths = sorted(await zk.tree(znode_paths.topic("restored")))
        dump = [(path, (await zk.get(path))[0]) for path in paths]
        await mixed.start({("restored", 0): (1, 3)})
        await mixed.rest_at({("restored", 0): (1, 3)})
        for topic in ("edited", "later"):
            await mixed.create_empty(topic, {0: (1, 3)})

        async with OneAck(bootstrap, "edited") as load:
            since = time.monotonic()
            await edited(mixed, "edited", 2, 3)
            await stops(mixed, "edited", load, since)

        async with OneAck(bootstrap, "restored") as load:
            present = sorted(await zk.tree(znode_paths.topic("restored")), reverse=True)
            once: list[Create | Delete] = [*map(Delete, present), *(Create(path, data) for path, data in dump)]
            since = time.monotonic()
            await zk.multi(once)
            await stops(mixed, "restored", load, since)

        async with OneAck(bootstrap, "later") as load:
            await mixed.cluster.servers[mixed.server].kill()
            await edited(mixed, "later", 2, 3)
            await mixed.serve("b")
            await stops(mixed, "later", load, time.monotonic())


async def test_sv_10_a_replica_that_was_added_by_an_edit_while_a_stock_broker_controlled_comes_into_the_isr(
    tmp_path: Path,
) -> None:
    """Its leader keeps the replicas that it was sent with the present leader epoch."""
    async with behind_our_server(tmp_path) as mixed:
        await mixed.create_empty("widened", {0: (1, 3)})
        await mixed.cluster.servers[mixed.server].kill()

        async def stock_controls() -> bool:
            return await controller(mixed.zk) in mixed.stock.brokers

        await eventually(stock_controls, within=60)
        await edited(mixed, "widened", 1, 3, 2)
        await mixed.serve("b")

        async def is_wide() -> bool:
            return await in_sync(mixed, "widened") == (1, {1, 2, 3})

        await eventually(is_wide, within=50)
