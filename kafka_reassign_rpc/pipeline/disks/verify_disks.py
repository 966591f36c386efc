"""Checks a plan between log dirs against its snapshot: the rules of docs/pipeline.md, with no code of the planner."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from kafka_reassign_rpc.pipeline.disks.disk_facts import DiskFacts, LeftOut, coming, read_facts, rooms, volume_of
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import PlannedDirMove
from kafka_reassign_rpc.pipeline.disks.verify_disk_files import faults_of_files, faults_of_spread, faults_of_summary
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation, first_of_each
from kafka_reassign_rpc.pipeline.store_paths import StorePath


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
        why = ""
        if (one.topic, one.partition, one.broker) in moved:
            why = "moves as well"
        elif facts.held.get(one.broker, {}).get((one.topic, one.partition), ("", None))[0] != one.log_dir:
            why = f"does not lie in {one.log_dir}"
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
