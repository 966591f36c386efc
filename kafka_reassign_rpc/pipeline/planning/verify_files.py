import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import Source

_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
_NUMBER = re.compile(r"/(?:batches/batch|rollback/rollback)-(\d{1,9})\.json$")
"""As `submit` finds them."""
_IDS = pa.list_(pa.int32())
ENTRIES = pa.schema([
    ("topic", pa.string()), ("partition", pa.int32()), ("number", pa.int64()), ("replicas", _IDS), ("expected", _IDS),
    ("first_leader", pa.int32()), ("topic_id", pa.string()), ("place", pa.int32()),
])  # fmt: skip
"""`place`: in the file, from 0 on, in start order."""


MOVES_DIRS = "kafka-reassign-partitions would move replicas there"


class _Entry(msgspec.Struct):
    topic: str
    partition: _Int32
    replicas: list[_Int32] | None = None
    expected_replicas: list[_Int32] | None = None
    first_leader: _Int32 | None = None
    log_dirs: list[str] | None = None


class _File(msgspec.Struct):
    partitions: list[_Entry] = []
    topic_ids: dict[str, str | None] = {}
    version: _Int32 | None = None


FAULTS = pa.schema([(name, pa.string()) for name in ("topic", "rule", "name", "detail")] + [("partition", pa.int32())])
"""Of files that no tool would take, or with ids of topics of which they have no partition."""


def entries_of(plan: StorePath, directory: str) -> Source:
    def read(path: str, content: bytes) -> pa.Table:
        number = _NUMBER.search(path)
        return _entries(_decoded(content)[0], int(number[1]) if number else None, last_first=directory == ROLLBACK)

    return Source([plan / directory], ENTRIES, [read], "*")


def faults_of_files(plan: StorePath) -> list[Source]:
    return [Source([plan / directory], FAULTS, [_faults_in], "*") for directory in (BATCHES, ROLLBACK)]


def named_faults(tables: Sequence[pa.Table], _: None) -> list[list[RuleViolation]]:
    """By directory."""
    return [[RuleViolation(row["rule"], row["name"], row["detail"]) for row in one.to_pylist()] for one in tables]


def _faults_in(path: str, content: bytes) -> pa.Table:
    found = _faults(path, *_decoded(content))
    rows = [{"topic": "", "partition": 0, **one._asdict()} for one in found]
    return pa.Table.from_pylist(rows, FAULTS)


def _decoded(content: bytes) -> tuple[_File, str]:
    """And why it cannot be read."""
    try:
        return msgspec.json.decode(content, type=_File), ""
    except NO_JSON as error:
        return _File(), str(error)


def _faults(path: str, content: _File, unreadable: str) -> Iterator[RuleViolation]:
    name, named = path.rpartition("/")[2], {one.topic for one in content.partitions}
    topics = [topic for topic in content.topic_ids if topic not in named]
    if topics:
        yield RuleViolation("topic-id", name, f"has ids of {', '.join(topics[:5])}")
    if not _NUMBER.search(path):
        yield RuleViolation("batches", name, "has no name of a batch")
    elif unreadable or content.version != 1 or not content.partitions:
        version = "has no partitions" if content.version == 1 else f"has version {content.version}"
        yield RuleViolation("batches", name, unreadable or version)
    if first := next((one for one in content.partitions if one.log_dirs is not None), None):
        yield RuleViolation("batches", name, f"names log dirs of {first.topic}-{first.partition}: {MOVES_DIRS}")


def _entries(content: _File, number: int | None, *, last_first: bool) -> pa.Table:
    entries, count = content.partitions, len(content.partitions)
    columns: list[Sequence[object]] = [
        [one.topic for one in entries],
        [one.partition for one in entries],
        [number] * count,
        [one.replicas for one in entries],
        [one.expected_replicas for one in entries],
        [one.first_leader for one in entries],
        [content.topic_ids.get(one.topic) for one in entries],
        range(count - 1, -1, -1) if last_first else range(count),
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, ENTRIES, strict=True)]
    return pa.Table.from_arrays(arrays, schema=ENTRIES)
