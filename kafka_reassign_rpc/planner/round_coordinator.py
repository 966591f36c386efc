"""Decides between rounds: what every broker should hold, which proposals are accepted, when the plan is good enough.

coordinator = RoundCoordinator(brokers, goal, options)
coordinator.begin(survey)                      # of all chunks, merged
while (params := coordinator.next_round()) is not None:
    proposed = …                               # sums of propose(chunk, params) over all chunks
    thresholds = coordinator.decide(proposed)
    coordinator.take(accepted)                 # sums of what the thresholds accept
coordinator.round_parameters()                 # for collect_moves
"""

from collections.abc import Callable, Collection, Generator, Iterable, Sequence

import msgspec

from kafka_reassign_rpc.core.rack_evenness import count_by_rack
from kafka_reassign_rpc.planner.brokers.broker_choice import BrokerChoice, WeightedBrokers
from kafka_reassign_rpc.planner.brokers.broker_load import LEADER_MEASURES, MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import holdable_bytes
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets, broker_shares, is_within, without_size
from kafka_reassign_rpc.planner.brokers.rack_rule import NO_RACK, RackRule, racks_by_broker
from kafka_reassign_rpc.planner.brokers.reachable_targets import (
    centres_of_tolerance,
    lower_bound,
    other_aims,
    reachable_targets,
)
from kafka_reassign_rpc.planner.goal_check import check_goal, check_lost, ineffective_weights, size_notes
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import threshold_at_bytes
from kafka_reassign_rpc.planner.placement.balance_round import (
    BalancedBrokers,
    SpreadRounds,
    balance_parameters,
    balance_thresholds,
)
from kafka_reassign_rpc.planner.placement.exchange_search import SMALL, SearchRound
from kafka_reassign_rpc.planner.placement.first_leaders import LeaderRounds
from kafka_reassign_rpc.planner.placement.forced_rounds import FORCED_ROUNDS, ForcedRounds
from kafka_reassign_rpc.planner.placement.searched_placement import SearchLimits
from kafka_reassign_rpc.planner.placement.spare_loads import SpareRooms, spare_loads, thresholds_of_returns
from kafka_reassign_rpc.planner.placement.withdrawal import Withdrawal
from kafka_reassign_rpc.planner.plan_result import PlannedMove, PlannerSummary
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS
from kafka_reassign_rpc.planner.proposals.imbalance_cost import broker_costs
from kafka_reassign_rpc.planner.proposals.piecewise import Collects
from kafka_reassign_rpc.planner.proposals.round_parameters import BalanceParameters, RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import TOTAL_COPIED, AcceptedSums, ProposedSums, Survey, Thresholds
from kafka_reassign_rpc.planner.scheduling.time_budget import worth_first
from kafka_reassign_rpc.support.counted import agreeing, those
from kafka_reassign_rpc.support.slices import finished

_IDLE_ROUNDS = 4
"""Rounds without progress after which a balancing plan ends."""
_MATCHED = 0.2
"""REBALANCE accepts a copy only if sender and receiver need it, while at least this share of proposals is such."""
_AIM, _AIM_OF_MANY = 0.8, 0.9
"""Parts of the tolerance: how near to its targets balancing brings a broker. With many partitions a rebalance hits
what it aims at, and copies an eighth less for the second; the search in a small cluster finds more plans from the
first. Taking copies back may use half of the rest.
"""


class RoundCoordinator:
    def __init__(self, brokers: Iterable[PlannerBroker], goal: Goal, options: PlanOptions) -> None:
        self.goal = goal
        self.options = options
        self._brokers = {broker.id: broker for broker in brokers}
        self._live = frozenset(broker.id for broker in self._brokers.values() if broker.live)
        self._cordoned = frozenset(broker.id for broker in self._brokers.values() if broker.cordoned)
        self._failed = frozenset(broker.id for broker in self._brokers.values() if broker.failed_log_dirs)
        self._balances = not goal.forces_changes
        self._ended = False
        self._rounds = options.rounds if self._balances else FORCED_ROUNDS
        self._mended = 0
        self._measures_to_give = LEADER_MEASURES if goal.joining else MEASURES
        """Where a broker above its target gives load away. New brokers keep replicas, they may lead fewer."""
        self._both_sides = goal.kind is GoalKind.REBALANCE
        self._proposals = 0
        self._round = 0
        self._spreads = False
        """Whether the round that is decided and taken spreads topics, or measures them: then it does nothing else."""
        self._idle = 0
        self._over = False
        self._spare: dict[tuple[int, int], Load] | None = None
        self._search: SearchRound | None = None
        self._leading: LeaderRounds | None = None
        self._withdrawal: Withdrawal | None = None
        self._spread: SpreadRounds | None = None
        self._copied = 0
        self._inside_racks = False
        self.notes: list[str] = []
        check_goal(goal, self._brokers, options)

    # -- before the first round ------------------------------------------------------------------------------------

    def begin(self, survey: Survey) -> None:
        known = survey.known_sizes
        self._typical_size = survey.known_bytes // known if known else 0
        self._survey = survey
        weights = self.options.weights
        self.notes += size_notes(known, survey.unknown_sizes, survey.partitions, self._typical_size)
        if not known and survey.partitions:
            weights = msgspec.structs.replace(weights, bytes=0.0)
        self._weights = weights
        self.before = {broker: Load() for broker in self._brokers}
        for broker, load in survey.loads.items():
            extra = survey.unknown.get(broker, 0) * self._typical_size
            self.before[broker] = load._replace(bytes=load.bytes + extra)
        check_lost(self.goal, self.before)
        self.loads = dict(self.before)
        self._leaving = self.goal.leaving(self.loads, self._live)
        self._remaining = self._live - self._leaving
        self._receivers = sorted((frozenset(self.goal.to) or self._remaining) - self._cordoned)
        self._set_racks()
        self._holdable = {
            broker: holdable_bytes(self._brokers[broker], self.before[broker].bytes, self._typical_size)
            for broker in sorted(self._remaining)
        }
        self._rooms = SpareRooms(self._brokers, self._receivers, self.before, self._typical_size, self.options)
        self.notes += self._rooms.notes
        self._shares = broker_shares(
            [self._brokers[broker] for broker in self._remaining], self._holdable, self.options.broker_weights
        )
        if self.options.weights.spread_topics and self.goal.kind is GoalKind.REBALANCE:
            self._spread = SpreadRounds(self._shares, weights, self.options.tolerance)
        self.targets = self._make_targets(self.before)
        self._shares_before = self.targets.counted_shares(self.before)
        self.notes += ineffective_weights(weights, self.before.values())
        if self.goal.balances:
            self._note_unknown_disks()
            spreads = survey.one_of_each(self._typical_size)
            wanted, tolerance = self.targets, self.options.tolerance
            self._aims = reachable_targets(wanted, self._racks, spreads) if spreads else wanted
            self.targets = centres_of_tolerance(wanted, self._aims, tolerance) if spreads else wanted
        self._forced = ForcedRounds(
            {r: found for r, found in self._eligible_by_rack().items() if r != NO_RACK or not self.goal.mends_racks},
            self._racks,
            self.targets,
            0.0 if self.goal.joining else weights.time,  # new brokers get most anyway: first what has to move
            self.options.network,
            [(self._racks.get(broker), self.loads[broker]) for broker in self._leaving if broker in self.loads],
            self._most_forced(),
            self.options.seed,
            home_first=self.options.locality,
        )
        self._last_cost = self._cost()

    def _note_unknown_disks(self) -> None:
        unknown = without_size([self._brokers[broker] for broker in self._remaining])
        if unknown and not self.options.broker_weights:
            whose = "any broker" if len(unknown) == len(self._remaining) else those(unknown)
            self.notes.append(f"the disks of {whose} are not known: all brokers count alike (--broker-weights)")

    def _make_targets(self, loads: dict[int, Load]) -> BrokerTargets:
        return BrokerTargets.of(loads, self._shares, self._weights)

    def _targets_before(self) -> BrokerTargets:
        """Without the load of emptied brokers, which is not yet theirs."""
        return self._make_targets({broker: load for broker, load in self.before.items() if broker not in self._leaving})

    def _most_forced(self) -> int:
        if self._leaving:
            return sum(self.loads[broker].replicas for broker in self._leaving if broker in self.loads)
        return self._survey.partitions

    def _set_racks(self) -> None:
        self._racks, without = racks_by_broker(self._brokers.values(), self._live)
        if without:
            them = agreeing(len(without), "them")
            self.notes.append(f"{those(without, verb='have')} no rack: the plan takes {them} for one more rack")
        sizes = count_by_rack(self._remaining - self._cordoned, self._racks)
        self._inside_racks = self.options.locality and len(sizes) > 1
        self._rack_rule = RackRule(self._racks, sizes, self._remaining & self._cordoned, self._failed)

    @property
    def _eligible(self) -> list[int]:
        only_new = self._balances and self.goal.joining and not (self._ended and self._leaving)
        return sorted(self.goal.joining) if only_new else self._receivers

    def _eligible_by_rack(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for broker in self._eligible:
            found.setdefault(self._racks[broker], []).append(broker)
        return found

    # -- every round -----------------------------------------------------------------------------------------------

    def next_round(self) -> RoundParameters | None:
        """None if the plan is complete."""
        self._ended = not self._goes_on()
        return None if self._ended else self.round_parameters()

    def _goes_on(self) -> bool:
        if self._withdrawal is not None:
            return not self._over or self._measures_spread()
        if self._spreads_now():
            return True
        if self._leading is None and self._all_placed():
            if self._balances and self._copied and self._spare is None:
                widest = self.options.tolerance * (1 + self._aim()) / 2
                self._spare = self._rooms.within_limits(spare_loads(self.targets, self.loads, widest))
                return True
            if self._search is None and (one_in := self._searched_part()):
                self._search = SearchRound(one_in, self.options.effort)
                return True
            if self._cross_racks():
                return True
            if self._measures_spread():
                return True
            if not (self.options.lead_first and self._weights.time):
                return False
            self._leading = LeaderRounds(self._survey.client_sends, self._live, self.options.network, self.options.seed)
        return self._leading is None or not self._leading.is_over

    def _cross_racks(self) -> bool:
        """Once all has been tried inside racks: whether a broker is still outside the tolerance."""
        if not (self._balances and self._inside_racks) or self._is_balanced():
            return False
        self._inside_racks, self._spare, self._search = False, None, None
        self._over, self._idle, self._both_sides = False, 0, self.goal.kind is GoalKind.REBALANCE
        self._last_cost, self._rounds = self._cost(), self._round + self.options.rounds
        return True

    def _spreads_now(self) -> bool:
        return self._spread is not None and self._spread.parameters(self._balances).now

    def _measures_spread(self) -> bool:
        if self._spread is None or self._spread.is_measured:
            return False
        self._spread.measure()
        return True

    def _all_placed(self) -> bool:
        if self._search is not None:
            return True
        if self._round >= self._rounds and not self._begin_balancing():
            return True
        return self._over or (self._balances and self._is_balanced())

    def _begin_balancing(self) -> bool:
        if self._balances or not self.goal.balances:
            return False
        self._balances, self._mended = True, self._copied
        self._last_cost, self._rounds = self._cost(), self._round + self.options.rounds
        return True

    def round_parameters(self) -> RoundParameters:
        """After the last round for `collect_moves`."""
        eligible = self._eligible_by_rack()
        if self._balances:
            by_rack = {rack: self._weighted(brokers) for rack, brokers in sorted(eligible.items())}
            weights = {rack: brokers.total for rack, brokers in by_rack.items()}
        else:
            by_rack, weights = self._forced.choices(self.loads)
        names = tuple(by_rack)
        free_bytes = {broker: self._rooms.spare(broker).for_replicas for broker in self._eligible}
        choice = BrokerChoice(
            by_rack=by_rack,
            rack_weights=WeightedBrokers.of({turn: weights[name] for turn, name in enumerate(names)}),
            rack_names=names,
            free_bytes=free_bytes,
            rack_room={rack: max(free_bytes[broker] for broker in eligible[rack]) for rack in by_rack},
            rack_rule=self._rack_rule,
            scarce={} if self._balances else dict(self._forced.scarce),
            home_first=self.options.locality,
        )
        return RoundParameters(
            goal=self.goal,
            seed=self.options.seed,
            round_number=self._round,
            leaving=self._leaving,
            live=self._remaining,
            sources=self._live,
            choice=choice,
            typical_size=self._typical_size,
            weights=self._weights,
            even_bytes=self._forced.even_bytes(),
            collects=self._collects(),
            balance=self._balance_parameters() if self._balances and self._spare is None else None,
            spare=self._spare,
            spread=None if self._spread is None else self._spread.parameters(self._balances),
            searched=self._search.one_in if self._search is not None and self._leading is None else 0,
            withdrawn=frozenset() if self._withdrawal is None or self._over else self._withdrawal.names,
            leading_seconds=None if self._leading is None else self._leading.seconds,
            shares_before=self._shares_before if self.goal.balances else {},
        )

    def _weighted(self, brokers: list[int]) -> WeightedBrokers:
        return WeightedBrokers.of({broker: self._missing_share(broker) + 1e-9 for broker in brokers})

    def _missing_share(self, broker: int) -> float:
        """How far below its targets, weighted and summed over all measures."""
        shares, weights = self.targets.shares(broker, self.loads[broker]), self._weights.by_measure()
        return sum(weight * max(0.0, 1 - share) for weight, share in zip(weights, shares, strict=True))

    def _collects(self) -> Collects | None:
        if self._leading is not None:
            return self._leading.collects()
        return None if self._balances else self._forced.collects()

    def decide(self, proposed: ProposedSums) -> Thresholds:
        return finished(self.deciding(proposed))

    def deciding(self, proposed: ProposedSums) -> Generator[None, None, Thresholds]:
        """`decide` in slices."""
        self._round += 1
        self._spreads = self._spreads_now()
        if self._withdrawal is not None and not self._over:
            return self._withdrawal.decide(proposed)
        self._proposals = proposed.proposals
        if not proposed.proposals and self._leading is None and self._search is None and not self._spreads:
            self._idle += 1
            self._over = self._idle >= _IDLE_ROUNDS if self._balances else not self._begin_balancing()
            return Thresholds()
        buckets: dict[tuple[int, int], list[tuple[int, Load, int]]] = {}
        for (broker, side, bucket), load in sorted(proposed.sums.items()):
            buckets.setdefault((broker, side), []).append((bucket, Load(*load[:-1]), load[-1]))
        if self._spread is not None and self._spreads:
            limit = self.options.max_bytes
            return self._spread.decide(buckets, self._rooms.spare, -1 if limit < 0 else max(0, limit - self._copied))
        if self._leading is not None:
            return (yield from self._leading.deciding(buckets, proposed))
        if self._search is not None:
            limits = self._search_limits()
            return (yield from self._search.deciding(proposed.collected, limits, self.loads))
        if self._spare is not None:
            return thresholds_of_returns(buckets, self._spare)
        if self._balances:
            return self._decide_balance(buckets)
        return (yield from self._forced.deciding(buckets, proposed, self.loads, self._rooms.spare))

    def take(self, accepted: AcceptedSums) -> None:
        if self._leading is not None and self._withdrawal is None:
            self._leading.take(accepted)
            return
        for broker, load in accepted.loads.items():
            self.loads[broker] = self.loads[broker].plus(load)
        if self._withdrawal is not None:
            self._over = True
        is_last = not self._spreads and (self._spare, self._search, self._withdrawal) != (None, None, None)
        if is_last and not (self._inside_racks and self._search is not None):
            return  # what is searched inside racks may be followed by more copies
        for broker, load in accepted.arrived.items():
            self._rooms.bring(broker, load)
            self._copied += load.bytes
        if is_last:
            return
        if self._spread is not None and self._spreads:
            self._spread.take(accepted.accepted, balances=self._balances)
            self._last_cost = self._cost()
            return
        if not self._balances:
            self._forced.take(accepted)
            if self._forced.is_over:
                self._over = not self._begin_balancing()
            return
        cost = self._cost()
        matched = self._both_sides and accepted.accepted >= _MATCHED * self._proposals
        progress = accepted.accepted and cost < self._last_cost * 0.995
        self._idle = 0 if progress or matched != self._both_sides else self._idle + 1
        self._both_sides = matched
        self._over = self._idle >= _IDLE_ROUNDS
        self._last_cost = min(cost, self._last_cost)

    def withdraw(self, moves: Collection[PlannedMove], reason: str) -> None:
        """One more round takes these moves of a complete plan back and leaves their partitions out."""
        self._withdrawal, self._over = Withdrawal.of([move[:2] for move in moves], reason), not moves
        if self._spread is not None:
            self._spread.is_measured = not moves

    def worth_first(self, moves: Sequence[PlannedMove]) -> list[PlannedMove]:
        return worth_first(moves, self.before, self.targets if self.goal.balances else None)

    def _band(self) -> tuple[float, float]:
        """Narrower than the tolerance: a broker at its edge would leave it with the next message produced."""
        inner = self.options.tolerance * self._aim()
        return 1 - inner, 1 + inner

    def _aim(self) -> float:
        is_large = self.goal.kind is GoalKind.REBALANCE and self._survey.partitions > SMALL
        return _AIM_OF_MANY if is_large else _AIM

    def _balanced_brokers(self) -> Iterable[int]:
        return self.goal.joining or sorted(self._live)

    def _is_balanced(self) -> bool:
        return all(
            not weight
            or is_within(1 - share if name not in self._measures_to_give else abs(1 - share), self.options.tolerance)
            for broker in self._balanced_brokers()
            for name, weight, share in zip(
                MEASURES, self._weights.by_measure(), self.targets.shares(broker, self.loads[broker]), strict=True
            )
        )

    def _cost(self) -> float:
        cost_of = self._costs()
        return sum(cost_of(broker, self.loads[broker]) for broker in sorted(self._live))

    def _costs(self) -> Callable[[int, Load], float]:
        return broker_costs(self.targets, self._weights.by_measure(), *self._band())

    def _balance_parameters(self) -> BalanceParameters:
        return balance_parameters(
            {broker: self.loads[broker] for broker in sorted(self._live)},
            self.targets,
            BalancedBrokers(self._eligible, self.goal.joining or None, self._measures_to_give),
            self._weighted(self._eligible),
            self._band(),
            self._idle,
            inside_racks=self._inside_racks,
        )

    def _decide_balance(self, buckets: dict[tuple[int, int], list[tuple[int, Load, int]]]) -> Thresholds:
        new = self.goal.joining or None
        thresholds = balance_thresholds(buckets, self.loads, self._costs(), self._rooms.spare, new)
        total_copied = ALL_BUCKETS
        if self.options.max_bytes >= 0:
            total_copied = threshold_at_bytes(buckets[TOTAL_COPIED], self.options.max_bytes - self._copied)
        return thresholds._replace(total_copied=total_copied, both_sides=self._both_sides)

    def _searched_part(self) -> int:
        """One partition in so many; 0: the search is not worth its time."""
        if not self._balances or self.goal.kind is not GoalKind.REBALANCE or self._spread is not None:
            return 0
        if self.options.effort is Effort.NONE or self._rooms.limits:
            return 0
        partitions = self._survey.partitions
        if partitions <= SMALL:
            return 1 if self._copied or not self._is_balanced() else 0
        return 0 if self._is_balanced() else -(-partitions // SMALL)

    def _search_limits(self) -> SearchLimits:
        assert self._search is not None
        sees_all = self._search.one_in == 1
        return SearchLimits.of(
            {broker: self.targets.targets[broker] for broker in sorted(self._remaining)},
            self._weights.by_measure(),
            self.options.tolerance,
            rooms=self._rooms.rooms,
            rack_rule=self._rack_rule,
            max_bytes=self.options.max_bytes,
            copied=None if sees_all else self._copied,
            arrived=None if sees_all else {broker: load.bytes for broker, load in self._rooms.arrived.items()},
            keeps_mended=self.goal.mends_racks,
            inside_racks=self._inside_racks,
        )

    # -- after the last round ----------------------------------------------------------------------------------------

    def summary(self, moves: int, copied: int, left_out: int) -> PlannerSummary:
        """The counts come from `collect_moves`."""
        targets = self._make_targets(self.loads)
        targets_before = self._targets_before()
        mended = self._copied if self.goal.kind is GoalKind.RACKS else self._mended
        return PlannerSummary(
            moves=moves,
            bytes=copied,
            lower_bound=min(
                copied,
                lower_bound(self.goal, self.before, self.loads, self.targets, self._leaving, mended, self.options),
            ),
            left_out=left_out,
            rounds=self._round,
            before=self.before,
            after=self.loads,
            targets=targets.targets,
            imbalance_before=targets_before.imbalance(self.before),
            imbalance_after=targets.imbalance(self.loads),
            furthest_before={name: broker for name, (_, broker) in targets_before.furthest(self.before).items()},
            furthest_after={name: broker for name, (_, broker) in targets.furthest(self.loads).items()},
            unknown_sizes=self._survey.unknown_sizes,
            notes=tuple(self.notes),
            topics_before=Load() if self._spread is None else self._spread.before,
            topics_after=Load() if self._spread is None else self._spread.after,
            searched=self._search is not None and self._search.one_in == 1,
            reachable=other_aims(targets, self._aims) if self.goal.kind is GoalKind.REBALANCE else {},
        )
