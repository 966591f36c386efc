"""What brokers report to the controller by their answers: confirmed stops, failed log dirs, refusals."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class LogDirAnswer(NamedTuple):
    """topic_id  the one that the broker meant, if topics have ids
    in_sync   the log dir works but has the log of an earlier topic: the replica counts as offline only while this
              broker has an in-sync one
    """

    name: TopicPartition
    topic_id: UUID | None
    is_offline: bool
    in_sync: int | None = None


class BrokerReports(Protocol):
    def stopped(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """The broker has confirmed these stops, or is away: then they count as confirmed."""

    def obeys(self) -> None:
        """A broker has taken a request of this controller's epoch."""

    def knows_newer_controller(self) -> None: ...

    def log_dirs_answered(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool = False) -> None:
        """`is_complete`: the log dirs of all other replicas work."""

    def leader_and_isr_refused(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        """The leader epochs of these partitions have to rise; None: of all of the broker's own."""

    def unassigned_found(self, broker: int, stopped: Sequence[TopicPartition], logs: Sequence[TopicPartition]) -> None:
        """It has stopped these replicas, which are not assigned to it; their logs stay. `logs`: others that it has on
        disk."""
