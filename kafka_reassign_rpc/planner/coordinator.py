"""Decides between rounds: what every broker should hold, which proposals are accepted, when it is enough.

    coordinator = Coordinator(brokers, goal, options)
    coordinator.begin(survey)                      # of all chunks, merged
    while (view := coordinator.view()) is not None:
        demand = …                                 # propose(chunk, view) of all chunks, merged
        thresholds = coordinator.decide(demand)
        coordinator.settle(change)                 # what the thresholds accepted, merged
    coordinator.last_view()                        # for harvest

It sees sums only, never a partition: memory and time here depend on the number of brokers.
"""

import math
from collections.abc import Iterable
from functools import partial

from kafka_reassign_rpc.planner import fill_levels
from kafka_reassign_rpc.planner.balance_goals import cost, distance, measured
from kafka_reassign_rpc.planner.broker_targets import Targets, lower_bound
from kafka_reassign_rpc.planner.load_changes import IN, OUT
from kafka_reassign_rpc.planner.planning_round import EVERYTHING, Change, Demand, Survey, Thresholds
from kafka_reassign_rpc.planner.round_input import ALL, Balance, RoundInput, Table
from kafka_reassign_rpc.planner.values import (
    LED,
    MEASURES,
    UNKNOWN,
    Goal,
    Kind,
    Load,
    Options,
    PlanError,
    PlannerBroker,
    PlannerSummary,
    Weights,
)

FORCED_ROUNDS = 24
_STRICT_ROUNDS = 6
"""Forced moves keep to every broker's level for so long; what is left then goes where there is room."""
_PATIENCE = 4
_MATCHED = 0.2
"""A rebalance copies only what is needed on both sides, as long as so large a part of what is proposed is."""
_UNBOUNDED = 2**62


class Coordinator:
    """See the module."""

    def __init__(self, brokers: Iterable[PlannerBroker], goal: Goal, options: Options) -> None:
        self.goal = goal
        self.options = options
        self._brokers = {broker.id: broker for broker in brokers}
        self._live = frozenset(broker.id for broker in self._brokers.values() if broker.live)
        self._balances = goal.kind in (Kind.EXPAND, Kind.REBALANCE)
        self._to_give = LED if goal.kind is Kind.EXPAND else MEASURES
        """Of what a broker that has too much gives: new brokers keep replicas, they may lead less."""
        self._both = goal.kind is Kind.REBALANCE
        self._proposals = 0
        self._round = 0
        self._idle = 0
        self._over = False
        self._arrived: dict[int, int] = {}
        self._copied = 0
        self.notes: list[str] = []
        self._check()

    # -- before the first round ------------------------------------------------------------------------------------

    def _check(self) -> None:
        if not self._live:
            raise PlanError("no broker is live")
        unknown = [broker for broker in self.goal.brokers if broker not in self._brokers]
        if self.goal.kind in (Kind.DRAIN, Kind.EXPAND):
            if not self.goal.brokers:
                raise PlanError(f"{self.goal.kind}: name the brokers")
            if unknown:
                raise PlanError(f"{self.goal.kind}: the snapshot has no broker {', '.join(map(str, unknown))}")
        if self.goal.kind is Kind.EXPAND:
            dead = [broker for broker in self.goal.brokers if broker not in self._live]
            if dead:
                raise PlanError(f"expand: broker {', '.join(map(str, dead))} is not live")
        if self.goal.kind is Kind.HEAL:
            alive = [broker for broker in self.goal.brokers if broker in self._live]
            if alive:
                raise PlanError(f"heal: broker {', '.join(map(str, alive))} is live; drain empties a live broker")
        if self.goal.kind is Kind.SET_FACTOR and self.goal.factor < 1:
            raise PlanError("set-rf: the replication factor must be at least 1")
        if self.goal.kind is Kind.SET_FACTOR and self.goal.factor > len(self._live):
            raise PlanError(
                f"set-rf: the replication factor {self.goal.factor} is larger than the {len(self._live)} live brokers"
            )
        if self.goal.kind is Kind.DRAIN and not self._live - set(self.goal.brokers):
            raise PlanError("drain: no live broker would be left")

    def begin(self, survey: Survey) -> None:
        """Take the survey of all partitions."""
        known = survey.partitions - survey.unknown_sizes
        self._typical = survey.known_bytes // known if known else 0
        self._survey = survey
        weights = self.options.weights
        if not known and survey.partitions:
            self.notes.append("no size is known: replicas are counted instead of bytes")
            weights = Weights(0.0, weights.replicas, weights.leaders, weights.produce, weights.fetch, weights.topic)
        elif survey.unknown_sizes:
            self.notes.append(
                f"{survey.unknown_sizes} of {survey.partitions} partitions have no known size: "
                f"each is taken for {self._typical} bytes, the mean of the others"
            )
        self._weights = weights
        self.before = {broker: Load() for broker in self._brokers}
        for broker, load in survey.loads.items():
            extra = survey.unknown.get(broker, 0) * self._typical
            self.before[broker] = load._replace(bytes=load.bytes + extra)
        self.loads = dict(self.before)
        self._leaving = self._find_leaving()
        self._eligible = sorted(
            self._live - self._leaving if self.goal.kind is not Kind.EXPAND else set(self.goal.brokers)
        )
        self._set_racks()
        self.targets = self._targets(self.before)
        self._demand = fill_levels.guess(
            [(self._racks.get(broker, ""), self.loads[broker]) for broker in self._leaving if broker in self.loads],
            self._rack_brokers,
        )
        self._free = {broker: self._free_on(self._brokers[broker]) for broker in self._eligible}
        self._last_cost = self._cost()

    def _targets(self, loads: dict[int, Load]) -> Targets:
        holders = [self._brokers[broker] for broker in sorted(self._live - self._leaving)]
        return Targets.of(loads, holders, self._weights)

    def _find_leaving(self) -> frozenset[int]:
        if self.goal.kind is Kind.DRAIN:
            return frozenset(self.goal.brokers)
        if self.goal.kind is Kind.HEAL:
            return frozenset(self.goal.brokers) or frozenset(self.loads) - self._live
        return frozenset()

    def _set_racks(self) -> None:
        named = {broker.id: broker.rack for broker in self._brokers.values() if broker.rack is not None}
        without = sorted(broker for broker in self._live if broker not in named)
        aware = any(broker in named for broker in self._live)
        if aware and without:
            self.notes.append(
                f"brokers {', '.join(map(str, without[:20]))} have no rack: they are taken for one rack of their own"
            )
        self._racks: dict[int, str] = {broker: rack for broker, rack in named.items() if rack} if aware else {}
        self._rack_brokers: dict[str, list[int]] = {}
        for broker in self._eligible:
            self._rack_brokers.setdefault(self._racks.get(broker, ""), []).append(broker)

    def _free_on(self, broker: PlannerBroker) -> int:
        held = self.before[broker.id].bytes
        capacity = broker.capacity
        if capacity == UNKNOWN and broker.free == UNKNOWN:
            return _UNBOUNDED
        free = broker.free if broker.free != UNKNOWN else capacity - held
        whole = capacity if capacity != UNKNOWN else broker.free + held
        return max(0, free - int(whole * self.options.headroom))

    # -- every round -----------------------------------------------------------------------------------------------

    def view(self) -> RoundInput | None:
        """What the chunks are told for the next round; None: it is over."""
        if self._over or self._round >= (self.options.rounds if self._balances else FORCED_ROUNDS):
            return None
        if self._balances and self._is_balanced():
            return None
        return self.last_view()

    def last_view(self) -> RoundInput:
        """The view as things stand: also for the harvest, when no further round follows."""
        tables = {rack: self._table(rack, brokers) for rack, brokers in sorted(self._rack_brokers.items())}
        names = tuple(tables)
        racks = Table.of({turn: tables[name].total for turn, name in enumerate(names)})
        return RoundInput(
            kind=self.goal.kind,
            seed=self.options.seed,
            round=self._round,
            leaving=self._leaving,
            live=self._live - self._leaving,
            partial=self.goal.kind is Kind.HEAL and bool(self.goal.brokers),
            factor=self.goal.factor,
            topics=frozenset(self.goal.topics),
            racks=self._racks,
            tables=tables,
            by_rack=racks,
            rack_names=names,
            rooms={broker: free - self._arrived.get(broker, 0) for broker, free in self._free.items()},
            typical=self._typical,
            weights=self._weights,
            balance=self._balance() if self._balances else None,
        )

    def _table(self, rack: str, brokers: list[int]) -> Table:
        if self._balances:
            return Table.of({broker: self._wanting(broker) + 1e-9 for broker in brokers})
        shares = fill_levels.shares(self._demand.get(rack, Load()), brokers, self.loads, self.targets)
        return Table.of({broker: share + 1e-9 for broker, share in shares.items()})

    def _wanting(self, broker: int) -> float:
        standing = self.targets.standing(broker, self.loads[broker])
        return sum(
            weight * max(0.0, 1 - share) for weight, share in zip(measured(self._weights), standing, strict=True)
        )

    def decide(self, demand: Demand) -> Thresholds:
        """Which buckets are accepted: see `rounds.is_accepted`."""
        self._round += 1
        self._proposals = demand.proposals
        if not demand.proposals:
            self._idle += 1
            self._over = not self._balances or self._idle >= _PATIENCE
            return Thresholds()
        ordered: dict[tuple[int, int], list[tuple[int, Load, int]]] = {}
        for (broker, side, bucket), load in sorted(demand.sums.items()):
            ordered.setdefault((broker, side), []).append((bucket, Load(*load[:-1]), load[-1]))
        if self._balances:
            return self._decide_balance(ordered)
        self._demand = fill_levels.by_rack(ordered, self._racks)
        strict = self._round <= _STRICT_ROUNDS
        thresholds = dict.fromkeys(ordered, (ALL, ALL))
        for rack, brokers in self._rack_brokers.items():
            level = fill_levels.level(self._demand.get(rack, Load()), brokers, self.loads, self.targets)
            for broker in brokers:
                if (broker, IN) in ordered:
                    reached = fill_levels.below(
                        ordered[broker, IN],
                        broker,
                        self.loads[broker],
                        self.targets,
                        level if strict else math.inf,
                        self._room(broker),
                    )
                    thresholds[broker, IN] = (reached, reached)
        return Thresholds(thresholds)

    def _room(self, broker: int) -> int:
        return self._free.get(broker, _UNBOUNDED) - self._arrived.get(broker, 0)

    def settle(self, change: Change) -> None:
        """Take what was accepted."""
        for broker, load in change.loads.items():
            self.loads[broker] = self.loads[broker].plus(load)
        for broker, size in change.arrived.items():
            self._arrived[broker] = self._arrived.get(broker, 0) + size
            self._copied += size
        if not self._balances:
            return
        cost = self._cost()
        matched = self._both and change.accepted >= _MATCHED * self._proposals
        progress = change.accepted and cost < self._last_cost * 0.995
        self._idle = 0 if progress or matched != self._both else self._idle + 1
        self._both = matched
        self._over = self._idle >= _PATIENCE
        self._last_cost = min(cost, self._last_cost)

    # -- balancing -------------------------------------------------------------------------------------------------

    def _band(self) -> tuple[float, float]:
        """Inside of what is tolerated: who stops on the edge falls over it with the next message."""
        inner = self.options.tolerance * 0.8
        return 1 - inner, 1 + inner

    def _watched(self) -> Iterable[int]:
        return self._eligible if self.goal.kind is Kind.EXPAND else sorted(self._live)

    def _is_balanced(self) -> bool:
        low, high = 1 - self.options.tolerance, 1 + self.options.tolerance
        return all(
            not weight or distance(share, low, high if name in self._to_give else math.inf) == 0
            for broker in self._watched()
            for name, weight, share in zip(
                MEASURES, measured(self._weights), self.targets.standing(broker, self.loads[broker]), strict=True
            )
        )

    def _cost(self) -> float:
        return sum(self._cost_of(broker, self.loads[broker]) for broker in sorted(self._live))

    def _cost_of(self, broker: int, load: Load) -> float:
        return cost(self.targets.standing(broker, load), self._weights, *self._band())

    def _balance(self) -> Balance:
        low, high = self._band()
        live = sorted(self._live)
        standing = {broker: self.targets.standing(broker, self.loads[broker]) for broker in live}
        inverse = {broker: self.targets.inverse(broker) for broker in live}
        weights = measured(self._weights)
        replicas = max(1, sum(self.loads[broker].replicas for broker in live))
        totals = [sum(self.loads[broker][turn] for broker in live) for turn in range(len(MEASURES))]
        steepest = max(
            2 * weight * distance(standing[broker][turn], low, high) * inverse[broker][turn] * totals[turn] / replicas
            for broker in live
            for turn, weight in enumerate(weights)
        )
        mean_bytes = max(1.0, totals[0] / replicas)
        return Balance(
            rates=self._rates(standing, low, high),
            standing=standing,
            inverse=inverse,
            cold=Table.of({broker: self._wanting(broker) + 1e-9 for broker in self._eligible}),
            low=low,
            high=high,
            efficient=steepest / mean_bytes,
        )

    def _rates(self, standing: dict[int, tuple[float, ...]], low: float, high: float) -> dict[int, float]:
        """How many of a broker's replicas are looked at: some more than would have to go."""
        weights = measured(self._weights)
        pulled = 0.0
        for turn, weight in enumerate(weights):
            if weight:
                missing = sum(
                    max(0.0, low - standing[broker][turn]) * self.targets.targets[broker][turn]
                    for broker in self._eligible
                )
                there = sum(self.loads[broker][turn] for broker in standing)
                pulled = max(pulled, missing / there if there else 0.0)
        eager = 3.0 * 2**self._idle
        rates = {}
        for broker, shares in standing.items():
            is_new = self.goal.kind is Kind.EXPAND and broker in self.goal.brokers
            pushed = 0.0
            if is_new or self.goal.kind is not Kind.EXPAND:
                pushed = max(
                    max(0.0, share - high) / share if weight and share and name in self._to_give else 0.0
                    for name, weight, share in zip(MEASURES, weights, shares, strict=True)
                )
            wanted = pushed if is_new else max(pulled, pushed)
            held = self.loads[broker].replicas
            if wanted > 0 and held:
                rates[broker] = min(1.0, max(eager * wanted, 200 / held))
        return rates

    def _decide_balance(self, ordered: dict[tuple[int, int], list[tuple[int, Load, int]]]) -> Thresholds:
        thresholds = {}
        for (broker, side), steps in ordered.items():
            if (broker, side) == EVERYTHING:
                continue
            thresholds[broker, side] = fill_levels.nearest(
                steps,
                self.loads[broker],
                -1 if side == OUT else 1,
                partial(self._cost_of, broker),
                self._room(broker) if side == IN else _UNBOUNDED,
            )
            if self.goal.kind is Kind.EXPAND and side == OUT and broker not in self.goal.brokers:
                thresholds[broker, side] = (0, thresholds[broker, side][1])
        everything = ALL
        if self.options.max_bytes >= 0:
            everything = fill_levels.within(ordered[EVERYTHING], self.options.max_bytes - self._copied)
        return Thresholds(thresholds, everything, self._both)

    # -- in the end ------------------------------------------------------------------------------------------------

    def summary(self, moves: int, copied: int, left_out: int) -> PlannerSummary:
        """The plan in figures; the counts are those of the harvest."""
        return PlannerSummary(
            moves=moves,
            bytes=copied,
            lower_bound=lower_bound(self.goal, self.before, self.loads, self.targets, self._leaving, self.options),
            left_out=left_out,
            rounds=self._round,
            before=self.before,
            after=self.loads,
            targets=self._targets(self.loads).targets,
            imbalance_before=self.targets.imbalance(self.before),
            imbalance_after=self._targets(self.loads).imbalance(self.loads),
            unknown_sizes=self._survey.unknown_sizes,
            notes=tuple(self.notes),
        )
