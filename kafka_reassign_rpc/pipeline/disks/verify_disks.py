"""Checks a plan between log dirs against its snapshot: the rules of docs/pipeline.md, with no code of the planner.

What a snapshot and a plan say of moves between log dirs, read for the verifier without any code of the planner.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec.structs import astuple

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    ANY,
    DISK_LEFT_OUT,
    DirBatch,
    DirFigures,
    DiskSummary,
    PlannedDirMove,
    read_dir_batch,
    read_dir_moves,
    read_disk_summary,
)
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation, first_of_each
from kafka_reassign_rpc.pipeline.plans.batch_reader import files_by_number
from kafka_reassign_rpc.pipeline.plans.plan_directory import LEFT_OUT
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows, read_log_dirs
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import counted

Row = Mapping[str, Any]
PartitionName = tuple[str, int]


class LeftOut(NamedTuple):
    topic: str
    partition: int
    broker: int
    log_dir: str
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} of broker {self.broker}"


class DiskFacts(NamedTuple):
    """dirs          by broker and path: rows of `log_dirs`
    held          by broker that was asked for, and partition: its log dir and its bytes; of one that lies in several
                  (`twice`) the first by name
    copied        replicas that a broker copies between its log dirs: the target, and the bytes there
    partitions    the rows of those that move or are left out
    reassigned    the rows of those with a reassignment, in flight or waiting
    odd           partitions whose replicas lack a broker or have one twice
    """

    dirs: Mapping[int, Mapping[str, Row]]
    held: Mapping[int, Mapping[PartitionName, tuple[str, int | None]]]
    twice: Collection[tuple[int, PartitionName]]
    copied: Mapping[int, Mapping[PartitionName, tuple[str, int]]]
    partitions: Mapping[PartitionName, Row]
    reassigned: Mapping[PartitionName, Row]
    odd: Collection[PartitionName]
    topic_ids: Mapping[str, str]
    summary: DiskSummary
    moves: Sequence[PlannedDirMove]
    left_out: Sequence[LeftOut]
    batches: Mapping[int, DirBatch]
    rollbacks: Mapping[int, DirBatch]

    def emptied(self, broker: int) -> Sequence[str]:
        return self.summary.requested.empty.get(broker, ())

    def open_dirs(self, broker: int) -> dict[str, Row]:
        return {
            path: row
            for path, row in self.dirs.get(broker, {}).items()
            if row["online"] and not row["cordoned"] and path not in self.emptied(broker)
        }


def volume_of(row: Row) -> Any:
    """A log dir whose volume is unknown counts as its own."""
    return row["log_dir"] if row["volume"] is None else row["volume"]


def read_facts(snapshot: StorePath, plan: StorePath) -> DiskFacts:
    """Raises BadInput."""
    meta, summary = snapshot_files.check(snapshot), read_disk_summary(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {snapshot} (cluster {summary.cluster_id})")
    dirs: dict[int, dict[str, Row]] = defaultdict(dict)
    for of_dir in read_log_dirs(snapshot):
        dirs[of_dir["broker"]][of_dir["log_dir"]] = of_dir
    live, requested = {row["broker"] for row in read_broker_rows(snapshot) if row["live"]}, summary.requested
    asked = requested.empty or requested.brokers or dirs.keys() & live
    held: dict[int, dict[PartitionName, tuple[str, int | None]]] = {broker: {} for broker in sorted(asked)}
    copied: dict[int, dict[PartitionName, tuple[str, int]]] = defaultdict(dict)
    twice = set[tuple[int, PartitionName]]()
    for row in snapshot_files.rows(snapshot, "replicas"):
        name, broker = (row["topic"], row["partition"]), row["broker"]
        if row["future"]:
            copied[broker][name] = row["log_dir"], row["bytes"] or 0
        elif broker in held and row["log_dir"] is not None:
            one = row["log_dir"], row["bytes"]
            if name in held[broker]:
                twice.add((broker, name))
                one = min(one, held[broker][name], key=itemgetter(0))
            held[broker][name] = one
    moves = list(read_dir_moves(plan))
    left_out = [
        LeftOut(*(row[name] for name in LeftOut._fields))
        for batch in parquet_files.record_batches(plan / LEFT_OUT, DISK_LEFT_OUT)
        for row in batch.to_pylist()
    ]
    named = {(one.topic, one.partition) for one in moves} | {(one.topic, one.partition) for one in left_out}
    partitions, reassigned, odd = {}, {}, set()
    for row in snapshot_files.rows(snapshot, "partitions"):
        name = row["topic"], row["partition"]
        if name in named:
            partitions[name] = row
        if row["adding"] or row["removing"] or row["waiting"]:
            reassigned[name] = row
        if not row["replicas"] or len({*row["replicas"]}) != len(row["replicas"]):
            odd.add(name)
    files = [
        {number: read_dir_batch(file) for number, file in files_by_number(plan / folder).items()}
        for folder in (BATCHES, ROLLBACK)
    ]
    ids = snapshot_files.topic_ids(snapshot)
    return DiskFacts(dirs, held, twice, copied, partitions, reassigned, odd, ids, summary, moves, left_out, *files)


def coming(facts: DiskFacts) -> dict[int, Counter[Any]]:
    found: dict[int, Counter[Any]] = defaultdict(Counter)
    for move in facts.moves:
        row = facts.dirs.get(move.broker, {}).get(move.to_log_dir)
        if row is not None:
            found[move.broker][volume_of(row)] += move.bytes
    return found


def rooms(facts: DiskFacts) -> dict[int, dict[Any, int | None]]:
    """By broker and volume: bytes that may come, without room that the plan makes; None: not known."""
    arriving = Counter[int]()
    for row in facts.reassigned.values():
        arriving.update(dict.fromkeys(row["adding"], row["bytes"] or 0))
    return {broker: _rooms_of(facts, broker, arriving[broker]) for broker in facts.held}


def _rooms_of(facts: DiskFacts, broker: int, arriving: int) -> dict[Any, int | None]:
    of_broker = facts.dirs.get(broker, {})
    unfinished = Counter[Any]()
    for name, (path, there) in facts.copied.get(broker, {}).items():
        size = facts.held[broker].get(name, (path, there))[1] or 0
        if path in of_broker:
            unfinished[volume_of(of_broker[path])] += max(0, size - there)
    found: dict[Any, int | None] = {}
    for row in of_broker.values():
        volume, size, free = volume_of(row), row["volume_bytes"], row["free_bytes"]
        if size is None or free is None:
            found[volume] = None
            continue
        room = max(0, free - int(size * facts.summary.requested.headroom) - arriving - unfinished[volume])
        known = found.get(volume)
        found[volume] = room if known is None else min(known, room)
    return found


def verify_disks(snapshot: StorePath, plan: StorePath) -> list[RuleViolation]:
    """Names the first rows of each broken rule, and counts the others. Raises BadInput for unreadable files."""
    return first_of_each(broken_rules(read_facts(snapshot, plan)))


def broken_rules(facts: DiskFacts) -> Iterator[RuleViolation]:
    for move in facts.moves:
        for rule, detail in chain(_of_source(facts, move), _of_target(facts, move), _of_goal(facts, move)):
            yield RuleViolation(rule, str(move.replica), detail)
    for replica, count in Counter(str(move.replica) for move in facts.moves).items():
        if count > 1:
            yield RuleViolation("moved-twice", replica, f"has {count} rows")
    yield from _of_room(facts)
    yield from _of_left_out(facts)
    yield from _of_emptied(facts)
    yield from faults_of_spread(facts)
    yield from faults_of_files(facts)
    yield from faults_of_summary(facts)


def _of_source(facts: DiskFacts, move: PlannedDirMove) -> Iterator[tuple[str, str]]:
    name = move.topic, move.partition
    log_dir, size = facts.held.get(move.broker, {}).get(name, (None, None))
    if log_dir is None:
        yield "unknown-replica", "the snapshot has no such replica"
    elif log_dir != move.from_log_dir:
        yield "stale", f"lies in {log_dir}, the plan says {move.from_log_dir}"
    elif size != move.bytes:
        yield "bytes", f"has {size} bytes, the plan says {move.bytes}"
    if name in facts.copied.get(move.broker, {}):
        yield "copying", f"its broker copies it to {facts.copied[move.broker][name][0]} already"
    if (move.broker, name) in facts.twice:
        yield "two-dirs", "its broker lists it in another log dir as well"
    if name in facts.reassigned:
        yield "in-flight", "its partition has a reassignment"


def _of_target(facts: DiskFacts, move: PlannedDirMove) -> Iterator[tuple[str, str]]:
    target = facts.dirs.get(move.broker, {}).get(move.to_log_dir)
    if move.to_log_dir == move.from_log_dir:
        yield "no-move", f"goes to {move.to_log_dir}, where it is"
    if target is None:
        yield "known-dir", f"goes to {move.to_log_dir}, which its broker does not have"
    elif not target["online"]:
        yield "online-dir", f"goes to {move.to_log_dir}, which is offline"
    elif target["cordoned"]:
        yield "cordoned", f"goes to {move.to_log_dir}, which is cordoned"


def _of_goal(facts: DiskFacts, move: PlannedDirMove) -> Iterator[tuple[str, str]]:
    requested, emptied = facts.summary.requested, facts.emptied(move.broker)
    if requested.topics and move.topic not in requested.topics:
        yield "topics", "its topic was not asked for"
    if requested.empty and move.from_log_dir not in emptied:
        yield "keeps-others", f"lies in {move.from_log_dir}, which is not to be emptied"
    if move.to_log_dir in emptied:
        yield "leaves-dirs", f"goes to {move.to_log_dir}, which is to be emptied"
    if requested.brokers and move.broker not in requested.brokers:
        yield "brokers", "its broker was not asked for"
    if not move.reason:
        yield "reason", "has no reason"


def _of_room(facts: DiskFacts) -> Iterator[RuleViolation]:
    free = rooms(facts)
    for broker, of_broker in sorted(coming(facts).items()):
        for volume, size in of_broker.items():
            room = free.get(broker, {}).get(volume)
            if room is not None and size > room:
                yield RuleViolation("room", f"broker {broker}", f"volume {volume} gets {size} bytes, may get {room}")


def _of_left_out(facts: DiskFacts) -> Iterator[RuleViolation]:
    moved = {(move.topic, move.partition, move.broker) for move in facts.moves}
    most = _certain_rooms(facts)
    for one in facts.left_out:
        why, held = "", facts.held.get(one.broker, {}).get((one.topic, one.partition), ("", None))
        if (one.topic, one.partition, one.broker) in moved:
            why = "moves as well"
        elif held[0] != one.log_dir:
            why = f"does not lie in {one.log_dir}"
        elif (held[1] or 0) != one.bytes:
            why = f"has {held[1]} bytes, the plan says {one.bytes}"
        elif one.log_dir not in facts.emptied(one.broker) or not _is_asked(facts, one.topic):
            why = "the goal does not concern it"
        elif not _is_true(facts, one, most[one.broker]):
            why = f"this is not so: {one.reason}"
        if why:
            yield RuleViolation("left-out", str(one), why)


def _certain_rooms(facts: DiskFacts) -> dict[int, float]:
    """The largest replica that still fits beside what the plan brings."""
    free, come = rooms(facts), coming(facts)
    found = {}
    for broker in {one.broker for one in facts.left_out} | facts.held.keys():
        rows = facts.open_dirs(broker).values()
        left = [(free.get(broker, {}).get(volume_of(row)), come.get(broker, {}).get(volume_of(row), 0)) for row in rows]
        found[broker] = max((float("inf") if room is None else room - size for room, size in left), default=-1.0)
    return found


def _is_true(facts: DiskFacts, one: LeftOut, most: float) -> bool:
    name = one.topic, one.partition
    match one.reason:
        case "a reassignment of its partition is in flight or waits":
            return name in facts.reassigned
        case "its broker copies it to another log dir already":
            return name in facts.copied.get(one.broker, {})
        case "its broker does not tell its size":
            return facts.held[one.broker][name][1] is None
        case "the replicas of its partition lack a broker or have one twice":
            return name in facts.odd
        case "its partition has no replica on this broker":
            return name not in facts.partitions or one.broker not in facts.partitions[name]["replicas"]
        case "its broker lists it in two log dirs":
            return (one.broker, name) in facts.twice
        case "no other log dir of the broker has room":
            return most < one.bytes
    return False


def _is_asked(facts: DiskFacts, topic: str) -> bool:
    topics = facts.summary.requested.topics
    return not topics or topic in topics


def _of_emptied(facts: DiskFacts) -> Iterator[RuleViolation]:
    named = {(one.broker, one.topic, one.partition) for one in facts.moves}
    named |= {(one.broker, one.topic, one.partition) for one in facts.left_out}
    for broker, of_broker in facts.held.items():
        for (topic, partition), (log_dir, _) in of_broker.items():
            is_asked = log_dir in facts.emptied(broker) and _is_asked(facts, topic)
            if is_asked and (broker, topic, partition) not in named:
                yield RuleViolation("forgotten", f"{topic}-{partition} of broker {broker}", f"stays in {log_dir}")
    if facts.summary.complete != (not facts.left_out):
        yield RuleViolation("complete", "summary.json", f"complete: {facts.summary.complete}")


# -- files, figures and the spread ------------------------------------------------------------------------------------


def faults_of_spread(facts: DiskFacts) -> Iterator[RuleViolation]:
    """An even plan brings no broker further from even, copies no more than asked, and says so."""
    requested = facts.summary.requested
    copied = Counter[int]()
    for move in facts.moves:
        copied[move.broker] += move.bytes
    for one in facts.summary.brokers if not requested.empty else ():
        name = f"broker {one.broker}"
        before, after = (_furthest(facts, one.broker, moved=moved) for moved in (False, True))
        if after > before + 1e-9:
            yield RuleViolation("evener", name, f"furthest from its target {before}, then {after}")
        if abs(before - one.furthest_before) > 1e-6 or abs(after - one.furthest_after) > 1e-6:
            said = f"{one.furthest_before}, then {one.furthest_after}"
            yield RuleViolation("summary", name, f"furthest {before}, then {after}; it says {said}")
        if 0 <= requested.max_bytes < copied[one.broker]:
            yield RuleViolation("max-bytes", name, f"copies {copied[one.broker]} bytes")


def _furthest(facts: DiskFacts, broker: int, *, moved: bool) -> float:
    open_dirs = facts.open_dirs(broker)
    sums: dict[Any, int] = {volume_of(row): 0 for row in open_dirs.values()}
    goes = {(one.topic, one.partition): one.to_log_dir for one in facts.moves if one.broker == broker and moved}
    for name, (log_dir, size) in facts.held.get(broker, {}).items():
        where = open_dirs.get(goes.get(name, log_dir))
        if where is not None:
            sums[volume_of(where)] += size or 0
    weights = {volume_of(row): row["volume_bytes"] or 0 for row in open_dirs.values()}
    if not all(weights.values()):
        weights = dict.fromkeys(weights, 1)
    total, whole = sum(sums.values()), sum(weights.values())
    targets = {volume: total * weight / whole for volume, weight in weights.items()}
    return max((abs(sums[one] - target) / target for one, target in targets.items() if target), default=0.0)


def faults_of_files(facts: DiskFacts) -> Iterator[RuleViolation]:
    """Table, batch files and rollbacks must say the same in the same order."""
    in_table = {
        (move.batch, move.topic, move.partition, move.broker): (move.from_log_dir, move.to_log_dir)
        for move in facts.moves
    }
    for rule, batches, turn in (("batches", facts.batches, 1), ("rollback", facts.rollbacks, -1)):
        in_files = {}
        for number, batch in batches.items():
            for entry in batch.partitions:
                known = facts.partitions.get((entry.topic, entry.partition))
                if known is None or tuple(known["replicas"]) != entry.replicas:
                    yield RuleViolation("replicas", f"{entry.topic}-{entry.partition}", "has other replicas")
                for broker, *sides in zip(entry.replicas, entry.expected_log_dirs, entry.log_dirs, strict=True):
                    if sides != [ANY, ANY]:
                        in_files[number, entry.topic, entry.partition, broker] = tuple(sides[::turn])
            ids = {one.topic: facts.topic_ids.get(one.topic) for one in batch.partitions}
            if {topic: one for topic, one in ids.items() if one} != batch.topic_ids:
                yield RuleViolation("topic-id", f"{rule} {number}", "has other ids of topics than the snapshot")
        for key in sorted(in_files.keys() | in_table.keys()):
            if in_files.get(key) != in_table.get(key):
                what = f"{in_table.get(key)} in the table, {in_files.get(key)} in the file"
                yield RuleViolation(rule, f"{key[1]}-{key[2]} of broker {key[3]}", what)
    for place, move in enumerate(facts.moves, 1):
        if move.start != place:
            yield RuleViolation("start", str(move.replica), f"starts as number {move.start}, not {place}")


def faults_of_summary(facts: DiskFacts) -> Iterator[RuleViolation]:
    summary, rate = facts.summary, min(facts.summary.bandwidth, facts.summary.throttle or facts.summary.bandwidth)
    of_broker: dict[int, list[int]] = {broker: [] for broker in facts.held}
    in_batch: dict[int, list[int]] = defaultdict(list)
    for move in facts.moves:
        of_broker.setdefault(move.broker, []).append(move.bytes)
        in_batch[move.batch].append(move.bytes)
    seconds = {broker: round(sum(some) / rate, 3) for broker, some in of_broker.items()}
    dirs = _dirs(facts)
    says = {
        "moves": summary.moves,
        "bytes": summary.bytes,
        "replicas": summary.replicas,
        "expected_seconds": round(summary.expected_seconds, 3),
        "brokers, batches and log dirs": [len(some) for some in (summary.brokers, summary.batches, summary.dirs)],
        **{f"broker {one.broker}": (one.moves, one.bytes, round(one.seconds, 3)) for one in summary.brokers},
        **{f"batch {one.batch}": (one.moves, one.bytes) for one in summary.batches},
        **{f"left out: {one.reason}": one.replicas for one in summary.left_out},
        **{f"broker {one.broker} {one.log_dir}": astuple(one)[2:] for one in summary.dirs},
    }
    follows = {
        "moves": len(facts.moves),
        "bytes": sum(map(sum, of_broker.values())),
        "replicas": sum(map(len, facts.held.values())),
        "expected_seconds": max(seconds.values(), default=0.0),
        "brokers, batches and log dirs": [len(facts.held), len(in_batch), len(dirs)],
        **{f"broker {broker}": (len(some), sum(some), seconds[broker]) for broker, some in of_broker.items()},
        **{f"batch {number}": (len(some), sum(some)) for number, some in in_batch.items()},
        **{f"left out: {reason}": count for reason, count in Counter(one.reason for one in facts.left_out).items()},
        **{f"broker {one.broker} {one.log_dir}": astuple(one)[2:] for one in dirs},
    }
    for name in dict.fromkeys([*follows, *says]):
        if says.get(name) != follows.get(name):
            yield RuleViolation("summary", name, f"is {says.get(name)}, should be {follows.get(name)}")
    for number, some in in_batch.items():
        if len(some) > summary.requested.moves_per_batch:
            yield RuleViolation("limits-of-a-batch", f"batch {number}", f"has {counted(len(some), 'move')}")


def _dirs(facts: DiskFacts) -> list[DirFigures]:
    sums = {(broker, path): [0, 0, 0, 0] for broker in facts.held for path in facts.dirs.get(broker, {})}
    goes = {(one.topic, one.partition, one.broker): one.to_log_dir for one in facts.moves}
    for broker, of_broker in facts.held.items():
        for name, (log_dir, size) in of_broker.items():
            for side, where in enumerate((log_dir, goes.get((*name, broker), log_dir))):
                if (broker, where) in sums:
                    sums[broker, where][side] += size or 0
                    sums[broker, where][side + 2] += 1
    columns = ("broker", "log_dir", "online", "volume", "volume_bytes", "free_bytes")
    return [DirFigures(*itemgetter(*columns)(facts.dirs[broker][path]), *of) for (broker, path), of in sums.items()]
