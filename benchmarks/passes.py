"""Full passes of the server's garbage collector while 10,000 partitions move: how long each holds the event loop.

The server is started by this module, which writes down each full pass: its time, its CPU time (what another process on
the core takes is not in it), and the objects that it has looked at.
"""

import asyncio
import gc
import re
import sys
import time
from pathlib import Path

from benchmarks import frames
from benchmarks.bulk import BYTES, REPLICAS, one_round
from benchmarks.cluster import START_S, Cluster, controlling, spread
from benchmarks.tables import duration, show
from kafka_reassign_rpc.server.process_limits import OLDEST

PARTITIONS, TOPICS = 10_000, 100
ROUNDS = 6
BOUND_S = 300.0
_PASS = re.compile(rb"^full pass ([\d.]+) ([\d.]+) (\d+)$", re.MULTILINE)
HEAD = ("full passes", "objects, at most", "CPU, middle", "CPU, longest", "longest with what else ran on the core")


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    topics = spread(PARTITIONS, TOPICS, "t")
    async with Cluster(zookeeper, "passes", directory) as cluster:
        server = await cluster.server(program=("-m", "benchmarks.passes"))
        await controlling(server.address, START_S)
        await cluster.create(server.address, topics, REPLICAS, BYTES)
        rounds = 2 if quick else ROUNDS
        before = len(server.printed())  # passes of the start are over before anybody waits
        for number in range(rounds):
            alter = frames.alter(topics, REPLICAS, back=bool(number % 2))
            await asyncio.to_thread(one_round, server.address, [alter], PARTITIONS, BOUND_S)
        row = _row(server.printed()[before:])
        await server.stop()
    return show(
        f"passes: the collector's full passes while {PARTITIONS:,} partitions move ({rounds} rounds)",
        HEAD,
        [row],
        ["a pass holds the event loop from its beginning to its end"],
    )


def _row(printed: bytes) -> list[str]:
    found = [(float(took), float(cpu), int(count)) for took, cpu, count in _PASS.findall(printed)]
    if not found:
        return ["0", "", "", "", ""]
    cpu = sorted(one[1] for one in found)
    return [
        str(len(found)), f"{max(one[2] for one in found):,}", duration(cpu[len(cpu) // 2]), duration(cpu[-1]),
        duration(max(one[0] for one in found)),
    ]  # fmt: skip


def _serve() -> int:
    """The server's command, which prints each full pass."""
    from kafka_reassign_rpc.cli.main import main

    begun: list[float] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if info["generation"] == OLDEST and phase == "start":
            objects = len(gc.get_objects())
            begun[:] = [time.perf_counter(), time.thread_time(), objects]
        elif info["generation"] == OLDEST and begun:
            took, cpu = time.perf_counter() - begun[0], time.thread_time() - begun[1]
            print(f"full pass {took:.6f} {cpu:.6f} {int(begun[2])}", flush=True)

    gc.callbacks.append(note)
    return main(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(_serve())
