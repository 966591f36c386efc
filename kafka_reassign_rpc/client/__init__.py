"""A Python client for partition reassignments.

    with ReassignmentClient(bootstrap_servers="localhost:9092") as client:
        client.alter_partition_reassignments({("orders", 0): [1, 2, 4]})
        for reassignment, description in client.describe_reassignments().items():
            print(reassignment, description)

AsyncReassignmentClient has the same calls for asyncio, and their documentation.

    async_client                       the calls of plain Kafka, with their documentation; those of log dirs, of our
                                       servers and of settings are in log_dir_calls, server_calls and settings_calls
    blocking_client                    the same calls, which block; a client of each server that runs
    vendor_calls                       documents and commands of servers, JSON in two APIs
    reassignment_calls                 list, describe, start and cancel moves, elect leaders
    server_calls                       what only our servers answer and do: status, events, throttles, holds, repairs
    settings_calls                     settings that all servers share, switches and the cordon among them
    stock_cluster                      the same made from the answers of a stock controller
    standing_rates                     the rates that hold while moves have a throttle lease
    target_warnings                    what a command says of targets before moves start, also of racks
    metadata_calls                     nodes, without fenced ones, and topics
    kraft_calls                        the quorum, fenced brokers, eligible leader replicas
    config_calls, throttle_configs     dynamic configs, and quotas of clients; configs that throttle moves
    log_dir_calls                      sizes of replicas, and moves between log dirs
    move_progress, text_format         bytes copied, rate and remaining time; the same as text
    result_values, client_errors       what calls return and raise
    polling_pace                       what questions cost (requests, bytes, times of answers), and how often to look at
                                       a cluster, so that it costs little (SHARE, LONGEST_S)
    broker_questions                   what only one broker knows, asked while a loop of looks goes on
    request_routing                    which node gets a request, in which version, when it is repeated; what is said
                                       when no given address answers
    node_questions                     who is there, who controls, which versions a node serves; where there is no
                                       answer: whether a node is to blame, or no controller is active; what is said of
                                       a call that goes on trying, and when (WORD_S)
    client_settings                    the configs of a client, with their defaults, such as how long nodes are known;
                                       the properties of Java clients
    node_connections                   a connection to each node; when another is asked instead (SLOW_S, SILENT_S)
"""

from kafka_reassign_rpc.client.async_client import AsyncReassignmentClient
from kafka_reassign_rpc.client.blocking_client import ReassignmentClient
from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.client_settings import client_configs, load_properties
from kafka_reassign_rpc.client.move_progress import LogDirProgressTracker, Progress, ProgressSnapshot
from kafka_reassign_rpc.client.result_values import (
    MOVING,
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
from kafka_reassign_rpc.client.server_calls import EventPage
from kafka_reassign_rpc.client.settings_calls import ServerSetting
from kafka_reassign_rpc.core.events.event_lines import Event
from kafka_reassign_rpc.core.healing.repair_targets import RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import (
    ApprovalOutcome,
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    Repair,
    RepairMove,
)
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.move_sums import PastFigures, Point
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.state.partition import QUEUE, CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.broker_documents import BrokerState, ControllerState
from kafka_reassign_rpc.core.throttling.replication_throttles import NO_THROTTLE

__all__ = [
    "MOVING",
    "NO_THROTTLE",
    "QUEUE",
    "WAITING",
    "ApprovalOutcome",
    "AsyncReassignmentClient",
    "BrokerRepair",
    "BrokerState",
    "CancelMove",
    "ClusterNode",
    "ControllerState",
    "Event",
    "EventPage",
    "FailedBroker",
    "GoneBroker",
    "HealingStatus",
    "KafkaError",
    "LogDirFailure",
    "LogDirProgressTracker",
    "LogDirs",
    "MoveTerms",
    "MovedSettings",
    "PartitionInfo",
    "PartitionReassignment",
    "PastFigures",
    "Point",
    "Progress",
    "ProgressSnapshot",
    "Reassignment",
    "ReassignmentClient",
    "ReassignmentDescription",
    "Repair",
    "RepairCost",
    "RepairMove",
    "Replica",
    "ReplicaLogDir",
    "ServerSetting",
    "TopicPartition",
    "Unauthenticated",
    "Unreachable",
    "UnsupportedHere",
    "client_configs",
    "load_properties",
]
