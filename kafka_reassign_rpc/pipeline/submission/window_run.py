"""`submit`: moves begin as others end. A turn of the loop reads more of the plan, checks the health, sees what has
ended, and begins what has room.

what the cluster shows of a partition       then
moves to its target, or waits in a queue    it takes a place in the window
moves no more, has its target               done; the first replica leads (`lead_afterwards`)
moves no more, has other replicas           left out: somebody cancelled it, or moves it elsewhere
moves, and a broker of its target is lost   it takes no place until that broker is back
at rest, as the plan expects it             begins when it has room
anything else                               left out

By batch, the next one is read once all of a batch is done. A run may be killed anywhere; the next one finds
the same states.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, LogDirProgressTracker, ProgressSnapshot, TopicPartition
from kafka_reassign_rpc.client.text_format import first_lines, named
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import Entries, PlanEntry, SubmittablePlan, batch_number, read_batch
from kafka_reassign_rpc.pipeline.submission.batch_changes import BatchChanges, not_begun
from kafka_reassign_rpc.pipeline.submission.batch_state import missing_broker
from kafka_reassign_rpc.pipeline.submission.health_watch import HealthWatch
from kafka_reassign_rpc.pipeline.submission.move_window import MoveWindow, WindowMove
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.plan_progress import PlanProgress, Seen
from kafka_reassign_rpc.pipeline.submission.plan_warnings import PlanWarnings
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, UnderWay
from kafka_reassign_rpc.pipeline.submission.withdrawal import taking_back
from kafka_reassign_rpc.support.counted import counted

LOOK_AHEAD = 10_000
"""How far the plan is read beyond the first waiting move. Bounds memory, and how many moves pass that one."""

AT_ONCE = 5_000

LATER_HAVE_NOT_BEGUN = "all others of the batch are done, those of later ones have not begun"

MOST_REFUSED = 100
"""Final refusals after which submit begins no more."""


class Source(NamedTuple):
    """A batch to carry out. `read` may raise BadInput."""

    name: str
    number: int
    read: Callable[[], Mapping[TopicPartition, PlanEntry]]


def sources_of(plan: SubmittablePlan) -> list[Source]:
    return [
        Source(file.stem, batch_number(file), partial(read_batch, file, plan.summary.kind)) for file in plan.batches
    ]


@dataclass
class _OpenBatch:
    """A batch with moves left. `out`: how many were left out."""

    name: str
    size: int
    left: int
    out: int = 0


@dataclass
class WindowRun:
    """`under_way` may be read by others at any time. `by_batch`: one batch at a time."""

    cluster: PatientCluster
    sources: Iterable[Source]
    name: str
    watch: HealthWatch
    changes: BatchChanges
    window: MoveWindow
    under_way: UnderWay
    progress: PlanProgress
    warnings: PlanWarnings
    by_batch: bool = False
    _unread: deque[Source] = field(init=False)
    _open: dict[int, _OpenBatch] = field(default_factory=dict)
    _batches: dict[TopicPartition, int] = field(default_factory=dict)
    _queued: set[TopicPartition] = field(default_factory=set)
    """In the controller's queue at the last look."""
    _arriving: dict[TopicPartition, tuple[WindowMove, float]] = field(default_factory=dict)
    """Ended moves whose partitions do not show it yet, and until when they may take."""
    _reordered: set[TopicPartition] = field(default_factory=set)
    _postponed: dict[TopicPartition, float] = field(default_factory=dict)
    """Moves that the controller refused for the moment, since when."""
    _left_out: dict[TopicPartition, str] = field(default_factory=dict)
    _to_restore: dict[TopicPartition, PlanEntry] = field(default_factory=dict)
    """Moves left out whose first leaders may still be in front."""
    _refused: int = 0
    _targets: set[int] = field(default_factory=set)
    _tracker: LogDirProgressTracker = field(default_factory=LogDirProgressTracker)
    _snapshot: ProgressSnapshot | None = None
    _sizes: dict[TopicPartition, int] = field(default_factory=dict)
    """Bytes of the open moves, as far as brokers have told them."""
    _confirm_at: float = 0.0
    _adapt_at: float = 0.0

    def __post_init__(self) -> None:
        self._unread = deque(self.sources)

    def run(self) -> int:
        """Returns how many moves this run began. Raises PlanDoesNotFit, SubmitStopped, JobFailed, BadInput."""
        with taking_back(self.changes, self.name, self.under_way, self._reordered_ones):
            return self._run()

    def _reordered_ones(self) -> dict[TopicPartition, PlanEntry]:
        """Moves that have not begun, or were left out just now, with their first leader in front."""
        waiting = self.window.waiting
        return {name: waiting[name].entry for name in self._reordered & waiting.keys()} | self._to_restore

    def _run(self) -> int:
        begun = 0
        self._adapt_at = time.monotonic() + self.cluster.intervals.adapt
        while True:
            self._read()
            if not (self.window.waiting or self.window.moving or self._arriving or self._stuck_go_on()):
                break
            is_healthy = self.watch.is_healthy(self._targets)
            self._look()
            if is_healthy:
                self._set_stuck_apart()
                begun += self._begin()
                self._show()
            else:
                self.cluster.output.status("the cluster seems to be unhealthy, checking again")
            self._restore_order()
            time.sleep(self.cluster.intervals.poll)
        if self.window.stuck:
            more = [str(self._does_not_fit("these will not begin"))] if self._left_out else []
            others = LATER_HAVE_NOT_BEGUN if self._unread else "nothing else is left to do"
            raise stop_for(self.name, self._waiting_for_lost(), others, *more)
        if self._left_out:
            error = self._does_not_fit(LATER_HAVE_NOT_BEGUN if self._unread else "all others are done")
            error.left_out = frozenset() if self._unread else frozenset(self._left_out)
            raise error
        return begun

    # Reading the plan

    def _read(self) -> None:
        while self._unread and (ahead := self.window.ahead(self._queued)) < LOOK_AHEAD and not self._waits_for_batch():
            read: dict[TopicPartition, PlanEntry] = {}
            while self._unread and len(read) < min(AT_ONCE, LOOK_AHEAD - ahead) and not self._waits_for_batch():
                source = self._unread.popleft()
                batch = source.read()
                for name in batch:
                    if name in read or name in self._batches:
                        raise BadInput(
                            f"{source.name}: {name} is in an earlier batch too; carry the plan out --by-batch"
                        )
                    self._batches[name] = source.number
                if batch:
                    self._open[source.number] = _OpenBatch(source.name, len(batch), len(batch))
                read |= batch
            self._place(read)
            self.warnings.of_moves(self.cluster, read, self.window.waiting)

    def _waits_for_batch(self) -> bool:
        return self.by_batch and bool(self._open or self._left_out)

    def _place(self, read: Mapping[TopicPartition, PlanEntry]) -> None:
        found = self.cluster.stable_state(read)
        for name in sorted(found.done):
            self._done(name, earlier=True)
        self.changes.lead_afterwards(self.name, found)
        for name, why in sorted(found.mismatched.items()):
            self._leave_out(read[name], why)
        self._reordered |= found.reordered
        open_moves = {
            name: WindowMove.of(entry, found.leaders.get(name, -1))
            for name, entry in read.items()
            if name in found.not_begun or name in found.moving
        }
        self.window.wait(open_moves)
        for name in found.moving:
            self.window.begin(name)
        self._targets.update(broker for move in open_moves.values() for broker in move.entry.replicas)
        self._update_under_way()
        if found.moving and self.changes.terms.throttle is not None:
            self.changes.change_throttle(self.name, {name: read[name] for name in sorted(found.moving)})

    # What has ended

    def _look(self) -> None:
        now = time.monotonic()
        flying = self.window.moving.keys() | self.window.stuck.keys()
        if flying:
            listed, self._snapshot = self.cluster.progress(self._tracker, flying)
            for name in flying - listed.keys():
                self._arriving[name] = self.window.end(name), now + self.cluster.intervals.arrival
            self._queued = {name for name in flying & listed.keys() if listed[name].is_waiting}
            self.warnings.of_throttle(now, self._snapshot.moves)
            self._sizes.update({name: one.total for name, one in self._snapshot.moves.items() if one.total is not None})
        if now >= self._adapt_at:
            self.window.adapt()
            self._adapt_at = now + self.cluster.intervals.adapt
        if self._arriving and (now >= self._confirm_at or not self.window.moving):
            self._confirm()
            self._confirm_at = time.monotonic() + self.cluster.intervals.confirm
        self._update_under_way()

    def _set_stuck_apart(self) -> None:
        """They take no places until the broker is back."""
        waiting = waiting_for_lost(self._moving(), self.watch.live)
        stuck = self.window.stuck
        back = stuck.keys() - waiting.keys()
        lines = lines_of({name: broker for name, broker in waiting.items() if name not in stuck})
        lines += [f"{counted(len(back), 'move', 'go')} on, its broker is back: {named(back)}"] if back else []
        for line in lines:
            self.cluster.output.line(f"{self.name}: {line}")
        self.window.set_apart(waiting)

    def _stuck_go_on(self) -> bool:
        """Checked at once, since nothing else is left to do."""
        if self.window.stuck:
            self.watch.wait_until_healthy(self._targets)
            self._set_stuck_apart()
        return bool(self.window.moving)

    def _waiting_for_lost(self) -> dict[TopicPartition, int]:
        return waiting_for_lost({name: move.entry for name, move in self.window.stuck.items()}, self.watch.live)

    def _confirm(self) -> None:
        entries = {name: move.entry for name, (move, _) in self._arriving.items()}
        found = self.cluster.state(entries)
        self.changes.lead_afterwards(self.name, found)
        now = time.monotonic()
        for name in sorted(entries):
            move, until = self._arriving[name]
            if name in found.done:
                self._done(name)
            elif name in found.moving:
                self.window.go_on(name, move)
            elif now < until:
                continue
            else:
                self._leave_out(move.entry, found.mismatched.get(name, "it was cancelled"))
            del self._arriving[name]

    def _done(self, name: TopicPartition, *, earlier: bool = False) -> None:
        self.progress.done(self._batches[name], earlier=earlier, size=self._sizes.pop(name, None))
        self._close(name)

    def _leave_out(self, entry: PlanEntry, why: str) -> None:
        name = entry.topic_partition
        self._left_out[name] = why
        self._sizes.pop(name, None)
        self.progress.left_out(self._batches[name])
        self._to_restore[name] = entry
        self._open[self._batches[name]].out += 1
        self._close(name)

    def _close(self, name: TopicPartition) -> None:
        number = self._batches.pop(name)
        batch = self._open[number]
        batch.left -= 1
        if not batch.left:
            del self._open[number]
            left_out = f", {batch.out} left out" if batch.out else ""
            self.cluster.output.line(f"{batch.name}: {batch.size - batch.out} done{left_out}")

    # What begins

    def _begin(self) -> int:
        chosen = self._still_fitting({move.entry.topic_partition: move.entry for move in self.window.next()})
        if not chosen:
            return 0
        self.under_way.see(self._moving(), asked=chosen)
        offer = self.changes.offer(self.name, chosen, self._reordered & chosen.keys())
        for name in sorted(offer.begun | offer.done):
            self.window.begin(name)
            self._postponed.pop(name, None)
            self._reordered.discard(name)
        self._reordered |= offer.reordered
        for name, why in sorted(offer.refused.items()):
            self._drop(name, why)
        self._refused += len(offer.refused)
        if self._refused >= MOST_REFUSED:
            raise self._does_not_fit("the controller refuses too much, submit begins no more")
        self._postpone(offer.later)
        self._update_under_way()
        return len(offer.begun | offer.done)

    def _still_fitting(self, chosen: Mapping[TopicPartition, PlanEntry]) -> dict[TopicPartition, PlanEntry]:
        fitting = {}
        for name, entry in chosen.items():
            gone = missing_broker(entry, self.watch.live)
            if gone:
                self._drop(name, gone)
            else:
                fitting[name] = entry
        if self.changes.compares or not fitting:
            return fitting
        found = self.cluster.stable_state(fitting)
        for name, why in sorted(found.mismatched.items()):
            self._drop(name, why)
        for name in sorted(found.moving | found.done):
            self.window.begin(name)
        self._reordered = (self._reordered - fitting.keys()) | found.reordered
        return {name: entry for name, entry in fitting.items() if name in found.not_begun}

    def _drop(self, name: TopicPartition, why: str) -> None:
        self._leave_out(self.window.drop(name).entry, why)

    def _restore_order(self) -> None:
        left = self.changes.restore_order(self.name, self._to_restore)
        self.under_way.out_of_order = {**self.under_way.out_of_order, **left}
        self._to_restore.clear()

    def _postpone(self, later: Mapping[TopicPartition, KafkaError]) -> None:
        """Raises JobFailed if that lasts too long."""
        now = time.monotonic()
        for name in later:
            since = self._postponed.setdefault(name, now)
            if now - since >= self.cluster.intervals.patience:
                raise not_begun(self.name, later)

    # What is said

    def _moving(self) -> dict[TopicPartition, PlanEntry]:
        return {name: move.entry for name, move in (self.window.moving | self.window.stuck).items()}

    def _update_under_way(self) -> None:
        self.under_way.see(self._moving())

    def _show(self) -> None:
        waiting = len(self.window.waiting) + len(self._queued)
        known = {} if self._snapshot is None else self._snapshot.moves
        flying = [name for name in self._moving() if name not in self._queued]
        seen = [self._seen(name, known[name].done if name in known else 0) for name in flying]
        seen += [self._seen(name, 0, has_ended=True) for name in self._arriving]
        stalled = 0 if self._snapshot is None else self._snapshot.stalled
        text = self.progress.text(time.monotonic(), seen, waiting=waiting, stalled=stalled)
        stuck = status_of(self._waiting_for_lost())
        self.cluster.output.status(f"{text}; {stuck}" if stuck else text)

    def _seen(self, name: TopicPartition, copied: int | None, *, has_ended: bool = False) -> Seen:
        return Seen(self._batches[name], copied or 0, self._sizes.get(name), has_ended)

    def _does_not_fit(self, others: str) -> PlanDoesNotFit:
        lines = first_lines([f"{name}: {why}" for name, why in sorted(self._left_out.items())])
        moves = counted(len(self._left_out), "move", "were")
        return PlanDoesNotFit("\n".join([f"{self.name}: {moves} left out; {others}:", *lines]))


# -- moves to a lost broker: they cannot end before it is back ---------------------------------------------------------

Waiting = Mapping[TopicPartition, int]
"""The lost broker that each waits for."""


def waiting_for_lost(moves: Entries, live: Set[int]) -> dict[TopicPartition, int]:
    return {name: min(gone) for name, entry in moves.items() if (gone := set(entry.replicas) - live)}


def status_of(waiting: Waiting) -> str:
    return "; ".join(_texts(waiting))


def lines_of(waiting: Waiting) -> list[str]:
    return [f"{text}: {named(names)}" for text, names in _texts(waiting).items()]


def _texts(waiting: Waiting) -> dict[str, list[TopicPartition]]:
    by_broker = defaultdict[int, list[TopicPartition]](list)
    for name, broker in waiting.items():
        by_broker[broker].append(name)
    return {
        f"{counted(len(names), 'move', 'wait')} for broker {broker}, which is lost": names
        for broker, names in sorted(by_broker.items())
    }


def stop_for(name: str, waiting: Waiting, others: str, *more: str) -> SubmitStopped:
    """`others`: what became of the other moves; `more`: lines after these."""
    first = (
        f"{name}: {others}. What is left ends when its brokers are back, or when it is cancelled; run the same command "
        "again then:"
    )
    return SubmitStopped("\n".join([first, *lines_of(waiting), *more]))
