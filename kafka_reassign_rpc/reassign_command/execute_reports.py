"""What --execute and --execute-queue say of their moves: warnings, what --dry-run shows, and what came of them.

Warnings are on standard error, and nothing is refused for them: the stock tool starts such moves too.

- moves that leave their partitions on fewer racks, or less even over them
- moves to fewer replicas than min.insync.replicas, and a throttle that is already set and holds them
- a throttle below what producers write to the partitions that move: those moves never end
- a throttle of 0, or so small that its unit was forgotten
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import (
    KafkaError,
    MoveTerms,
    PartitionInfo,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
    text_format,
)
from kafka_reassign_rpc.client.target_warnings import loses_racks, rack_warning, target_warnings
from kafka_reassign_rpc.client.text_format import first_lines, size
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields, say
from kafka_reassign_rpc.reassign_command.action_describe_topic import brokers, comes_and_goes
from kafka_reassign_rpc.reassign_command.log_dir_moves import leader_sizes
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, joined
from kafka_reassign_rpc.support.counted import agreeing, counted, plural
from kafka_reassign_rpc.support.human_units import parse_size, without_unit

SAMPLE_S = 1.0
"""Between the two looks at sizes from which the produce rates are computed."""

InFlight = Mapping[TopicPartition, PartitionReassignment]


def warn_of_racks(
    targets: Assignment, current: Assignment, in_flight: InFlight, racks: Mapping[int, str | None]
) -> None:
    """Replicas that a move in flight adds do not count: they may not be in sync yet."""
    losing = [
        name
        for name, target in targets.items()
        if loses_racks(standing(current[name], in_flight.get(name)), target, racks)
    ]
    if losing:
        say(rack_warning(losing))


def warn_of_targets(
    client: ReassignmentClient, targets: Assignment, current: Assignment, in_flight: InFlight, *, have_throttle: bool
) -> None:
    """See `client.target_warnings`."""
    before = {name: current[name] for name in targets if name not in in_flight}
    for text in target_warnings(client, targets, before, have_throttle=have_throttle):
        say(text)


def warn_of_rate(typed: str, targets: Assignment, current: Assignment, *, is_lease: bool, again: str) -> None:
    """`typed`: what --throttle has, "": nothing; the stock tool takes a number without a unit as bytes/s. `is_lease`: 0
    ends the throttle then; else nothing is copied at 0. `again`: the options that a second try needs.
    """
    copies = any(set(target) - set(current[name]) for name, target in targets.items())
    problem = without_unit(typed)
    if not problem and copies and not is_lease and parse_size(typed) == 0:
        problem = f"{typed} stops these moves: nothing is copied at 0 B/s"
    if problem:
        say(f"warning: --throttle {problem}; to correct it, run the same command again with {again}another --throttle")


def standing(replicas: Iterable[int], move: PartitionReassignment | None) -> list[int]:
    """Leaves out replicas that a move is adding."""
    adding = () if move is None else move.adding_replicas
    return [broker for broker in replicas if broker not in adding]


class ProduceRateCheck:
    """Compares a throttle with what producers write from before the moves start until a second later.

    A broker that does not report sizes, or does not answer, causes no warning: the moves have started anyway.
    """

    def __init__(
        self, client: ReassignmentClient, targets: Assignment, in_flight: InFlight, throttle: int, again: str
    ) -> None:
        """`throttle`: bytes/s of each broker and direction; 0 or less: none. `again`: as of `warn_of_rate`."""
        self._client = client
        self._again = again
        self._throttle = throttle
        self._began = time.monotonic()
        self._leaders: dict[TopicPartition, int] = {}
        self._added: dict[TopicPartition, list[int]] = {}
        self._before: Mapping[TopicPartition, int] = {}
        if throttle <= 0:
            return
        try:
            topics = client.describe_topics({name.topic for name in targets})
            for name, target in targets.items():
                self._expect_copies(name, target, topics[name.topic], in_flight.get(name))
            self._before = self._sizes()
        except KafkaError:
            return

    def _expect_copies(
        self,
        name: TopicPartition,
        target: Iterable[int],
        topic: Mapping[int, PartitionInfo] | KafkaError,
        move: PartitionReassignment | None,
    ) -> None:
        found = None if isinstance(topic, KafkaError) else topic.get(name.partition)
        if found is None or found.leader < 0:
            return
        before = standing(found.replicas, move)
        added = [broker for broker in target if broker not in before]
        if added:
            self._leaders[name], self._added[name] = found.leader, added

    def warn(self) -> None:
        """Says which brokers cannot keep up."""
        if not self._before:
            return
        time.sleep(max(0.0, self._began + SAMPLE_S - time.monotonic()))
        try:
            after = self._sizes()
        except KafkaError:
            return
        seconds = time.monotonic() - self._began
        written = {name: (now - self._before.get(name, now)) / seconds for name, now in after.items()}
        text = too_slow(self._throttle, written, self._leaders, self._added)
        if text is not None:
            say(f"{text}; run the same command again with {self._again}a higher --throttle")

    def _sizes(self) -> dict[TopicPartition, int]:
        return leader_sizes(self._client, self._leaders)


def too_slow(
    throttle: int,
    written: Mapping[TopicPartition, float],
    leaders: Mapping[TopicPartition, int],
    added: Mapping[TopicPartition, Iterable[int]],
) -> str | None:
    """None: no broker would have to copy more than the throttle allows.

    written   bytes/s that producers write to partitions, where it is known
    added     the brokers that get a replica: the leader sends to each
    """
    into: Counter[int] = Counter()
    out_of: Counter[int] = Counter()
    for name, rate in written.items():
        for broker in added[name]:
            into[broker] += max(0, round(rate))
            out_of[leaders[name]] += max(0, round(rate))
    slow = [f"broker {one} would receive {size(into[one])}/s" for one in sorted(into) if into[one] > throttle]
    slow += [f"broker {one} would send {size(out_of[one])}/s" for one in sorted(out_of) if out_of[one] > throttle]
    if not slow:
        return None
    return (
        f"warning: producers write faster than the throttle of {size(throttle)}/s lets replicas copy: "
        f"{', '.join(first_lines(slow))}"
    )


NOTHING_CHANGED = "Nothing was changed: this is a dry run. The controller has not been asked."


def show_changes(context: ActionContext, targets: Assignment, current: Assignment) -> None:
    leaders = {name: one.leader for name, one in context.partitions({name.topic for name in targets}).items()}
    sizes = leader_sizes(context.client, {name: leaders[name] for name in targets})
    documents = []
    for name, target in sorted(targets.items()):
        adding = tuple(broker for broker in target if broker not in current[name])
        removing = tuple(broker for broker in current[name] if broker not in target)
        copied = len(adding) * sizes[name] if name in sizes else None
        amount = f"{'an unknown size' if copied is None else text_format.size(copied)} to copy"
        change = comes_and_goes(PartitionReassignment(target, adding, removing))
        if not adding and not removing and target == current[name]:
            change = "as it is"
        parts = [change, amount] if adding else [change]
        context.output.line(f"{name}: {brokers(current[name])} -> {brokers(target)}: {', '.join(parts)}")
        documents.append(
            {
                **partition_fields(name),
                "replicas": current[name],
                "target": target,
                "adding_replicas": adding,
                "removing_replicas": removing,
                "bytes": copied if adding else 0,
            }
        )
    context.output.line(NOTHING_CHANGED)
    context.output.collect(dry_run=documents)


def refused_by_options(
    moves: Mapping[TopicPartition, MoveTerms], before: Assignment, current: Assignment, *, may_change: bool
) -> dict[TopicPartition, str]:
    """Says what the options of this command line make the controller refuse.

    before     replicas without those that a move in flight adds: the replication factor is theirs
    current    all replicas: the controller compares these with the expected ones
    """
    why = {}
    for name, terms in moves.items():
        if not may_change and len(terms.target) != len(before[name]):
            why[name] = f"The replication factor is changed from {len(before[name])} to {len(terms.target)}"
        elif terms.expected is not None and terms.expected != current[name]:
            why[name] = f"It has the replicas {brokers(current[name])}, not {brokers(terms.expected)} as expected"
    return why


FOR_ROOM = "the caps on moves in flight let no more start now"


class Waiting(NamedTuple):
    """Moves that were not asked to wait, and why they do."""

    moves: Collection[TopicPartition] = ()
    why: str = ""


def waiting_of(client: ReassignmentClient, moves: Collection[TopicPartition]) -> Waiting:
    """Where the controller has no queue, none waits."""
    try:
        if not moves or not client.can_queue():
            return Waiting()
        listed = client.list_partition_reassignments(moves)
        found = sorted(name for name, move in listed.items() if move.is_waiting and name in moves)
        return Waiting(found, _why(client)) if found else Waiting()
    except KafkaError:  # the moves were accepted: that they are is what has to be said
        return Waiting()


def _why(client: ReassignmentClient) -> str:
    window = client.status().window
    return FOR_ROOM if window is None or window.open else window.now


def report_started(context: ActionContext, accepted: Collection[TopicPartition], *, queued: bool) -> None:
    """`queued`: they were asked to wait."""
    if queued:
        context.output.line(
            f"Successfully queued partition reassignment{plural(len(accepted))} for {joined(sorted(accepted))}"
        )
        return
    waiting = waiting_of(context.client, accepted)
    if waiting.moves:
        started = [partition_fields(name) for name in sorted(accepted) if name not in waiting.moves]
        moves = [partition_fields(name) for name in waiting.moves]
        context.output.collect(started=started, waiting=moves, waits_for=waiting.why)
    context.output.lines(started_lines(accepted, waiting))


def started_lines(accepted: Collection[TopicPartition], waiting: Waiting) -> list[str]:
    started = [name for name in sorted(accepted) if name not in waiting.moves]
    found = []
    if started:
        found.append(f"Successfully started partition reassignment{plural(len(started))} for {joined(started)}")
    if waiting.moves:
        count = len(waiting.moves)
        found.append(
            f"{counted(count, 'partition reassignment')} {agreeing(count, 'wait')} in the controller's queue for"
            f" {joined(waiting.moves)}: {waiting.why}"
        )
    return found
