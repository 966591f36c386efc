"""A Python client for moves of partitions, on kafka-python's admin client.

    with ReassignmentClient(bootstrap_servers="localhost:9092") as client:
        client.alter_partition_reassignments({("orders", 0): [1, 2, 4]})
        for reassignment, description in client.describe_reassignments().items():
            print(reassignment, description)

AsyncReassignmentClient has the same calls for asyncio.
"""

from kafka_reassign_rpc.client.async_client import AsyncReassignmentClient
from kafka_reassign_rpc.client.blocking_client import ReassignmentClient
from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.event_calls import Event, EventPage
from kafka_reassign_rpc.client.log_dir_progress import LogDirProgressTracker, Progress, ProgressSnapshot
from kafka_reassign_rpc.client.result_values import (
    MOVING,
    NO_THROTTLE,
    WAITING,
    ClusterNode,
    LogDirs,
    PartitionInfo,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
    Replica,
    ReplicaLogDir,
)
from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker, HealingStatus, Repair, RepairMove
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import TopicPartition

__all__ = [
    "MOVING",
    "NO_THROTTLE",
    "WAITING",
    "AsyncReassignmentClient",
    "ClusterNode",
    "Event",
    "EventPage",
    "FailedBroker",
    "HealingStatus",
    "KafkaError",
    "LogDirProgressTracker",
    "LogDirs",
    "PartitionInfo",
    "PartitionReassignment",
    "Progress",
    "ProgressSnapshot",
    "Reassignment",
    "ReassignmentClient",
    "ReassignmentDescription",
    "Repair",
    "RepairMove",
    "Replica",
    "ReplicaLogDir",
    "TopicPartition",
    "Unauthenticated",
    "Unreachable",
    "UnsupportedHere",
]
