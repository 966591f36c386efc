"""A plan is carried out: one batch after the other, each begun only where the cluster is as the plan expects it.

The state is the cluster's: see `standing`. A submission that was killed is started again with the same arguments. The
journal beside the plan only keeps how well the cluster was when the first batch began.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kafka_reassign_rpc.client import (
    KafkaError,
    LogDirProgressTracker,
    ProgressSnapshot,
    ReassignmentClient,
    TopicPartition,
    Unreachable,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.move_progress import brokers_to_ask
from kafka_reassign_rpc.client.reassignment_calls import NO_LEASES
from kafka_reassign_rpc.client.text_format import amounts, bar
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.plans.plan_reader import SET_RF, PlanEntry, SubmittedPlan, read_batch
from kafka_reassign_rpc.pipeline.submission.batch_state import BatchState, Health, HealthWatch, look, standing
from kafka_reassign_rpc.support.atomic_files import write_file

JOURNAL = "submit.json"
NAMED = 20
"""Partitions that are named one by one."""
_BAR_WIDTH = 24


class Stopped(Exception):
    """The cluster is not well; what moves goes on moving. Exit code 3."""


class DoesNotFit(Exception):
    """The cluster has changed since the plan was made; nothing of the batch was begun. Exit code 4."""


@dataclass(frozen=True)
class PollInterval:
    """Seconds. poll: between looks at the moves; health: between looks at the cluster; settle: for how long something
    may seem to be in the way; patience: without any answer."""

    poll: float = 1.0
    health: float = 5.0
    settle: float = 5.0
    patience: float = 120.0


class Journal(msgspec.Struct, frozen=True):
    """What is kept beside the plan."""

    cluster_id: str
    health: Health


@dataclass
class Show:
    """Where it is said how things are: `status` for now, `line` for good."""

    status: Callable[[str], None]
    line: Callable[[str], None]


@dataclass
class Submission:
    """One run of `submit`. Raises from its calls: BadInput, JobFailed, Stopped, DoesNotFit, KafkaError.

    throttle    bytes/s for the replicas that move, on each broker: the controller keeps it as long as the moves need it
                and no longer, whatever becomes of this run. 0: they have none. None: they have what they have.
    """

    client: ReassignmentClient
    path: Path
    plan: SubmittedPlan
    show: Show
    pace: PollInterval = field(default_factory=PollInterval)
    throttle: int | None = None
    _begun: int = 0

    def check(self) -> int:
        """The dry run: say for each batch where it stands; the number of moves that are not begun."""
        brokers, _ = self._cluster()
        left = 0
        refused: list[str] = []
        for file in self.plan.batches:
            batch = read_batch(file, self.plan.info.kind)
            found = self._settled(batch)
            left += len(found.not_begun)
            text = f"{len(found.done)} done, {len(found.moving)} moving, {len(found.not_begun)} to begin"
            self.show.line(
                f"{file.stem}: {text}" + (f", {len(found.in_the_way)} do not fit" if found.in_the_way else "")
            )
            refused += _named(found) + _absent(batch, found, brokers)
        if refused:
            raise DoesNotFit("\n".join(["the plan is older than the cluster:", *_some(refused)]))
        return left

    def execute(self, *, anew: bool = False) -> int:
        """Carry out what is left; the number of moves that were begun.

        anew    what is not well now is accepted, whatever was well when the plan was begun
        """
        brokers, health = self._cluster()
        watch = HealthWatch(self._first(health, anew=anew))
        compares, guards = self.client.can_compare_replicas(), self.client.can_forbid_replication_factor_change()
        if not compares:
            self.show.line("this cluster cannot compare and set: assignments are compared here, before each batch")
        if not guards and self.plan.info.kind != SET_RF:
            self.show.line(
                "this cluster cannot forbid a change of the replication factor: the plan's files were checked"
            )
        for number, file in enumerate(self.plan.batches, 1):
            batch = read_batch(file, self.plan.info.kind)
            found = self._settled(batch)
            if found.is_done:
                continue
            self._must_be_healthy(watch)
            refused = _named(found) + _absent(batch, found, brokers)
            if refused:
                text = f"{file.stem} does not fit the cluster, nothing more of it was begun:"
                raise DoesNotFit("\n".join([text, *_some(refused)]))
            if found.moving and self.throttle is not None:
                self._throttle(file.stem, found.moving, self.throttle)
            if found.not_begun:
                entries = {name: batch[name] for name in sorted(found.not_begun)}
                self._begin(file.stem, entries, compares=compares, guards=guards)
            self._follow(batch, watch, f"batch {number}/{len(self.plan.batches)}", file.stem)
            self.show.line(f"{file.stem}: {len(batch)} done")
        return self._begun

    def _cluster(self) -> tuple[frozenset[int], Health]:
        everything = self.client.describe_everything()
        if everything.cluster_id != self.plan.info.cluster_id:
            raise BadInput(
                f"{self.path}: is for cluster {self.plan.info.cluster_id}, this is cluster {everything.cluster_id}"
            )
        if self.throttle is not None and not self.client.can_lease_throttles():
            raise UnsupportedHere(NO_LEASES)
        brokers = frozenset(node.id for node in everything.nodes)
        return brokers, look(brokers, everything.topics)

    def _first(self, health: Health, *, anew: bool) -> Health:
        """How the cluster was when the plan was begun."""
        file = self.path / JOURNAL
        if not anew:
            try:
                return msgspec.json.decode(file.read_bytes(), type=Journal).health
            except FileNotFoundError:
                pass
            except (OSError, msgspec.MsgspecError) as error:
                raise BadInput(f"{file}: {error}; remove it to take the cluster as it is now") from None
        write_file(file, (msgspec.json.encode(Journal(self.plan.info.cluster_id, health)),))
        return health

    def _look(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        in_flight = self.client.list_partition_reassignments()
        topics = self.client.describe_topics({name.topic for name in batch})
        return standing(batch, topics, in_flight)

    def _settled(self, batch: Mapping[TopicPartition, PlanEntry]) -> BatchState:
        """Where the batch stands, once nodes have had time to learn of what is over."""
        return self._look_until(batch, lambda found: not found.in_the_way)

    def _look_until(
        self, batch: Mapping[TopicPartition, PlanEntry], settled: Callable[[BatchState], bool]
    ) -> BatchState:
        deadline = time.monotonic() + self.pace.settle
        found = self._look(batch)
        while not settled(found) and time.monotonic() < deadline:
            time.sleep(self.pace.poll)
            found = self._look(batch)
        return found

    def _begin(self, name: str, entries: Mapping[TopicPartition, PlanEntry], *, compares: bool, guards: bool) -> None:
        """Begin all of these moves or, where one is refused, none."""
        expected = {partition: entry.expected_replicas for partition, entry in entries.items()}
        try:
            results = self.client.alter_partition_reassignments(
                {partition: entry.replicas for partition, entry in entries.items()},
                allow_replication_factor_change=self.plan.info.kind == SET_RF or not guards,
                expected_replicas=expected if compares else None,
                throttle=self.throttle,
                reason=self._reason(name) if self.client.can_keep_reasons() else None,
            )
        except Unreachable as error:
            # It may have had its effect: what the cluster shows next decides.
            self.show.line(f"{name}: {error.message} Looking what has become of it.")
            found = self._look_until(entries, lambda found: not found.not_begun and not found.in_the_way)
            if found.not_begun or found.in_the_way:
                left = len(found.not_begun) + len(found.in_the_way)
                raise JobFailed(f"{name}: {left} moves were not begun; run the same command again") from None
            results = {}
        refused = {partition: error for partition, error in results.items() if error is not None}
        if refused:
            # A node may have shown what was over already: then the controller refuses, and all is well.
            asked = {partition: entries[partition] for partition in refused}
            found = self._look(asked)
            if found.not_begun or found.in_the_way:
                time.sleep(self.pace.poll)
                found = self._look(asked)
            refused = {
                one: error for one, error in refused.items() if one in found.not_begun or one in found.in_the_way
            }
        if refused:
            begun = entries.keys() - results.keys() | {one for one, error in results.items() if error is None}
            self._take_back(name, refused, begun)
        self._begun += len(entries)

    def _throttle(self, name: str, moving: Iterable[TopicPartition], throttle: int) -> None:
        """What moves since an earlier run gets the throttle of this one; a move that ends just now needs none."""
        in_flight = self.client.list_partition_reassignments()
        begun = {one: in_flight[one] for one in moving if one in in_flight and not in_flight[one].is_waiting}
        self.client.alter_partition_reassignments(
            {one: move.target for one, move in begun.items()},
            expected_replicas={one: move.replicas for one, move in begun.items()},
            throttle=throttle,
            reason=self._reason(name),
        )

    def _reason(self, name: str) -> str:
        """What is kept with each move, and shown with it: in events, and to who wonders what moves there."""
        return f"plan {self.path.resolve().name} ({self.plan.info.kind}), {name}"

    def _take_back(
        self, name: str, refused: Mapping[TopicPartition, KafkaError], begun: Iterable[TopicPartition]
    ) -> None:
        """Cancel what was begun of a batch of which not all was. Raises DoesNotFit."""
        kept = [one for one, error in self.client.cancel_partition_reassignments(begun).items() if error is not None]
        said = [f"{one}: {error.message}" for one, error in sorted(refused.items())]
        there = f", but for {len(kept)} that had arrived" if kept else ""
        text = f"{name}: {len(refused)} moves were refused; what else had begun of it was cancelled{there}:"
        raise DoesNotFit("\n".join([text, *_some(said)]))

    def _follow(self, batch: Mapping[TopicPartition, PlanEntry], watch: HealthWatch, title: str, name: str) -> None:
        """Until nothing of the batch moves any more."""
        tracker = LogDirProgressTracker()
        answered = time.monotonic()
        looked = answered
        while True:
            try:
                in_flight = self.client.list_partition_reassignments()
                moving = {one: move for one, move in in_flight.items() if one in batch}
                snapshot = tracker.update(
                    time.monotonic(), moving, self.client.describe_log_dirs(brokers_to_ask(moving))
                )
                self.show.status(_progress(title, len(batch), snapshot))
                if not moving:
                    self._arrived(batch, name)
                    return
                if time.monotonic() - looked >= self.pace.health:
                    looked = time.monotonic()
                    self._is_well(watch)
                answered = time.monotonic()
            except Unreachable as error:
                if time.monotonic() - answered > self.pace.patience:
                    raise
                self.show.status(f"{title}: no answer, trying again: {error.message}")
            time.sleep(self.pace.poll)

    def _arrived(self, batch: Mapping[TopicPartition, PlanEntry], name: str) -> None:
        found = self._look_until(batch, lambda found: found.is_done)
        if not found.is_done:
            left = [f"{one}: it was cancelled" for one in sorted(found.not_begun)] + _named(found)
            left += [f"{one}: it moves again" for one in sorted(found.moving)]
            raise DoesNotFit("\n".join([f"{name} did not arrive where the plan wants it:", *_some(left)]))

    def _must_be_healthy(self, watch: HealthWatch) -> None:
        """Before anything is begun: what seems wrong is looked at again. Raises Stopped."""
        while not self._is_well(watch):
            self.show.status("the cluster does not seem to be well, looking again")
            time.sleep(self.pace.health)

    def _is_well(self, watch: HealthWatch) -> bool:
        """Whether a look finds nothing. Raises Stopped for what is certainly wrong."""
        moving = self.client.list_partition_reassignments()
        everything = self.client.describe_everything()
        watch.update(look((node.id for node in everything.nodes), everything.topics), moving)
        if watch.verdict is not None:
            raise Stopped(
                f"{watch.verdict}. What moves goes on moving, nothing more is begun. Run the same command again when "
                "the cluster is well, or with --accept-health to go on as it is"
            )
        return not watch.suspects


def _named(found: BatchState) -> list[str]:
    return [f"{name}: {why}" for name, why in sorted(found.in_the_way.items())]


def _absent(batch: Mapping[TopicPartition, PlanEntry], found: BatchState, brokers: frozenset[int]) -> list[str]:
    """Moves that would be begun onto brokers that are not there."""
    said = []
    for name in sorted(found.not_begun):
        gone = [broker for broker in batch[name].replicas if broker not in brokers]
        if gone:
            said.append(f"{name}: broker {gone[0]} is not there")
    return said


def _some(said: list[str]) -> list[str]:
    return said if len(said) <= NAMED else [*said[:NAMED], f"… and {len(said) - NAMED} more"]


def _progress(title: str, moves: int, snapshot: ProgressSnapshot) -> str:
    done = moves - len(snapshot.moves)
    return f"{title} |{bar(snapshot.total.share, _BAR_WIDTH)}| {done} of {moves} moves, {amounts(snapshot.total)}"
