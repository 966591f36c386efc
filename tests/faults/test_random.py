"""Random moves, cancels, kills, freezes and restarts. In the end every partition has its last target.

FAULTS_SEED=7 chooses another run, FAULTS_SECONDS=600 a longer one.
"""

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.faults.cluster import Cluster, InvariantChecker, Name, Replicas, alter, metadata
from tests.waiting import eventually

pytestmark = pytest.mark.gate

SEED = int(os.environ.get("FAULTS_SEED", "236455"))
SECONDS = float(os.environ.get("FAULTS_SECONDS", "40"))
BANDWIDTH = 1_000_000
FLEETS = ("1,2", "3,4", "5,6")
BROKERS = (1, 2, 3, 4, 5, 6)
TOPICS = ("x:6:3:150000", "y:2:2:300000")
LEADERLESS_S = 25.0
"""How long a partition may have no leader: the sessions of a controller and of a broker have to expire first."""


class Chaos:
    """Does something at random, and remembers the last target of every partition."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.random = random.Random(seed)
        self.targets: dict[Name, list[list[int]]] = {}
        """The possible ends of each partition: several after a request without an answer."""
        self.done: list[str] = []

    async def begin(self) -> None:
        for topic in ("x", "y"):
            for index, replicas in (await self.cluster.topic(topic))["partitions"].items():
                self.targets[topic, int(index)] = [replicas]

    async def step(self) -> None:
        actions: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (6, self.move),
            (3, self.cancel),
            (1, self.kill_a_server),
            (1, self.freeze_a_server),
            (1, self.kill_a_fleet),
            (1, self.stop_a_fleet),
        ]
        (action,) = self.random.choices([one for _, one in actions], [weight for weight, _ in actions])
        await action()

    async def move(self) -> None:
        wanted: dict[Name, Replicas | None] = {}
        for name in self.random.sample(sorted(self.targets), self.random.randint(1, 4)):
            size = len(self.targets[name][0])
            wanted[name] = self.random.sample(BROKERS, size)
        await self.ask("move", wanted)

    async def cancel(self) -> None:
        await self.ask("cancel", dict.fromkeys(self.random.sample(sorted(self.targets), 3)))

    async def ask(self, what: str, wanted: dict[Name, Replicas | None]) -> None:
        """Ask the controller once. Without an answer the request may have been carried out or not."""
        server = self.random.choice(sorted(self.cluster.servers))
        originals = {name: await self.origin_of(name) for name in wanted}
        try:
            address = await self.controller_at(server)
            answers: dict[Name, int] | None = await alter(address, wanted) if address else {}
        except (AssertionError, OSError, EOFError, TimeoutError):
            answers = None  # NOT_CONTROLLER too: it may have been written before the controller fell
        self.done.append(f"{what} {wanted} at {server}: {answers}")
        for name, target in wanted.items():
            ends = [list(target)] if target is not None else originals[name]
            if answers is None:
                self.targets[name] += [end for end in ends if end not in self.targets[name]]
            elif answers.get(name) == 0:
                self.targets[name] = ends

    async def origin_of(self, name: Name) -> list[list[int]]:
        """Where a cancel now would bring the partition, from its record; without a record, its possible ends."""
        try:
            record = json.loads((await self.cluster.zk.get(znode_paths.reassignment(*name)))[0])
        except NoNode:
            return list(self.targets[name])
        return [record["original_replicas"]]

    async def controller_at(self, server: str) -> tuple[str, int] | None:
        """The controller in the server's Metadata answer."""
        seen = await asyncio.wait_for(metadata(self.cluster.address(server)), 3)
        for broker in seen.brokers:
            if broker.node_id == seen.controller_id:
                return broker.host, broker.port
        return None

    async def kill_a_server(self) -> None:
        name = self.random.choice(sorted(self.cluster.servers))
        self.done.append(f"kill server {name}")
        await self.cluster.servers[name].kill()
        await self.cluster.server(name, broker_id=self.id_of(name))

    async def freeze_a_server(self) -> None:
        name = self.random.choice(sorted(self.cluster.servers))
        self.done.append(f"freeze server {name}")
        self.cluster.servers[name].freeze()
        await asyncio.sleep(self.random.uniform(0.5, 4))  # a time that passes, not one that is waited for
        self.cluster.servers[name].thaw()

    async def kill_a_fleet(self) -> None:
        brokers = self.random.choice(FLEETS)
        self.done.append(f"kill fleet {brokers}")
        await self.cluster.fleets[brokers].kill()
        await self.cluster.fleet(brokers, bandwidth=BANDWIDTH)

    async def stop_a_fleet(self) -> None:
        brokers = self.random.choice(FLEETS)
        self.done.append(f"stop fleet {brokers}")
        assert await self.cluster.fleets[brokers].stop() == 0
        await self.cluster.fleet(brokers, bandwidth=BANDWIDTH)

    @staticmethod
    def id_of(server: str) -> int:
        return {"a": 1000, "b": 1001}[server]


@pytest.mark.timeout(SECONDS + 360)
async def test_sv_3_after_random_kills_every_partition_ends_at_its_last_target(cluster: Cluster) -> None:
    await cluster.server("a", broker_id=1000)
    for brokers in FLEETS[:-1]:
        await cluster.fleet(brokers, bandwidth=BANDWIDTH)
    await cluster.fleet(FLEETS[-1], *TOPICS, bandwidth=BANDWIDTH)
    await cluster.server("b", broker_id=1001)
    chaos = Chaos(cluster, SEED)
    await chaos.begin()
    checker = InvariantChecker(cluster, sorted(chaos.targets))
    watching = asyncio.create_task(watch(checker))
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    try:
        while loop.time() < end:
            await chaos.step()
            if watching.done():
                break
        await eventually(lambda: at_rest(cluster, chaos), within=60)
    except BaseException:
        print(f"FAULTS_SEED={SEED}:", *chaos.done, sep="\n  ")
        raise
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert watching.cancelled(), watching.exception()
    for name, process in (cluster.servers | cluster.fleets).items():
        assert "Traceback" not in process.log, f"{name}: {process.log[-5000:]}"


async def watch(checker: InvariantChecker) -> None:
    while True:
        await checker.check(patience=LEADERLESS_S)
        await asyncio.sleep(0.1)


async def at_rest(cluster: Cluster, chaos: Chaos) -> bool:
    ends = {}
    for topic in ("x", "y"):
        for index, replicas in (await cluster.topic(topic))["partitions"].items():
            name = (topic, int(index))
            assert replicas in chaos.targets[name], f"{name} has {replicas}, its targets were {chaos.targets[name]}"
            ends[name] = replicas
    await cluster.rests_at(ends, within=0)
    return True
