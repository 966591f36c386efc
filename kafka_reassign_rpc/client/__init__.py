"""A Python client for moves of partitions, on kafka-python's admin client.

    with ReassignmentClient(bootstrap_servers="localhost:9092") as client:
        client.alter_partition_reassignments({("orders", 0): [1, 2, 4]})
        for reassignment, description in client.describe_reassignments().items():
            print(reassignment, description)

AsyncReassignmentClient has the same calls for asyncio.
"""

from kafka_reassign_rpc.client.aio import AsyncReassignmentClient
from kafka_reassign_rpc.client.errors import Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.events import Event, EventPage
from kafka_reassign_rpc.client.healing import FailedBroker, HealingStatus, Repair, RepairMove
from kafka_reassign_rpc.client.model import (
    MOVING,
    NO_THROTTLE,
    WAITING,
    LogDirs,
    Node,
    PartitionInfo,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
    Replica,
    ReplicaLogDir,
)
from kafka_reassign_rpc.client.progress import Progress, Snapshot, Tracker
from kafka_reassign_rpc.client.sync import ReassignmentClient
from kafka_reassign_rpc.core.errors import KafkaError
from kafka_reassign_rpc.core.model import TopicPartition

__all__ = [
    "MOVING",
    "NO_THROTTLE",
    "WAITING",
    "AsyncReassignmentClient",
    "Event",
    "EventPage",
    "FailedBroker",
    "HealingStatus",
    "KafkaError",
    "LogDirs",
    "Node",
    "PartitionInfo",
    "PartitionReassignment",
    "Progress",
    "Reassignment",
    "ReassignmentClient",
    "ReassignmentDescription",
    "Repair",
    "RepairMove",
    "Replica",
    "ReplicaLogDir",
    "Snapshot",
    "TopicPartition",
    "Tracker",
    "Unauthenticated",
    "Unreachable",
    "UnsupportedHere",
]
