"""The replicas of one broker: their state by LeaderAndIsr, the sizes of their logs, and the file of these.

A log is only a size here ("offset in bytes"). A restart leaves a log without a replica, which the next LeaderAndIsr
takes up again.

A log dir that is lost takes its logs with it until the broker's next start. The replicas that it held are *offline*.

A simulated broker's file of sizes is append-only. It has one JSON array a line: `[topic, partition, directory, size,
topic id]`, or `[topic, partition]` for a deleted log; the last line about a partition counts. The first line names the
owner (`{"cluster_id":…,"broker_id":…}`, as Kafka's meta.properties). The next start drops a line that kill -9 has cut
short, and keeps the lines that count. Lines reach the operating system before the broker confirms what they say, so
they survive the end of the process (not of the machine).
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.files import write_file


class Log(msgspec.Struct, gc=False):
    """`size` is its end offset in bytes, `directory` an index into the broker's log dirs."""

    size: int = 0
    directory: int = 0
    topic_id: UUID | None = None


class SimulatedReplica(msgspec.Struct, gc=False):
    name: TopicPartition
    log: Log
    leader: int = NO_LEADER
    leader_epoch: int = -1
    partition_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()


class ReplicaTable:
    def __init__(self, directories: int = 1) -> None:
        self.online: dict[TopicPartition, SimulatedReplica] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.preferred: dict[TopicPartition, int] = {}
        """The log dirs of replicas that do not exist yet (AlterReplicaLogDirs)."""
        self.lost: set[int] = set()
        """The log dirs that have failed."""
        self.offline: set[TopicPartition] = set()
        """Replicas that the controller wants here and whose log is on such a log dir, or may be."""
        self._deleted: dict[TopicPartition, UUID | None] = {}
        """The topic ids of the logs that were last deleted under their names, since this start."""
        self._counts = [0] * directories

    def load(self, logs: Iterable[tuple[TopicPartition, Log]]) -> None:
        """Adds logs from before this start, except those on lost log dirs."""
        for name, log in logs:
            if log.directory not in self.lost:
                self.logs[name] = log
                self._counts[log.directory] += 1

    @property
    def working(self) -> list[int]:
        return [directory for directory in range(len(self._counts)) if directory not in self.lost]

    def lose(self, directory: int) -> list[TopicPartition]:
        """Returns the replicas that were online and are offline now."""
        self.lost.add(directory)
        self.preferred = {name: wanted for name, wanted in self.preferred.items() if wanted != directory}
        gone = [name for name, log in self.logs.items() if log.directory == directory]
        for name in gone:
            del self.logs[name]
        self._counts[directory] = 0
        stopped = [name for name in gone if self.online.pop(name, None) is not None]
        self.offline.update(stopped)
        return stopped

    def create(self, name: TopicPartition, topic_id: UUID | None, size: int) -> Log:
        """Uses the preferred dir or else the one with the fewest logs (as LogManager.nextLogDirs)."""
        directory = self.preferred.pop(name, -1)
        if directory < 0:
            directory = min(self.working, key=self._counts.__getitem__)
        log = self.logs[name] = Log(size, directory, topic_id)
        self._counts[directory] += 1
        return log

    def delete(self, name: TopicPartition) -> bool:
        """Returns whether there was a log."""
        log = self.logs.pop(name, None)
        if log is not None:
            self._counts[log.directory] -= 1
            self._deleted[name] = log.topic_id
        return log is not None

    def has_deleted(self, name: TopicPartition, topic_id: UUID | None) -> bool:
        """Whether the log of this very topic was deleted here: a new one is empty."""
        return name in self._deleted and (topic_id is None or self._deleted[name] in (None, topic_id))

    def move(self, name: TopicPartition, directory: int) -> None:
        log = self.logs[name]
        self._counts[log.directory] -= 1
        self._counts[directory] += 1
        log.directory = directory

    @property
    def size(self) -> int:
        """The bytes of all logs. Takes longer with more logs."""
        return sum(log.size for log in self.logs.values())

    def leads(self, name: TopicPartition, broker: int) -> SimulatedReplica | None:
        replica = self.online.get(name)
        return replica if replica is not None and replica.leader == broker else None


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
