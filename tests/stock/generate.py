"""Compares the stock tool's --generate with our plan: bytes to copy, time, and how even the brokers are afterwards."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.planner.plan_result import PlannedMove

from .tools import Tools

Placement = Mapping[tuple[str, int], Sequence[int]]
"""Partition -> its replicas, preferred leader first."""


class Figures(NamedTuple):
    """What placements cost, and what they come to.

    copied                      bytes
    on_few_racks                partitions that are on fewer racks than there are, or than they have replicas
    bytes, replicas, leaders    the worst live broker's distance from the mean, as a share of the mean
    """

    moves: int
    copied: int
    on_few_racks: int
    bytes: float
    replicas: float
    leaders: float


class NotKnownYet(Exception):
    """The node that the tool asked has not learnt of all topics."""


async def generated(
    tools: Tools, bootstrap: str, topics: Sequence[str], brokers: Sequence[int], file: Path
) -> Placement:
    """The "proposed partition reassignment configuration" of a real `kafka-reassign-partitions --generate`."""
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": topic} for topic in topics]}))
    arguments = ("--topics-to-move-json-file", str(file), "--broker-list", ",".join(map(str, brokers)))
    output = await tools.run(
        "reassign-partitions", "--bootstrap-server", bootstrap, "--generate", *arguments, timeout=300
    )
    if "UnknownTopicOrPartitionException" in output.out:
        raise NotKnownYet(output.out.splitlines()[0])
    assert output.code == 0, output
    return {(one["topic"], one["partition"]): one["replicas"] for one in json.loads(output.lines[-1])["partitions"]}


def planned(plan: Path) -> Placement:
    """The partitions that a plan of ours moves."""
    rows = parquet_files.read(plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    return {(row["topic"], row["partition"]): row["to_replicas"] for row in rows}


def figures(path: Path, placed: Placement, brokers: Sequence[int] | None = None) -> Figures:
    """The figures of a snapshot whose named partitions are placed like this, while all others stay.

    brokers     those that may hold replicas; None: all live ones
    """
    listed = snapshot_files.read(path, "brokers").to_pylist()
    live = brokers or [row["broker"] for row in listed if row["live"]]
    racks = {row["broker"]: row["rack"] for row in listed}
    possible = len({racks[broker] for broker in live})
    loads = {name: dict.fromkeys(live, 0) for name in ("bytes", "replicas", "leaders")}
    moves = copied = on_few_racks = 0
    for row in snapshot_files.read(path, "partitions").to_pylist():
        stood, size = row["replicas"], row["bytes"]
        replicas = placed.get((row["topic"], row["partition"]), stood)
        moves += list(replicas) != stood
        copied += size * len(set(replicas) - set(stood))
        on_few_racks += len({racks[broker] for broker in replicas}) < min(possible, len(replicas))
        loads["leaders"][replicas[0]] += 1
        for broker in replicas:
            loads["replicas"][broker] += 1
            loads["bytes"][broker] += size
    return Figures(moves, copied, on_few_racks, *(_furthest(list(load.values())) for load in loads.values()))


def planned_moves(path: Path, placed: Placement) -> list[PlannedMove]:
    """The moves of a snapshot to these placements, as the planner would describe them; each leader stays and sends."""
    moves = []
    for row in snapshot_files.read(path, "partitions").to_pylist():
        name, stood = (row["topic"], row["partition"]), tuple(row["replicas"])
        target = tuple(placed.get(name, stood))
        if target != stood:
            copied = row["bytes"] * len(set(target) - set(stood))
            moves.append(PlannedMove(*name, stood, target, row["leader"], copied, 0, "", ""))
    return moves


def _furthest(values: list[int]) -> float:
    mean = sum(values) / len(values)
    return max(abs(value - mean) for value in values) / mean
