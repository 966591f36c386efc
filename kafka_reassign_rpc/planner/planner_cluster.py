"""The cluster that a caller hands to the planner."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

UNKNOWN = -1
"""A size, capacity or rate that was not measured."""


class Volume(NamedTuple):
    size: int
    free: int


class PlannerBroker(msgspec.Struct, frozen=True):
    """A broker that is live or holds replicas.

    capacity, free      bytes over all its volumes; `free` is known only where the capacity is
    arriving            bytes that moves, in flight and waiting, will bring beyond what `free` shows; if only the
                        capacity is known, beyond what its replicas show
    arriving_unknown    replicas of unknown size
    cordoned            it keeps its replicas and gets no new one (KIP-1066)
    failed_log_dirs     it is cordoned since log dirs of it have failed, whatever operators have cordoned
    """

    id: int
    rack: str | None = None
    live: bool = True
    capacity: int = UNKNOWN
    free: int = UNKNOWN
    arriving: int = 0
    arriving_unknown: int = 0
    volumes: tuple[Volume, ...] = ()
    cordoned: bool = False
    failed_log_dirs: bool = False


class PlannerPartition(msgspec.Struct, array_like=True, gc=False):
    """What the cluster shows, and what the planner has decided.

    replicas         the target once a round has accepted a proposal
    moving           its reassignment is in flight: the planner leaves it alone
    bytes            of one replica, or UNKNOWN; produce, fetch: bytes/s; messages: produced/s; cpu: µs/s of its leader
    original         () until a round accepts a proposal
    priority         0 starts first
    first_leader     leads before the copy; -1 if the leader stays
    reason, rule     why it moves, for people; the hard rule or soft goal. "": for balance, the end of the plan says why
    destination      of its reassignment, in any order; () if unknown
    fault            why it stays: the cluster shows something of it that no change could begin with
    """

    index: int
    replicas: tuple[int, ...]
    leader: int = -1
    isr: tuple[int, ...] = ()
    moving: bool = False
    bytes: int = UNKNOWN
    produce: int = 0
    fetch: int = 0
    min_isr: int = 1
    original: tuple[int, ...] = ()
    priority: int = 0
    reason: str = ""
    rule: str = ""
    destination: tuple[int, ...] = ()
    first_leader: int = -1
    fault: str = ""
    messages: int = 0
    cpu: int = 0

    @property
    def client_sends(self) -> int:
        """Bytes/s that the leader always sends, to consumers and followers."""
        return self.fetch + self.produce * (len(self.replicas) - 1)


class PlannerTopic(msgspec.Struct, array_like=True):
    """In numerical order."""

    name: str
    partitions: list[PlannerPartition]


class PlannerCluster(msgspec.Struct):
    """The planner reads `topics` once, in slices, and never changes its partitions."""

    brokers: list[PlannerBroker]
    topics: Iterable[PlannerTopic]


Place = tuple[int, int]
"""Of a topic in its chunk, and of a partition in its topic."""


def found_in(
    chunk: Iterable[PlannerTopic], look: Callable[[Place, str, PlannerPartition], T | None]
) -> Iterator[T | None]:
    """What `look` finds, given the topic and each partition of it. Yields None now and then, so that an event loop can
    run others.
    """
    for at, topic in enumerate(chunk):
        yield None
        for place, partition in enumerate(topic.partitions):
            found = look((at, place), topic.name, partition)
            if found is not None:
                yield found
            elif not place % 256:
                yield None
