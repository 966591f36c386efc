"""A whole plan in this process, in slices: for self-healing inside a controller, for tests, for small clusters."""

from collections.abc import Iterable, Iterator

import msgspec

from kafka_reassign_rpc.planner.coordinator import Coordinator
from kafka_reassign_rpc.planner.forced_changes import may_move
from kafka_reassign_rpc.planner.load_changes import ChangeProposal
from kafka_reassign_rpc.planner.planning_round import Change, Demand, Survey, carry_out, harvest, is_accepted, propose
from kafka_reassign_rpc.planner.values import (
    Goal,
    LeftOut,
    Options,
    Plan,
    PlannedMove,
    PlannerBroker,
    PlannerPartition,
    PlannerTopic,
)

_SLICE = 50
"""Partitions or proposals between two yields: these take 50 µs each."""


class PlannerSnapshot(msgspec.Struct):
    """A cluster in memory. `topics` is read once, in slices; its partitions are never changed."""

    brokers: list[PlannerBroker]
    topics: Iterable[PlannerTopic]


class Planning:
    """One plan in the making: iterate over `steps()` to its end, resting between steps as you like, take `plan`.

    planning = Planning(snapshot, Goal(Kind.HEAL, (3,)))
    await pace.through(planning.steps())
    planning.plan.moves
    """

    plan: Plan

    def __init__(self, snapshot: PlannerSnapshot, goal: Goal, options: Options | None = None) -> None:
        """Raises PlanError."""
        self._snapshot = snapshot
        self._coordinator = Coordinator(snapshot.brokers, goal, options or Options())
        self._goal = goal
        self._live = frozenset(broker.id for broker in snapshot.brokers if broker.live)

    def steps(self) -> Iterator[None]:
        """Plan; yields every few hundred partitions. Raises PlanError."""
        survey = Survey()
        chunk: list[PlannerTopic] = []
        yield from self._read(survey, chunk)
        coordinator = self._coordinator
        coordinator.begin(survey)
        while (view := coordinator.view()) is not None:
            yield
            proposals: list[ChangeProposal] = []
            demand = Demand()
            for turn, found in enumerate(propose(chunk, view)):
                if found is not None:
                    proposals.append(found)
                    demand.add(found)
                if found is None or not turn % _SLICE:
                    yield
            yield
            thresholds = coordinator.decide(demand)
            yield
            change = Change()
            while proposals:  # one by one: so that thousands are not freed in one go
                proposal = proposals.pop()
                if is_accepted(proposal, thresholds):
                    change.add(proposal)
                    carry_out(chunk, (proposal,))
                if not len(proposals) % _SLICE:
                    yield
            coordinator.settle(change)
        lines: dict[int, list[PlannedMove]] = {}
        left_out: list[LeftOut] = []
        chunk.sort(key=lambda topic: topic.name)
        for one in harvest(chunk, coordinator.last_view()):
            if isinstance(one, PlannedMove):
                lines.setdefault(one.priority, []).append(one)
            elif one is not None:
                left_out.append(one)
            yield
        while chunk:  # the same
            chunk.pop()
            yield
        moves = [move for priority in sorted(lines) for move in lines[priority]]
        summary = coordinator.summary(len(moves), sum([move.bytes for move in moves]), len(left_out))
        self.plan = Plan(tuple(moves), tuple(left_out), summary)

    def _read(self, survey: Survey, chunk: list[PlannerTopic]) -> Iterator[None]:
        """Survey everything; keep what the goal may move."""
        for topic in self._snapshot.topics:
            kept: list[PlannerPartition] = []
            for turn, partition in enumerate(topic.partitions):
                survey.add(partition)
                if may_move(partition, self._goal, self._live):
                    kept.append(msgspec.structs.replace(partition))
                if not turn % _SLICE:
                    yield
            if kept:
                chunk.append(PlannerTopic(topic.name, kept))


def plan(snapshot: PlannerSnapshot, goal: Goal, options: Options | None = None) -> Plan:
    """The whole plan at once. Raises PlanError."""
    planning = Planning(snapshot, goal, options)
    for _ in planning.steps():
        pass
    return planning.plan
