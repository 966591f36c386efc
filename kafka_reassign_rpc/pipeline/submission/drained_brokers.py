"""What `submit` does for brokers that a plan drains: cordons them, moves away what came after the snapshot, and says
whether they are empty. A drain of some topics alone does not empty a broker.

What `submit` says at its end of brokers or log dirs that its plan empties.
"""

import shlex
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from kafka_reassign_rpc.client import ClusterNode, KafkaError, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.core.config_values import listed
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.plans.batch_reader import DRAIN, Entries, PlanEntry, SubmittablePlan
from kafka_reassign_rpc.pipeline.plans.plan_directory import LEFT_OUT
from kafka_reassign_rpc.pipeline.plans.plan_writer import read_left_out, require_all_left_out
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.submission.health_watch import HealthWatch
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.in_memory_planner import InMemoryPlanner
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition, PlannerTopic
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those
from kafka_reassign_rpc.support.typed_commands import command

NAMED = 5


class NotEmpty(Exception):
    """The plan is carried out, but something that it empties still holds replicas. Exit code 5."""


@dataclass
class Left:
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.first) < NAMED:
            self.first.append(name)


def lines_of(places: Mapping[str, Left], again: Callable[[], Iterable[str]]) -> list[str]:
    """`places` are named as in "broker 3"; `again`: the commands that empty the rest."""
    lines = [
        f"{place} is not empty: it has {counted(left.count, 'replica')} ({first_of(left.first, NAMED, of=left.count)})"
        if left.count
        else f"{place} is empty"
        for place, left in places.items()
    ]
    if any(left.count for left in places.values()):
        lines.append("what is there was left out, came after the last look, or has nowhere to go; to plan it again:")
        lines += [f"  {one}" for one in again()]
    return lines


def plan_again(path: StorePath, kind: str, words: Iterable[str]) -> Iterator[str]:
    """Commands that plan what is left, with these words after `plan KIND`, and carry it out. `path`: the plan."""
    snapshot, plan = f"{path}-snapshot", f"{path}-again"
    yield command("kafka-reassign-rpc export", "--out", snapshot)
    yield f"kafka-reassign-rpc plan {kind} {shlex.join([*words, '--snapshot', snapshot, '--out', plan])}"
    yield command("kafka-reassign-rpc submit", "--plan", plan, "--execute")


def refuse_rest(places: Mapping[str, Left], begun: int) -> None:
    """Raises NotEmpty, so that nobody takes the end of the moves for the end of the drain."""
    full = [place for place, left in places.items() if left.count]
    if full:
        moves, are = counted(begun, "move", "were"), agreeing(len(full), "are")
        raise NotEmpty(f"the plan is carried out ({moves} begun now), but {first_of(full, NAMED)} {are} not empty")


MOST = 1_000
"""More need another plan, which first shows what they cost."""
ROUNDS = 3
"""Without a cordon more may come each time."""
MEANWHILE = "meanwhile"
CarryOut = Callable[[str, Entries], int]
"""Carries out moves under this name; returns how many began."""


@dataclass
class DrainedBrokers:
    """All methods raise KafkaError."""

    cluster: PatientCluster
    path: StorePath
    plan: SubmittablePlan
    cordons: bool

    @property
    def brokers(self) -> Sequence[int]:
        summary = self.plan.summary
        return () if summary.requested.topics else sorted(set(summary.brokers_of(DRAIN) or ()))

    def require_left_out(self) -> None:
        """Raises BadInput where rows of what the plan leaves out are lost: they would move as what came later."""
        partitions = sum(one.partitions for one in self.plan.summary.left_out)
        if partitions and self.brokers and not self.plan.undoes:
            require_all_left_out(self.path, partitions)

    def announce(self) -> None:
        if self.brokers and self.cordons and not self.plan.undoes:
            if self._can_cordon():
                self.cluster.output.line(f"{self._named()} {self._are()} cordoned first (--no-cordon: not)")
            else:
                self.cluster.output.line(self._open())

    def cordon(self) -> None:
        """Raises JobFailed where the controller could cordon them and refuses."""
        if not self.brokers or not self.cordons or self.plan.undoes:
            return
        client, line = self.cluster.client, self.cluster.output.line
        if not self._can_cordon():
            line(self._open())
            return
        try:
            self.cluster.ask(lambda: client.cordon(self.brokers))
        except KafkaError as error:
            why = f"{self._named()} could not be cordoned: {error.message} --no-cordon drains without"
            raise JobFailed(why) from None
        line(f"{self._named()} {self._are()} cordoned: `{self._how_to_open()}` opens {self._them()} again")

    def move_rest(self, carry_out: CarryOut, watch: HealthWatch, left_out: Collection[TopicPartition] = ()) -> int:
        """Once the plan is carried out, but for what was `left_out`. Returns how many moves began. Raises as
        `WindowRun.run`, but moves that fit no more are named, and stay.
        """
        begun = 0
        for number in range(1, ROUNDS + 1) if self.brokers and not self.plan.undoes else ():
            self._wait_for_moves(watch)
            if not _is_full(self._left()):
                break
            moves = self.cluster.ask(partial(self._rest, left_out))
            if not moves:
                break
            what = first_of(sorted(map(str, moves)), NAMED)
            self.cluster.output.line(f"{counted(len(moves), 'partition')} came to {self._named()} meanwhile: {what}")
            try:
                begun += carry_out(f"{MEANWHILE}-{number}", moves)
            except PlanDoesNotFit as error:
                self.cluster.output.line(str(error))
                break
        return begun

    def _wait_for_moves(self, watch: HealthWatch) -> None:
        """A killed run, or somebody else, may have begun moves that empty the brokers. Those to a lost broker do not
        count.
        """
        while leaving := [one for one in self.cluster.moves().values() if self._empties(one, watch.live)]:
            watch.is_healthy(frozenset())
            self.cluster.output.status(f"{counted(len(leaving), 'partition')} on the way from {self._named()}")
            time.sleep(self.cluster.intervals.poll)

    def _empties(self, move: PartitionReassignment, live: Collection[int]) -> bool:
        return not move.sources.isdisjoint(self.brokers) and set(live).difference(self.brokers).issuperset(move.target)

    @cached_property
    def _left_out(self) -> frozenset[TopicPartition]:
        """The plan had reasons, which still hold: here nobody knows sizes. Raises BadInput."""
        if not (self.path / LEFT_OUT).exists():
            return frozenset()
        table = read_left_out(self.path)
        return frozenset(map(TopicPartition, table["topic"].to_pylist(), table["partition"].to_pylist()))

    def _rest(self, left_out: Collection[TopicPartition]) -> dict[TopicPartition, PlanEntry]:
        client = self.cluster.client
        everything = client.describe_everything()
        servers = client.servers_among({node.id for node in everything.nodes})
        nodes = [node for node in everything.nodes if node.id not in servers]
        cordoned = client.cordoned() if client.can_cordon() else frozenset()
        staying = self._left_out.union(left_out) | client.list_partition_reassignments().keys()
        return moves_of(nodes, everything.topics, self.brokers, self.plan.summary.requested.to, cordoned, staying)

    def _left(self) -> dict[int, Left]:
        return self.cluster.until(self._look, lambda found: not _is_full(found), self.cluster.intervals.mismatch)

    def report(self, begun: int | None) -> None:
        """Says whether the brokers are empty and stay so, and names commands for what is left. Raises NotEmpty once
        the plan is carried out, with `begun` moves by this run; None: it is not.
        """
        if not self.brokers:
            return
        line = self.cluster.output.line
        closed = self.cluster.ask(self.cluster.client.cordoned) if self._can_cordon() else None
        if self.plan.undoes:
            if closed is not None and not closed.isdisjoint(self.brokers):
                line(f"{self._named()} {self._are()} still cordoned: `{self._how_to_open()}` opens {self._them()}")
            return
        left = self._left()
        places = {f"broker {broker}": one for broker, one in left.items()}
        full = [broker for broker, one in left.items() if one.count]
        for one in lines_of(places, lambda: self._again(listed(full))):
            line(one)
        opened = [] if closed is None or not self.cordons else sorted(set(self.brokers) - closed)
        if opened:
            close = command("kafka-reassign cordon", "--brokers", listed(opened))
            who, them = those(opened, verb="are", most=NAMED), agreeing(len(opened), "them")
            line(f"{who} not cordoned any more, somebody has opened {them}: `{close}` keeps new replicas away")
        if begun is not None:
            refuse_rest(places, begun)

    def _again(self, brokers: str) -> Iterator[str]:
        to = self.plan.summary.requested.to
        receivers = ("--to", listed(to)) if to else ()
        return plan_again(self.path, "drain", ["--brokers", brokers, *receivers])

    def _look(self) -> dict[int, Left]:
        return self.cluster.ask(self._read)

    def _read(self) -> dict[int, Left]:
        found = {broker: Left() for broker in self.brokers}
        for topic in self.cluster.client.describe_everything().topics:
            for index, partition in topic.partitions.items():
                for broker in set(partition.replicas).intersection(self.brokers):
                    found[broker].add(str(TopicPartition(topic.name, index)))
        return found

    def _can_cordon(self) -> bool:
        return self.cluster.ask(self.cluster.client.can_cordon)

    def _open(self) -> str:
        return f"this controller cannot cordon brokers: new topics may land on {self._named()} meanwhile"

    def _how_to_open(self) -> str:
        return command("kafka-reassign cordon", "--uncordon", "--brokers", listed(self.brokers))

    def _named(self) -> str:
        return those(self.brokers, most=NAMED)

    def _are(self) -> str:
        return agreeing(len(self.brokers), "are")

    def _them(self) -> str:
        return agreeing(len(self.brokers), "them")


def _is_full(left: Mapping[int, Left]) -> bool:
    return any(one.count for one in left.values())


def moves_of(
    nodes: Iterable[ClusterNode],
    topics: Iterable[TopicInfo],
    drained: Collection[int],
    to: Collection[int],
    cordoned: Collection[int],
    staying: Collection[TopicPartition],
) -> dict[TopicPartition, PlanEntry]:
    """Where replicas go that came to a drained broker after the snapshot: the first MOST moves; empty where nobody may
    take them.

    nodes     live brokers
    to        the only brokers that get replicas; empty: any
    staying   partitions that move or wait, whoever asked for it; and those that the plan left out
    """
    there = {node.id: PlannerBroker(node.id, node.rack, cordoned=node.id in cordoned) for node in nodes}
    ids: dict[str, str] = {}
    found = []
    for topic in topics:
        ids[topic.name] = topic.topic_id
        partitions = [
            PlannerPartition(
                index, one.replicas, one.leader, one.isr, moving=TopicPartition(topic.name, index) in staying
            )
            for index, one in sorted(topic.partitions.items())
        ]
        found.append(PlannerTopic(topic.name, partitions))
    held = {broker for topic in found for one in topic.partitions for broker in one.replicas}
    lost = [PlannerBroker(broker, live=False) for broker in sorted(held - there.keys())]
    try:
        goal = Goal(GoalKind.DRAIN, tuple(sorted(drained)), to=tuple(sorted(to)))
        planner = InMemoryPlanner(PlannerCluster([*there.values(), *lost], found), goal, PlanOptions(lead_first=False))
        for _ in planner.steps():
            pass
    except PlanError:
        return {}
    entries = [
        PlanEntry(move.topic, move.partition, move.target, move.original, topic_id=ids[move.topic])
        for move in planner.plan.moves[:MOST]
    ]
    return {entry.topic_partition: entry for entry in entries}
