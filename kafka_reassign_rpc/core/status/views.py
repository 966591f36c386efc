"""What the document is made from: values, read when somebody looks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.partition_health import UnhealthyPartitions
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster

UNKNOWN = -1


def _nobody_is_asked() -> None:
    """A view whose brokers tell no disks."""


class BrokerDisk(NamedTuple):
    """What a broker has said about its log dirs, in bytes; -1: unknown.

    at        when, ms since 1970
    replicas  of all its replicas
    capacity  of the volumes of the log dirs that work, and what of it is free
    failed    path and error code of the other log dirs
    """

    at: int
    replicas: int
    capacity: int
    free: int
    failed: Sequence[tuple[str, int]]


class TermView(NamedTuple):
    """What only the controller knows.

    cluster    as of the last durable round; it changes between two turns of the event loop
    progress   of its moves
    unhealthy  None until it was counted
    healing    as last diagnosed; None until then
    disks      of the brokers that have answered
    look       somebody looks at the brokers: they are asked for their disks
    silent     brokers whose throttles are not known
    knows_configs
               the configs of all topics are known: `watch` reads only those of moving ones
    closed     of whoever only looks: whether brokers take no new replica, as far as they tell; None: a controller, who
               knows that, which brokers shut down, and what waits
    """

    cluster: Cluster
    progress: ProgressTracker
    settings: ReassignmentSettings
    unhealthy: UnhealthyPartitions | None
    healing: HealingStatus | None
    disks: Mapping[int, BrokerDisk] = {}
    look: Callable[[], None] = _nobody_is_asked
    silent: Collection[int] = ()
    knows_configs: bool = True
    closed: Mapping[int, bool | None] | None = None


class ServerView(NamedTuple):
    """A server, or `watch`.

    server      its broker id; -1: `watch` has none
    role        "controller", "standby", "watch", or "" while it is none of them: then `reason` says why
    controller  the controller's id as far as this server knows, -1: there is none
    epoch       the controller's epoch where this server is the controller, else -1
    since       when the controller was elected, ms; -1: not known
    brokers     those that are registered
    pages       the addresses of status pages, by server
    term        None where it does not know the moves
    unseen      what cannot be seen, and why: one line each
    silent_since
                since when the cluster has not told `watch` which moves there are, ms since 1970; None: it tells
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
    unseen: Sequence[str] = ()
    silent_since: int | None = None
