"""What the planner is told and what it says: plain values, the same inside a controller and inside a Spark task."""

from enum import StrEnum
from operator import add, sub
from typing import NamedTuple

import msgspec

UNKNOWN = -1
"""A size, a capacity or a rate that nobody has measured."""


class PlanError(Exception):
    """The goal cannot be planned for this cluster at all; the message says what to change."""


class Kind(StrEnum):
    """What a plan is for."""

    HEAL = "heal"
    DRAIN = "drain"
    EXPAND = "expand"
    REBALANCE = "rebalance"
    SET_FACTOR = "set-rf"


class Goal(msgspec.Struct, frozen=True):
    """What is wanted.

    brokers    HEAL: the lost ones (none given: all that are not live); DRAIN: those to empty; EXPAND: the new ones
    factor     SET_FACTOR: the replication factor wanted
    topics     only these topics (none given: all)
    """

    kind: Kind
    brokers: tuple[int, ...] = ()
    factor: int = 0
    topics: tuple[str, ...] = ()


class Weights(msgspec.Struct, frozen=True):
    """How much each soft goal counts; 0 leaves it out.

    topic    replicas of one topic on one broker; it steers where things go and starts no move of its own
    """

    bytes: float = 1.0
    replicas: float = 0.5
    leaders: float = 0.5
    produce: float = 0.25
    fetch: float = 0.25
    topic: float = 0.1


class Options(msgspec.Struct, frozen=True):
    """How it is to be done.

    seed         another seed gives another plan that is as good; the same one gives the same plan
    tolerance    a broker within this share of its target is left alone (0.1: between 90 and 110 %)
    headroom     share of a broker's capacity that the plan never fills
    max_bytes    EXPAND and REBALANCE move no more than this (-1: no limit)
    rounds       after so many rounds a rebalance is as good as it gets
    """

    seed: int = 0
    tolerance: float = 0.1
    headroom: float = 0.05
    max_bytes: int = -1
    rounds: int = 40
    weights: Weights = Weights()


class PlannerBroker(msgspec.Struct, frozen=True):
    """A broker that is live or that holds replicas. capacity, free: bytes over all its log dirs."""

    id: int
    rack: str | None = None
    live: bool = True
    capacity: int = UNKNOWN
    free: int = UNKNOWN


class PlannerPartition(msgspec.Struct, array_like=True, gc=False):
    """One partition, and what has been decided about it so far.

    replicas         where it shall lie: what stands, until a round has accepted a proposal; first the preferred leader
    moving           a reassignment of it is in flight: it is left alone
    bytes            of one replica, UNKNOWN if not known; produce, fetch: bytes per second
    origin           where it lay at first; () as long as nothing has been accepted
    priority         0 goes first
    reason, rule     why it moves, for people; which hard rule forced it or which soft goal allowed it
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
    origin: tuple[int, ...] = ()
    priority: int = 0
    reason: str = ""
    rule: str = ""


class PlannerTopic(msgspec.Struct, array_like=True):
    """A topic's partitions in the order of their numbers. A topic is never divided between two chunks."""

    name: str
    partitions: list[PlannerPartition]


class Load(NamedTuple):
    """What lies on a broker, or what a replica brings to it. Whole numbers: sums do not depend on their order.

    bytes, produce    of every replica; leaders, fetch: only where the replica is the preferred leader
    """

    bytes: int = 0
    replicas: int = 0
    leaders: int = 0
    produce: int = 0
    fetch: int = 0

    def plus(self, other: "Load") -> "Load":
        return Load._make(map(add, self, other))

    def minus(self, other: "Load") -> "Load":
        return Load._make(map(sub, self, other))


MEASURES = Load._fields
LED = ("leaders", "fetch")
"""What comes with the preferred leadership."""


class PlannedMove(NamedTuple):
    """A partition that shall lie elsewhere. `bytes`: what is copied, over all its new replicas (an estimate where
    the size was not known)."""

    topic: str
    partition: int
    origin: tuple[int, ...]
    target: tuple[int, ...]
    leader: int
    bytes: int
    priority: int
    reason: str
    rule: str


class LeftOut(NamedTuple):
    """A partition that the goal concerns and that cannot be moved."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    reason: str


class PlannerSummary(msgspec.Struct, frozen=True):
    """A plan in figures.

    bytes                  what is copied; lower_bound: what no plan that comes as far can do without (see `targets`)
    before, after          by broker
    targets                by broker, in the order of MEASURES: its share of what there is in the end
    imbalance_…            by measure: the worst broker's distance from its target, as a share of it
    unknown_sizes          partitions whose size was estimated or not counted
    notes                  what whoever reads the plan must know
    """

    moves: int
    bytes: int
    lower_bound: int
    left_out: int
    rounds: int
    before: dict[int, Load]
    after: dict[int, Load]
    targets: dict[int, tuple[float, ...]]
    imbalance_before: dict[str, float]
    imbalance_after: dict[str, float]
    unknown_sizes: int
    notes: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """Moves in the order in which they should start, and what had to be left out."""

    moves: tuple[PlannedMove, ...]
    left_out: tuple[LeftOut, ...]
    summary: PlannerSummary
