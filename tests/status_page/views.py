"""Terms of a controller as the status page sees them, made without a server."""

from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView, TermView, UnhealthyPartitions
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from tests.core.build import broker

STEP_S = 5.0


def move(
    origin: tuple[int, ...], target: tuple[int, ...], *, started: int = 1000, reason: str = "", leader: int = 1
) -> Partition:
    """A partition in flight, its original replicas in sync."""
    adding = tuple(one for one in target if one not in origin)
    removing = tuple(one for one in origin if one not in target)
    record = MoveRecord(MoveTerms(target, reason=reason), origin, 77, started)
    return Partition((*target, *removing), adding, removing, leader=leader, isr=origin, move=record)


def at_rest(*replicas: int, leader: int | None = None) -> Partition:
    return Partition(replicas, leader=replicas[0] if leader is None else leader, isr=replicas)


def cluster_of(topics: Mapping[str, Mapping[int, Partition]], live: tuple[int, ...] = (1, 2, 3, 4)) -> Cluster:
    made = Cluster(brokers={one: broker(one, rack=f"r{one}") for one in live})
    for number, (name, partitions) in enumerate(topics.items()):
        put_topic(made, name, None, dict(partitions), version=number)
    return made


def term_of(cluster: Cluster, tracker: ProgressTracker | None = None) -> TermView:
    tracker = ProgressTracker(60.0) if tracker is None else tracker
    return TermView(cluster, tracker, UnhealthyPartitions(2, 1), None)


def server_of(term: TermView | None, *, controller: int | None = 1000) -> ServerView:
    brokers = {} if term is None else term.cluster.brokers
    role = "standby" if term is None else "controller"
    known = ControllerView(controller, 7, 1000, "http://127.0.0.1:1/")
    return ServerView(1000, "cluster-id", role, "", known, brokers, term)


def sample(
    tracker: ProgressTracker, cluster: Cluster, now: float, sizes: Mapping[int, Mapping[str, Mapping[int, int]]]
) -> None:
    """A sample of the brokers' sizes: bytes by broker, topic and partition. Others do not answer."""
    answers = {one: [SampledLogDir("/d", sizes=found)] for one, found in sizes.items()}
    run(tracker.update(now, cluster, answers, [], {}))


def run(steps: Iterator[None]) -> None:
    for _ in steps:
        pass
