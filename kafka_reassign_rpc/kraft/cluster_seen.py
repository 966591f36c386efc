"""A look at the cluster, with the intents on top: what the loop decides on. Leaders, ISRs and epochs are the cluster's
own; a move that is still to be told is shown as the cluster will list it.

Which topics and brokers are gone, by looks one after the other. That one leaves them out is no evidence. No I/O.
"""

from collections.abc import Collection, Container, Generator, Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.state.partition import MoveRecord, topic_id_text
from kafka_reassign_rpc.core.state.queue_entries import Queue
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.look_facts import PartitionSeen, TopicSeen, TopicsUnseen
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.round_records import Intents


class Known(NamedTuple):
    """A topic that this server has seen, or has intents for. `id`: as text; "" means any."""

    name: str
    id: str = ""


class Absent(NamedTuple):
    """gone     looks agree that there is no such topic any more
    unseen   nothing is concluded of these: no broker shows them, or only one look denies them
    """

    gone: frozenset[Known] = frozenset()
    unseen: frozenset[Known] = frozenset()


class Absences:
    """A look denies a topic where a broker has said, when asked for it by name, that there is none, or where another
    topic has its name. What the broker knows may be old; so a topic is gone once the next look at it denies it, too.
    Looks are far enough apart that a broker which lives has by the second what the controller had at the first.
    """

    def __init__(self) -> None:
        self._doubted: frozenset[Known] = frozenset()
        """Denied by the last look at them."""
        self._incomplete: frozenset[Known] = frozenset()
        """Shown by it without partitions that moves wait for."""

    def taken(
        self, look: Look, asked: Iterable[Known], waiting: Mapping[str, Collection[int]]
    ) -> Generator[None, None, Absent]:
        """`asked`: the topics that it was a look at; `waiting`: partitions that are waited for. A broker may not have
        them yet, so they count as unseen until the next look. Yields after each topic."""
        listed = {name.topic for name in look.moves}
        doubted, incomplete = set(self._doubted), set(self._incomplete)
        gone: set[Known] = set()
        unseen: set[Known] = set()
        for one in asked:
            doubted.discard(one)
            incomplete.discard(one)
            found = look.topics.get(one.name)
            if is_denied(look, listed, one):
                doubted.add(one)
                (gone if one in self._doubted else unseen).add(one)
            elif found is None:
                unseen.add(one)
            elif not found.partitions.keys() >= set(waiting.get(one.name, ())):
                incomplete.add(one)
                if one not in self._incomplete:
                    unseen.add(one)
            yield
        self._doubted, self._incomplete = frozenset(doubted), frozenset(incomplete)
        return Absent(frozenset(gone), frozenset(unseen))


def is_denied(look: Look, listed: Collection[str], known: Known) -> bool:
    """`listed`: topics with moves in flight, by the controller: they are there, whatever a broker says."""
    found = look.topics.get(known.name)
    if found is None:
        return known.name in look.absent and known.name not in listed
    return is_another(known, id_text(found.id))


def id_text(topic_id: UUID | None) -> str:
    """As `Known` has it."""
    return "" if topic_id is None else topic_id_text(topic_id)


def is_another(known: Known, found: str) -> bool:
    """Whether a topic with the id `found` is another one of the same name."""
    return bool(known.id) and bool(found) and known.id != found


class AbsentBrokers:
    """A broker is gone once two looks in a row do not show it, or show it fenced. One that a look shows is there."""

    def __init__(self) -> None:
        self._doubted: frozenset[int] = frozenset()
        """Not shown by the last look."""

    def taken(self, shown: Mapping[int, Broker], known: Mapping[int, Broker]) -> dict[int, Broker]:
        """Those that are there, after a look. `known`: before it."""
        doubted = frozenset(known.keys() - shown.keys())
        kept = {one: known[one] for one in doubted - self._doubted}
        self._doubted = doubted
        return {**kept, **shown}


def cluster_of(
    look: Look, intents: Intents, soft: SoftState, known: Cluster | None = None, former: Collection[str] = ()
) -> Generator[None, None, Cluster]:
    """`known`: as it was before. What one look leaves out of it stays, as unseen, until looks agree that it is gone.
    `former`: topics in whose place there are others of their names, so that what waits for them ends. Yields after each
    partition and each waiting move."""
    queue = Queue()
    for part in intents.queue.values():
        yield from queue.put(part)
    for name in former:
        queue.orphan(name)
    cluster = Cluster(
        brokers={**(known.brokers if known is not None else {}), **look.brokers},
        failed=dict(intents.failed),
        failed_log_dirs=dict(intents.log_dirs),
        topic_configs={
            one.name: dict(configs) for one, configs in look.configs.items() if configs and one.kind == TOPICS
        },
        broker_configs={
            one.name: dict(configs) for one, configs in look.configs.items() if configs and one.kind == BROKERS
        },
        settings=intents.set_now,
        settings_by={name: one.by for name, one in intents.settings.items() if one.by is not None},
        queue=queue,
        soft=soft,
    )
    for name in look.topics:
        seen = yield from topic_seen(look, name)
        records = records_of(intents, name, seen.id)
        partitions = {}
        for index, one in seen.partitions.items():
            partitions[index] = one.with_record(records.get(TopicPartition(name, index)))
            yield
        put_topic(cluster, name, seen.id, partitions, version=0, created=seen.number)
        yield
    unseen = {
        name
        for name, places in queue.topics.items()
        if name not in cluster.topics or not cluster.topics[name].partitions.keys() >= places.keys()
    }
    if known is not None:
        yield from _keep(known, cluster, look, unseen)
    yield from TopicsUnseen(frozenset(unseen)).apply(cluster)
    return cluster


def _keep(known: Cluster, cluster: Cluster, look: Look, unseen: set[str]) -> Iterator[None]:
    for topic in known.topics.values():
        now = cluster.topics.get(topic.name)
        shown = now.partitions if now is not None and now.created == topic.created else {}
        if not shown.keys() >= topic.partitions.keys():
            unseen.add(topic.name)
            partitions = topic.partitions | shown
            put_topic(cluster, topic.name, topic.id, partitions, version=0, created=topic.created)
        yield
    for kind, configs, before in (
        (TOPICS, cluster.topic_configs, known.topic_configs),
        (BROKERS, cluster.broker_configs, known.broker_configs),
    ):
        for name, values in before.items():
            if Entity(kind, name) not in look.configs:  # it was not asked, or has not answered
                configs[name] = values
            yield


def topic_seen(look: Look, name: str) -> Generator[None, None, TopicSeen]:
    """Yields after each partition."""
    topic, partitions = look.topics[name], {}
    for index, found in topic.partitions.items():
        partitions[index] = partition_seen(found, look.moves.get(TopicPartition(name, index)), look.brokers)
        yield
    return TopicSeen(topic.id, partitions)


def partition_seen(found: PartitionInfo, move: PartitionReassignment | None, brokers: Container[int]) -> PartitionSeen:
    if move is None:
        assignment = SeenPartition(found.replicas)
    else:
        assignment = SeenPartition(move.replicas, move.adding_replicas, move.removing_replicas)
    offline = tuple([one for one in found.offline if one in brokers]) if found.offline else ()
    return PartitionSeen(assignment, found.leader, found.isr, found.leader_epoch, offline)


def records_of(intents: Intents, topic: str, topic_id: UUID | None) -> Mapping[TopicPartition, MoveRecord]:
    """Those of all moves, or none where the topic is another one of the same name."""
    known = Known(topic, intents.ids.get(topic, ""))
    return {} if is_another(known, id_text(topic_id)) else intents.moves
