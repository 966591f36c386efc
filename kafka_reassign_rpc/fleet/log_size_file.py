"""A simulated broker's file: the sizes of its logs, append-only.

It has one JSON array a line: `[topic, partition, directory, size, topic id]`, or `[topic, partition]` for a deleted
log; the last line about a partition counts. The first line names the owner (`{"cluster_id":…,"broker_id":…}`, as
Kafka's meta.properties). The next start drops a line that kill -9 has cut short, and keeps the lines that count. Lines
reach the operating system before the broker confirms what they say, so they survive the end of the process (not of the
machine).
"""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.replica_table import Log
from kafka_reassign_rpc.support.files import write_file

_ENCODE = msgspec.json.Encoder().encode


class LogSizeFileError(Exception):
    """The message says what to do."""


class LogSizeOwner(msgspec.Struct, frozen=True):
    """The first line of the file."""

    cluster_id: str
    broker_id: int


class LogSizeFile:
    """With `path` None nothing is written."""

    def __init__(self, path: Path | None, cluster_id: str, broker_id: int, directories: int) -> None:
        self._path = path
        self._owner = LogSizeOwner(cluster_id, broker_id)
        self._directories = directories
        self._lines: list[bytes] = []
        self._file = -1

    def open(self) -> dict[TopicPartition, Log]:
        """Reads the logs and compacts the file. Raises LogSizeFileError, OSError."""
        if self._path is None:
            return {}
        logs = dict(self._read(self._path)) if self._path.exists() else {}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = (_line(name, log) for name, log in logs.items())
        write_file(self._path, chain((_ENCODE(self._owner) + b"\n",), lines), sync=True)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        return logs

    def put(self, name: TopicPartition, log: Log) -> None:
        if self._file >= 0:
            self._lines.append(_line(name, log))

    def delete(self, name: TopicPartition) -> None:
        if self._file >= 0:
            self._lines.append(_ENCODE(list(name)) + b"\n")

    def flush(self) -> None:
        """To the operating system."""
        if self._lines:
            data, self._lines = b"".join(self._lines), []
            while data:
                data = data[os.write(self._file, data) :]

    def close(self) -> None:
        if self._file >= 0:
            self.flush()
            os.close(self._file)
            self._file = -1

    def _read(self, path: Path) -> Iterator[tuple[TopicPartition, Log]]:
        head, *lines = path.read_bytes().split(b"\n")
        try:
            owner = msgspec.json.decode(head, type=LogSizeOwner)
        except msgspec.MsgspecError as error:
            raise LogSizeFileError(f"{path} is not a simulated broker's file: {error}") from error
        if owner != self._owner:
            raise LogSizeFileError(
                f"{path} belongs to broker {owner.broker_id} of cluster {owner.cluster_id}, not to broker "
                f"{self._owner.broker_id} of cluster {self._owner.cluster_id}: use another data directory or remove it"
            )
        found: dict[TopicPartition, Log] = {}
        for line in lines[:-1]:  # The bytes behind the last line break were cut short.
            try:
                topic, partition, *rest = msgspec.json.decode(line)
                name = TopicPartition(topic, partition)
                if rest:
                    directory, size, topic_id = rest
                    found[name] = Log(size, directory % self._directories, UUID(topic_id) if topic_id else None)
                else:
                    found.pop(name, None)
            except (msgspec.MsgspecError, TypeError, ValueError) as error:
                raise LogSizeFileError(f"{path}: a line makes no sense ({line[:80]!r}): {error}") from error
        yield from found.items()


def _line(name: TopicPartition, log: Log) -> bytes:
    return _ENCODE([name.topic, name.partition, log.directory, log.size, log.topic_id]) + b"\n"
