"""Pieces of work that the event loop does without a pause: the CPU time of the longest one, for which other clients
wait.

    topic znode        10,000 moving partitions of one topic are encoded
    LeaderAndIsr       a simulated broker applies 10,000 partition states
    slow sender        a frame of 2.4 MB arrives byte by byte, and for comparison one of 300 kB, an eighth of it

The figures are medians of five rounds after a warm-up.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

from benchmarks import tables
from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.fleet import Fleet, FleetConfig
from kafka_reassign_rpc.protocol.served_connection import FrameBuffer
from kafka_reassign_rpc.zookeeper import topic_znodes
from kafka_reassign_rpc.zookeeper.topic_znodes import Assignment
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.fleet import messages

PARTITIONS = 10_000
ROUNDS = 5


async def run(zookeeper: str, _directory: Path, *, quick: bool) -> str:
    """The table."""
    rounds = 1 if quick else ROUNDS
    rows = [
        ("topic znode", tables.duration(await _median(rounds, _encode_topic)), ""),
        await _leader_and_isr(zookeeper, rounds),
    ]
    large, small = [await _median(rounds, _slow_sender(size)) for size in (2_400_000, 300_000)]
    rows.append(("slow sender", tables.duration(large), f"{large / small:.1f} times that of an eighth of the bytes"))
    return tables.show(f"steps: CPU of the longest step (medians of {rounds})", ("", "longest step", ""), rows)


async def _median(rounds: int, measured: Callable[[], Awaitable[float]]) -> float:
    gc.collect()
    gc.disable()  # a collection walks all that this process has made, which is not what is measured
    try:
        return tables.middle([await measured() for _ in range(rounds + 1)][1:]) or 0.0
    finally:
        gc.enable()


async def _encode_topic() -> float:
    partitions = {index: Assignment((1, 2, 3, 4), (4,), (1,)) for index in range(PARTITIONS)}
    since = time.thread_time()
    topic_znodes.encode_topic(UUID(int=1), partitions)
    return time.thread_time() - since


async def _leader_and_isr(zookeeper: str, rounds: int) -> tuple[str, str, str]:
    chroot = "/steps"
    async with ZooKeeper(zookeeper) as client:
        await client.ensure_path(chroot)
    async with Fleet(FleetConfig(zookeeper_connect=zookeeper + chroot, broker_ids=(1, 2, 3))) as fleet:
        await fleet.ready()
        broker = fleet.brokers[1]
        states = [
            {"index": index, "leader": 1, "epoch": 1, "isr": [1, 2], "replicas": [1, 2]} for index in range(PARTITIONS)
        ]
        received = messages.received(messages.leader_and_isr(*states, broker_epoch=broker.broker_epoch), 7)

        async def longest_step() -> float:
            applied = asyncio.create_task(broker.leader_and_isr(received, RequestContext(4, 7, 0, None)))
            longest, before = 0.0, time.thread_time()
            while not applied.done():
                await asyncio.sleep(0)
                now = time.thread_time()
                longest, before = max(longest, now - before), now
            return longest

        step = await _median(rounds, longest_step)
    return "LeaderAndIsr", tables.duration(step), f"of {PARTITIONS:,} states"


def _slow_sender(size: int) -> Callable[[], Awaitable[float]]:
    async def seconds() -> float:
        frames = FrameBuffer(8, size)
        stream = size.to_bytes(4, "big") + bytes(size)
        pieces = [stream[index : index + 1] for index in range(len(stream))]
        since = time.thread_time()
        found = [frame for piece in pieces for frame in frames.receive(piece)[0]]
        took = time.thread_time() - since
        assert [len(frame) for frame in found] == [size]
        return took

    return seconds
