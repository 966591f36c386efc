"""Whether brokers have room for what a plan brings. Unknown sizes count as 0."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows, read_log_dirs
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import counted

_READ = ("topic", "partition", "replicas", "adding", "bytes")


class Coming(NamedTuple):
    """Bytes that moves have yet to bring to each broker. `all_known`: each of these moves tells its size."""

    bytes: Counter[int]
    all_known: bool


class BrokerSpace(NamedTuple):
    """Bytes that a plan may bring, in all and to each volume."""

    total: int
    volumes: tuple[int, ...]


def overfull_brokers(
    spaces: Mapping[int, BrokerSpace], arriving: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, str]]:
    """`arriving`: by broker, bytes of each replica that comes."""
    for broker, sizes in sorted(arriving.items()):
        if broker not in spaces:
            continue
        space = spaces[broker]
        if sum(sizes) > space.total:
            yield broker, f"gets {sum(sizes)} bytes, has room for {space.total}"
        elif unplaced := _without_places(sizes, space.volumes):
            yield broker, unplaced


def certain_rooms(
    spaces: Mapping[int, BrokerSpace],
    arriving: Mapping[int, Sequence[int]],
    brokers: Iterable[int],
    *,
    all_known: bool,
) -> dict[int, int | None]:
    """What fits beside what the plan brings, on any volume. None: nothing is known of the disks. Without `all_known` a
    partition lacks a size, and nothing is certain.
    """
    rooms: dict[int, int | None] = {}
    for broker in brokers:
        space = spaces.get(broker)
        if space is None:
            rooms[broker] = None
        elif all_known:
            comes = sum(arriving.get(broker, ()))
            rooms[broker] = min(space.total, max(space.volumes, default=0)) - comes
    return rooms


def _without_places(sizes: Sequence[int], volumes: Sequence[int]) -> str | None:
    """No replica is divided: a volume holds no more replicas of at least some size than that size goes into
    its room.
    """
    as_large = 0
    for size, count in sorted(Counter(sizes).items(), reverse=True):
        as_large += count
        places = sum(room // size for room in volumes)
        if as_large > places:
            return f"gets {counted(as_large, 'replica')} of {size} bytes or more, its volumes have places for {places}"
    return None


def broker_spaces(path: StorePath, headroom: float, coming: Coming) -> dict[int, BrokerSpace]:
    """Without unknown brokers. `headroom`: the share of each volume that stays free."""
    brokers = read_broker_rows(path)
    are_known = all(row["free_bytes"] is not None for row in brokers)
    held: Mapping[int, int] = {} if are_known else _held(path)
    volumes = _volumes(read_log_dirs(path))
    spaces = {}
    for row in brokers:
        broker, size, free = row["broker"], row["capacity_bytes"], row["free_bytes"]
        if free is None:
            if size is not None:
                room = size - held.get(broker, 0) - int(size * headroom)  # `held` has what waits as well
                spaces[broker] = BrokerSpace(room, (room,))
            continue
        rooms = [max(0, free - int(size * headroom)) for size, free in volumes.get(broker, [(size, free)])]
        spaces[broker] = BrokerSpace(sum(rooms) - coming.bytes[broker], tuple(rooms))
    return spaces


def limited_spaces(
    spaces: Mapping[int, BrokerSpace], held: Mapping[int, int], limits: Mapping[int, int], coming: Coming
) -> dict[int, BrokerSpace]:
    """`limits`: by broker, the most bytes that it may hold; those of its replicas (`held`) and what moves have yet to
    bring are there already.
    """
    found = dict(spaces)
    for broker, most in limits.items():
        left = most - held.get(broker, 0) - coming.bytes[broker]
        space = spaces.get(broker, BrokerSpace(left, (left,)))
        found[broker] = space._replace(total=min(space.total, left))
    return found


def disk_sizes(path: StorePath) -> dict[int, int]:
    rows = read_broker_rows(path)
    return {row["broker"]: row["capacity_bytes"] for row in rows if row["capacity_bytes"]}


def holdable_bytes(path: StorePath, held: Mapping[int, int], coming: Coming) -> dict[int, int] | None:
    """What a broker's replicas have (`held`) and what is free, less what moves have yet to bring; or its size. None: a
    replica of unknown size is on its way.
    """
    if not coming.all_known:
        return None
    found = {}
    for row in read_broker_rows(path):
        broker, size, free = row["broker"], row["capacity_bytes"], row["free_bytes"]
        if free is not None:
            found[broker] = max(0, free + held.get(broker, 0) - coming.bytes[broker])
        elif size is not None:
            found[broker] = size
    return found


def _held(path: StorePath) -> Counter[int]:
    held: Counter[int] = Counter()
    for batch in snapshot_files.record_batches(path, "partitions", _READ):
        sizes = batch["bytes"].take(pc.list_parent_indices(batch["replicas"]))
        replicas = pa.table({"broker": pc.list_flatten(batch["replicas"]), "bytes": sizes})
        for row in replicas.group_by("broker").aggregate([("bytes", "sum")]).to_pylist():
            held[row["broker"]] += row["bytes_sum"] or 0
        for row in _adding(batch):
            held.update(dict.fromkeys(set(row["adding"]).difference(row["replicas"]), row["bytes"] or 0))
    return held


def _adding(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.filter(pc.greater(pc.list_value_length(batch["adding"]), 0)).to_pylist()
    return rows


def still_coming(path: StorePath) -> Coming:
    """What adding replicas lack."""
    moves = [row for batch in snapshot_files.record_batches(path, "partitions", _READ) for row in _adding(batch)]
    sizes = {(row["topic"], row["partition"], broker): row["bytes"] for row in moves for broker in row["adding"]}
    known = {name: size for name, size in sizes.items() if size is not None}
    coming: Counter[int] = Counter()
    for (_, _, broker), size in known.items():
        coming[broker] += size
    topics = pa.array(sorted({topic for topic, _, _ in known}), pa.string())
    for batch in snapshot_files.record_batches(path, "replicas") if known else ():
        there = pc.and_(pc.is_valid(batch["bytes"]), pc.invert(batch["future"]))
        for row in batch.filter(pc.and_(there, pc.is_in(batch["topic"], topics))).to_pylist():
            size = known.get((row["topic"], row["partition"], row["broker"]))
            if size is not None:
                coming[row["broker"]] -= min(row["bytes"], size)
    return Coming(coming, len(known) == len(sizes))


def _volumes(log_dirs: list[dict[str, Any]]) -> dict[int, list[tuple[int, int]]]:
    """(size, least free bytes); what is not known is 0. Without brokers with an unknown volume."""
    found: dict[int, dict[int | None, tuple[int, int]]] = {}
    for row in log_dirs:
        if row["online"]:
            of_broker, free = found.setdefault(row["broker"], {}), row["free_bytes"] or 0
            least = min(free, of_broker.get(row["volume"], (0, free))[1])
            of_broker[row["volume"]] = (row["volume_bytes"] or 0, least)
    return {broker: list(held.values()) for broker, held in found.items() if None not in held}
