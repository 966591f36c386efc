"""How a goal that forces changes places replicas: so that the copying ends soon, then so that brokers are even
(docs/decisions/0006).

A broker's height is what it holds, as a share of what it should hold, plus what this plan brings to it, as a share of
what it brings to a broker of this speed at best, times `GoalWeights.time`. Few partitions are placed one by one. If
there are many, the first round finds what they bring, and the second places the large ones so. For small ones a rack
is drawn in proportion to what its brokers get, and brokers accept up to the common level of all, then up to that of
their rack, then as long as they have room. The last few are placed one by one.
"""

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from enum import Enum, auto

from kafka_reassign_rpc.planner.brokers.broker_choice import WeightedBrokers
from kafka_reassign_rpc.planner.brokers.broker_load import Load, total
from kafka_reassign_rpc.planner.brokers.broker_room import Spare
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.network_limits import NetworkLimits, broker_speeds
from kafka_reassign_rpc.planner.placement import placing
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import BucketSums
from kafka_reassign_rpc.planner.placement.placing import FillingBroker, Placing, copies_of
from kafka_reassign_rpc.planner.proposals import piecewise
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, IN
from kafka_reassign_rpc.planner.proposals.piecewise import FEW, LARGE, Collects
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds

FORCED_ROUNDS = 20
_SAMPLE = 2_000
_COMMON_LEVEL_ROUNDS = 2
"""Up to this filling round brokers accept nothing above the level of all."""
_STRICT_ROUNDS = 4
"""Up to this one, nothing above that of their rack."""
_TRIES = 2
"""How often the last partitions are tried without success."""

Buckets = Mapping[tuple[int, int], BucketSums]
Room = Callable[[int, Load], Spare]
"""What may come to a broker after so much more."""


class Stage(Enum):
    """What the next round does; it never goes back."""

    MEASURE = auto()
    LARGE = auto()
    FILL = auto()
    LAST = auto()


class ForcedRounds:
    def __init__(
        self,
        by_rack: Mapping[str, list[int]],
        racks: Mapping[int, str],
        targets: BrokerTargets,
        time_weight: float,
        network: NetworkLimits,
        leaving: Iterable[tuple[str | None, Load]],
        most: int,
        seed: int,
        *,
        home_first: bool,
    ) -> None:
        """by_rack    the brokers that may get a replica
        racks      of all brokers, as far as known
        leaving    rack and load of each broker to be emptied
        most       how many partitions may have to change
        home_first    see BrokerChoice
        """
        self.by_rack = dict(sorted(by_rack.items()))
        self._all_racks = racks
        self._targets = targets
        self._time_weight = time_weight
        self._seed, self._home_first = seed, home_first
        self._racks = {broker: rack for rack, brokers in by_rack.items() for broker in brokers}
        self._speeds = broker_speeds(self._racks, network)
        self._arrivals = placing.expected_arrivals(leaving, self.by_rack)
        self._came = dict.fromkeys(self._racks, Load())
        self._fitted: dict[str, float] = {}
        self._stage = Stage.LAST if most <= FEW else Stage.MEASURE
        self._one_in = -(-most // _SAMPLE)
        self._measured = self._fills = self._failed = 0
        self._proposals = 0
        self.is_over = False
        self.scarce: dict[str, float] = {}
        """See BrokerChoice."""

    def even_bytes(self) -> float:
        """For a broker of mean speed at best; replicas if no size is known."""
        whole = total([*self._came.values(), *self._arrivals.values()])
        return (whole.bytes or whole.replicas) / len(self._racks)

    def collects(self) -> Collects | None:
        if self._stage is Stage.MEASURE:
            return Collects(one_in=self._one_in)
        if self._stage is Stage.LARGE:
            return Collects(at_least=math.ceil(self.even_bytes() / LARGE))
        return Collects() if self._stage is Stage.LAST else None

    def choices(self, loads: Mapping[int, Load]) -> tuple[dict[str, WeightedBrokers], dict[str, float]]:
        filling = self._filling(loads)
        by_rack = {}
        for rack, brokers in self._by_rack(filling).items():
            arrivals = self._arrivals.get(rack, Load())
            shares = placing.shares_of_arrivals(arrivals, dict(zip(self.by_rack[rack], brokers, strict=True)))
            by_rack[rack] = WeightedBrokers.of({broker: share + 1e-9 for broker, share in shares.items()})
        return by_rack, self._fitted or self._wanted(filling)

    # -- deciding --------------------------------------------------------------------------------------------------

    def deciding(
        self, buckets: Buckets, proposed: ProposedSums, loads: Mapping[int, Load], room: Room
    ) -> Generator[None, None, Thresholds]:
        if self._stage is not Stage.LARGE:
            self._proposals = proposed.proposals
            self._arrivals = placing.proposed_arrivals(buckets, self._racks)
            self._find_scarce(room)
        if self._stage is Stage.MEASURE:
            yield from self._measure(proposed, loads)
            return Thresholds()
        if self._stage is Stage.FILL:
            return self._fill(buckets, loads, room)
        heights, home_first = self._filling(loads), self._home_first
        one_by_one = Placing(self._by_rack_and_speed(), self._all_racks, heights, room, home_first=home_first)
        in_order = yield from piecewise.in_order(proposed.collected, self._seed, urgent_first=bool(self.scarce))
        yield from one_by_one.steps(in_order)
        return Thresholds(placed=one_by_one.placed)

    def _measure(self, proposed: ProposedSums, loads: Mapping[int, Load]) -> Generator[None, None, None]:
        """Weighs the racks, from a sample."""
        self._measured += 1
        if proposed.proposals <= FEW:
            self._stage = Stage.LAST
            return
        if self._measured == 1 and len(proposed.collected) < _SAMPLE // 4:
            self._one_in = -(-proposed.proposals // _SAMPLE)
            return
        filling, by_bytes = self._filling(loads), self._counts_bytes()
        if len(self.by_rack) > 1:
            even, sample = self.even_bytes(), placing.Demand()
            for one in proposed.collected:
                copies = copies_of(one)
                if copies[0].load.bytes * LARGE < even or not by_bytes:
                    placing.add_demand(sample, one.replicas, copies, self._all_racks)
                yield
            demand = placing.scaled(sample, total(self._arrivals.values()))
            for weights in placing.fit(self._wanted(filling), demand, self._by_rack(filling)):
                self._fitted = weights
                yield
        self._stage = Stage.LARGE if by_bytes and not self.scarce else Stage.FILL

    def _fill(self, buckets: Buckets, loads: Mapping[int, Load], room: Room) -> Thresholds:
        self._fills += 1
        filling = self._filling(loads)
        common = placing.fill_level(total(self._arrivals.values()), list(filling.values()))
        if len(self.by_rack) > 1:
            before = self._fitted or self._wanted(filling)
            self._fitted = placing.adjusted(before, self._arrivals, self._by_rack(filling), common)
        limits = dict.fromkeys(buckets, ALL_BUCKETS)
        is_common = self._fills <= _COMMON_LEVEL_ROUNDS and self._time_weight and not self.scarce
        for rack, brokers in self._by_rack(filling).items():
            level = math.inf
            if self._fills <= _STRICT_ROUNDS:
                own = placing.fill_level(self._arrivals.get(rack, Load()), brokers)
                level = min(common, own) if is_common else own
            for broker in self.by_rack[rack]:
                if (broker, IN) in buckets:
                    spare = room(broker, Load())
                    limits[broker, IN] = placing.threshold_at_level(buckets[broker, IN], filling[broker], level, spare)
        return Thresholds(limits)

    def take(self, accepted: AcceptedSums) -> None:
        for broker, load in accepted.loads.items():
            rack = self._racks.get(broker)
            if rack is not None:
                self._came[broker] = self._came[broker].plus(load)
                left = self._arrivals.get(rack, Load()).minus(load)
                self._arrivals[rack] = Load._make(max(0, value) for value in left)
        self._proposals -= accepted.accepted
        if self._stage is Stage.LAST:
            self._failed += not accepted.accepted
            self.is_over = self._failed >= _TRIES or not (self._proposals or self.scarce)
        elif self._stage is not Stage.MEASURE:
            self._stage = Stage.LAST if self._proposals <= FEW else Stage.FILL

    # -- what there is -------------------------------------------------------------------------------------------------

    def _find_scarce(self, room: Room) -> None:
        for rack, brokers in self.by_rack.items():
            wanted, there = (
                self._arrivals.get(rack, Load()).bytes,
                sum(room(broker, Load()).bytes for broker in brokers),
            )
            if wanted > there:
                self.scarce[rack] = self.scarce.get(rack, 1.0) * there / wanted

    def _counts_bytes(self) -> bool:
        return any(load.bytes for load in (*self._came.values(), *self._arrivals.values()))

    def _filling(self, loads: Mapping[int, Load]) -> dict[int, FillingBroker]:
        even, by_bytes = self.even_bytes(), self._counts_bytes()
        found = {}
        for broker in self._racks:
            size, count, *others = self._targets.fullness_factors(broker)
            came = self._came[broker]
            time = self._time_weight / even / self._speeds[broker] if even else 0.0
            height = self._targets.fullness(broker, loads[broker]) + time * (came.bytes if by_bytes else came.replicas)
            factors = (size + time, count, *others) if by_bytes else (size, count + time, *others)
            found[broker] = FillingBroker(height, factors)
        return found

    def _by_rack(self, filling: Mapping[int, FillingBroker]) -> dict[str, list[FillingBroker]]:
        return {rack: [filling[broker] for broker in brokers] for rack, brokers in self.by_rack.items()}

    def _by_rack_and_speed(self) -> dict[str, list[list[int]]]:
        found: dict[str, list[list[int]]] = {}
        for rack, brokers in self.by_rack.items():
            alike: dict[float, list[int]] = {}
            for broker in brokers:
                alike.setdefault(self._speeds[broker], []).append(broker)
            found[rack] = list(alike.values())
        return found

    def _wanted(self, filling: Mapping[int, FillingBroker]) -> dict[str, float]:
        shares = placing.shares_of_arrivals(total(self._arrivals.values()), filling)
        return placing.floored(
            {rack: sum(shares[broker] for broker in brokers) for rack, brokers in self.by_rack.items()}
        )
