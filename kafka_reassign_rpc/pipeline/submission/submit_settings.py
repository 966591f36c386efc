from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry

BAR_WIDTH = 24


class PlanDoesNotFit(Exception):
    """The cluster has changed since the plan was made: moves of it are left. Exit code 4.

    left_out   these, where all others are done
    """

    left_out: frozenset[TopicPartition] = frozenset()


@dataclass
class UnderWay:
    """What was in flight when submit last looked, or what it has just asked for.

    asked           those of `moves` that the controller may not have yet
    out_of_order    partitions that do not move, and may have their first leader in front
    compares        the controller compares expected replicas

    After an early end:

    is_known      the controller has answered
    taken_back    how many that waited will not start
    waiting       how many of `moves` still wait, and will start
    why_not       why those could not be taken back, or why nothing is known
    """

    moves: Mapping[TopicPartition, PlanEntry] = field(default_factory=dict)
    asked: Collection[TopicPartition] = ()
    out_of_order: Mapping[TopicPartition, PlanEntry] = field(default_factory=dict)
    compares: bool = False
    is_known: bool = False
    taken_back: int = 0
    waiting: int = 0
    why_not: str = ""

    def see(
        self, moving: Mapping[TopicPartition, PlanEntry], asked: Mapping[TopicPartition, PlanEntry] | None = None
    ) -> None:
        self.moves, self.asked = {**moving, **(asked or {})}, frozenset(asked or ())


@dataclass(frozen=True)
class PollIntervals:
    """In seconds.

    poll        between two checks of the moves in flight
    health      between two checks of the cluster's health
    mismatch    how long a partition may seem mismatched
    arrival     how long it may lack its target after its move: with KRaft any broker answers, maybe late
    confirm     between two checks of partitions whose moves have ended
    adapt       between two searches for slow brokers
    growing     a move that has more left to copy than so long ago does not end by itself
    patience    how long the cluster may not answer, or answer with errors that pass
    slow        after so long without an answer submit says so
    sizes       how long brokers may take to report sizes, which are only shown
    withdrawal  how long submit tries to take back what waits, after an interrupt
    unasked     how long a broker that did not report its sizes is not asked again
    """

    poll: float = 1.0
    health: float = 5.0
    mismatch: float = 5.0
    arrival: float = 30.0
    confirm: float = 5.0
    adapt: float = 30.0
    growing: float = 60.0
    patience: float = 120.0
    slow: float = 3.0
    sizes: float = 2.0
    withdrawal: float = 10.0
    unasked: float = 60.0


@dataclass
class ProgressOutput:
    """A `status` replaces the last one; a `line` stays."""

    status: Callable[[str], None]
    line: Callable[[str], None]
