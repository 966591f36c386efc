"""Checks a plan between log dirs against its snapshot: the rules of docs/pipeline.md, with no code of the planner."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    ANY,
    DirFigures,
    PlannedDirMove,
)
from kafka_reassign_rpc.pipeline.disks.verify_disk_facts import DiskFacts, LeftOut, PartitionName, read_facts, volume_of
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation, first_of_each
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those

_NAMED = 10


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
    why = f"{move.from_log_dir} {'is to be emptied' if requested.empty else 'holds more than its share of bytes'}"
    if move.reason != why:
        yield "reason", f"has the reason {move.reason!r}, not {why!r}"


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


_NO_ROOM = "no other log dir of the broker has room"


def _is_true(facts: DiskFacts, one: LeftOut, most: float) -> bool:
    stays = dict(_why_it_stays(facts, one.broker, (one.topic, one.partition)))
    return most < one.bytes if one.reason == _NO_ROOM else one.reason in stays and stays[one.reason]


def _why_it_stays(facts: DiskFacts, broker: int, name: PartitionName) -> Iterator[tuple[str, bool]]:
    """Each reason why a replica stays, and whether it holds; a plan gives the first one that does."""
    yield "its broker copies it to another log dir already", name in facts.copied.get(broker, {})
    yield "a reassignment of its partition is in flight or waits", name in facts.reassigned
    yield "the replicas of its partition lack a broker or have one twice", name in facts.odd
    yield "its partition has no replica on this broker", (broker, name) in facts.strays
    yield "its broker lists it in two log dirs", (broker, name) in facts.twice
    yield "its broker does not tell its size", facts.held[broker][name][1] is None


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
    for one in facts.summary.brokers:
        name = f"broker {one.broker}"
        evens = not requested.empty
        before, after = (_furthest(facts, one.broker, moved=moved) if evens else 0.0 for moved in (False, True))
        if after > before + 1e-9:
            yield RuleViolation("evener", name, f"furthest from its target {before}, then {after}")
        if abs(before - one.furthest_before) > 1e-6 or abs(after - one.furthest_after) > 1e-6:
            said = f"{one.furthest_before}, then {one.furthest_after}"
            yield RuleViolation("summary", name, f"furthest {before}, then {after}; it says {said}")
        if evens and 0 <= requested.max_bytes < copied[one.broker]:
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
            of_batch = [(one.topic, one.partition) for one in facts.moves if one.batch == number]
            if [(one.topic, one.partition) for one in batch.partitions] != [*dict.fromkeys(of_batch)][::turn]:
                yield RuleViolation(rule, f"{rule} {number}", "has other partitions than the table, or another order")
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
    dirs, left_out = _dirs(facts), dict[str, list[str]]()
    for one in facts.left_out:
        left_out.setdefault(one.reason, []).append(str(one))
    says = {
        "notes": sorted(summary.notes),
        "moves": summary.moves,
        "bytes": summary.bytes,
        "replicas": summary.replicas,
        "expected_seconds": round(summary.expected_seconds, 3),
        "brokers, batches, log dirs and reasons": [
            len(some) for some in (summary.brokers, summary.batches, summary.dirs, summary.left_out)
        ],
        **{f"broker {one.broker}": (one.moves, one.bytes, round(one.seconds, 3)) for one in summary.brokers},
        **{f"batch {one.batch}": (one.moves, one.bytes) for one in summary.batches},
        **{f"left out: {one.reason}": (one.replicas, one.first) for one in summary.left_out},
        **{f"broker {one.broker} {one.log_dir}": astuple(one)[2:] for one in summary.dirs},
    }
    follows = {
        "notes": sorted(_notes(facts)),
        "moves": len(facts.moves),
        "bytes": sum(map(sum, of_broker.values())),
        "replicas": sum(map(len, facts.held.values())),
        "expected_seconds": max(seconds.values(), default=0.0),
        "brokers, batches, log dirs and reasons": [len(facts.held), len(in_batch), len(dirs), len(left_out)],
        **{f"broker {broker}": (len(some), sum(some), seconds[broker]) for broker, some in of_broker.items()},
        **{f"batch {number}": (len(some), sum(some)) for number, some in in_batch.items()},
        **{f"left out: {reason}": (len(names), names[:_NAMED]) for reason, names in left_out.items()},
        **{f"broker {one.broker} {one.log_dir}": astuple(one)[2:] for one in dirs},
    }
    for name in dict.fromkeys([*follows, *says]):
        if says.get(name) != follows.get(name):
            yield RuleViolation("summary", name, f"is {says.get(name)}, should be {follows.get(name)}")
    for number, some in in_batch.items():
        if len(some) > summary.requested.moves_per_batch:
            yield RuleViolation("limits-of-a-batch", f"batch {number}", f"has {counted(len(some), 'move')}")


def _notes(facts: DiskFacts) -> Iterator[str]:
    yield from facts.notes
    silent = sorted(facts.live - facts.dirs.keys())
    if silent:
        yield f"{those(silent)} did not tell the log dirs: the plan leaves {agreeing(len(silent), 'them')} out"
    online = {broker: [row for row in facts.dirs.get(broker, {}).values() if row["online"]] for broker in facts.held}
    single = [broker for broker, rows in online.items() if len(rows) == 1]
    if single:
        yield f"{those(single, verb='have')} one log dir: nothing moves there"
    for broker in facts.held:
        offline = sorted(path for path, row in facts.dirs.get(broker, {}).items() if not row["online"])
        if offline:
            yield f"broker {broker}: offline log dirs: {first_of(offline, _NAMED)}"
    unknown = [broker for broker, rows in online.items() if any(row["volume_bytes"] is None for row in rows)]
    if unknown:
        yield f"{those(unknown, verb='do')} not tell the size of disks: all count alike"
    staying = Counter(
        next((reason for reason, is_so in _why_it_stays(facts, broker, name) if is_so), "")
        for broker, of_broker in facts.held.items()
        for name in of_broker
        if _is_asked(facts, name[0])
    )
    for reason in sorted(staying.keys() - {""}):
        yield f"{counted(staying[reason], 'replica', 'stay')}: {reason}"


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
