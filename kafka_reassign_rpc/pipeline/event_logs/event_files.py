"""Event logs as Parquet. events-1000-000-000000000000-000000000041.parquet holds events 0 to 41 of server 1000, of its
first log (000). A log that the server starts again gets the next number.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import StorePath, matching
from kafka_reassign_rpc.support.secrecy import told_path

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_IDS = pa.list_(pa.field("element", pa.int32(), nullable=False))

EVENTS = pa.schema(
    [
        pa.field("at", pa.int64(), nullable=False),
        pa.field("event", pa.string(), nullable=False),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("id", pa.int64()),
        pa.field("route", pa.string()),
        pa.field("who", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("target", _IDS),
        pa.field("original", _IDS),
        pa.field("replicas", _IDS),
        pa.field("bytes", pa.int64()),
        pa.field("broker", pa.int32()),
        pa.field("epoch", pa.int32(), nullable=False),
        pa.field("server", pa.int32(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("more", pa.string()),
        pa.field("principal", pa.string()),
        pa.field("client_id", pa.string()),
        pa.field("address", pa.string()),
        pa.field("copied", pa.int64()),
        pa.field("listener", pa.string()),
        pa.field("mechanism", pa.string()),
    ]
)
"""`at`: ms since the epoch (UTC). `copied`: bytes. `more`: unknown fields, as JSON. An unknown epoch or server is -1,
as in files of all releases: a history orders events by them.
"""

_ADDED = ("principal", "client_id", "address", "copied", "listener", "mechanism")
"""Files of release 0.1.0 lack these."""
_IN_EVERY_FILE = pa.schema([field for field in EVENTS if field.name not in _ADDED])
ORDER = ("epoch", "seq", "server", "at", "event")
"""By controller epoch and sequence number, whatever the servers' clocks; the others break ties."""
WHAT_AND_WHEN = pa.schema([EVENTS.field("at"), EVENTS.field("event")])


class _KnownFields(msgspec.Struct):
    at: int
    event: str
    epoch: int | None
    server: int | None
    seq: int
    topic: str | None = None
    partition: int | None = None
    id: int | None = None
    route: str | None = None
    who: str | None = None
    reason: str | None = None
    target: list[int] | None = None
    original: list[int] | None = None
    replicas: list[int] | None = None
    bytes: int | None = None
    broker: int | None = None
    principal: str | None = None
    client_id: str | None = None
    address: str | None = None
    copied: int | None = None
    listener: str | None = None
    mechanism: str | None = None


class EventFile(NamedTuple):
    """By its name. `generation` counts the server's restarts of its log; `first` and `last` are sequence numbers."""

    path: StorePath
    server: int
    generation: int
    first: int
    last: int


def spark_schema() -> "StructType":
    return parquet_files.spark_schema(EVENTS)


def list_files(directory: StorePath) -> list[EventFile]:
    """Raises BadInput for a file with another name."""
    found = []
    for path in matching(directory, "*.parquet"):
        parts = path.name.removesuffix(".parquet").split("-")
        if len(parts) != 5 or parts[0] != "events" or not all(part.isdecimal() for part in parts[1:]):
            raise BadInput(f"{path}: not a file of events, by its name")
        found.append(EventFile(path, *map(int, parts[1:])))
    return found


def check(directory: StorePath) -> int:
    """Counts events. Raises BadInput if there is no file, or one is unreadable."""
    if not directory.is_dir():
        raise BadInput(f"{told_path(str(directory))}: no such directory")
    found = list_files(directory)
    if not found:
        raise BadInput(f"{directory}: no events there; `kafka-reassign-rpc export` with --events writes them")
    return sum(parquet_files.check(file.path, _IN_EVERY_FILE) for file in found)


def in_no_file(files: Iterable[EventFile]) -> Iterator[str]:
    """Events between files of one log, such as `events 5 to 9 of server 1`, by the names of the files."""
    for one, following in pairwise(sorted(files, key=lambda file: file[1:])):
        is_same_log = (one.server, one.generation) == (following.server, following.generation)
        if is_same_log and following.first > one.last + 1:
            yield f"events {one.last + 1} to {following.first - 1} of server {one.server}"


def to_row(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Raises BadInput for fields of other types."""
    try:
        known = msgspec.convert(event, _KnownFields)
    except msgspec.ValidationError as error:
        raise BadInput(f"event {event.get('seq')} of server {event.get('server')}: {error}") from None
    more = {key: value for key, value in event.items() if key not in _KnownFields.__struct_fields__}
    text = msgspec.json.encode(more).decode() if more else None
    epoch, server = (-1 if one is None else one for one in (known.epoch, known.server))
    others = {"epoch": epoch, "server": server, "more": text}
    return tuple(others[name] if name in others else getattr(known, name) for name in EVENTS.names)
