"""What `submit` reads of a plan. docs/pipeline.md describes the files."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK, PlanSummary, read_summary
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, matching
from kafka_reassign_rpc.support.counted import those
from kafka_reassign_rpc.support.secrecy import told_path

SET_RF = "set-rf"
"""No other kind of plan may change replication factors."""
DRAIN = "drain"
Int32 = Annotated[int, Meta(ge=0, le=INT32)]


class PlanEntry(msgspec.Struct, frozen=True):
    """A partition's target, and the replicas that it must have before.

    first_leader    leads before the copy begins; -1: the leader stays
    topic_id        "" if the snapshot did not have it
    """

    topic: str
    partition: Int32
    replicas: tuple[Int32, ...]
    expected_replicas: tuple[Int32, ...]
    first_leader: int = -1
    topic_id: str = ""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def reordered(self) -> tuple[int, ...]:
        """The expected replicas with the first leader in front, as before the copy begins."""
        if self.first_leader < 0:
            return self.expected_replicas
        return (self.first_leader, *(broker for broker in self.expected_replicas if broker != self.first_leader))


class PlanBatch(msgspec.Struct, frozen=True):
    partitions: list[PlanEntry]
    version: int = 1
    topic_ids: dict[str, str] = {}


Entries = Mapping[TopicPartition, PlanEntry]


def first_led(entries: Entries) -> dict[TopicPartition, PlanEntry]:
    return {name: entry for name, entry in entries.items() if entry.reordered != entry.expected_replicas}


def order_before(entries: Entries) -> PlanBatch:
    """A file for kafka-reassign --execute after a cancel: it expects the reordered replicas."""
    return PlanBatch(
        [
            msgspec.structs.replace(
                entry, replicas=entry.expected_replicas, expected_replicas=entry.reordered, first_leader=-1
            )
            for _, entry in sorted(first_led(entries).items())
        ]
    )


class _TopicIds(msgspec.Struct, frozen=True):
    topic_ids: dict[str, str] = {}


class SubmittablePlan(NamedTuple):
    """`way_there`: by file of rollback/, the batch that it undoes."""

    summary: PlanSummary
    batches: list[StorePath]
    undoes: bool = False
    way_there: Mapping[StorePath, StorePath] = {}


T = TypeVar("T", bound=msgspec.Struct)


def read_plan(path: StorePath, *, undo: bool = False) -> SubmittablePlan:
    """With `undo`, the way back. Raises BadInput."""
    if not path.is_dir():
        raise BadInput(f"{told_path(str(path))}: no such directory")
    summary = read_summary(path)
    files = plan_files(path, (one.batch for one in summary.batches), undo=undo)
    if not undo:
        return SubmittablePlan(summary, [*files])
    # the estimate is that of the way there
    summary = msgspec.structs.replace(summary, expected_seconds=0.0, timeline=None)
    return SubmittablePlan(summary, [*files], undoes=True, way_there=files)


def plan_files(path: StorePath, planned: Iterable[int], *, undo: bool) -> dict[StorePath, StorePath]:
    """The files to carry out, in order: those of batches/, each with itself, or those of rollback/, each with the batch
    that it undoes. Raises BadInput where one of a batch is lost: submit would call the rest of it all.
    """
    batches = files_by_number(path / BATCHES)
    if lost := set(planned).difference(batches):
        raise BadInput(
            f"{path}: {those(lost, 'batch', 'have')} no file: copy the whole plan again, or make it again with"
            " `kafka-reassign-rpc plan`"
        )
    if not undo:
        return {batches[number]: batches[number] for number in sorted(batches)}
    back = files_by_number(path / ROLLBACK)
    alone = sorted(batches.keys() ^ back.keys())
    if alone:
        raise BadInput(f"{path}: batch {alone[0]} has no file in {BATCHES if alone[0] in back else ROLLBACK}/")
    return {back[number]: batches[number] for number in sorted(back, reverse=True)}


def files_by_number(directory: StorePath) -> dict[int, StorePath]:
    """Those of batches/ or rollback/ that `submit` reads. Raises BadInput."""
    found: dict[int, StorePath] = {}
    for file in matching(directory, "rollback-*.json" if directory.name == ROLLBACK else "batch-*.json"):
        if (first := found.setdefault(batch_number(file), file)) is not file:
            raise BadInput(f"{directory}: {first.name} and {file.name} are of one batch")
    return found


def read_topic_ids(plan: SubmittablePlan) -> dict[str, str]:
    """Without unknown ids. Raises BadInput."""
    ids: dict[str, str] = {}
    for file in plan.batches:
        ids |= read_file(file, _TopicIds).topic_ids
    return ids


def batch_number(file: StorePath) -> int:
    """Numbers may have more than four digits, so names do not sort."""
    number = file.stem.rpartition("-")[2]
    if not number.isdecimal():
        raise BadInput(f"{file}: no number of a batch")
    return int(number)


def read_batch(file: StorePath, kind: str) -> Mapping[TopicPartition, PlanEntry]:
    """Raises BadInput for a batch that no server would accept."""
    batch = read_file(file, PlanBatch)
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
        if entry.first_leader >= 0 and entry.first_leader not in entry.expected_replicas:
            raise BadInput(f"{file}: {name}: first_leader {entry.first_leader} is none of its expected_replicas")
        if kind != SET_RF and len(entry.replicas) != len(entry.expected_replicas):
            raise BadInput(
                f"{file}: {name} would change its replication factor from {len(entry.expected_replicas)} to "
                f"{len(entry.replicas)}: only a plan of kind {SET_RF} may"
            )
        found[name] = msgspec.structs.replace(entry, topic_id=batch.topic_ids.get(entry.topic, ""))
    return found


def read_file(file: StorePath, kind: type[T]) -> T:
    """Raises BadInput."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        raise BadInput(f"{file}: is missing; a plan is made by `kafka-reassign-rpc plan`") from None
    except (OSError, *NO_JSON) as error:
        raise BadInput(f"{file}: {error}") from None
