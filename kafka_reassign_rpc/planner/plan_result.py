"""What the planner answers."""

from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN


class PlannedMove(NamedTuple):
    """bytes           copied over all its new replicas (an estimate if the size is unknown)
    first_leader    the in-sync replica that leads before the copy begins, and so sends; -1 if the leader stays. If it
                    is in the target, it leads on after the move, until an election of the preferred leader
    """

    topic: str
    partition: int
    original: tuple[int, ...]
    target: tuple[int, ...]
    leader: int
    bytes: int
    priority: int
    reason: str
    rule: str
    first_leader: int = -1

    @property
    def sender(self) -> int:
        """-1 if there is none."""
        return self.leader if self.first_leader < 0 else self.first_leader


def sender_and_receivers(move: PlannedMove) -> tuple[int, tuple[int, ...], int]:
    """The sender (-1: none), the receivers, and the bytes for each of them."""
    receivers = tuple(broker for broker in move.target if broker not in move.original)
    return move.sender, receivers, move.bytes // len(receivers) if receivers else 0


class Link(NamedTuple):
    broker: int
    sends: bool


def bytes_by_link(move: PlannedMove) -> dict[Link, int]:
    sender, receivers, each = sender_and_receivers(move)
    found = {Link(broker, False): each for broker in receivers}
    if receivers and sender >= 0:
        found[Link(sender, True)] = move.bytes
    return found


class LeftOut(NamedTuple):
    """missed    the goal forces a change, and no reassignment that runs or waits makes it
    bytes     of one replica; UNKNOWN if the snapshot lacks it. No reason names them: equal reasons are counted
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    reason: str
    missed: bool = False
    bytes: int = UNKNOWN


class PlannerSummary(msgspec.Struct, frozen=True):
    """`pipeline.plans.plan_summary.PlanSummary` has the meanings.

    targets     by broker, in the order of MEASURES: its share of the cluster's load after the plan
    notes       what the reader of the plan must know
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
    furthest_before: dict[str, int] = {}
    furthest_after: dict[str, int] = {}
    topics_before: Load = Load()
    topics_after: Load = Load()
    reachable: dict[str, dict[int, float]] = {}
    searched: bool = False


class Plan(msgspec.Struct, frozen=True):
    """Moves are in start order."""

    moves: tuple[PlannedMove, ...]
    left_out: tuple[LeftOut, ...]
    summary: PlannerSummary
