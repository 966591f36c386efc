"""The replicas of one broker: their state by LeaderAndIsr, and the sizes of their logs.

A log is only a size here ("offset in bytes"). A restart leaves a log without a replica, which the next LeaderAndIsr
takes up again.

A log dir that is lost takes its logs with it until the broker's next start. The replicas that it held are *offline*.
"""

from collections.abc import Iterable
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


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
