"""Short builders of partitions and clusters, for tests of decisions."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from kafka_reassign_rpc.core.reassignment.alter import Decision, alter, cancel
from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import Fact
from kafka_reassign_rpc.core.writers.topic_writes import put_topic

TOPIC = "t"
TOPIC_ID = UUID(int=7)


def broker(broker_id: int, *, epoch: int | None = None, rack: str | None = None) -> Broker:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9000 + broker_id)
    return Broker(broker_id, 100 + broker_id if epoch is None else epoch, (endpoint,), rack)


def cluster(
    *partitions: Partition,
    live: Iterable[int] = range(1, 7),
    configs: Mapping[str, str] | None = None,
    topic: str = TOPIC,
) -> Cluster:
    """A cluster of one topic. `live`: the brokers that are registered."""
    made = Cluster(brokers={id_: broker(id_) for id_ in live}, soft=SoftState(broker_settings=KAFKA_DEFAULTS))
    put_topic(made, topic, TOPIC_ID, dict(enumerate(partitions)), version=3)
    if configs is not None:
        made.topic_configs[topic] = dict(configs)
    return made


def write(cluster: Cluster, **fields: Any) -> None:
    """Fields of the cluster, or of its soft state, as facts write them: which settings hold is derived again."""
    for field, value in fields.items():
        setattr(cluster.soft if field in SoftState.__struct_fields__ else cluster, field, value)
    cluster.derive_settings()


def decided(here: RoundView, name: TopicPartition, target: tuple[int, ...] | None, **terms: Any) -> Decision:
    """A client's request for this target, or with None for a cancel."""
    return cancel(here, name, **terms) if target is None else alter(here, name, MoveTerms(target, **terms))


def view(
    *partitions: Partition, live: Iterable[int] = range(1, 7), configs: Mapping[str, str] | None = None
) -> RoundView:
    return RoundView(cluster(*partitions, live=live, configs=configs))


def not_moving(
    *replicas: int, isr: Iterable[int] | None = None, leader: int | None = None, epoch: int = 5
) -> Partition:
    """A partition at rest. By default the first of its ISR leads."""
    members = replicas if isr is None else tuple(isr)
    return Partition(
        replicas=replicas,
        isr=members,
        leader=members[0] if leader is None else leader,
        leader_epoch=epoch,
        partition_epoch=11,
        controller_epoch=1,
    )


def moving(
    origin: Iterable[int],
    target: Iterable[int],
    *,
    isr: Iterable[int] | None = None,
    leader: int | None = None,
    recorded: bool = True,
) -> Partition:
    """A partition that moves from `origin` to `target`, by default with nothing copied yet."""
    before, after = tuple(origin), tuple(target)
    members = before if isr is None else tuple(isr)
    return Partition(
        replicas=(*after, *(r for r in before if r not in after)),
        adding=tuple(r for r in after if r not in before),
        removing=tuple(r for r in before if r not in after),
        isr=members,
        leader=members[0] if leader is None else leader,
        leader_epoch=6,
        partition_epoch=12,
        controller_epoch=1,
        move=MoveRecord(MoveTerms(after), before, 400, 1_700_000_000_000) if recorded else None,
    )


def made(changes: Iterable[Change]) -> Partition:
    """The value of the only change."""
    (change,) = changes
    assert isinstance(change, PartitionChange)
    return change.value


def sets(partition: Partition) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Replicas, adding, removing: as List shows them."""
    return partition.replicas, partition.adding, partition.removing


T = TypeVar("T")


def learn(cluster: Cluster, fact: Fact[T]) -> T:
    """Apply a fact. Returns what decisions have to know of it."""
    steps = fact.apply(cluster)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(T, end.value)
