"""Whether brokers may go: what partitions lose with them, and whether the others have room for what they hold.

A replica counts as in sync while it is in the ISR and its broker is live. What leaves is judged more carefully: if
every member of an ISR goes or is already gone, it was the last one. An unreadable state counts as unknown.
"""

from bisect import insort
from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Mapping, Sized
from typing import NamedTuple, Protocol, TypeVar

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.reassignment_algebra import MIN_INSYNC_REPLICAS, min_insync_replicas
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted, first_of

K = TypeVar("K", bound=Hashable)

WHOLE_TOPIC = -1
"""In place of a partition: nothing of the topic can be read."""
MOST_NAMED = 100
"""How many partitions one list names."""
MOST_ALIKE = 20_000
"""How many partitions with different losses are kept at a time."""
MOST_SILENT = 20
"""How many brokers with unknown disks a text names."""


class BrokerFacts(NamedTuple):
    """live    registered, and not shutting down
    takes   may get new replicas: it is live and not cordoned
    held    bytes of its replicas; `free`: those left on its volumes. None until it has reported
    """

    live: bool
    rack: str | None = None
    takes: bool = True
    held: int | None = None
    free: int | None = None


class DiskFacts(Protocol):
    """Bytes of a broker's log dirs; None: unknown."""

    @property
    def replicas(self) -> int | None: ...

    @property
    def capacity(self) -> int | None: ...

    @property
    def free(self) -> int | None: ...

    @property
    def failed(self) -> Sized: ...


Brokers = Mapping[int, BrokerFacts]
"""The registered brokers. All others are gone."""


class PartitionFacts(NamedTuple):
    """replicas   as Kafka lists them: during a move, both sides
    sources    without those that a move adds
    isr        empty if the state is unknown
    offline    replicas on failed log dirs
    """

    name: TopicPartition
    replicas: tuple[int, ...]
    sources: tuple[int, ...]
    target: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int
    offline: tuple[int, ...] = ()


class Named:
    """A count of partitions, and the first by name."""

    __slots__ = ("count", "first")

    def __init__(self) -> None:
        self.count = 0
        self.first: list[TopicPartition] = []

    def add(self, name: TopicPartition, most: int) -> None:
        self.count += 1
        self._keep(name, most)

    def merge(self, other: "Named", most: int) -> None:
        self.count += other.count
        for name in other.first:
            self._keep(name, most)

    def _keep(self, name: TopicPartition, most: int) -> None:
        if len(self.first) < most:
            insort(self.first, name)
        elif self.first and name < self.first[-1]:
            insort(self.first, name)
            self.first.pop()

    @property
    def names(self) -> list[str]:
        return [topic if index == WHOLE_TOPIC else f"{topic}-{index}" for topic, index in self.first]

    def text(self, most: int) -> str:
        return first_of(self.names, most, of=self.count)


class Loss(NamedTuple):
    """What one partition loses. `holders`: leaving brokers with a replica; `kinds`: some of KINDS."""

    holders: Collection[int]
    kinds: tuple[str, ...]


class Losses:
    """What partitions lose. A partition may be on several lists.

    replicas          replicas that are assigned to the brokers, or in sync there
    holders           the brokers on which they are
    last_in_sync      no in-sync replica is left: the partition goes offline
    below_min_isr     an in-sync replica goes, and fewer than min.insync.replicas stay
    under_replicated  it has all replicas in sync now, and then no longer
    lost_rack         its in-sync replicas will be in fewer racks
    no_place          it has more replicas than brokers that may then get them
    unknown           its state cannot be read
    """

    __slots__ = (
        "below_min_isr",
        "holders",
        "last_in_sync",
        "lost_rack",
        "no_place",
        "replicas",
        "under_replicated",
        "unknown",
    )

    def __init__(self) -> None:
        self.replicas = 0
        self.holders: set[int] = set()
        self.last_in_sync, self.below_min_isr, self.under_replicated = Named(), Named(), Named()
        self.lost_rack, self.no_place, self.unknown = Named(), Named(), Named()

    def add(self, name: TopicPartition, loss: Loss, most: int) -> None:
        self.replicas += len(loss.holders)
        self.holders.update(loss.holders)
        for kind in loss.kinds:
            getattr(self, kind).add(name, most)

    def merge(self, other: "Losses", most: int) -> None:
        self.replicas += other.replicas
        self.holders |= other.holders
        for kind in KINDS:
            getattr(self, kind).merge(getattr(other, kind), most)


KINDS = tuple(name for name in Losses.__slots__ if name not in ("replicas", "holders"))


def loss_of(one: PartitionFacts, away: Collection[int], brokers: Brokers) -> Loss:
    affected = {*one.replicas, *one.isr}.intersection(away)
    if not affected:
        return Loss((), ())
    if not one.isr:
        return Loss(affected, ("unknown",))
    kinds = []
    online = [broker for broker in one.isr if _is_online(broker, one, brokers)]
    rest = [broker for broker in online if broker not in away]
    staying = sum(broker not in away for broker in one.isr)
    if staying < len(one.isr):
        if not rest:
            kinds.append("last_in_sync")
        if len(rest) < min(one.min_isr, len(one.replicas)):  # Kafka's Partition.effectiveMinIsr
            kinds.append("below_min_isr")
        if staying < len(one.sources) <= len(one.isr):
            kinds.append("under_replicated")
        if _racks(rest, brokers) < _racks(online, brokers):
            kinds.append("lost_rack")
    if affected.intersection(one.target) and not _has_place(one, away, brokers):
        kinds.append("no_place")
    return Loss(affected, tuple(kinds))


def _has_place(one: PartitionFacts, away: Collection[int], brokers: Brokers) -> bool:
    """Live holders may keep their replicas, others must take the rest."""
    places, wanted = 0, len(set(one.target))
    for id_, broker in brokers.items():
        places += id_ not in away and (broker.takes or (broker.live and id_ in one.target))
        if places >= wanted:
            return True
    return False


def _is_online(broker: int, one: PartitionFacts, brokers: Brokers) -> bool:
    known = brokers.get(broker)
    return known is not None and known.live and broker not in one.offline


def _racks(replicas: Iterable[int], brokers: Brokers) -> int:
    """A broker without a rack is in none."""
    return len({rack for broker in replicas if (rack := brokers[broker].rack) is not None})


def count_losses(
    partitions: Iterable[PartitionFacts | None], asked: Mapping[K, Collection[int]], brokers: Brokers, most: int
) -> Generator[None, None, dict[K, Losses]]:
    """What is lost for each set of brokers. None among the partitions lets the caller pause."""
    found = {key: Losses() for key in asked}
    by_broker: dict[int, list[K]] = {}
    for key, away in asked.items():
        for broker in away:
            by_broker.setdefault(broker, []).append(key)
    alike: dict[tuple[object, ...], list[tuple[K, Loss]]] = {}
    """Most partitions have their replicas on the same brokers as others, and lose the same."""
    for one in partitions:
        if one is not None:
            if one.name.partition == WHOLE_TOPIC:
                for losses in found.values():
                    losses.unknown.add(one.name, most)
                    yield
                continue
            lost = alike.get(one[1:])
            if lost is None:
                if len(alike) >= MOST_ALIKE:
                    alike.clear()
                keys = dict.fromkeys(key for broker in {*one.replicas, *one.isr} for key in by_broker.get(broker, ()))
                lost = alike[one[1:]] = [(key, loss_of(one, asked[key], brokers)) for key in keys]
            for key, loss in lost:
                found[key].add(one.name, loss, most)
        yield
    return found


def partitions_of(cluster: Cluster, default_min_isr: int | None = None) -> Iterator[PartitionFacts | None]:
    """The partitions of a cluster that may change meanwhile; None lets the caller pause.

    default_min_isr   min.insync.replicas with which brokers were started; None: what the cluster has learnt
    """
    for unreadable in list(cluster.unreadable):
        yield PartitionFacts(TopicPartition(unreadable, WHOLE_TOPIC), (), (), (), (), 0)
    for topic in list(cluster.topics.values()):
        yield None
        if topic.deleting:
            continue
        least = min_insync_replicas(cluster, topic.name)
        if default_min_isr is not None and cluster.topic_config(topic.name, MIN_INSYNC_REPLICAS, "") == "":
            least = default_min_isr
        for index, one in list(topic.partitions.items()):
            isr = () if index in topic.unreadable else one.isr
            name = TopicPartition(topic.name, index)
            yield PartitionFacts(name, one.replicas, one.sources, one.target, isr, least, one.offline)


def brokers_of(cluster: Cluster, disks: Mapping[int, DiskFacts]) -> dict[int, BrokerFacts]:
    """`disks`: of brokers that have reported."""
    closed = cordoned(cluster)
    return {
        one.id: BrokerFacts(
            cluster.is_live(one.id),
            one.rack,
            cluster.is_live(one.id) and one.id not in closed,
            *_bytes(disks.get(one.id)),
        )
        for one in cluster.brokers.values()
    }


def _bytes(disk: DiskFacts | None) -> tuple[int | None, int | None]:
    """What a broker holds, and what is free.

    A failed log dir does not report what it holds, and a broker that reports neither volumes nor replicas may have
    refused.
    """
    if disk is None:
        return None, None
    unreported = disk.failed or (disk.capacity is None and not disk.replicas)
    return None if unreported else disk.replicas, disk.free


class Room(NamedTuple):
    """Whether the others can hold in sum what the brokers hold. A plan says where each replica fits.

    needed   bytes that the brokers hold; None unless all have reported
    free     bytes on brokers that may get replicas; None unless all have reported
    enough   None if unknown
    silent   the first brokers whose disks are unknown
    """

    needed: int | None
    free: int | None
    enough: bool | None
    silent: list[int]


class Disks:
    """Sums over all brokers, which serve many questions."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        takers = {id_: one for id_, one in brokers.items() if one.takes}
        self._free = sum(one.free or 0 for one in takers.values())
        self._silent = sorted(id_ for id_, one in takers.items() if one.free is None)

    def room(self, away: Collection[int], replicas: int) -> Room:
        """`replicas`: how many are on the brokers that go."""
        gone = BrokerFacts(live=False, takes=False)
        leaving = {broker: self._brokers.get(broker, gone) for broker in away}
        free = self._free - sum(one.free or 0 for one in leaving.values() if one.takes)
        silent = [broker for broker in self._silent[: MOST_SILENT + len(leaving)] if broker not in leaving]
        if not replicas:
            return Room(0, None if silent else free, enough=True, silent=[])
        needed = sum(one.held or 0 for one in leaving.values())
        unreported = sorted(broker for broker, one in leaving.items() if one.held is None)
        enough = None
        if not unreported and needed <= free:
            enough = True
        elif not silent and needed > free:
            enough = False
        return Room(
            None if unreported else needed,
            None if silent else free,
            enough,
            sorted([*unreported, *silent])[:MOST_SILENT],
        )


class Departure(NamedTuple):
    brokers: Collection[int]
    losses: Losses
    room: Room

    def strangers(self, registered: Collection[int]) -> list[int]:
        """Unknown ids: not registered, and without a replica."""
        return sorted(one for one in self.brokers if one not in registered and one not in self.losses.holders)

    def may_go(self, registered: Collection[int]) -> bool | None:
        """Whether the brokers may go; None: unknown."""
        losses = self.losses
        if losses.last_in_sync.count or losses.below_min_isr.count or self.room.enough is False:
            return False
        return None if losses.unknown.count or self.strangers(registered) else True

    def why_not(self, registered: Collection[int]) -> list[str]:
        losses = self.losses
        last, below, unknown = losses.last_in_sync.count, losses.below_min_isr.count, losses.unknown.count
        found = []
        if last:
            whose = "its" if last == 1 else "their"
            found.append(f"{counted(last, 'partition', 'lose')} {whose} last in-sync replica")
        if below:
            found.append(f"{counted(below, 'partition', 'fall')} under {MIN_INSYNC_REPLICAS}")
        if self.room.enough is False:
            found.append("the other brokers have no room for what they hold")
        if unknown:
            found.append(f"the state of {counted(unknown, 'partition')} cannot be read")
        if strangers := self.strangers(registered):
            found.append(f"no broker {first_of(strangers, MOST_SILENT)} is registered or holds a replica")
        return found

    def meanwhile(self) -> list[str]:
        """What an operator must know even if they may go."""
        losses = self.losses
        found = []
        for lost, verb, what in (
            (losses.under_replicated, "become", "under-replicated"),
            (losses.lost_rack, "lose", "a rack"),
            (losses.no_place, "have", "more replicas than brokers are left"),
        ):
            if lost.count:
                found.append(f"{counted(lost.count, 'partition', verb)} {what}")
        if self.room.enough is None:
            found.append("whether the others have room is not known")
        return found
