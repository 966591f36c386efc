"""What `submit` reads of a plan: its batches in order, its kind, its cluster.

    summary.json              {"kind": "rebalance", "cluster_id": "…", "at": ms of the snapshot, …}
    batches/batch-0001.json   as kafka-reassign-partitions takes it. Each partition also has "expected_replicas", its
                              replicas in the snapshot, in order: submit refuses the batch where they have changed

Stock tools skip fields that they do not know: they take a batch as it is.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, SUMMARY
from kafka_reassign_rpc.pipeline.store_paths import StorePath, matching

SET_RF = "set-rf"
"""The only kind of plan that may change replication factors."""


class PlanInfo(msgspec.Struct, frozen=True):
    """The fields of summary.json that submit needs. `at`: when the snapshot was taken, ms since the epoch (UTC)."""

    kind: str
    cluster_id: str
    at: int = 0


class PlanEntry(msgspec.Struct, frozen=True):
    """A partition of a batch: its target, and the replicas that it must have before."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    expected_replicas: tuple[int, ...]

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class PlanBatch(msgspec.Struct, frozen=True):
    """A file of batches/."""

    partitions: list[PlanEntry]
    version: int = 1


class SubmittablePlan(NamedTuple):
    """What a plan is for, and its batch files in order."""

    info: PlanInfo
    batches: list[StorePath]


T = TypeVar("T", PlanInfo, PlanBatch)


def read_plan(path: StorePath) -> SubmittablePlan:
    """What the plan is for and where its batches are. Raises BadInput."""
    if not path.is_dir():
        raise BadInput(f"{path}: no such directory")
    info = _read(path / SUMMARY, PlanInfo)
    batches = {_number(file): file for file in matching(path / BATCHES, "batch-*.json")}
    return SubmittablePlan(info, [batches[number] for number in sorted(batches)])


def _number(file: StorePath) -> int:
    """The number of a batch: its name has at least four digits, so names alone are no order."""
    number = file.stem.removeprefix("batch-")
    if not number.isdecimal():
        raise BadInput(f"{file}: no number of a batch")
    return int(number)


def read_batch(file: StorePath, kind: str) -> Mapping[TopicPartition, PlanEntry]:
    """The partitions of a batch. Raises BadInput for a batch that no server would accept."""
    batch = _read(file, PlanBatch)
    if batch.version != 1:
        raise BadInput(f"{file}: version {batch.version}; this release reads version 1")
    found: dict[TopicPartition, PlanEntry] = {}
    for entry in batch.partitions:
        name = entry.topic_partition
        if name in found:
            raise BadInput(f"{file}: {name} occurs twice")
        twice = [broker for broker, count in Counter(entry.replicas).items() if count > 1]
        if twice or not entry.replicas:
            raise BadInput(f"{file}: {name}: {f'broker {twice[0]} twice' if twice else 'no replicas'}")
        if kind != SET_RF and len(entry.replicas) != len(entry.expected_replicas):
            raise BadInput(
                f"{file}: {name} would change its replication factor from {len(entry.expected_replicas)} to "
                f"{len(entry.replicas)}: only a plan of kind {SET_RF} may"
            )
        found[name] = entry
    return found


def _read(file: StorePath, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        raise BadInput(f"{file}: is missing; a plan is made by `kafka-reassign-rpc plan`") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{file}: {error}") from None
