"""Input of the plan job, and its checks. Does not import PySpark, which takes seconds: a wrong broker is reported at
once.
"""

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.output_directory import require_free
from kafka_reassign_rpc.pipeline.planning.snapshot_brokers import read_brokers
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.named_brokers import require_brokers, require_weights
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Goal, PlanError, PlanOptions
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from kafka_reassign_rpc.support.counted import those

EVERY_BROKER = -1
"""In limits by broker: all that have none of their own."""


class PlanJob(NamedTuple):
    """`within`: seconds that the plan may take; None: any time. With `chooses_cap`, submit may carry another number of
    moves of a broker at a time than `limits.moves_per_broker` if the plan then ends sooner; batches keep to it.
    `allow_fewer_racks` is for those who read the plan: it changes no move.
    """

    snapshot: StorePath
    out: StorePath
    goal: Goal
    options: PlanOptions = PlanOptions()
    limits: BatchLimits = BatchLimits()
    chooses_cap: bool = False
    within: int | None = None
    allow_fewer_racks: bool = False


def check(job: PlanJob) -> SnapshotMeta:
    """Raises BadInput."""
    require_free(job.out)
    meta = snapshot_files.check(job.snapshot)
    brokers = read_brokers(job.snapshot)
    require_brokers("broker-bandwidth", brokers, job.options.network.by_broker)
    for name, limits in job.options.broker_max.items():
        require_brokers(f"broker-max-{name.replace('_', '-')}", {*brokers, EVERY_BROKER}, limits)
    require_weights({one.id: one.live for one in brokers.values()}, job.options.broker_weights)
    try:
        RoundCoordinator(brokers.values(), job.goal, job.options)
    except PlanError as error:
        raise BadInput(str(error)) from None
    _require_topics(job.snapshot, job.goal.topics)
    return meta


def with_every_broker(job: PlanJob, brokers: Collection[int]) -> PlanJob:
    """With the limits of each broker by name."""
    limits = {
        name: dict.fromkeys(brokers if EVERY_BROKER in given else (), given.get(EVERY_BROKER, 0))
        | {broker: most for broker, most in given.items() if broker != EVERY_BROKER}
        for name, given in job.options.broker_max.items()
    }
    return job._replace(options=msgspec.structs.replace(job.options, broker_max=limits))


def _require_topics(snapshot: StorePath, topics: tuple[str, ...]) -> None:
    missing = set(topics) - set(snapshot_files.read(snapshot, "topics")["topic"].to_pylist())
    if missing:  # a snapshot of an earlier release has no table of topics
        missing -= snapshot_files.topics_with_partitions(snapshot, missing)
    if missing:
        raise BadInput(f"the snapshot has no {those(missing, 'topic')}")
