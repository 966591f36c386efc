"""A cluster in memory that takes the place of the client in tests of `submit`: it fails where and when a test wants."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

from msgspec.structs import replace

from kafka_reassign_rpc.client import (
    QUEUE,
    ClusterNode,
    KafkaError,
    LogDirs,
    MoveTerms,
    PartitionInfo,
    PartitionReassignment,
    ReplicaLogDir,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.config_calls import Config
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    NoReassignmentInProgress,
    PolicyViolation,
    PreferredLeaderNotAvailable,
)
from kafka_reassign_rpc.core.status.broker_documents import ControllerState
from kafka_reassign_rpc.core.status.documents import StartWindow
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import PollIntervals, ProgressOutput
from tests.pipeline.plans import Moves, write_plan

Replicas = tuple[int, ...]
Results = dict[TopicPartition, KafkaError | None]

AT_ONCE = PollIntervals(poll=0, health=0, mismatch=0, arrival=0, confirm=0, patience=20, sizes=0.25)


class Altered(NamedTuple):
    """What a client has asked for. A target of None: a cancel."""

    targets: dict[TopicPartition, Replicas | None]
    moves: Mapping[TopicPartition, MoveTerms | None]
    may_change_factor: bool

    @property
    def expected(self) -> dict[TopicPartition, Replicas]:
        return {name: one.expected for name, one in self.moves.items() if one is not None and one.expected is not None}

    @property
    def terms(self) -> MoveTerms:
        """Of its first move."""
        return next(one for one in self.moves.values() if one is not None)


def targets_of(moves: Mapping[TopicPartition, MoveTerms | None]) -> dict[TopicPartition, Replicas | None]:
    return {name: None if one is None else one.target for name, one in moves.items()}


class SimulatedCluster:
    """Partitions of topic t by number.

    replicas   of the partitions at rest, and before their moves
    moves      in flight or waiting; those in flight end when they have been listed `lists_to_end` times
    live       live brokers
    errors     by call: what it raises, one after the other, before it works
    refusals   by partition: how its alterations are refused, one after the other, before they are accepted
    late       so many descriptions of topics show the state before any move
    altered    the alterations
    checks     descriptions of the whole cluster
    compares   it compares expected replicas
    queues     it has a queue, and is a kafka-reassign-rpc server in that respect
    in_flight  the most moves in flight of one broker that any list has shown
    disabled   why no move starts, and no waiting one
    window     the window that holds; None: there are no windows
    cordoned_ones  cordoned brokers; None: it cordons none
    silent     brokers that do not tell sizes
    written    bytes that producers add to each partition between two looks at sizes; None: no sizes are told
    leaders    leaders that are not the first replicas
    elected    the partitions of each preferred election
    cannot_lead  partitions whose first replica is not in sync
    """

    def __init__(self, replicas: Mapping[int, Replicas], live: Set[int], lists_to_end: int = 2) -> None:
        self.replicas = {TopicPartition("t", index): found for index, found in replicas.items()}
        self.first = dict(self.replicas)
        self.moves: dict[TopicPartition, PartitionReassignment] = {}
        self.live = set(live)
        self.defaults: list[Config] = []
        """The dynamic configs of all brokers."""
        self.lists_to_end = lists_to_end
        self.errors: dict[str, list[Exception]] = {}
        self.refusals: dict[TopicPartition, list[KafkaError]] = {}
        self.late = 0
        self.altered: list[Altered] = []
        self.asked_for_sizes: list[tuple[list[int], int]] = []
        self.checks = 0
        self.topic_id = "G0t9a_-TS8qWlG5x3Nqf1A"
        self.silent: set[int] = set()
        self.written: int | None = None
        self.racks: dict[int, str] = {}
        self.leaders: dict[TopicPartition, int] = {}
        self.elected: list[set[TopicPartition]] = []
        self.cannot_lead: set[TopicPartition] = set()
        self.keeps_reasons = True
        self.compares = True
        self.queues = False
        self.in_flight = 0
        self.disabled: str | None = None
        self.window: StartWindow | None = None
        self.cordoned_ones: set[int] | None = set()
        self._own_caps: dict[TopicPartition, int] = {}
        self.on_list: Callable[[], None] = lambda: None
        self._lists = Counter[TopicPartition]()

    def raise_at_list(self, number: int, event: BaseException) -> None:
        """What ends submit at the list with this number of those that have moves."""
        lists = 0

        def happen() -> None:
            nonlocal lists
            lists += bool(self.moves)
            if lists == number:
                raise event

        self.on_list = happen

    def _called(self, name: str) -> None:
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        self._called("list")
        self.on_list()
        for name, move in list(self.moves.items()):
            self._lists[name] += not move.is_waiting
            if self._lists[name] > self.lists_to_end and self.live.issuperset(move.target):
                self.end(name)
        self._start_waiting()
        wanted = None if partitions is None else set(partitions)
        return {name: move for name, move in self.moves.items() if wanted is None or name in wanted}

    def end(self, name: TopicPartition) -> None:
        """A move has copied everything: the leader stays if the target has it, else the first of the target leads."""
        leader, target = self.leaders.get(name, self.replicas[name][0]), self.moves.pop(name).target
        self.replicas[name], self.leaders[name] = target, leader if leader in target else target[0]

    def _start_waiting(self) -> None:
        load = Counter[int]()
        for name, move in self.moves.items():
            if not move.is_waiting:
                load.update(self._brokers(name, move))
        for name, move in [] if self.disabled else list(self.moves.items()):
            brokers = self._brokers(name, move)
            if name in self._own_caps and all(load[broker] < self._own_caps[name] for broker in brokers):
                self._own_caps.pop(name)
                load.update(brokers)
                self.moves[name] = self._moving(move.target, move)
        self.in_flight = max([self.in_flight, *load.values()])

    def _brokers(self, name: TopicPartition, move: PartitionReassignment) -> set[int]:
        """Those for which a move counts: its leader, and the brokers that it adds."""
        return (
            {self.leaders.get(name, self.replicas[name][0]), *move.adding_replicas} if move.adding_replicas else set()
        )

    @staticmethod
    def _moving(target: Replicas, move: PartitionReassignment) -> PartitionReassignment:
        return replace(move, replicas=(*target, *move.removing_replicas), state="moving")

    def find_topics(self, topics: Iterable[str], *, of_controller: bool = False) -> dict[str, TopicInfo]:
        self._called("topics")
        assert of_controller
        assert set(topics) <= {"t"}
        self.late -= bool(self.late)
        return {"t": TopicInfo("t", self._partitions(self.first if self.late else self.replicas), None, self.topic_id)}

    def _partitions(self, replicas: Mapping[TopicPartition, Replicas]) -> dict[int, PartitionInfo]:
        found = {}
        for name, standing in replicas.items():
            move = self.moves.get(name)
            shown = standing if move is None else move.replicas
            found[name.partition] = PartitionInfo(self.leaders.get(name, shown[0]), shown, shown)
        return found

    def describe_everything(self) -> Everything:
        self._called("everything")
        self.checks += 1
        nodes = [ClusterNode(broker, "h", 1, self.racks.get(broker)) for broker in sorted(self.live)]
        return Everything("c1", 1, nodes, iter([TopicInfo("t", self._partitions(self.replicas), None)]))

    def moves_in_flight(self, _: object = None) -> NoReturn:
        raise UnsupportedHere

    def describe_log_dirs(
        self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]], *, timeout_ms: int
    ) -> list[LogDirs]:
        self.asked_for_sizes.append((sorted(partitions_by_broker), timeout_ms))
        return [
            LogDirs(broker, self._sizes(broker, names), error="?" if broker in self.silent else None)
            for broker, names in partitions_by_broker.items()
        ]

    def _sizes(self, broker: int, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, ReplicaLogDir]:
        """A replica that a move adds has copied nothing yet."""
        if self.written is None:
            return {}
        size = 1000 + self.written * len(self.asked_for_sizes)
        names = [TopicPartition(*name) for name in partitions]
        return {name: ReplicaLogDir(size=size if broker in self.replicas[name] else 0) for name in names}

    def alter_partition_reassignments(
        self, moves: Mapping[TopicPartition, MoveTerms | None], *, allow_replication_factor_change: bool = True
    ) -> Results:
        self.altered.append(Altered(targets_of(moves), moves, allow_replication_factor_change))
        self._called("alter")
        return {name: self._alter(name, terms) for name, terms in moves.items()}

    def _alter(self, name: TopicPartition, terms: MoveTerms | None) -> KafkaError | None:
        if self.refusals.get(name):
            return self.refusals[name].pop(0)
        if terms is None:
            return NoReassignmentInProgress() if self.moves.pop(name, None) is None else None
        queue, target = terms.route == QUEUE, terms.target
        if self.disabled is not None and not queue:
            return PolicyViolation(self.disabled)
        standing = self.replicas[name]
        adding = tuple(broker for broker in target if broker not in standing)
        removing = tuple(broker for broker in standing if broker not in target)
        if terms.expected not in (None, self.moves[name].replicas if name in self.moves else standing):
            return InvalidReplicaAssignment(f"it has {standing}")
        if not adding and not removing:  # Kafka ends it at once, and the leader stays
            self.leaders.setdefault(name, standing[0])
            self.replicas[name] = target
            return None
        known = self.moves.get(name)
        if known is not None and known.target == target and (queue or not known.is_waiting):
            return None  # another throttle
        move = PartitionReassignment(standing, adding, removing, reason=terms.reason, state="waiting")
        if queue:
            assert terms.moves_per_broker is not None
            self._own_caps[name] = terms.moves_per_broker
        self.moves[name] = move if queue else self._moving(target, move)
        return None

    def cancel_partition_reassignments(self, partitions: Iterable[TopicPartition]) -> Results:
        return self.alter_partition_reassignments(dict.fromkeys(partitions))

    def elect_preferred_leaders(self, partitions: Iterable[TopicPartition]) -> Results:
        self._called("elect")
        self.elected.append(set(partitions))
        for name in self.elected[-1] - self.cannot_lead:
            self.leaders[name] = self.replicas[name][0]
        return {name: PreferredLeaderNotAvailable() if name in self.cannot_lead else None for name in self.elected[-1]}

    def can_compare_replicas(self) -> bool:
        self._called("can")
        return self.compares

    def can_lease_throttles(self) -> bool:
        self._called("can")
        return True

    can_forbid_replication_factor_change = can_lease_throttles

    def servers_among(self, _nodes: object) -> set[int]:
        return set()

    def describe_configs(self, asked: Sequence[tuple[int, str]]) -> dict[tuple[int, str], list[Config]]:
        return dict.fromkeys(asked, self.defaults)

    def describe_broker_configs(self, brokers: Iterable[int], *, timeout_ms: int) -> dict[int, list[Config]]:
        assert timeout_ms
        return dict.fromkeys(brokers, self.defaults)

    def controller_state(self) -> ControllerState:
        return ControllerState("1", 1, 0, {})

    def status(self) -> SimpleNamespace:
        return SimpleNamespace(window=self.window)

    def can_queue(self) -> bool:
        return self.queues

    def can_cordon(self) -> bool:
        return self.cordoned_ones is not None

    def cordoned(self) -> frozenset[int]:
        return frozenset(self.cordoned_ones or ())

    def cordon(self, brokers: Iterable[int]) -> frozenset[int]:
        self._called("cordon")
        assert not self.moves, "before the first move"
        assert self.cordoned_ones is not None
        self.cordoned_ones.update(brokers)
        return self.cordoned()

    def why_disabled(self) -> str | None:
        return self.disabled

    def can_keep_reasons(self) -> bool:
        return self.keeps_reasons


def submission(
    cluster: SimulatedCluster,
    path: Path,
    *batches: Moves,
    said: list[str] | None = None,
    intervals: PollIntervals = AT_ONCE,
    first_leaders: Mapping[Any, int] | None = None,
    undo: bool = False,
    **options: Any,
) -> Submission:
    """A submission of a new plan, or of the plan at `path` if there are no batches; undo: of its way back."""
    if batches:
        write_plan(path, "c1", *batches, first_leaders=first_leaders)
    lines: list[str] = [] if said is None else said
    client: Any = cluster
    return Submission(
        client, path, read_plan(path, undo=undo), ProgressOutput(lines.append, lines.append), intervals, **options
    )


def moves(**targets: tuple[Sequence[int], Sequence[int]]) -> Moves:
    """Moves of topic t: p0=((2,), (1,)) moves t-0 from broker 1 to broker 2."""
    return {TopicPartition("t", int(name[1:])): found for name, found in targets.items()}
