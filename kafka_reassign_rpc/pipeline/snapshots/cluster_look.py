"""One look at a cluster: its partitions between two lists of its moves. A move that begins between the answers would
look like an assignment at rest, with target and removing replicas together; so a partition in any of the lists
counts as moving. The controller answers all three: other nodes learn of changes later.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import Everything

Moves = Mapping[TopicPartition, PartitionReassignment]
"""In flight or in the queue."""


class LookSource(Protocol):
    def list_partition_reassignments(self) -> Moves: ...

    def describe_everything(self) -> Everything: ...


class ClusterLook(NamedTuple):
    """everything   nodes and topics; the topics can be iterated over once
    moves        every partition that moved or waited at any time of the look, as listed last
    changed      partitions whose moves began, ended or changed during the look, sorted
    """

    everything: Everything
    moves: Moves
    changed: list[TopicPartition]


def look(client: LookSource) -> ClusterLook:
    """Raises KafkaError."""
    before = client.list_partition_reassignments()
    everything = client.describe_everything()
    after = client.list_partition_reassignments()
    moves = {**before, **after}
    return ClusterLook(everything, moves, sorted(name for name in moves if before.get(name) != after.get(name)))
