"""Facts: what others have written, or what brokers have reported, applied before the decisions of a round.
An older fact never replaces a newer one:

what has a version in the cluster (topics, states, configs, the batch, parts of the queue)   the higher one stays
all else that is read                 is left out if it was read before the cluster (`Cluster.since`)
what brokers report                   is about one registration of the broker, or the latest answer counts
"""

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, INT32, TOPICS
from kafka_reassign_rpc.core.queue.window_now import judge
from kafka_reassign_rpc.core.settings.broker_settings import BrokerSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID
from kafka_reassign_rpc.core.state.queue_entries import BatchZnode, CancelAll, QueuePart
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.bounded_text import whole_number


class ZnodeProblem(NamedTuple):
    """A problem of the batch or of a part of a queue, for operators.

    root     path of the batch or of the queue's root
    changed  mzxid of the znode, -1: others have put children under it
    """

    root: str
    path: str
    changed: int
    text: str


class QueueRootRead(NamedTuple):
    """`part` None: the znode does not exist. `children`: paths of its parts; `has_children`: other children too."""

    root: str
    part: QueuePart | None = None
    children: Sequence[str] = ()
    has_children: bool = False
    problems: Sequence[ZnodeProblem] = ()


class AdminZnodes(NamedTuple):
    """`problems`: those of the batch."""

    disabled_by_znode: bool
    cancel_all: CancelAll | None
    batch: BatchZnode | None
    problems: Sequence[ZnodeProblem] = ()


CREATED_HERE = (0, 0)
"""In place of czxid and version of a config that this controller has created: any that is read is higher."""

News_co = TypeVar("News_co", covariant=True)


class Fact(Protocol[News_co]):
    def apply(self, cluster: Cluster) -> Generator[None, None, News_co]:
        """Returns what decisions must know of it."""
        ...


class BrokersChanged(NamedTuple):
    """A bounced broker has registered with a new epoch; an updated one has other endpoints or another rack."""

    joined: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    bounced: tuple[int, ...] = ()
    updated: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.joined or self.gone or self.bounced or self.updated)


class BrokersRegistered(msgspec.Struct, frozen=True):
    """`read_at`, here and below: the last transaction that this server had seen after the read."""

    registered: Mapping[int, Broker]
    read_at: int = LAST_ZXID

    def apply(self, cluster: Cluster) -> Generator[None, None, BrokersChanged]:
        if self.read_at < cluster.since:
            return BrokersChanged()
        before = cluster.brokers
        after = {broker: self.registered[broker] for broker in sorted(self.registered)}
        both = [(before[id_], after[id_]) for id_ in after if id_ in before]
        changed = BrokersChanged(
            joined=tuple(id_ for id_ in after if id_ not in before),
            gone=tuple(id_ for id_ in sorted(before) if id_ not in after),
            bounced=tuple(new.id for old, new in both if new.epoch != old.epoch),
            updated=tuple(new.id for old, new in both if new.epoch == old.epoch and new != old),
        )
        cluster.brokers = after
        cluster.soft.shutting_down.difference_update(changed.gone, changed.bounced)
        cluster.soft.unheard.difference_update(changed.gone)
        cluster.soft.unheard.update(changed.joined, changed.bounced)
        yield
        return changed


class ServersRegistered(msgspec.Struct, frozen=True):
    ids: frozenset[int]
    read_at: int = LAST_ZXID

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        if self.read_at >= cluster.since:
            cluster.servers = self.ids
        yield


class ShutdownAsked(msgspec.Struct, frozen=True):
    """A broker asks for a controlled shutdown. `epoch` -1: it names none."""

    broker: int
    epoch: int

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        known = cluster.brokers.get(self.broker)
        if known is not None and (self.epoch < 0 or self.epoch >= known.epoch):
            cluster.soft.shutting_down.add(self.broker)
        yield


class ConfigsFound(msgspec.Struct, frozen=True):
    """Dynamic configs of topics or brokers (`kind`) by name. `versions`: czxid and zkVersion of the znodes;
    `unreadable`: names of those that cannot be decoded.
    """

    kind: str
    configs: Mapping[str, Mapping[str, str]]
    versions: Mapping[str, tuple[int, int]] = {}
    unreadable: Collection[str] = ()

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        known = cluster.topic_configs if self.kind == TOPICS else cluster.broker_configs
        versions = cluster.config_versions
        if self.unreadable or cluster.unreadable_configs:
            read = {(self.kind, name) for name in self.configs}
            bad = {(self.kind, name) for name in self.unreadable}
            cluster.unreadable_configs = (cluster.unreadable_configs - read) | bad
        changed = []
        for name, values in self.configs.items():
            version, standing = self.versions.get(name), versions.get((self.kind, name))
            if version is not None and standing is not None and version < standing:
                continue
            is_same = version is not None and standing in (version, CREATED_HERE)
            if not is_same or known.get(name, {}) != values:
                changed.append(name)
            _put_config(cluster, self.kind, name, values, version)
        if self.kind == TOPICS:
            cluster.leases.configs_changed(topics=changed)
        else:
            brokers = [whole_number(name, 0, INT32) for name in changed]
            cluster.leases.configs_changed(brokers=[broker for broker in brokers if broker is not None])
            if DEFAULT in changed:  # no lease relaxes a limit of the cluster, on any broker
                cluster.leases.configs_changed(brokers=cluster.leases.brokers)
        yield


class ConfigsWritten(msgspec.Struct, frozen=True):
    """This controller has written an entity's config for throttle leases, or has found nothing to write.

    version   the znode's czxid and zkVersion since, None: there is no znode
    """

    kind: str
    name: str
    values: Mapping[str, str]
    version: tuple[int, int] | None

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        standing = cluster.config_versions.get((self.kind, self.name))
        if standing is None or (self.version is not None and self.version >= standing):
            _put_config(cluster, self.kind, self.name, self.values, self.version)
        yield


def _put_config(
    cluster: Cluster, kind: str, name: str, values: Mapping[str, str], version: tuple[int, int] | None
) -> None:
    known = cluster.topic_configs if kind == TOPICS else cluster.broker_configs
    if values:
        known[name] = dict(values)
    else:
        known.pop(name, None)
    if version is None:
        cluster.config_versions.pop((kind, name), None)
    else:
        cluster.config_versions[kind, name] = version
    if (kind, name) == (BROKERS, DEFAULT):
        cluster.derive_settings()


class SettingsFound(msgspec.Struct, frozen=True):
    """What the settings znode holds, or why it cannot be read: then cordons and windows stay as last read, since they
    were not taken away; no move and no repair starts.
    """

    settings: Mapping[str, str]
    problem: str
    by: Mapping[str, Requester]
    changed: int = -1
    read_at: int = LAST_ZXID

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        if self.read_at >= cluster.since:
            kept = [name for name in (CORDONED_BROKERS, WINDOWS) if self.problem and name in cluster.settings]
            cluster.settings = {**{name: cluster.settings[name] for name in kept}, **self.settings}
            cluster.settings_problem = self.problem
            cluster.settings_by = dict(self.by)
            cluster.settings_changed = self.changed
            cluster.derive_settings()
        yield


class BrokersStartedWith(msgspec.Struct, frozen=True):
    settings: BrokerSettings
    migrating: frozenset[int] = frozenset()

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        cluster.soft.broker_settings = self.settings
        cluster.soft.migrating = self.migrating
        cluster.derive_settings()
        yield


class TimeTold(msgspec.Struct, frozen=True):
    """For windows."""

    now_ms: int

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        window = cluster.soft.window = judge(cluster, self.now_ms)
        cluster.derive_settings()
        cluster.leases.follow(NO_RATE if window is None or window.terms.rate is None else window.terms.rate)
        yield


class SizesReported(msgspec.Struct, frozen=True):
    """None: no longer of interest."""

    sizes: Mapping[TopicPartition, int | None]

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        known = cluster.soft.sizes
        for name, size in self.sizes.items():
            if size is None or cluster.get(*name) is None:
                known.pop(name, None)
            else:
                known[name] = size
                batch = cluster.batch
                if cluster.queue.place(*name) is not None or (batch is not None and name in batch.entries):
                    cluster.queue.waiting.more = True  # its move may have waited for this size
            yield


class RequestsFound(msgspec.Struct, frozen=True):
    names: frozenset[str]
    read_at: int = LAST_ZXID

    def apply(self, cluster: Cluster) -> Generator[None, None, None]:
        if self.read_at >= cluster.since:
            cluster.requests = self.names
        yield


class AdminZnodesFound(msgspec.Struct, frozen=True):
    """Unless `batch_read`, the known batch stays."""

    read: AdminZnodes
    batch_read: bool
    read_at: int = LAST_ZXID

    def apply(self, cluster: Cluster) -> Generator[None, None, bool]:
        """Returns whether the batch has changed."""
        if self.read_at < cluster.since:
            return False
        cluster.disabled_by_znode = self.read.disabled_by_znode
        cluster.derive_settings()
        cancel = self.read.cancel_all
        cluster.cancel_all = None if cancel is None or cancel.id == cluster.soft.cancelled else cancel
        yield
        return self.batch_read and _put_batch(cluster, self.read.batch)


def _put_batch(cluster: Cluster, read: BatchZnode | None) -> bool:
    known = cluster.batch
    if known is None and read is None:
        return False
    if known is not None and read is not None:
        if read.changed <= known.changed:
            cluster.batch = replace(known, has_children=read.has_children)
            return False
        read = replace(read, stripped=frozenset(_stripped(cluster, known, read)))
    cluster.batch = read
    return True


def _stripped(cluster: Cluster, known: BatchZnode, read: BatchZnode) -> Iterator[TopicPartition]:
    """Entries of moves in flight whose original replicas others have removed."""
    for name, entry in read.entries.items():
        before = known.entries.get(name)
        if before is None or entry.original is not None or before.target != entry.target:
            continue
        partition = cluster.get(*name)
        if partition is not None and partition.is_moving and (before.original is not None or name in known.stripped):
            yield name


class QueueRootFound(msgspec.Struct, frozen=True):
    """If there was none (`part` None), the known one stays: this controller may have created it since."""

    root: str
    part: QueuePart | None
    has_children: bool = False

    def apply(self, cluster: Cluster) -> Generator[None, None, bool]:
        """Returns whether it is newer than the known one."""
        queue, part = cluster.queue, self.part
        known = queue.parts.get(self.root)
        if part is None or (known is not None and part.changed <= known.changed):
            return False
        if known is not None and part.created > known.created:
            for former in queue.of(self.root):
                yield from queue.remove(former.path)
        yield from queue.put(part)
        queue.waiting.more = True
        if self.has_children:
            queue.roots_with_children.add(self.root)
        else:
            queue.roots_with_children.discard(self.root)
        return True


def all_of(facts: Iterable[Fact[object]], cluster: Cluster) -> Iterator[None]:
    for fact in facts:
        yield from fact.apply(cluster)
