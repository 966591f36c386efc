"""The cluster from look to look: what was read of all topics stays, moving topics are put in as they are now, and lost
brokers have the time at which they were first missed.

What cannot be seen, and why: what brokers answer about sizes, and what is lacking, in words: once in the log, and on
the page for as long as it holds.

Which brokers to ask again soon for throttles: those of moves that have begun or ended, and those that are throttled
while nothing moves. A throttle is needless only by a reading that is younger than the last move.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.polling_pace import Ask
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.client.stock_cluster import (
    Listed,
    Records,
    ToldConfigs,
    brokers_of,
    cluster_of,
    put_described,
    put_listed,
)
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.broker import LostQuorum
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic, names_in
from kafka_reassign_rpc.core.status.problems import throttled
from kafka_reassign_rpc.core.writers.topic_writes import remove_topic
from kafka_reassign_rpc.support.counted import first_of, plural, those
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.slices import forget_others
from kafka_reassign_rpc.watch.move_book import Standing


def in_flight(listed: Listed) -> Listed:
    """What waiting moves wait for, and who has asked for them, only the controller knows."""
    return {name: move for name, move in listed.items() if not move.is_waiting}


def told_of(topics: Iterable[TopicInfo]) -> dict[TopicPartition, Standing | None]:
    return {
        TopicPartition(topic.name, index): Standing(found.replicas, topic.topic_id)
        for topic in topics
        if topic.error is None
        for index, found in topic.partitions.items()
    }


def missing(topics: Sequence[TopicInfo], names: Iterable[TopicPartition]) -> dict[TopicPartition, None]:
    """A broker says that these do not exist. A topic without an answer is not among them."""
    found = {topic.name: topic for topic in topics}
    return {
        name: None
        for name in names
        if (topic := found.get(name.topic)) is not None
        and (
            isinstance(topic.error, UnknownTopicOrPartition)
            or (topic.error is None and name.partition not in topic.partitions)
        )
    }


def refused(topics: Sequence[TopicInfo], before: Iterable[str]) -> frozenset[str]:
    """Topics that this principal may not describe, and others that no broker names. An answer about all topics leaves
    them out without a word: those of `before` that it does not have are refused still.
    """
    named = {topic.name for topic in topics}
    return frozenset(one for one in before if one not in named) | {
        topic.name
        for topic in topics
        if topic.error is not None and not isinstance(topic.error, UnknownTopicOrPartition)
    }


def made_new(
    former: Cluster | None,
    nodes: Iterable[ClusterNode],
    topics: Iterable[TopicInfo],
    listed: Listed,
    records: Records,
    at: int,
) -> Cluster:
    """After a look at all topics."""
    cluster = cluster_of(nodes, topics, listed, records)
    if former is not None:
        cluster.soft = former.soft
        cluster.topic_configs, cluster.broker_configs = former.topic_configs, former.broker_configs
        cluster.derive_settings()
    _date_losses(cluster, former, at)
    return cluster


def brought_up_to_date(
    cluster: Cluster,
    nodes: Iterable[ClusterNode],
    topics: Iterable[TopicInfo],
    listed: Listed,
    records: Records,
    at: int,
) -> Iterator[None]:
    """After a look at these topics alone. Others see the cluster between the steps."""
    cluster.brokers = brokers_of(nodes)
    cluster.failed = {one: since for one, since in cluster.failed.items() if one not in cluster.brokers}
    before = dict(cluster.failed)
    untold = set()
    for topic in topics:
        yield
        if topic.error is None:
            put_described(cluster, topic, listed, records)
        elif isinstance(topic.error, UnknownTopicOrPartition):
            remove_topic(cluster, topic.name)
        else:
            untold.add(topic.name)
    yield from put_listed(cluster, listed, records, untold)
    for name in cluster.moving:
        yield
        for partition in cluster.topics[name].partitions.values():
            for broker in partition.replicas:
                if broker not in cluster.brokers:
                    cluster.failed.setdefault(broker, at)
    cluster.failed.update({one: at for one, since in cluster.failed.items() if one not in before and since is None})


def _date_losses(cluster: Cluster, former: Cluster | None, at: int) -> None:
    """At the first look it is unknown since when a broker is lost."""
    if former is not None:
        cluster.failed = {one: former.failed.get(one, at) for one in cluster.failed}


def at_rest(cluster: Cluster | None, listed: Listed) -> dict[TopicPartition, Sequence[int]]:
    """Replicas in the order that was seen before they moved."""
    if cluster is None:
        return {}
    seen = {name: cluster.get(*name) for name in listed}
    return {name: one.replicas for name, one in seen.items() if one is not None and not one.is_moving}


def with_replicas(topics: Iterable[TopicInfo]) -> set[int]:
    return {one for topic in topics for partition in topic.partitions.values() for one in partition.replicas}


def dated(
    found: LostQuorum,
    before: LostQuorum | None,
    lost: Mapping[int, int | None] | None,
    voters: Sequence[int],
    heard_at: int,
    at: int,
) -> LostQuorum:
    """Who is found dead at first died about when the controller was heard last, a later one about now.

    before    as it was known at the look before; None: an active controller was known then
    lost      brokers that the controller had found dead; None: this process has never seen one that was active
    heard_at  when it was heard last, and `at`, now: ms since 1970
    """
    died = at if before is not None else None if lost is None else heard_at
    known = {**(lost or {}), **({} if before is None else before.dead)}
    dead = {one: known.get(one, died) for one in {*found.dead, *(lost or {})}.difference(found.answering)}
    return LostQuorum(found.answering, dead, None if lost is None else heard_at, voters)


log = logging.getLogger(__name__)

NAMED = 5


class Heard(Enum):
    ALL = "all"
    WRONG = "wrong"
    SILENT = "silent"
    REFUSED = "refused"


def heard(answer: BrokerLogDirs | KafkaError | None) -> Heard:
    if isinstance(answer, ClusterAuthorizationFailed):
        return Heard.REFUSED
    if answer is None or isinstance(answer, KafkaError):
        return Heard.SILENT
    return Heard.WRONG if any(one.size < 0 for one in answer.replicas) else Heard.ALL


def lacking(found: Mapping[int, Heard], heard_at: Mapping[int, int]) -> str:
    """What is not known of sizes, and why; "": nothing. `heard_at`: when each broker has answered
    last, ms since 1970.
    """
    of = {kind: sorted(broker for broker, one in found.items() if one is kind) for kind in Heard}
    if of[Heard.REFUSED]:
        return "Bytes, rates and remaining times are not seen: they need the operation DESCRIBE on the cluster"
    if silent := of[Heard.SILENT]:
        named = [f"{one} ({_last(heard_at.get(one))})" for one in silent]
        return f"Broker{plural(len(silent))} {first_of(named, NAMED)}: sizes are not known, there is no answer"
    if wrong := of[Heard.WRONG]:
        return f"{those(wrong, 'Broker', most=NAMED)}: sizes below 0 were reported, and count as unknown"
    return ""


def _last(at: int | None) -> str:
    return "has never answered" if at is None else f"last answer {utc_time(at)} UTC"


def to_ask(cluster: Cluster) -> dict[int, dict[str, list[int]]]:
    asked: dict[int, list[TopicPartition]] = {}
    for name in names_in(cluster.moving):
        for broker in cluster.topics[name.topic].partitions[name.partition].replicas:
            if broker in cluster.brokers:
                asked.setdefault(broker, []).append(name)
    return {broker: by_topic(some) for broker, some in asked.items()}


class Unseen:
    """`texts`: by the question that has no answer."""

    def __init__(self) -> None:
        self._texts: dict[Ask, str] = {}

    @property
    def texts(self) -> Mapping[Ask, str]:
        return self._texts

    def put(self, what: Ask, text: str) -> None:
        """An empty text: it can be seen again."""
        if not text:
            if self._texts.pop(what, None) is not None:
                log.info("%s can be seen again: status and metrics show them", what.value)
            return
        if self._texts.get(what) != text:
            log.warning("%s", text)
        self._texts[what] = text


LEASE_MS = 2_000
"""For this time after the last move its throttle may still be about to be removed."""


class ThrottleReadings:
    """`told`: brokers whose throttles are known; `at`: when each was asked for them last, ms since 1970."""

    def __init__(self) -> None:
        self.told: frozenset[int] = frozenset()
        self.at: dict[int, int] = {}
        self._changed: set[int] = set()
        self._begun: dict[int, int] = {}
        """Brokers of moves that have begun since, and when: they may have been throttled just before."""
        self._at_rest_since = 0

    def moved(self, events: Iterable[Event], at: int, *, is_last: bool) -> None:
        """`is_last`: nothing moves any more."""
        for one in events:
            brokers = {*(one.target or ()), *(one.original or ())}
            self._changed |= brokers
            if one.event in (catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED):
                self._begun.update(dict.fromkeys(brokers, at))
        if is_last:
            self._at_rest_since = at

    def returned(self, brokers: Iterable[int]) -> None:
        """What was known of these was dropped when they were lost."""
        self._changed.update(brokers)

    def asked(self, brokers: Iterable[int]) -> None:
        """Their answers may take a while."""
        self._changed.difference_update(brokers)

    def put(self, cluster: Cluster, found: ToldConfigs, asked: Collection[int], at: int) -> None:
        """These brokers were asked at `at`; earlier answers of others still hold."""
        others = {one for one in cluster.brokers if one not in asked}
        names = {str(one) for one in others}
        kept = {name: one for name, one in cluster.broker_configs.items() if name in names}
        cluster.broker_configs, cluster.topic_configs = {**kept, **found.brokers}, found.topics
        cluster.derive_settings()
        self.told = found.known | (self.told & others)
        self.at.update(dict.fromkeys(found.known, at))
        forget_others(self.at, cluster.brokers)
        self.asked(asked)
        self._begun = {
            one: since for one, since in self._begun.items() if one in cluster.brokers and (one in others or since > at)
        }

    def known(self, cluster: Cluster) -> set[int]:
        """Brokers whose throttles are known. A reading from before a move, without a throttle, does not count."""
        return set(self.told - (self._begun.keys() - throttled(cluster)))

    def outdated(self, cluster: Cluster) -> set[int]:
        """Throttled brokers that were not read after the last move had ended."""
        since = self._at_rest_since + LEASE_MS if self._at_rest_since else 0
        return {one for one in throttled(cluster) if self.at.get(one, 0) < since and not cluster.moving}

    def is_urgent(self, cluster: Cluster) -> bool:
        """What is known may not hold any more."""
        return bool(self._changed & cluster.brokers.keys() or self.outdated(cluster))

    def to_ask(self, cluster: Cluster, moving: Collection[int]) -> set[int]:
        """`moving`: brokers with moves."""
        return (self._changed | throttled(cluster) | set(moving)) & cluster.brokers.keys()
