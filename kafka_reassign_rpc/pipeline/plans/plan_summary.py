from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Protocol, TypeVar

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath
from kafka_reassign_rpc.planner.brokers.broker_targets import is_within
from kafka_reassign_rpc.planner.goals_and_options import GoalKind, GoalWeights
from kafka_reassign_rpc.support.counted import agreeing, counted, those
from kafka_reassign_rpc.support.human_units import size
from kafka_reassign_rpc.support.secrecy import told_path

VERSION = 1
SUMMARY, BATCHES, ROLLBACK = "summary.json", "batches", "rollback"
COMBINE = "combine"
AtLeastOne = Annotated[int, Meta(ge=1)]
"""With no moves at a time, or at no rate, a plan would never end."""
Share = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(gt=0)]


class LoadFigures(msgspec.Struct, frozen=True):
    """docs/pipeline.md, "What counts". Rates are in bytes/s, in messages/s, and in microseconds of CPU a second; those
    of leaders are of the partitions whose preferred leader it is.
    """

    bytes: float = 0
    replicas: float = 0
    leaders: float = 0
    produce: float = 0
    fetch: float = 0
    bytes_in: float = 0
    potential_out: float = 0
    messages_in: float = 0
    cpu: float = 0


def _one_of(names: Iterable[str]) -> Meta:
    return Meta(pattern=f"^({'|'.join(names)})$")


Measure = Annotated[str, _one_of(LoadFigures.__struct_fields__)]
Weighed = Annotated[str, _one_of(GoalWeights.__struct_fields__)]
Kind = Annotated[str, _one_of(GoalKind)]


class BrokerFigures(msgspec.Struct, frozen=True):
    """`target`: its share of the cluster's load; zero if the plan empties it. `capacity`, `free`: bytes before the
    plan. `cordoned`: it gets no new replica.
    """

    broker: int
    rack: str | None
    live: bool
    capacity: int | None
    before: LoadFigures
    after: LoadFigures
    target: LoadFigures
    free: int | None = None
    cordoned: bool = False


class RackFigures(msgspec.Struct, frozen=True):
    rack: str | None
    brokers: int
    before: LoadFigures
    after: LoadFigures


class BatchFigures(msgspec.Struct, frozen=True):
    """busiest                 sends or receives most bytes; None: nothing is copied
    busiest_bytes           these bytes: they decide how long the batch takes
    starts_after_seconds    after the plan's start; both times hold at the summary's bandwidth
    """

    batch: int
    priority: int
    moves: int
    bytes: int
    starts_after_seconds: float
    expected_seconds: float
    busiest: int | None = None
    busiest_bytes: int = 0


class StayingFigures(msgspec.Struct, frozen=True):
    """On a broker that the plan empties; only known bytes."""

    replicas: int = 0
    bytes: int = 0


class LeftOutFigures(msgspec.Struct, frozen=True):
    """Partitions that the plan leaves out for one reason, and the first names.

    bytes      known sizes, one replica of each; None: a plan of an earlier version
    brokers    what of them stays on brokers that the plan empties
    """

    reason: str
    partitions: int
    first: list[str]
    bytes: int | None = None
    brokers: dict[int, StayingFigures] = {}


class ImpactFigures(msgspec.Struct, frozen=True):
    """How many partitions, but for the last. Live replicas are on brokers that were live in the snapshot.

    leader_leaves          the leader is not in the target: another is elected when the move ends
    other_first            the leader stays, but another replica becomes the preferred leader
    led_first              another replica leads from before the copy until the move ends
    lacking                fewer live replicas than replicas until the move ends
    single                 of these: a single live one
    below_min_isr          of these: fewer than min.insync.replicas
    below_min_isr_after    fewer replicas than min.insync.replicas afterwards
    fewer_racks            on live brokers of fewer racks afterwards, though there are as many replicas
    less_even              of as many racks, and the fullest have more of the replicas than the fullest had
    bytes_across_racks     copied to brokers of another rack than that of the leader, who sends them; brokers without a
                           rack count as one more rack
    """

    leader_leaves: int = 0
    other_first: int = 0
    led_first: int = 0
    lacking: int = 0
    single: int = 0
    below_min_isr: int = 0
    below_min_isr_after: int = 0
    fewer_racks: int = 0
    less_even: int = 0
    bytes_across_racks: int = 0


class TopicFigures(msgspec.Struct, frozen=True):
    replicas: int = 0
    leaders: int = 0


class PlanRequest(msgspec.Struct, frozen=True):
    """racks             a rebalance also mends racks
    least_bytes       smaller partitions stay as they are
    allow_fewer_racks    that partitions end on fewer racks, or less even over them, is accepted
    leaders_stay      nobody else leads before a copy
    parts             by goal that the plan combines: its brokers
    to                the only brokers that get new replicas; empty: any
    within            seconds that the plan may take; None: any
    broker_weights    by broker and measure; empty: by the disks
    locality          copies stay in their racks as far as possible
    broker_max        by measure and broker: the most that it may hold after the plan
    """

    brokers: list[int]
    topics: list[str]
    factor: int | None
    seed: int
    tolerance: Share
    headroom: Share
    max_bytes: int
    weights: dict[Weighed, float]
    moves_per_broker: AtLeastOne
    bytes_per_broker: int
    bytes_per_batch: int
    moves_per_batch: AtLeastOne
    racks: bool = False
    leaders_stay: bool = False
    broker_weights: dict[int, dict[Measure, Weight]] = {}
    to: list[int] = []
    within: int | None = None
    parts: dict[Kind, list[int]] = {}
    allow_fewer_racks: bool = False
    least_bytes: int = 0
    broker_max: dict[Measure, dict[int, int]] = {}
    locality: bool = False


class GainFigures(msgspec.Struct, frozen=True):
    """`seconds`: of the plan with another value of moves_per_broker, moves_per_batch or throttle."""

    setting: str
    value: int
    seconds: float


class BottleneckFigures(msgspec.Struct, frozen=True):
    broker: int
    sends: bool
    bytes: int
    rate: int


class BrokerTraffic(msgspec.Struct, frozen=True):
    broker: int
    sent: list[int]
    received: list[int]


class TimelineFigures(msgspec.Struct, frozen=True):
    """`seconds`: of a span."""

    seconds: float
    brokers: list[BrokerTraffic]


class LargestFigures(msgspec.Struct, frozen=True):
    """`bytes`: of one replica."""

    partition: str
    bytes: int


class ShortfallFigures(msgspec.Struct, frozen=True):
    """The broker furthest from its target, and why."""

    measure: str
    broker: int
    share: float
    reasons: list[str]


class PlanSummary(msgspec.Struct, frozen=True):
    """Sizes are in bytes, rates and `bandwidth` (of each broker, each way) in bytes/s, times in seconds.

    at                when the snapshot was taken: ms since the epoch
    lower_bound       bytes that every plan with the same result copies
    imbalance_…       by measure: the worst broker's distance from its target, as a share of the target; before a plan
                      that empties brokers, the targets of the others are their shares of what these others hold
    furthest_…        by measure: which broker that is
    broker_bandwidth  of brokers that differ from `bandwidth`
    throttle          of moves on each broker; None: none
    moves_at_a_time   to each broker, and as many from it, with submit; None: as in a batch
    expected_seconds  simulated: moves start as others end
    batches_seconds   simulated: each batch waits for the one before
    bound_seconds     no order of these moves takes less: the bytes of the bottleneck over its rate
    unknown_sizes     partitions whose size was estimated or not counted
    missed            partitions that the goal forces to change, that the plan leaves out and no reassignment changes
                      (heal, drain, set-rf, racks); `complete`: none
    largest           None: no size is known
    topics_…          replicas and leaders beyond an even spread of each topic; None: topics were not to be spread
    impact            None: a plan of an earlier version
    filled            brokers that get replicas, and have no room for one more of the mean size afterwards
    searched          a search has seen each partition, and has taken back what is copied for nothing
    other_topics      partitions of topics that the request leaves out
    too_small         partitions of its topics below `requested.least_bytes`
    reachable         by measure and broker that a rebalance evens out: the nearest to its target that racks allow
    """

    kind: Kind
    cluster_id: str
    at: int
    requested: PlanRequest
    partitions: int
    moves: int
    bytes: int
    lower_bound: int
    unknown_sizes: int
    imbalance_before: dict[Measure, float]
    imbalance_after: dict[Measure, float]
    brokers: list[BrokerFigures]
    racks: list[RackFigures]
    batches: list[BatchFigures]
    left_out: list[LeftOutFigures]
    notes: list[str]
    bandwidth: AtLeastOne
    expected_seconds: float
    batches_seconds: float = 0.0
    bound_seconds: float = 0.0
    bottleneck: BottleneckFigures | None = None
    gains: list[GainFigures] = []
    timeline: TimelineFigures | None = None
    broker_bandwidth: dict[int, AtLeastOne] = {}
    throttle: AtLeastOne | None = None
    complete: bool = True
    largest: LargestFigures | None = None
    why_not_better: list[ShortfallFigures] = []
    moves_at_a_time: int | None = None
    impact: ImpactFigures | None = None
    version: int = VERSION
    furthest_before: dict[Measure, int] = {}
    furthest_after: dict[Measure, int] = {}
    topics_before: TopicFigures | None = None
    topics_after: TopicFigures | None = None
    missed: int = 0
    filled: list[int] = []
    searched: bool = False
    reachable: dict[Measure, dict[int, float]] = {}
    other_topics: int = 0
    too_small: int = 0

    def brokers_of(self, goal: str) -> list[int] | None:
        """Those that the plan heals (empty: all that are lost), drains or expands to; None: another kind of plan."""
        asked = self.requested
        return asked.parts.get(goal) if self.kind == COMBINE else asked.brokers if self.kind == goal else None

    @property
    def moves_per_broker(self) -> int:
        """At a time, with submit."""
        return self.moves_at_a_time or self.requested.moves_per_broker

    def bytes_of(self, moves: Mapping[int, int]) -> int:
        """Of so many moves by batch: one counts for the mean bytes of its batch."""
        return sum(one.bytes * moves.get(one.batch, 0) // max(1, one.moves) for one in self.batches)


def imbalance_texts(summary: PlanSummary, name: str) -> tuple[str, str]:
    """`12.5 % (broker 3)`, before and after."""
    sides = (summary.imbalance_before, summary.furthest_before), (summary.imbalance_after, summary.furthest_after)
    before, after = (
        f"{100 * distances.get(name, 0.0):.1f} %" + (f" (broker {brokers[name]})" if name in brokers else "")
        for distances, brokers in sides
    )
    return before, after


def topic_lines(summary: PlanSummary) -> list[str]:
    before, after = summary.topics_before, summary.topics_after
    if before is None or after is None:
        return []
    return [
        f"{getattr(before, name):,} {name} of topics are more than even on their brokers, then {getattr(after, name):,}"
        for name in TopicFigures.__struct_fields__
        if summary.requested.weights.get(f"topic_{name}")
    ]


def known_imbalance(summary: PlanSummary) -> dict[str, float]:
    """Without unknown measures, as rates often are, and those that nobody has asked for."""
    weights, defaults = summary.requested.weights, GoalWeights()
    return {
        name: before
        for name, before in summary.imbalance_before.items()
        if any(getattr(broker.before, name) for broker in summary.brokers)
        and (weights.get(name) or getattr(defaults, name))
    }


def outside_tolerance(summary: PlanSummary) -> list[str]:
    """Of a plan that expands, only new brokers count."""
    weights, most = summary.requested.weights, summary.requested.tolerance
    new = summary.brokers_of("expand")

    def far(name: str) -> float:
        if not new:
            return summary.imbalance_after[name]
        sides = ((getattr(one.after, name), getattr(one.target, name)) for one in summary.brokers if one.broker in new)
        return max((abs(held / target - 1) for held, target in sides if target), default=0.0)

    return [name for name in known_imbalance(summary) if weights.get(name) and not is_within(far(name), most)]


def lost_racks(summary: PlanSummary) -> int:
    """Partitions that end on fewer racks, or less even over them, where nobody has accepted that."""
    found = summary.impact
    return 0 if found is None or summary.requested.allow_fewer_racks else found.fewer_racks + found.less_even


def rack_lines(summary: PlanSummary) -> Iterator[str]:
    found = summary.impact or ImpactFigures()
    if found.fewer_racks:
        end = agreeing(found.fewer_racks, "end")
        yield f"{counted(found.fewer_racks, 'partition')} {end} on fewer racks than before: the loss of one costs more"
    if found.less_even:
        end = agreeing(found.less_even, "end")
        yield f"{counted(found.less_even, 'partition')} {end} with more replicas in one rack than before"
    if summary.filled:
        yield f"{those(summary.filled, verb='have', most=10)} no room for one more replica of the mean size afterwards"


def across_racks_text(summary: PlanSummary) -> str:
    """`1.1 GB of 1.2 GB cross racks`; "" where nothing is copied, or there is one rack."""
    if summary.impact is None or not summary.bytes or len(summary.racks) < 2:
        return ""
    return f"{size(summary.impact.bytes_across_racks)} of {size(summary.bytes)} cross racks"


def incomplete_text(summary: PlanSummary) -> str:
    """`incomplete: brokers 4, 5 keep 12 replicas, 11 partitions are left out`; "" for a complete plan."""
    if summary.complete:
        return ""
    count = summary.missed or sum(one.partitions for one in summary.left_out)
    left_out = f"{counted(count, 'partition', 'are')} left out"
    keeping = [one for one in summary.brokers if _is_to_be_empty(summary, one) and one.after.replicas]
    if not keeping:
        return f"incomplete: {left_out}"
    brokers = those([one.broker for one in keeping], verb="keep", most=10)
    kept = counted(round(sum(one.after.replicas for one in keeping)), "replica")
    return f"incomplete: {brokers} {kept}, {left_out}"


def _is_to_be_empty(summary: PlanSummary, broker: BrokerFigures) -> bool:
    healed, drained = summary.brokers_of("heal"), summary.brokers_of("drain")
    if healed is not None and not healed and not broker.live:
        return True
    return broker.broker in (*(healed or ()), *(drained or ()))


class Versioned(Protocol):
    @property
    def version(self) -> int: ...


S = TypeVar("S", bound=Versioned)


def read_summary(path: StorePath) -> PlanSummary:
    """Raises BadInput."""
    return read_summary_of(path, PlanSummary, VERSION)


def read_summary_of(path: StorePath, kind: type[S], version: int) -> S:
    """A plan of any kind: `read_kind` tells which. Raises BadInput."""
    file = path / SUMMARY
    try:
        found = msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        raise BadInput(f"{told_path(str(path))}: no plan ({SUMMARY} is missing)") from None
    except (OSError, *NO_JSON) as error:
        raise BadInput(f"{file}: {error}") from None
    if found.version != version:
        raise BadInput(f"{file}: version {found.version}; this release reads version {version}")
    return found


class _Kind(msgspec.Struct, frozen=True):
    kind: str


def read_kind(path: StorePath) -> str:
    """ "" where none can be read: the plan's reader says why."""
    try:
        return msgspec.json.decode((path / SUMMARY).read_bytes(), type=_Kind).kind
    except (OSError, *NO_JSON):
        return ""
