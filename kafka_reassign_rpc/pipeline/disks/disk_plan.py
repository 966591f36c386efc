"""summary.json of a plan between log dirs."""

import msgspec

from kafka_reassign_rpc.pipeline.plans.plan_summary import AtLeastOne, read_summary_of
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.disks.disk_values import DiskGoal, DiskLimits

DISKS = "disks"
"""The `kind` of such a plan."""
VERSION = 1


class DiskRequest(msgspec.Struct, frozen=True):
    """brokers, topics     those to look at; []: all
    empty               by broker, the log dirs to empty; {}: spread evenly
    moves_per_broker    at a time
    """

    brokers: list[int] = []
    topics: list[str] = []
    empty: dict[int, list[str]] = {}
    tolerance: float = DiskGoal().tolerance
    headroom: float = DiskGoal().headroom
    max_bytes: int = -1
    moves_per_broker: AtLeastOne = DiskLimits().moves_per_broker
    moves_per_batch: AtLeastOne = DiskLimits().moves_per_batch


class DirFigures(msgspec.Struct, frozen=True):
    """`volume_bytes` and `free` are those of its volume; None: unknown."""

    broker: int
    log_dir: str
    online: bool
    volume: int | None
    volume_bytes: int | None
    free: int | None
    bytes_before: int
    bytes_after: int
    replicas_before: int
    replicas_after: int


class BrokerDiskFigures(msgspec.Struct, frozen=True):
    """`furthest_…`: the largest distance of a volume from its target, as a share of the target."""

    broker: int
    moves: int
    bytes: int
    seconds: float
    furthest_before: float
    furthest_after: float


class DiskBatchFigures(msgspec.Struct, frozen=True):
    batch: int
    moves: int
    bytes: int


class LeftOutReplicas(msgspec.Struct, frozen=True):
    """For one reason, and the `first` names."""

    reason: str
    replicas: int
    first: list[str]


class DiskSummary(msgspec.Struct, frozen=True):
    """Sizes are in bytes, rates in bytes/s, times in seconds.

    at                  when the snapshot was taken: ms since the epoch
    replicas            those that the plan looked at
    bandwidth           of each broker, for copies between its log dirs
    throttle            of such copies on each broker; None: none
    expected_seconds    of the broker that takes longest
    complete            false: replicas of a log dir to be emptied are left out
    """

    kind: str
    cluster_id: str
    at: int
    requested: DiskRequest
    replicas: int
    moves: int
    bytes: int
    brokers: list[BrokerDiskFigures]
    dirs: list[DirFigures]
    batches: list[DiskBatchFigures]
    left_out: list[LeftOutReplicas]
    notes: list[str]
    bandwidth: int
    throttle: int | None
    expected_seconds: float
    complete: bool
    version: int = VERSION

    @property
    def furthest_after(self) -> float:
        return max((one.furthest_after for one in self.brokers), default=0.0)


def read_disk_summary(path: StorePath) -> DiskSummary:
    """Raises BadInput."""
    return read_summary_of(path, DiskSummary, VERSION)
