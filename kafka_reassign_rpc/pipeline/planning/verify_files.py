import re
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation
from kafka_reassign_rpc.pipeline.plans.plan_summary import ROLLBACK
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, matching

_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
_NUMBER = re.compile(r"-(\d{1,9})\.json$")
_IDS = pa.list_(pa.int32())
ENTRIES = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("number", pa.int64()),
        pa.field("replicas", _IDS),
        pa.field("expected", _IDS),
        pa.field("first_leader", pa.int32()),
        pa.field("topic_id", pa.string()),
        pa.field("place", pa.int32()),
    ]
)
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


class ReadFiles(NamedTuple):
    """`odd` names files that no tool would take, or with ids of topics of which they have no partition."""

    entries: pa.Table
    odd: list[RuleViolation]


def read_files(plan: StorePath, directory: str) -> ReadFiles:
    files = [file for file in matching(plan / directory, "*") if not file.name.startswith("_")]
    read = [decoded(file.name, file.read_bytes(), directory) for file in files]
    tables = [one.entries for one in read]
    return ReadFiles(pa.concat_tables([ENTRIES.empty_table(), *tables]), [fault for one in read for fault in one.odd])


def decoded(name: str, content: bytes, directory: str) -> ReadFiles:
    try:
        file = msgspec.json.decode(content, type=_File)
    except NO_JSON:
        file = _File()  # it has no version, so it is odd
    number = _NUMBER.search(name)
    entries = _entries(file, int(number[1]) if number else None, last_first=directory == ROLLBACK)
    return ReadFiles(entries, list(_faults(name, file)))


def _faults(name: str, content: _File) -> Iterator[RuleViolation]:
    named = {one.topic for one in content.partitions}
    topics = [topic for topic in content.topic_ids if topic not in named]
    if topics:
        yield RuleViolation("topic-id", name, f"has ids of {', '.join(topics[:5])}")
    elif content.version != 1:
        yield RuleViolation("batches", name, f"has version {content.version}")
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
