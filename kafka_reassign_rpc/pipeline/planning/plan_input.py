"""The input of the plan job, and what can be checked of it before Spark starts.

This module imports no PySpark: that takes seconds, in which a wrong broker would go untold.
"""

from collections.abc import Collection
from typing import NamedTuple

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.output_directory import require_free
from kafka_reassign_rpc.pipeline.planning.snapshot_brokers import read_brokers
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.goals_and_options import Goal, PlanError, PlanOptions
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from kafka_reassign_rpc.planner.scheduling.move_batching import BatchLimits

NAMED = 20
"""Topics and brokers that a message names one by one."""


class PlanJob(NamedTuple):
    """The input of the job.

    chooses_cap    submit carries more or fewer moves of a broker at a time than `limits.moves_per_broker` where the
                   plan is done sooner by that; batches keep to it
    """

    snapshot: StorePath
    out: StorePath
    goal: Goal
    options: PlanOptions = PlanOptions()
    limits: BatchLimits = BatchLimits()
    chooses_cap: bool = False


def check(job: PlanJob) -> SnapshotMeta:
    """What can be checked before Spark starts. Raises BadInput."""
    require_free(job.out)
    meta = snapshot_files.check(job.snapshot)
    brokers = read_brokers(job.snapshot)
    _require_brokers(brokers, job.options.network.by_broker)
    try:
        RoundCoordinator(brokers.values(), job.goal, job.options)
    except PlanError as error:
        raise BadInput(str(error)) from None
    _require_topics(job.snapshot, job.goal.topics)
    return meta


def _require_brokers(brokers: Collection[int], named: Collection[int]) -> None:
    """Raises BadInput for brokers with a bandwidth of their own that the snapshot does not have."""
    missing = set(named) - set(brokers)
    if missing:
        raise BadInput(f"broker-bandwidth: the snapshot has no broker {_listed(missing)}: it has {_listed(brokers)}")


def _listed(found: Collection[int] | Collection[str]) -> str:
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(map(str, sorted(found)[:NAMED])) + more


def _require_topics(snapshot: StorePath, topics: tuple[str, ...]) -> None:
    """Raises BadInput for topics that the snapshot does not have."""
    missing = set(topics) - set(snapshot_files.read(snapshot, "topics")["topic"].to_pylist())
    if missing:  # a snapshot of an earlier release has no table of topics
        missing -= snapshot_files.topics_with_partitions(snapshot, missing)
    if missing:
        raise BadInput(f"the snapshot has no topics {_listed(missing)}")
