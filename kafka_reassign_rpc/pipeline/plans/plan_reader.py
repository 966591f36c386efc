"""A plan as a directory, as far as it is submitted: its batches, in order, and what they are for.

    summary.json              {"kind": "rebalance", "cluster_id": "…", "at": ms of the snapshot, …}
    batches/batch-0001.json   what kafka-reassign-partitions takes, and for each partition in "expected_replicas" what
                              the snapshot had there, in order: a batch is refused where something else stands by now

Stock tools skip fields that they do not know, so a batch can be given to them as it is.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.pipeline.job_errors import BadInput

SUMMARY = "summary.json"
BATCHES = "batches"
SET_RF = "set-rf"
"""The one kind of plan that may change replication factors."""


class Info(msgspec.Struct, frozen=True):
    """What of summary.json matters here. `at`: when the snapshot was taken, in ms since 1970 began (UTC)."""

    kind: str
    cluster_id: str
    at: int = 0


class PlanEntry(msgspec.Struct, frozen=True):
    """A partition of a batch: its replicas from then on, and those that have to stand there before."""

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


class SubmittedPlan(NamedTuple):
    """A plan that can be submitted."""

    info: Info
    batches: list[Path]


Kind = TypeVar("Kind", Info, PlanBatch)


def read_plan(path: Path) -> SubmittedPlan:
    """What the plan is and where its batches are. Raises BadInput."""
    if not path.is_dir():
        raise BadInput(f"{path}: no such directory")
    info = _read(path / SUMMARY, Info)
    batches = sorted((path / BATCHES).glob("batch-*.json"))
    return SubmittedPlan(info, batches)


def read_batch(file: Path, kind: str) -> Mapping[TopicPartition, PlanEntry]:
    """The partitions of a batch. Raises BadInput for what no server would take."""
    batch = _read(file, PlanBatch)
    if batch.version != 1:
        raise BadInput(f"{file}: version {batch.version}; this release reads version 1")
    found: dict[TopicPartition, PlanEntry] = {}
    for entry in batch.partitions:
        name = entry.topic_partition
        if name in found:
            raise BadInput(f"{file}: {name} is there twice")
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


def _read(file: Path, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        raise BadInput(f"{file}: is missing; a plan is made by `kafka-reassign-rpc plan`") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{file}: {error}") from None
