"""A plan that empties brokers, in slices of an event loop and without numpy: for self-healing in a controller, and for
what comes to a drained broker late. Its rounds are those that the plan job's tasks call (`columns.PartitionChunk`).
"""

from collections.abc import Iterator

import msgspec

from kafka_reassign_rpc.planner.chunk_round import accept, apply_accepted, collect_moves, propose
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import LeftOut, Plan, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster, PlannerPartition, PlannerTopic
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal
from kafka_reassign_rpc.planner.proposals.forced_proposals import may_move
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Survey
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator


class InMemoryPlanner:
    """Iterate over `steps()` to the end, then read `plan`."""

    plan: Plan

    def __init__(self, cluster: PlannerCluster, goal: Goal, options: PlanOptions | None = None) -> None:
        """Raises PlanError, and ValueError for a goal that does not empty brokers."""
        if goal.kind not in (GoalKind.HEAL, GoalKind.DRAIN):
            raise ValueError(f"{goal.kind} is planned in columns")
        self._cluster = cluster
        self._coordinator = RoundCoordinator(cluster.brokers, goal, options or PlanOptions())
        self._goal = goal
        self._live = frozenset(broker.id for broker in cluster.brokers if broker.live)

    def steps(self) -> Iterator[None]:
        """Raises PlanError."""
        survey = Survey()
        chunk: list[PlannerTopic] = []
        yield from self._survey_and_copy(survey, chunk)
        coordinator = self._coordinator
        coordinator.begin(survey)
        while (params := coordinator.next_round()) is not None:
            yield
            proposals: list[ChangeProposal] = []
            proposed = ProposedSums()
            for found in propose(chunk, params):
                if found is not None:
                    proposals.append(found)
                    proposed.add(found)
                yield
            yield
            thresholds = yield from coordinator.deciding(proposed)
            yield
            accepted = AcceptedSums()
            while proposals:  # one by one: to free thousands at once would take long
                if proposed.collected:  # some of the same: they are not freed before both have gone
                    proposed.collected.pop()
                proposal = accept(proposals.pop(), thresholds)
                if proposal is not None:
                    accepted.add(proposal)
                    apply_accepted(chunk, (proposal,))
                yield
            coordinator.take(accepted)
        moves_by_priority: dict[int, list[PlannedMove]] = {}
        left_out: list[LeftOut] = []
        chunk.sort(key=lambda topic: topic.name)
        for one in collect_moves(chunk, coordinator.round_parameters()):
            if isinstance(one, PlannedMove):
                moves_by_priority.setdefault(one.priority, []).append(one)
            elif one is not None:
                left_out.append(one)
            yield
        while chunk:  # one by one, for the same reason
            chunk.pop()
            yield
        moves = [move for priority in sorted(moves_by_priority) for move in moves_by_priority[priority]]
        summary = coordinator.summary(len(moves), sum([move.bytes for move in moves]), len(left_out))
        self.plan = Plan(tuple(moves), tuple(left_out), summary)

    def _survey_and_copy(self, survey: Survey, chunk: list[PlannerTopic]) -> Iterator[None]:
        for topic in self._cluster.topics:
            kept: list[PlannerPartition] = []
            for partition in topic.partitions:
                survey.add(partition)
                if may_move(partition, self._goal, self._live):
                    kept.append(msgspec.structs.replace(partition))
                yield
            if kept:
                chunk.append(PlannerTopic(topic.name, kept))
