"""Snapshots whose figures and rows no cluster, or hardly any, can show: at random, from a seed."""

import math
from pathlib import Path
from random import Random
from typing import Any

from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

SIZES = (0, 1, -1, -(2**63), 2**31, 2**53, 2**60 - 1, 2**60, 2**61, 2**62, 2**63 - 1, None)
RATES = (None, 0.0, -1.0, math.nan, math.inf, -math.inf, 1.7e308, 2.0**40, 2.0**53, 2.0**63, 5e-324)
FIGURES = ("capacity", "free", "volume", "free of a dir", "bytes", "replica", "produce", "fetch", "messages", "cpu")
ROWS = (
    "a dir twice",
    "a dir of another broker",
    "a replica twice",
    "a copy twice",
    "a replica in another dir",
    "a replica of another broker",
    "a replica of another partition",
    "a volume of two sizes",
    "a dir on another volume",
)
ODD = (*FIGURES, *ROWS)
BROKERS, LOST = range(1, 7), 6


def write_odd_snapshot(path: Path, seed: int, odd: frozenset[str] | None = None) -> frozenset[str]:
    """Six brokers in three racks, the last is lost. Returns what is odd: `odd`, or one of FIGURES and ROWS, each in its
    turn as the seed grows, and up to two more.
    """
    chance = Random(seed)
    drawn = frozenset((ODD[seed % len(ODD)], *chance.sample(ODD, chance.choice((0, 0, 1, 2)))))
    odd = drawn if odd is None else odd

    def size(name: str, usual: int | None) -> int | None:
        return chance.choice(SIZES) if name in odd and chance.random() < 0.5 else usual

    def rate(name: str) -> float | None:
        return chance.choice(RATES) if name in odd and chance.random() < 0.3 else 10.0

    log_dirs: list[tuple[Any, ...]] = []
    partitions: list[tuple[Any, ...]] = []
    replicas: list[tuple[Any, ...]] = []
    for broker in BROKERS:
        for number in range(2 * (broker != LOST)):
            sizes = size("volume", 5 * 10**8), size("free of a dir", 25 * 10**7)
            log_dirs.append((broker, f"/d{number}", True, number, *sizes, False))
    for topic, index in ((topic, index) for topic in "tuv" for index in range(8)):
        held = chance.sample(BROKERS, 3)
        live, bytes_ = [one for one in held if one != LOST], size("bytes", chance.randrange(10**6))
        adding = [one for one in BROKERS if one not in (*held, LOST)][:1] if chance.random() < 0.1 else []
        rates = [rate(name) for name in ("produce", "fetch", "messages", "cpu")]
        waits = (bool(adding), *rates[2:])
        partitions.append((topic, index, held, live[0], live, adding, [], bytes_, *rates[:2], *waits))
        for broker in live:
            replicas.append((topic, index, broker, size("replica", bytes_), f"/d{chance.randrange(2)}", False))
            if chance.random() < 0.1:
                replicas.append((topic, index, broker, size("replica", 10), f"/d{chance.randrange(2)}", True))
    _add_rows(odd, chance, log_dirs, replicas)
    with SnapshotWriter(path) as writer:
        for broker in BROKERS:
            sizes = size("capacity", 10**9), size("free", 5 * 10**8)
            writer.brokers.add((broker, f"r{broker % 3}", "h", 9092, *sizes, broker != LOST, False))
        writer.log_dirs.extend(log_dirs)
        writer.topics.extend((topic, None) for topic in "tuv")
        writer.partitions.extend(partitions)
        writer.replicas.extend(replicas)
        writer.finish(SnapshotMeta("c", 5))
    return odd


def _add_rows(
    odd: frozenset[str], chance: Random, log_dirs: list[tuple[Any, ...]], replicas: list[tuple[Any, ...]]
) -> None:
    (broker, path, *of_dir), one = chance.choice(log_dirs), chance.choice([row for row in replicas if not row[5]])
    other = f"/d{chance.randrange(2)}"
    changed: dict[str, list[tuple[Any, ...]]] = {
        "a dir twice": [(broker, path, *of_dir)],
        "a dir of another broker": [(77, path, *of_dir)],
        "a volume of two sizes": [(broker, "/d2", True, 0, 4 * 10**8, 10**8, False)],
        "a dir on another volume": [(broker, "/d2", chance.random() < 0.5, 9, None, None, False)],
    }
    log_dirs += [row for name, rows in changed.items() if name in odd for row in rows]
    named, size = one[:3], one[3]
    more: dict[str, list[tuple[Any, ...]]] = {
        "a replica twice": [(*named, chance.choice((size, 7)), other, False)],
        "a copy twice": [(*named, 5, path, True) for path in ("/d0", "/d1")],
        "a replica in another dir": [("t", 3, BROKERS[0], 9, "/nowhere", False)],
        "a replica of another broker": [("t", 3, 77, 9, "/d0", False)],
        "a replica of another partition": [("gone", 3, broker, 9, "/d0", False)],
    }
    replicas += [row for name, rows in more.items() if name in odd for row in rows]
