"""The cluster as the controller sees it: immutable values in a few dictionaries. Only `core.writers` changes it, so
List and Metadata show only durable state, even during a large commit. With it, what a controller knows and no store
holds (`Cluster.soft`).

A part of that is what it last knew of partitions that others have removed from ZooKeeper or changed there: a topic
whose znodes vanish is forgotten, as in Kafka (KafkaController.processTopicChange): brokers go on with its logs, since
the znodes may be restored. Restored states may be older than what brokers know, or missing: without the former values a
partition would get a leader that is not in sync, and epochs that brokers refuse.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import NamedTuple
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnknownServerError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.settings.broker_settings import AT_FIRST, BrokerSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.settings.settings_in_force import NOTHING_SET, SettingsInForce, WindowNow, derived
from kafka_reassign_rpc.core.state.broker import NOTHING_TOLD, Broker, FailedLogDirs, KRaftFacts
from kafka_reassign_rpc.core.state.partition import Partition, Topic, Twin
from kafka_reassign_rpc.core.state.queue_entries import BatchZnode, CancelAll, Queue
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.throttle_leases import Leases
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import Place

MOST_FORMER = 100_000
"""Partitions kept. Beyond that, the topics that vanished first are given up."""
MOST_APPEARED = 500
"""Restored partitions noted in one round: each costs many writes (`round.changed_by_others`)."""


class _FormerTopic(NamedTuple):
    id: UUID | None
    partitions: dict[int, Partition]

    def may_be(self, topic: Topic) -> bool:
        """One without an id counts as the same."""
        return topic.id in (None, self.id)


def readable_again(known: Topic, now: Topic) -> Collection[int]:
    """Partitions whose state could not be read before."""
    return (known.unreadable.keys() - now.unreadable.keys()) & now.partitions.keys()


class FormerPartitions:
    """A partition is kept until a durable round has decided about its new state."""

    def __init__(self) -> None:
        self._topics: dict[str, _FormerTopic] = {}
        self._count = 0
        self._unreported: dict[str, None] = {}
        self._appeared: dict[str, set[int]] = {}
        self._repaired: dict[str, set[int]] = {}
        self._room = MOST_APPEARED

    def keep(self, topic: Topic, partitions: Mapping[int, Partition], *, is_reported: bool = False) -> None:
        """A value or an id that is kept already stays, since nothing was decided. `is_reported`: the loss was
        reported."""
        kept = self._topics.get(topic.name)
        if kept is None or not kept.may_be(topic):
            self._give_up(topic.name)
            kept = self._topics[topic.name] = _FormerTopic(topic.id, {})
        before = len(kept.partitions)
        for index, value in islice(partitions.items(), MOST_FORMER):
            kept.partitions.setdefault(index, value)
        self._count += len(kept.partitions) - before
        if not is_reported:
            self._unreported[topic.name] = None
        while self._count > MOST_FORMER:
            self._give_up(next(iter(self._topics)))

    def of(self, topic: Topic) -> Mapping[int, Partition]:
        """The former partitions of this very topic."""
        kept = self._topics.get(topic.name)
        return kept.partitions if kept is not None and kept.may_be(topic) else {}

    def appeared(self, topic: Topic, partitions: Collection[int]) -> None:
        """Partitions that this term has not known come with restored states: brokers may know newer ones."""
        some = list(islice(partitions, self._room))
        if some:
            self._room -= len(some)
            self._appeared.setdefault(topic.name, set()).update(some)

    def read_again(self, known: Topic, now: Topic) -> None:
        """Of the same topic: keeps partitions whose state has become unreadable."""
        new = now.unreadable.keys() - known.unreadable.keys()
        if new:
            self.keep(
                known, {index: known.partitions[index] for index in new & known.partitions.keys()}, is_reported=True
            )
        for index in readable_again(known, now):
            self.repaired(now, index)

    def repaired(self, topic: Topic, index: int) -> None:
        """Its state was repaired, perhaps from a backup: whatever its version, only a higher leader epoch
        makes it newer than a value that is kept."""
        if index in self.of(topic):
            self._repaired.setdefault(topic.name, set()).add(index)
        elif topic.partitions[index].partition_epoch >= 0:
            self.appeared(topic, [index])

    def is_repaired(self, topic: Topic, index: int) -> bool:
        return index in self._repaired.get(topic.name, ())

    def is_put_back(self, topic: Topic, index: int) -> bool:
        return index in self._appeared.get(topic.name, ())

    def id_of(self, name: str) -> UUID | None:
        kept = self._topics.get(name)
        return None if kept is None else kept.id

    def has_other(self, topic: Topic) -> bool:
        """Whether another topic of the same name has vanished. No decision was made that its logs may go."""
        kept = self._topics.get(topic.name)
        return kept is not None and kept.id != topic.id

    def of_other(self, topic: Topic, index: int) -> Partition | None:
        """A partition of the topic that had the name before, with the epochs that brokers know."""
        kept = self._topics.get(topic.name)
        return None if kept is None or kept.id == topic.id else kept.partitions.get(index)

    def unreported(self, topics: Mapping[str, Topic]) -> Iterator[tuple[str, int]]:
        """Topics with losses not reported yet, and how many of their partitions are missing in `topics`, the present
        ones.
        """
        for name in self._unreported:
            now, kept = topics.get(name), self._topics[name]
            present = now.partitions if now is not None and kept.may_be(now) else {}
            gone = len(kept.partitions.keys() - present.keys())
            if gone:
                yield name, gone

    def decided(self, topics: Mapping[str, Topic]) -> None:
        """A durable round has decided about all of `topics`, the present ones, but for partitions with an unreadable
        state."""
        self._unreported.clear()
        self._appeared.clear()
        self._repaired.clear()
        self._room = MOST_APPEARED
        for name, kept in list(self._topics.items()):
            now = topics.get(name)
            if now is not None and now.id == kept.id:
                for index in (kept.partitions.keys() & now.partitions.keys()) - now.unreadable.keys():
                    del kept.partitions[index]
                    self._count -= 1
            lacks_id = now is not None and now.id is None and kept.id is not None
            if not kept.partitions and not lacks_id:
                del self._topics[name]

    def _give_up(self, name: str) -> None:
        kept = self._topics.pop(name, None)
        self._unreported.pop(name, None)
        if kept is not None:
            self._count -= len(kept.partitions)


class SoftState(msgspec.Struct):
    """A new controller begins without it; `core.writers.reload` decides what outlives a reload.

    shutting_down     brokers in controlled shutdown: registered, but no longer live
    unheard           registered brokers that have not answered for all their replicas yet: log dirs may have failed
    gone              brokers with lost replicas that no move takes away from them, as last counted: some may be back.
                      The brake of self-healing depends on them
    sizes             bytes of the leader's replica, for partitions that move or wait; as old as the last sample
    broker_settings   see `core.settings.broker_settings`
    started_with      the settings of this server itself
    in_force          which settings hold: `Cluster.derive_settings` renews it, whenever one of their sources is read
    former            partitions that others have taken out of the store or changed there
    cancelled         the id of the last `cancel_all` that the controller carried out, or None
    window            what windows meant when that was judged last, None if there were none
    reported          what events have reported about the queue: dead brokers that moves wait for, and `ENABLED`
    migrating         brokers that say they were restarted for the migration to KRaft
    kraft             what `watch` has heard of brokers in KRaft mode
    takes_nothing     why a cluster in KRaft mode takes no change of a move from this server; "": it does
    unseen            topics of a KRaft cluster that no broker shows for now: they are as they were known last, and
                      nothing is concluded of them

    Also soft, but kept with their values: `Partition.offline`, `Topic.id_since`, and what a batch waits for
    (`BatchZnode.waiting`, `.lacks_room`, `.stripped`).
    """

    shutting_down: set[int] = set()
    unheard: set[int] = set()
    gone: frozenset[int] = frozenset()
    sizes: dict[TopicPartition, int] = {}
    broker_settings: BrokerSettings = AT_FIRST
    started_with: ReassignmentSettings = DEFAULT_SETTINGS
    in_force: SettingsInForce = NOTHING_SET
    former: FormerPartitions = msgspec.field(default_factory=FormerPartitions)
    cancelled: int | None = None
    window: WindowNow | None = None
    reported: set[Place] = set()
    migrating: frozenset[int] = frozenset()
    kraft: KRaftFacts = NOTHING_TOLD
    takes_nothing: str = ""
    unseen: frozenset[str] = frozenset()


class Cluster(msgspec.Struct):
    """All that is stored, as of the last commit."""

    brokers: dict[int, Broker] = {}
    servers: frozenset[int] = frozenset()
    """Ids of our servers, this one among them (see `is_server`)."""
    topics: dict[str, Topic] = {}
    topic_names: dict[UUID, str] = {}
    moving: dict[str, set[int]] = {}
    """Partitions with a move in flight, by topic, so that List need not scan all partitions."""
    leases: Leases = msgspec.field(default_factory=Leases)
    unreadable: dict[str, str] = {}
    """Topics with an unreadable znode, with the reason: commands do not find them, but their names are taken."""
    twins: dict[str, Twin] = {}
    """Those of `unreadable` that are left alone only since another topic has their id (`duplicate_topic_ids`)."""
    stale_marks: frozenset[str] = frozenset()
    """Names in `/admin/delete_topics` whose topic does not exist or is newer than its mark.

    No topic of such a name is created until the controller has removed the mark.
    """
    waiting_marks: frozenset[str] = frozenset()
    """Topics with a mark in `/admin/delete_topics` that waits (`core.topics.topic_deletion`)."""
    unreadable_configs: frozenset[tuple[str, str]] = frozenset()
    """Kinds ("topics", "brokers") and names of dynamic configs whose znode is unreadable: they count as none."""
    topic_configs: dict[str, Mapping[str, str]] = {}
    broker_configs: dict[str, Mapping[str, str]] = {}
    """By broker id as text; `<default>` has the cluster-wide ones."""
    settings: Mapping[str, str] = {}
    """The content of `/admin/reassignment_settings`."""
    settings_by: Mapping[str, Requester] = {}
    """Who has set or deleted each of them, if known."""
    settings_changed: int = -1
    """The mzxid of that znode: what is newer has come since the settings are as they are."""
    settings_problem: str = ""
    """Why that znode is unreadable. It may forbid moves and repairs, so none starts."""
    failed: dict[int, int | None] = {}
    """Failed brokers (gone, and with replicas): when a controller first noticed it, ms since the epoch (KIP-46); None:
    not known, where no controller of ours does."""
    failed_log_dirs: dict[int, FailedLogDirs] = {}
    """Brokers that have lost log dirs, and with them replicas. While such a broker is away, nothing more is known."""
    records_with_children: frozenset[TopicPartition] = frozenset()
    """Partitions whose move record has children that others made, even without content: the controller empties it when
    the move ends, and the next move is written into it.
    """
    failures_with_children: frozenset[int] = frozenset()
    """Failed brokers whose znode has children that others made: ZooKeeper does not delete it, so the controller empties
    it.
    """
    log_dirs_with_children: frozenset[int] = frozenset()
    """The same for `failed_log_dirs`."""
    disabled_by_znode: bool = False
    """`/admin/reassign_cancel` exists (`core.restrictions`)."""
    batch: BatchZnode | None = None
    """`/admin/reassign_partitions` (`core.reassignment.reassign_partitions`)."""
    requests: frozenset[str] = frozenset()
    """Names of the undecided request znodes (`core.reassignment.reassign_partitions`)."""
    cancel_all: CancelAll | None = None
    """`/admin/cancel_reassignment_in_progress`, until the controller has carried it out."""
    queue: Queue = msgspec.field(default_factory=Queue)
    """The waiting moves (`core.queue.queue_admission`)."""
    config_versions: dict[tuple[str, str], tuple[int, int]] = {}
    """Czxid and zkVersion of the known dynamic configs, by kind ("topics", "brokers") and name."""
    since: int = -1
    """The number of the last write (zxid, offset) before all this was read."""
    soft: SoftState = msgspec.field(default_factory=SoftState)

    def __post_init__(self) -> None:
        self.derive_settings()

    def derive_settings(self) -> None:
        """A writer that changes what settings come from calls it at once (`core.settings.settings_in_force`)."""
        soft = self.soft
        soft.in_force = derived(
            (self.settings, self.default_configs),
            soft.started_with,
            problem=self.settings_problem,
            disabled_by_znode=self.disabled_by_znode,
            window=soft.window,
            migrating=bool(soft.migrating),
        )

    def set_by(self, setting: str) -> Requester | None:
        """Who set or last deleted the value that holds for all servers, None if unknown."""
        if self.settings_problem or (setting not in self.settings and setting in self.default_configs):
            return None
        return self.settings_by.get(setting)

    def get(self, topic: str, partition: int) -> Partition | None:
        """None if it does not exist, its topic is in deletion, or its state is unreadable; also if it has no state
        while a mark of its topic waits: a former controller may have deleted the state.
        """
        known = self.topics.get(topic)
        if known is None or known.deleting or partition in known.unreadable:
            return None
        found = known.partitions.get(partition)
        if found is not None and found.partition_epoch < 0 and topic in self.waiting_marks:
            return None
        return found

    def unreadable_states(self) -> list[TopicPartition]:
        return [TopicPartition(name, index) for name, one in self.topics.items() for index in one.unreadable]

    def why_unreadable(self, topic: str, partition: int) -> str | None:
        """Path and reason, if the state of this partition cannot be read."""
        known = self.topics.get(topic)
        return None if known is None or known.deleting else known.unreadable.get(partition)

    def not_found(self, topic: str, partition: int) -> KafkaError:
        """Why commands do not find it. Names path and reason where the state cannot be read, as the answer about an
        unreadable topic does.
        """
        why = self.why_unreadable(topic, partition)
        if why is None:
            return UnknownTopicOrPartition("The partition does not exist.")
        return UnknownServerError(f"{why}. Repair this znode: nothing is done about the partition until it can be read")

    def is_live(self, broker: int) -> bool:
        """Kafka's liveBrokerIds."""
        return broker in self.brokers and broker not in self.soft.shutting_down

    def is_server(self, broker: int) -> bool:
        """Whether one of our servers has this id, and no broker: then no broker will ever hold a replica under it."""
        return broker in self.servers and broker not in self.brokers

    def is_online(self, replica: int, partition: Partition) -> bool:
        """Kafka's isReplicaOnline."""
        return self.is_live(replica) and replica not in partition.offline

    def is_lost(self, replica: int, partition: Partition) -> bool:
        """No client can read or write it any more."""
        return replica not in self.brokers or replica in partition.offline

    @property
    def live_with_failed_log_dirs(self) -> dict[int, FailedLogDirs]:
        """While a broker is gone, its failed log dirs are a part of that."""
        return {broker: one for broker, one in self.failed_log_dirs.items() if broker in self.brokers}

    def all_partitions(self) -> Iterator[tuple[str, int, Partition]]:
        for topic in self.topics.values():
            for index, partition in topic.partitions.items():
                yield topic.name, index, partition

    @property
    def default_configs(self) -> Mapping[str, str]:
        return self.broker_configs.get(DEFAULT, {})

    def topic_config(self, topic: str, key: str, default: str) -> str:
        """The topic's own value, else the cluster's dynamic default, else `default`."""
        own = self.topic_configs.get(topic, {}).get(key)
        if own is not None:
            return own
        return self.default_configs.get(key, default)
