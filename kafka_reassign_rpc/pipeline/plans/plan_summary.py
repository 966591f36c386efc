"""summary.json: its fields, and how it is read."""

from pathlib import Path

import msgspec

from kafka_reassign_rpc.pipeline.job_errors import BadInput

VERSION = 1
SUMMARY, BATCHES = "summary.json", "batches"


class LoadFigures(msgspec.Struct, frozen=True):
    """The load of a broker.

    bytes, produce    of all its replicas; produce and fetch in bytes/s
    leaders, fetch    of the partitions whose preferred leader it is
    """

    bytes: float = 0
    replicas: float = 0
    leaders: float = 0
    produce: float = 0
    fetch: float = 0


class BrokerFigures(msgspec.Struct, frozen=True):
    """One broker. `target`: its share of the cluster's load; zero for a broker that the plan empties."""

    broker: int
    rack: str | None
    live: bool
    capacity: int | None
    before: LoadFigures
    after: LoadFigures
    target: LoadFigures


class RackFigures(msgspec.Struct, frozen=True):
    """One rack: the sums over its brokers."""

    rack: str | None
    brokers: int
    before: LoadFigures
    after: LoadFigures


class BatchFigures(msgspec.Struct, frozen=True):
    """One batch.

    received, sent                            bytes by broker
    starts_after_seconds, expected_seconds    when it starts after the plan does, and its duration, at the bandwidth of
                                              the summary
    """

    batch: int
    priority: int
    moves: int
    bytes: int
    received: dict[int, int]
    sent: dict[int, int]
    starts_after_seconds: float
    expected_seconds: float


class LeftOutFigures(msgspec.Struct, frozen=True):
    """How many partitions the plan leaves out for one reason, and the names of the first."""

    reason: str
    partitions: int
    first: list[str]


class PlanRequest(msgspec.Struct, frozen=True):
    """The goal, options and batch limits of the plan."""

    brokers: list[int]
    topics: list[str]
    factor: int | None
    seed: int
    tolerance: float
    headroom: float
    max_bytes: int
    weights: dict[str, float]
    moves_per_broker: int
    bytes_per_broker: int
    bytes_per_batch: int
    moves_per_batch: int


class PlanSummary(msgspec.Struct, frozen=True):
    """summary.json. Sizes in bytes, rates and `bandwidth` (of each broker, each way) in bytes/s, times in seconds.

    at                when the snapshot was taken: ms since the epoch
    lower_bound       bytes that every plan with the same result copies
    imbalance_…       by measure: the worst broker's distance from its target, as a share of the target
    expected_seconds  the duration of the plan: the sum over its batches
    """

    kind: str
    cluster_id: str
    at: int
    requested: PlanRequest
    partitions: int
    moves: int
    bytes: int
    lower_bound: int
    unknown_sizes: int
    rounds: int
    imbalance_before: dict[str, float]
    imbalance_after: dict[str, float]
    brokers: list[BrokerFigures]
    racks: list[RackFigures]
    batches: list[BatchFigures]
    left_out: list[LeftOutFigures]
    notes: list[str]
    bandwidth: int
    expected_seconds: float
    version: int = VERSION


def known_imbalance(summary: PlanSummary) -> dict[str, float]:
    """imbalance_before of the measures that are known: rates often are not."""
    return {
        name: before
        for name, before in summary.imbalance_before.items()
        if any(getattr(broker.before, name) for broker in summary.brokers)
    }


def read_summary(path: Path) -> PlanSummary:
    """Read summary.json. Raises BadInput."""
    file = path / SUMMARY
    try:
        found = msgspec.json.decode(file.read_bytes(), type=PlanSummary)
    except FileNotFoundError:
        raise BadInput(f"{path}: no plan ({SUMMARY} is missing)") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{file}: {error}") from None
    if found.version != VERSION:
        raise BadInput(f"{file}: version {found.version}; this release reads version {VERSION}")
    return found
