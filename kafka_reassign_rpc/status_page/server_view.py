"""What the status page gets to see of its server: values, read when somebody looks."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.partition_health import UnhealthyPartitions
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster

UNKNOWN = -1


class TermView(NamedTuple):
    """What only the controller knows.

    cluster    as of the last durable round; it changes between two turns of the event loop
    progress   of its moves
    unhealthy  None until it was counted
    healing    as last diagnosed; None until then
    """

    cluster: Cluster
    progress: ProgressTracker
    settings: ReassignmentSettings
    unhealthy: UnhealthyPartitions | None
    healing: HealingStatus | None


class ServerView(NamedTuple):
    """A server.

    role        "controller", "standby", or "" while it is neither: then `reason` says why
    controller  the controller's id as far as this server knows, -1: there is none
    epoch       the controller's epoch where this server is the controller, else -1
    since       when the controller was elected, ms; -1: not known
    brokers     those that are registered
    pages       the addresses of status pages, by server
    term        None where this server is not the controller
    """

    server: int
    cluster_id: str
    role: str
    reason: str
    controller: int
    epoch: int
    since: int
    brokers: Mapping[int, Broker]
    pages: Mapping[int, str]
    term: TermView | None
