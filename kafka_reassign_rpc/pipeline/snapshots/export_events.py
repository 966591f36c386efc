"""The event logs of servers as Parquet: files that only ever are added, each with a row of events of one server.

    events-1000-000-000000000000-000000000041.parquet    server 1000, its log as begun first, events 0 to 41

The names are the state: what comes next is what follows the last file. A file is there whole or not at all, so an
export that is killed repeats nothing and misses nothing. A log that the server has begun anew has the next
number in its files' names; it is known by the last event not being the one that was there.
"""

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient
from kafka_reassign_rpc.client.event_calls import EventPage
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NO_DIRS = ("none",)
"""What a kafka-reassign-rpc server shows as its log dirs: it stands among the nodes and holds no replicas."""

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
    ]
)
"""`at` is in ms since 1970 began (UTC); `more` are the fields that this release does not know, as JSON."""


class _Known(msgspec.Struct):
    """What an event has to be like; None is as good as absent."""

    at: int
    event: str
    epoch: int
    server: int
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


class EventFile(NamedTuple):
    """A file of events, by its name."""

    path: Path
    server: int
    begun: int
    first: int
    last: int


class Followed(NamedTuple):
    """What an export of events brought: how many, and what has to be said about it."""

    events: int
    servers: int
    warnings: list[str]


def spark_schema() -> "StructType":
    return parquet_files.spark_schema(EVENTS)


def files(directory: Path) -> list[EventFile]:
    """The files of a directory, in order. Raises BadInput for one whose name says nothing."""
    found = []
    for path in sorted(directory.glob("*.parquet")):
        parts = path.stem.split("-")
        if path.name.startswith("."):
            continue
        if len(parts) != 5 or parts[0] != "events" or not all(part.isdigit() for part in parts[1:]):
            raise BadInput(f"{path}: not a file of events, by its name")
        found.append(EventFile(path, *map(int, parts[1:])))
    return found


def check(directory: Path) -> int:
    """The number of events in a directory. Raises BadInput where there is none, or a file cannot be read."""
    if not directory.is_dir():
        raise BadInput(f"{directory}: no such directory")
    found = files(directory)
    if not found:
        raise BadInput(f"{directory}: no events there; `kafka-reassign-rpc export --events` writes them")
    return sum(parquet_files.check(file.path, EVENTS) for file in found)


def row(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """An event as a row. Raises BadInput for what is none."""
    try:
        known = msgspec.convert(event, _Known)
    except msgspec.ValidationError as error:
        raise BadInput(f"event {event.get('seq')} of server {event.get('server')}: {error}") from None
    more = {key: value for key, value in event.items() if key not in _Known.__struct_fields__}
    text = msgspec.json.encode(more).decode() if more else None
    return (*(getattr(known, name) for name in EVENTS.names[:-1]), text)


def follow(client: ReassignmentClient, directory: Path) -> Followed:
    """Add what servers have recorded since the last time.

    Raises UnsupportedHere where the controller is not our server, BadInput for files or events that cannot be read.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(".events-*"):
        left.unlink()
    known = {file.server: file for file in files(directory)}
    warnings: list[str] = []
    count = 0
    servers = _servers(client, known.keys(), warnings)
    for server in servers:
        count += _Follower(client, directory, server, known.get(server), warnings).run()
    return Followed(count, len(servers), warnings)


def _servers(client: ReassignmentClient, known: Set[int], warnings: list[str]) -> list[int]:
    """The controller, and every other server of ours that can be asked."""
    found = {client.event_page(-1).server}
    for node in client.describe_cluster():
        try:
            if tuple(client.describe_broker(node.id, {}).log_dirs) == NO_DIRS:
                found.add(node.id)
        except KafkaError:
            continue
    warnings += [f"server {server} is not there: what it has recorded since is left out" for server in known - found]
    return sorted(found)


class _Follower:
    """One server's log, from where the files end."""

    def __init__(
        self, client: ReassignmentClient, directory: Path, server: int, last: EventFile | None, warnings: list[str]
    ) -> None:
        self._client = client
        self._directory = directory
        self._server = server
        self._last = last
        self._warnings = warnings

    def run(self) -> int:
        begun, seq = (0, 0) if self._last is None else (self._last.begun, self._last.last + 1)
        if self._last is not None and not self._goes_on(self._last):
            begun, seq = begun + 1, 0
            self._warnings.append(f"server {self._server} has begun its log anew")
        count = 0
        for page in self._pages(seq):
            if page.oldest_seq > seq and page.events:
                said = f"events {seq} to {page.oldest_seq - 1} of server {self._server} are not kept any more"
                self._warnings.append(said)
            count += self._write(page, begun)
            seq = page.next_seq
        return count

    def _goes_on(self, last: EventFile) -> bool:
        """Whether the server's log is the one of the files: it has the last event, or has deleted it meanwhile."""
        page = self._page(last.last)
        if page.next_seq <= last.last:
            return False
        [*_, batch] = parquet_files.batches(last.path, EVENTS)
        stored = batch.slice(len(batch) - 1).to_pylist()[0]
        first = page.events[0] if page.events else None
        if first is None or first["seq"] > last.last:
            return page.oldest_seq > last.last
        return bool((first["at"], first["event"]) == (stored["at"], stored["event"]))

    def _pages(self, seq: int) -> Iterator[EventPage]:
        while (page := self._page(seq)).events:
            yield page
            seq = page.next_seq

    def _page(self, seq: int) -> EventPage:
        try:
            page = self._client.event_page(seq, server=self._server)
        except msgspec.MsgspecError as error:
            raise JobFailed(f"server {self._server} sends an event from {seq} on that is no JSON: {error}") from None
        return page

    def _write(self, page: EventPage, begun: int) -> int:
        first, last = page.events[0]["seq"], page.events[-1]["seq"]
        name = f"events-{self._server}-{begun:03d}-{first:012d}-{last:012d}.parquet"
        with parquet_files.TableWriter(self._directory / name, EVENTS) as writer:
            writer.extend(map(row, page.events))
        return len(page.events)
