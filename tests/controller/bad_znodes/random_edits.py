"""Random histories of a controller whose znodes somebody edits, as many as are asked for.

PYTHONHASHSEED=0 python -m tests.controller.bad_znodes.random_edits 1000 20                       # from this seed on
PYTHONHASHSEED=0 python -m tests.controller.bad_znodes.random_edits 1000 1 --steps 40 --show      # what happens

A server with ZooKeeper, four simulated brokers and two topics. Each step edits znodes by hand, sends a request, kills a
broker or has another server take over, and a drawn time may pass after it. Then what the cluster cannot do without is
put back, all brokers are there, nothing is throttled, and all comes to rest: each partition has all its replicas in
sync and one leader, of which znode and brokers say the same, nobody leads what is not assigned to it, no move, record
or order is left, and no traceback was logged.

The seed decides which steps come and what they draw, not at which moment of the server's work they come: a failure may
need some tries.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode, ZkError
from tests.controller.bad_znodes.edit_steps import BY_HAND
from tests.controller.bad_znodes.edited_cluster import ASSIGNMENT, BROKERS, SIZE, TOPICS, EditedCluster
from tests.controller.bad_znodes.request_steps import BESIDE
from tests.controller.bad_znodes.test_hostile_znodes import logged
from tests.controller.bare_controller import records
from tests.controller.cluster import cluster
from tests.vendor_requests import order, told
from tests.waiting import eventually

STEPS = 30
LONGEST_S = 90.0
"""A step that takes longer hangs, since all that it asks for has shorter timeouts. The history has failed."""
PAUSE_S = 0.6
"""The longest time that passes after a step."""
LAG_MS = 1_500
WEIGHTS = {**BY_HAND, **BESIDE}
IN_THE_WAY = (OSError, EOFError, LookupError, ValueError, AssertionError, ZkError)
"""What a step may meet: a znode that is gone or cannot be read, a refusal, no answer."""
ORDERS = (znode_paths.REASSIGN_PARTITIONS, znode_paths.CANCEL_IN_PROGRESS, znode_paths.PREFERRED_REPLICA_ELECTION)

Say = Callable[[str], None]


async def differences(connect: str, seed: int, steps: int, say: Say = lambda _: None) -> list[str]:
    """What does not hold in the end of this history, at a chroot of its own."""
    async with logged("") as log, cluster(connect, brokers=BROKERS, replica_lag_ms=LAG_MS) as world:
        for topic in TOPICS:
            await world.create_topic(topic, ASSIGNMENT, held=True, size=SIZE)
        here = EditedCluster(world)
        found: list[str] = []

        async def is_right() -> bool:
            found[:] = [one async for one in _wrong(here)]
            return not found

        try:
            await _pass_by(here, seed, steps, say)
            await _put_back(here, say)
            await eventually(is_right)
        except IN_THE_WAY as error:
            found = found or [repr(error)]
        return [*found, *log.defects]


async def _pass_by(here: EditedCluster, seed: int, steps: int, say: Say) -> None:
    """Each step draws from a chance of its own: what one of them meets changes no other."""
    drawn = Random(seed)
    kinds = drawn.choices([*WEIGHTS], [*WEIGHTS.values()], k=steps)
    pauses = [drawn.choice((0.0, PAUSE_S * drawn.random())) for _ in kinds]
    for number, (step, pause) in enumerate(zip(kinds, pauses, strict=True)):
        here.chance = Random(f"{seed} {number}")
        async with asyncio.timeout(LONGEST_S):
            try:
                met = await step(here)
            except IN_THE_WAY as error:
                met = repr(error)
        say(f"{number:3} {step.__name__} {met}")
        await asyncio.sleep(pause)
    here.chance = drawn


async def _put_back(here: EditedCluster, say: Say) -> None:
    """What the cluster cannot do without, as an operator does in the end. Raises AssertionError."""
    for repair in reversed(here.undo):
        with suppress(*IN_THE_WAY):  # what it would repair may be gone
            await repair()
    while here.away:
        await here.start_broker()
    for topic in TOPICS:
        await eventually(partial(_is_there, here, topic))
    if here.may():
        say("... a server takes over")
        await here.take_over()
    else:
        say("... topics are written, so that all is read again")
        for topic in TOPICS:
            async with here.edited(znode_paths.topic(topic)) as znode:
                znode["foreign"] = 1
    for topic in TOPICS:
        await here.world.release(topic)
    await here.world.configure("brokers", "<default>", {})
    await eventually(here.world.controls)
    say(f"... no throttle: {told(await here.world.ask(order('throttle', rate=0), 0))}")


async def _is_there(here: EditedCluster, topic: str) -> bool:
    if await here.zk.exists(znode_paths.delete_topic(topic)):
        return False
    return await here.zk.exists(znode_paths.topic(topic)) is not None or await here.has_created(topic)


async def _wrong(here: EditedCluster) -> AsyncIterator[str]:
    if not await here.world.controls():
        yield "the server does not control the cluster"
    if listed := await here.world.states():
        yield f"moves: {listed}"
    if left := await records(here.zk):
        yield f"records: {left}"
    for path in (*ORDERS, *map(znode_paths.delete_topic, TOPICS)):
        if await here.zk.exists(path):
            yield f"{path} is there: {(await here.zk.get(path))[0]!r}"
    for topic in TOPICS:
        znode = await here.read(znode_paths.topic(topic))
        if znode.get("adding_replicas") or znode.get("removing_replicas"):
            yield f"{topic} moves: {znode}"
        for index, replicas in znode["partitions"].items():
            async for difference in _wrong_partition(here, TopicPartition(topic, int(index)), replicas):
                yield difference


async def _wrong_partition(here: EditedCluster, name: TopicPartition, replicas: Sequence[int]) -> AsyncIterator[str]:
    try:
        state = await here.read(znode_paths.partition_state(*name))
    except NoNode:
        yield f"{name} has no state"
        return
    if sorted(state["isr"]) != sorted(replicas) or state["leader"] not in replicas:
        yield f"{name} of {replicas}: {state}"
    for broker in BROKERS:
        replica = here.replica(broker, name)
        if broker in replicas and (replica is None or replica.leader != state["leader"]):
            yield f"{name} on broker {broker}: {replica}, while its state is {state}"
        if broker not in replicas and replica is not None and replica.leader == broker:
            yield f"{name} is led by {broker}, which is none of {replicas}: {replica}, while its state is {state}"


async def _main(first: int, count: int, steps: int, say: Say) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedZooKeeper(Path(directory)) as zookeeper:
            for seed in range(first, first + count):
                async with ZooKeeper(zookeeper.address) as outside:
                    await outside.ensure_path(f"/{seed}")
                try:
                    found = await differences(f"{zookeeper.address}/{seed}", seed, steps, say)
                except IN_THE_WAY as error:
                    found = [repr(error)]
                if found:
                    failed += 1
                    print(f"seed {seed}:", *found, sep="\n  ", flush=True)
    print(f"{count} histories, {failed} failed")
    return min(failed, 1)


def main() -> int:
    """0 where all held, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each history (default: {STEPS})")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    return asyncio.run(_main(given.seed, given.count, given.steps, print if given.show else lambda _: None))


if __name__ == "__main__":
    sys.exit(main())
