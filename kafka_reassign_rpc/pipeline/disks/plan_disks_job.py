"""The job behind `plan disks`. It needs no Spark: what lies on one broker decides what moves there."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import NamedTuple

from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    DISKS,
    BrokerDiskFigures,
    DirFigures,
    DiskBatchFigures,
    DiskPlanWriter,
    DiskRequest,
    DiskSummary,
    LeftOutReplicas,
    PlannedDirMove,
)
from kafka_reassign_rpc.pipeline.disks.disk_snapshot import DiskSnapshot
from kafka_reassign_rpc.pipeline.disks.verify_disks import verify_disks
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import size_notes
from kafka_reassign_rpc.pipeline.snapshots.possible_figures import require_possible_figures
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.disks.disk_moves import plan_disks
from kafka_reassign_rpc.planner.disks.disk_room import NOT_ASKED, BrokerDisks, DiskGoal, DiskLimits, DiskPlan
from kafka_reassign_rpc.planner.goals_and_options import PlanError
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those

_NAMED = 10


class DiskJob(NamedTuple):
    """`bandwidth`, `throttle`: bytes/s of copies between log dirs on each broker; throttle None: none."""

    snapshot: StorePath
    out: StorePath
    requested: DiskRequest
    bandwidth: int = DiskLimits().bandwidth
    throttle: int | None = None

    @property
    def rate(self) -> int:
        return self.bandwidth if self.throttle is None else min(self.bandwidth, self.throttle)


class _Planned(NamedTuple):
    disks: BrokerDisks
    plan: DiskPlan


def run(job: DiskJob, show_status: Callable[[str], None] = lambda _: None) -> DiskSummary:
    """Raises BadInput for unusable input, JobFailed if verification fails."""
    meta = snapshot_files.check(job.snapshot)
    require_possible_figures(job.snapshot)
    snapshot = DiskSnapshot(job.snapshot)
    brokers = _brokers(snapshot, job.requested)
    planned = {}
    for place, broker in enumerate(brokers, 1):
        show_status(f"broker {place} of {len(brokers)}")
        planned[broker] = _planned(snapshot, broker, job.requested)
    moves = list(_in_order(planned, job.requested.moves_per_batch))
    with DiskPlanWriter(job.out, meta.at) as writer:
        batches = _write(writer, snapshot, moves)
        left_out = _write_left_out(writer, planned)
        summary = DiskSummary(
            kind=DISKS,
            cluster_id=meta.cluster_id,
            at=meta.at,
            requested=job.requested,
            replicas=sum(len(one.disks.replicas) for one in planned.values()),
            moves=len(moves),
            bytes=sum(move.bytes for move in moves),
            brokers=[_broker_figures(broker, one.plan, job.rate) for broker, one in planned.items()],
            dirs=list(chain.from_iterable(_dir_figures(broker, one) for broker, one in planned.items())),
            batches=batches,
            left_out=left_out,
            notes=list(_notes(snapshot, planned)),
            bandwidth=job.bandwidth,
            throttle=job.throttle,
            expected_seconds=max((_bytes(one.plan) / job.rate for one in planned.values()), default=0.0),
            complete=not left_out,
        )
        writer.write_summary(summary)
        show_status("verifying")
        broken = verify_disks(job.snapshot, writer.hidden)
        if broken:
            raise JobFailed(
                "the plan breaks rules and was deleted. This is a defect of kafka-reassign-rpc: "
                f"{'; '.join(map(str, broken[:3]))}"
            )
        writer.publish()
    return summary


def _brokers(snapshot: DiskSnapshot, requested: DiskRequest) -> list[int]:
    """Raises BadInput."""
    asked = sorted({*requested.brokers, *requested.empty})
    for broker in asked:
        if broker not in snapshot.live:
            raise BadInput(f"the snapshot has no live broker {broker}")
        if broker not in snapshot.dirs:
            raise BadInput(f"broker {broker} has not told its log dirs when the snapshot was made")
    known = [broker for broker in snapshot.dirs if broker in snapshot.live]
    if not known:
        raise BadInput(f"{snapshot.path}: no broker has told its log dirs")
    return list(requested.empty) if requested.empty else asked or known


def _planned(snapshot: DiskSnapshot, broker: int, requested: DiskRequest) -> _Planned:
    disks = snapshot.disks(broker, frozenset(requested.topics))
    goal = DiskGoal(
        frozenset(requested.empty.get(broker, ())),
        requested.tolerance,
        requested.headroom,
        requested.max_bytes,
        snapshot.moving.arriving.get(broker, 0),
    )
    try:
        return _Planned(disks, plan_disks(broker, disks, goal))
    except PlanError as error:
        raise BadInput(str(error)) from None


def _in_order(planned: Mapping[int, _Planned], per_batch: int) -> Iterator[PlannedDirMove]:
    """Takes turns between brokers, so that all of them work from the beginning."""
    by_broker = [[(broker, move) for move in one.plan.moves] for broker, one in planned.items()]
    turns = chain.from_iterable(zip_longest(*by_broker))
    for start, (broker, move) in enumerate((one for one in turns if one is not None), 1):
        held, batch = move.replica, (start - 1) // per_batch + 1
        named = (held.topic, held.partition, broker, held.log_dir, move.target, held.bytes)
        yield PlannedDirMove(*named, move.reason, batch, start)


def _write(writer: DiskPlanWriter, snapshot: DiskSnapshot, moves: list[PlannedDirMove]) -> list[DiskBatchFigures]:
    replicas = snapshot.replicas_of({(move.topic, move.partition) for move in moves})
    topic_ids = snapshot_files.topic_ids(snapshot.path)
    writer.moves.extend(moves)
    by_batch: dict[int, list[PlannedDirMove]] = {}
    for move in moves:
        by_batch.setdefault(move.batch, []).append(move)
    for number, of_batch in by_batch.items():
        writer.write_batch(number, of_batch, replicas, topic_ids)
    return [DiskBatchFigures(number, len(some), sum(one.bytes for one in some)) for number, some in by_batch.items()]


def _write_left_out(writer: DiskPlanWriter, planned: Mapping[int, _Planned]) -> list[LeftOutReplicas]:
    names: dict[str, list[str]] = {}
    for broker, one in planned.items():
        for held, reason in one.plan.left_out:
            writer.left_out.add((held.topic, held.partition, broker, held.log_dir, held.bytes, reason))
            names.setdefault(reason, []).append(f"{held.topic}-{held.partition} of broker {broker}")
    return [LeftOutReplicas(reason, len(found), found[:_NAMED]) for reason, found in sorted(names.items())]


def _bytes(plan: DiskPlan) -> int:
    return sum(move.replica.bytes for move in plan.moves)


def _broker_figures(broker: int, plan: DiskPlan, rate: int) -> BrokerDiskFigures:
    copied = _bytes(plan)
    furthest = plan.furthest_before, plan.furthest_after
    return BrokerDiskFigures(broker, len(plan.moves), copied, copied / rate, *furthest)


def _dir_figures(broker: int, planned: _Planned) -> Iterator[DirFigures]:
    held = {one.path: [0, 0] for one in planned.disks.dirs}
    for replica in planned.disks.replicas:
        _count(held, replica.log_dir, replica.bytes, 1)
    before = {path: tuple(sums) for path, sums in held.items()}
    for move in planned.plan.moves:
        _count(held, move.replica.log_dir, -move.replica.bytes, -1)
        _count(held, move.target, move.replica.bytes, 1)
    for one in planned.disks.dirs:
        size, free = (None if found < 0 else found for found in (one.size, one.free))
        (bytes_before, replicas_before), (bytes_after, replicas_after) = before[one.path], held[one.path]
        sums = (bytes_before, bytes_after, replicas_before, replicas_after)
        yield DirFigures(broker, one.path, one.online, one.volume, size, free, *sums)


def _count(held: dict[str, list[int]], path: str, size: int, replicas: int) -> None:
    sums = held.setdefault(path, [0, 0])
    sums[0] += size
    sums[1] += replicas


def _notes(snapshot: DiskSnapshot, planned: Mapping[int, _Planned]) -> Iterator[str]:
    yield from size_notes(snapshot.path)
    silent = sorted(snapshot.live - snapshot.dirs.keys())
    if silent:
        yield f"{those(silent)} did not tell the log dirs: the plan leaves {agreeing(len(silent), 'them')} out"
    single = [broker for broker, one in planned.items() if sum(found.online for found in one.disks.dirs) == 1]
    if single:
        yield f"{those(single, verb='have')} one log dir: nothing moves there"
    for broker, one in planned.items():
        offline = [found.path for found in one.disks.dirs if not found.online]
        if offline:
            yield f"broker {broker}: offline log dirs: {first_of(offline, _NAMED)}"
    unknown = [broker for broker, one in planned.items() if any(d.online and d.size < 0 for d in one.disks.dirs)]
    if unknown:
        yield f"{those(unknown, verb='do')} not tell the size of disks: all count alike"
    staying = {held.stays for one in planned.values() for held in one.disks.replicas} - {"", NOT_ASKED}
    for reason in sorted(staying):
        count = sum(held.stays == reason for one in planned.values() for held in one.disks.replicas)
        yield f"{counted(count, 'replica', 'stay')}: {reason}"
