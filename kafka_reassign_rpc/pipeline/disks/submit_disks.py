"""`submit` of a plan between log dirs. Each broker is asked separately, so one that does not answer or refuses holds
up no other.

Kafka's throttle of copies between log dirs. The controller does not know such copies, so no lease ends it.
disk-throttle.json in the plan's directory is written first and keeps each broker's former value, so a run after a
kill restores the same.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from kafka_reassign_rpc.client import KafkaError, Progress, ReassignmentClient, Replica
from kafka_reassign_rpc.client.config_calls import BROKER, OF_BROKER
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.text_format import amounts, bar, first_lines
from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut
from kafka_reassign_rpc.core.state.topic_partition import by_topic
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    ANY,
    DirBatch,
    DiskSummary,
    read_dir_batch,
    read_dir_moves,
    read_disk_summary,
)
from kafka_reassign_rpc.pipeline.disks.disk_queue import DirMove, DiskQueue, MoveState, SeenReplica, state_of
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import plan_files
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.batch_state import made_again
from kafka_reassign_rpc.pipeline.submission.drained_brokers import Left, lines_of, plan_again, refuse_rest
from kafka_reassign_rpc.pipeline.submission.health_watch import HealthWatch, first_health
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.stop_conditions import StopConditions, SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_plan import JOURNAL, JOURNAL_OF_UNDO
from kafka_reassign_rpc.pipeline.submission.submit_settings import (
    BAR_WIDTH,
    PlanDoesNotFit,
    PollIntervals,
    ProgressOutput,
)
from kafka_reassign_rpc.support.counted import counted, first_of, plural

FILE = "disk-throttle.json"


class _Former(msgspec.Struct):
    """`ours`: rates that submit has set, as brokers show them. `before`: former values by broker; None: none."""

    ours: list[str] = []
    before: dict[int, str | None] = {}


@dataclass
class DiskThrottle:
    """The methods raise BadInput for an unreadable file, and KafkaError."""

    cluster: PatientCluster
    plan: StorePath

    @property
    def stands(self) -> bool:
        """A broker may have the throttle."""
        return bool(self._read().before)

    def set(self, brokers: Iterable[int], rate: int) -> dict[int, KafkaError]:
        """Waits until brokers show it. Returns those where it could not be set, or that do not show it in time."""
        known, wanted = self._read(), sorted(brokers)
        shown = self._shown(broker for broker in wanted if broker not in known.before)
        failed = {broker: one for broker, one in shown.items() if isinstance(one, KafkaError)}
        known.before |= {broker: one for broker, one in shown.items() if not isinstance(one, KafkaError)}
        if str(rate) not in known.ours:
            known.ours.append(str(rate))
        self._write(known)
        able = [broker for broker in wanted if broker not in failed]
        refused = failed | self._change(dict.fromkeys(able, str(rate)))
        return refused | self._late([broker for broker in able if broker not in refused], str(rate))

    def _late(self, brokers: Collection[int], rate: str) -> dict[int, KafkaError]:
        """Brokers learn of a config after its change is answered."""
        within = self.cluster.intervals.mismatch
        shown = self.cluster.until(lambda: self._shown(brokers), lambda found: set(found.values()) <= {rate}, within)
        late = RequestTimedOut(f"The broker does not show it after {within:g} s.")
        return {broker: late for broker in brokers if shown.get(broker) != rate}

    def restore(self, but: Collection[int] = ()) -> None:
        """Names brokers where that fails, or where somebody has set another rate. Brokers of `but` may still copy, and
        keep the throttle until the next run.
        """
        known, line = self._read(), self.cluster.output.line
        kept = {broker: value for broker, value in known.before.items() if broker in but}
        known.before = {broker: value for broker, value in known.before.items() if broker not in but}
        if not known.before:
            return
        shown = self._shown(known.before)
        failed = {broker: one.message for broker, one in shown.items() if isinstance(one, KafkaError)}
        ours = {broker: value for broker, value in known.before.items() if shown[broker] in known.ours}
        for broker in sorted(known.before.keys() - failed.keys() - ours.keys()):
            if shown[broker] != known.before[broker]:  # else it never got ours
                line(f"broker {broker}: its {LOG_DIRS_RATE} was changed by somebody else meanwhile, and stays as it is")
        failed |= {broker: error.message for broker, error in self._change(ours).items()}
        for broker, why in sorted(failed.items()):
            line(f"broker {broker} may keep the throttle {LOG_DIRS_RATE}: {why}. Run submit again, or delete it there")
        known.before = kept | {broker: known.before[broker] for broker in failed}
        self._write(known)

    def _shown(self, brokers: Iterable[int]) -> dict[int, str | KafkaError | None]:
        """The own dynamic config of each broker."""
        answers = self.cluster.client.describe_broker_configs(list(brokers))
        found: dict[int, str | KafkaError | None] = {}
        for broker, one in answers.items():
            if isinstance(one, KafkaError):
                found[broker] = one
            else:
                own = (entry.value for entry in one if (entry.name, entry.source) == (LOG_DIRS_RATE, OF_BROKER))
                found[broker] = next(own, None)
        return found

    def _change(self, values: dict[int, str | None]) -> dict[int, KafkaError]:
        changes = {(BROKER, str(broker)): {LOG_DIRS_RATE: value} for broker, value in values.items()}
        results = self.cluster.client.change_configs(changes)
        return {int(name): error for (_, name), error in results.items() if error is not None}

    def _read(self) -> _Former:
        file = self.plan / FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=_Former)
        except FileNotFoundError:
            return _Former([], {})
        except (OSError, *NO_JSON) as error:
            raise BadInput(
                f"{file}: {error}; set {LOG_DIRS_RATE} of the plan's brokers by hand, and remove it"
            ) from None

    def _write(self, known: _Former) -> None:
        if known.before:
            write_file(self.plan / FILE, msgspec.json.encode(known), sync=True)
        else:
            (self.plan / FILE).unlink(missing_ok=True)


AT_ONCE = 1000
"""Replicas in one request to a broker."""
Looked = dict[int, BrokerLogDirs | KafkaError]


@dataclass
class DiskSubmission:
    """One run of `submit`. Raises BadInput, SubmitStopped, PlanDoesNotFit, NotEmpty, KafkaError.

    throttle     bytes/s that each broker copies between its log dirs; 0: none; None: as an earlier run has set it
    at_a_time    moves of a broker; None: as the plan says
    undo         replicas go back to where they were, and copies in flight end
    """

    client: ReassignmentClient
    path: StorePath
    output: ProgressOutput
    intervals: PollIntervals = field(default_factory=PollIntervals)
    throttle: int | None = None
    at_a_time: int | None = None
    undo: bool = False
    _silent_since: dict[int, float] = field(default_factory=dict)
    _done_before: int | None = None
    """Bytes that were copied when this run first looked."""

    @cached_property
    def summary(self) -> DiskSummary:
        return read_disk_summary(self.path)

    @cached_property
    def queue(self) -> DiskQueue:
        return DiskQueue(self.at_a_time or self.summary.requested.moves_per_broker)

    @cached_property
    def _cluster(self) -> PatientCluster:
        return PatientCluster(self.client, self.output, self.intervals)

    @cached_property
    def _throttle(self) -> DiskThrottle:
        return DiskThrottle(self._cluster, self.path)

    @property
    def has_begun(self) -> bool:
        """Whether something of it goes on in the brokers, or may."""
        return bool(self.queue.flying or self.queue.unseen or self.is_throttled)

    @property
    def is_throttled(self) -> bool:
        """True also where a broker only may have the plan's throttle."""
        return self._throttle.stands

    @cached_property
    def moves(self) -> list[DirMove]:
        return list(self._read_moves())

    def _read_moves(self) -> Iterator[DirMove]:
        sizes = {move.replica: move.bytes for move in read_dir_moves(self.path)}
        for batch in self._read_batches():
            for entry in batch.partitions:
                for broker, present, target in zip(
                    entry.replicas, entry.expected_log_dirs, entry.log_dirs, strict=True
                ):
                    replica = Replica(broker, entry.topic, entry.partition)
                    if target != ANY:
                        yield DirMove(replica, present, target, sizes.get(replica, 0))

    def _read_batches(self) -> list[DirBatch]:
        """Raises BadInput, also where the file of a batch is lost."""
        planned = (one.batch for one in self.summary.batches)
        return [read_dir_batch(file) for file in plan_files(self.path, planned, undo=self.undo)]

    def dry_run(self) -> int:
        """Shows how far each broker is; returns how many moves are left to begin."""
        self._cluster.health_of(self.path, self.summary.cluster_id)
        gone = self._recreated(self.moves)
        by_broker: dict[int, list[DirMove]] = {}
        for move in self.moves:
            by_broker.setdefault(move.replica.broker, []).append(move)
        left, refused = 0, [f"{one}: {why}" for one, why in gone.items()]
        for broker, some in sorted(by_broker.items()):
            counts: dict[MoveState, int] = dict.fromkeys(MoveState, 0)
            asked = [move for move in some if move.replica not in gone]
            for start in range(0, len(asked), AT_ONCE):
                found = self._look({broker: asked[start : start + AT_ONCE]})[broker]
                if isinstance(found, KafkaError):
                    refused.append(f"broker {broker}: {found.message}")
                    break
                shown = shown_replicas(broker, found)
                for move in asked[start : start + AT_ONCE]:
                    state, why = state_of(move, shown.get(move.replica, SeenReplica()))
                    counts[state] += 1
                    refused += [f"{move.replica}: {why}"] if why else []
            left += counts[MoveState.TO_BEGIN]
            self.output.line(f"broker {broker}: {', '.join(f'{counts[state]} {state}' for state in MoveState)}")
        if refused:
            raise PlanDoesNotFit("\n".join(["the cluster has changed since the plan was made:", *first_lines(refused)]))
        return left

    def execute(self, *, accept_health: bool = False) -> int:
        """Returns how many moves this run began."""
        health = self._cluster.health_of(self.path, self.summary.cluster_id)
        file = self.path / (JOURNAL_OF_UNDO if self.undo else JOURNAL)
        first = first_health(file, self.summary.cluster_id, health, accept_health=accept_health)
        watch = HealthWatch(self._cluster, StopConditions(first, health.live), health.live)
        gone = self._recreated(self.moves)
        self.queue.left_out |= gone
        self.queue.add(move for move in self.moves if move.replica not in gone)
        self._set_throttle()
        began = time.monotonic()
        while self.queue.unfinished:
            watch.is_healthy(frozenset(self.queue.brokers))
            self._step()
            self.output.status(self._text(time.monotonic() - began))
            if self.queue.unfinished:
                time.sleep(self.intervals.poll)
        self._throttle.restore(but=self.queue.given_up)
        if self.queue.given_up:
            lines = [f"broker {broker}: {why}" for broker, why in sorted(self.queue.given_up.items())]
            raise SubmitStopped("\n".join(["brokers do not answer; what they copy goes on:", *lines]))
        if self.queue.left_out:
            lines = [f"{replica}: {why}" for replica, why in sorted(self.queue.left_out.items())]
            left = counted(len(lines), "replica", "are")
            raise PlanDoesNotFit("\n".join([f"{left} not where the plan has {'it' if len(lines) == 1 else 'them'}:",
                                            *first_lines(lines)]))  # fmt: skip
        self._report_emptied()
        return self.queue.begun

    def _report_emptied(self) -> None:
        """A broker puts new replicas where fewest are, so an emptied log dir may hold some again. Raises NotEmpty."""
        requested = self.summary.requested
        if self.undo or requested.topics or not requested.empty:
            return
        left = self._left()
        places = {f"log dir {path} of broker {broker}": one for (broker, path), one in left.items()}
        full = [f"{broker}:{path}" for (broker, path), one in left.items() if one.count]
        words = [word for one in full for word in ("--empty", one)]
        for line in lines_of(places, lambda: plan_again(self.path, "disks", words)):
            self.output.line(line)
        refuse_rest(places, self.queue.begun)

    def _left(self) -> dict[tuple[int, str], Left]:
        emptied = self.summary.requested.empty
        names: dict[int, dict[str, list[int]]] = {broker: {} for broker in emptied}
        for topic in self._cluster.ask(lambda: list(self.client.describe_everything().topics)):
            for index, partition in topic.partitions.items():
                for broker in names.keys() & set(partition.replicas):
                    names[broker].setdefault(topic.name, []).append(index)
        left = {(broker, path): Left() for broker, paths in emptied.items() for path in paths}
        for broker, found in self._cluster.ask(lambda: self._answered(names)).items():
            for one in found.replicas:
                if (broker, one.log_dir) in left and not one.future:
                    left[broker, one.log_dir].add(str(Replica(broker, one.topic, one.partition)))
        return left

    def _answered(self, names: Mapping[int, Mapping[str, Sequence[int]]]) -> dict[int, BrokerLogDirs]:
        """Raises KafkaError: a broker that does not answer is not known to be empty."""
        answered = {}
        for broker, found in self.client.describe_brokers(names).items():
            if isinstance(found, KafkaError):
                raise found
            answered[broker] = found
        return answered

    def _step(self) -> None:
        asked = self.queue.to_look_at()
        for broker, found in self._look(asked).items():
            if isinstance(found, KafkaError):
                self._silent(broker, found)
                continue
            self._silent_since.pop(broker, None)
            shown = shown_replicas(broker, found)
            self.queue.see(broker, asked[broker], shown)
            chosen = self.queue.next(broker, shown, {one.path: one.usable_bytes for one in found.log_dirs})
            gone = self._recreated(chosen)
            for replica, why in gone.items():
                self.queue.leave_out(replica, why)
            chosen = [move for move in chosen if move.replica not in gone]
            if chosen:
                results = self.client.alter_replica_log_dirs({move.replica: move.target for move in chosen})
                for move in reversed(chosen):  # those that wait on go back to the front one by one
                    self.queue.answered(move, results.get(move.replica))

    def _silent(self, broker: int, error: KafkaError) -> None:
        since = self._silent_since.setdefault(broker, time.monotonic())
        if not error.retriable or time.monotonic() - since > self.intervals.patience:
            self.queue.give_up(broker, error.message)
            self.output.line(f"broker {broker} is given up: {error.message}")

    def _look(self, asked: Mapping[int, Sequence[DirMove]]) -> Looked:
        names = {broker: by_topic(move.replica.topic_partition for move in some) for broker, some in asked.items()}
        return self.client.describe_brokers(names)

    def _set_throttle(self) -> None:
        """Before the first copy, so that none runs without it."""
        if self.throttle == 0:
            self._throttle.restore()
        elif self.throttle is not None and self.queue.unfinished:
            for broker, error in sorted(self._throttle.set(self.queue.brokers, self.throttle).items()):
                why = f"its throttle cannot be set: {error.message}"
                self.output.line(f"broker {broker} is given up: {why}")
                self.queue.give_up(broker, why)

    @cached_property
    def _topic_ids(self) -> dict[str, str]:
        ids: dict[str, str] = {}
        for batch in self._read_batches():
            ids |= batch.topic_ids
        return ids

    def _recreated(self, moves: Iterable[DirMove]) -> dict[Replica, str]:
        of = {move.replica: move.replica.topic for move in moves}
        ids = {topic: self._topic_ids[topic] for topic in of.values() if topic in self._topic_ids}
        topics = self._cluster.ask(lambda: self.client.find_topics(ids, of_controller=True)) if ids else {}
        found = {}
        for replica, topic in of.items():
            if why := made_again(ids.get(topic, ""), topics.get(topic)):
                found[replica] = why
        return found

    def _text(self, seconds: float) -> str:
        queue = self.queue
        done = sum(move.size for move in queue.done) + sum(queue.copied.values())
        total = sum(move.size for move in self.moves if move.replica not in queue.left_out)
        self._done_before = done if self._done_before is None else min(done, self._done_before)
        rate = (done - self._done_before) / seconds if seconds > 0 else None
        left = (total - done) / rate if rate else None
        known = counted(len(self.moves), "move")
        text = (
            f"{len(queue.done)} of {known}, {len(queue.flying)} moving, {queue.unfinished - len(queue.flying)} waiting"
        )
        if self._silent_since:
            silent = sorted(self._silent_since)
            text += f", broker{plural(len(silent))} {first_of(silent, 5)} silent"
        progress = Progress(min(done, total), total, rate, left)
        return f"plan |{bar(progress.share, BAR_WIDTH)}| {text}, {amounts(progress)}"


def shown_replicas(broker: int, found: BrokerLogDirs) -> dict[Replica, SeenReplica]:
    shown: dict[Replica, SeenReplica] = {}
    for one in found.replicas:
        replica = Replica(broker, one.topic, one.partition)
        seen = shown.get(replica, SeenReplica())
        if one.future:
            shown[replica] = seen._replace(future=one.log_dir, copied=one.size)
        else:
            shown[replica] = seen._replace(current=one.log_dir, size=one.size)
    return shown
