from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from kafka_reassign_rpc.pipeline.disks.disk_facts import DiskFacts, volume_of
from kafka_reassign_rpc.pipeline.disks.disk_plan import DirFigures
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import ANY
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation


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
    summary = facts.summary
    moves, copied = Counter[int](), Counter[int]()
    in_batch: dict[int, list[int]] = defaultdict(list)
    for move in facts.moves:
        moves[move.broker] += 1
        copied[move.broker] += move.bytes
        in_batch[move.batch].append(move.bytes)
    rate = min(summary.bandwidth, summary.throttle or summary.bandwidth)
    brokers = [one.broker for one in summary.brokers]
    said_moves = [(one.moves, one.bytes) for one in summary.brokers]
    said_seconds = [round(one.seconds, 3) for one in summary.brokers]
    batches = [(number, len(some), sum(some)) for number, some in sorted(in_batch.items())]
    for name, found, expected in (
        ("moves", summary.moves, len(facts.moves)),
        ("bytes", summary.bytes, copied.total()),
        ("replicas", summary.replicas, sum(map(len, facts.held.values()))),
        ("brokers", said_moves, [(moves[one], copied[one]) for one in brokers]),
        ("batches", [(one.batch, one.moves, one.bytes) for one in summary.batches], batches),
        ("left_out", {one.reason: one.replicas for one in summary.left_out}, _reasons(facts)),
        ("dirs", {(one.broker, one.log_dir): _sums_of(one) for one in summary.dirs}, _dir_sums(facts, brokers)),
        ("seconds", said_seconds, [round(copied[one] / rate, 3) for one in brokers]),
        ("expected_seconds", round(summary.expected_seconds, 3), round(max(copied.values(), default=0) / rate, 3)),
    ):
        if found != expected:
            yield RuleViolation("summary", name, f"is {found}, should be {expected}")


def _reasons(facts: DiskFacts) -> dict[str, int]:
    return dict(Counter(one.reason for one in facts.left_out))


def _sums_of(one: DirFigures) -> list[int]:
    return [one.bytes_before, one.bytes_after, one.replicas_before, one.replicas_after]


def _dir_sums(facts: DiskFacts, brokers: list[int]) -> dict[tuple[int, str], list[int]]:
    sums = {(broker, path): [0, 0, 0, 0] for broker in brokers for path in facts.dirs.get(broker, {})}
    goes = {(one.topic, one.partition, one.broker): one.to_log_dir for one in facts.moves}
    for broker, of_broker in facts.held.items():
        for name, (log_dir, size) in of_broker.items():
            for side, where in enumerate((log_dir, goes.get((*name, broker), log_dir))):
                if (broker, where) in sums:
                    sums[broker, where][side] += size or 0
                    sums[broker, where][side + 2] += 1
    return sums
