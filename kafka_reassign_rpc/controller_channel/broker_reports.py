"""What brokers report to the controller in their answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.cluster import Broker, TopicPartition


class LogDirAnswer(NamedTuple):
    """Whether the log dir of a replica has failed, as its broker answered LeaderAndIsr.

    topic_id    of the topic that the broker meant, if the cluster's topics have ids
    in_sync     the log dir works but has the log of an earlier topic: the replica counts as offline only while this
                broker has an in-sync one
    """

    name: TopicPartition
    topic_id: UUID | None
    is_offline: bool
    in_sync: int | None = None


class BrokerReports(Protocol):
    """Receives what all brokers of one controller report."""

    def stopped(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """The broker has confirmed these stops, or is away, and nobody waits for it."""

    def knows_newer_controller(self) -> None:
        """A broker says that it knows a newer controller. It is called each time that a broker says so."""

    def log_dirs_answered(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool = False) -> None:
        """Log dirs of these replicas have failed, or work again. `is_complete`: of all others they work."""

    def leader_and_isr_refused(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        """The broker has refused these partitions, or all of its own (None). Their leader epochs have to rise."""
