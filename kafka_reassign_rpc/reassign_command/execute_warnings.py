"""What --execute and --execute-queue warn of on standard error, and never refuse: the stock tool starts such moves
too.

- moves that leave their partitions on fewer racks, or less even over them
- moves to fewer replicas than min.insync.replicas, and a throttle that is already set and holds them
- a throttle below what producers write to the partitions that move: those moves never end
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client import (
    KafkaError,
    PartitionInfo,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
)
from kafka_reassign_rpc.client.target_warnings import loses_racks, rack_warning, target_warnings
from kafka_reassign_rpc.client.text_format import first_lines, size
from kafka_reassign_rpc.reassign_command.leader_sizes import leader_sizes
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment

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
        _say(rack_warning(losing))


def warn_of_targets(
    client: ReassignmentClient, targets: Assignment, current: Assignment, in_flight: InFlight, *, have_throttle: bool
) -> None:
    """See `client.target_warnings`."""
    before = {name: current[name] for name in targets if name not in in_flight}
    for text in target_warnings(client, targets, before, have_throttle=have_throttle):
        _say(text)


def standing(replicas: Iterable[int], move: PartitionReassignment | None) -> list[int]:
    """Leaves out replicas that a move is adding."""
    adding = () if move is None else move.adding_replicas
    return [broker for broker in replicas if broker not in adding]


class ProduceRateCheck:
    """Compares a throttle with what producers write from before the moves start until a second later.

    A broker that does not report sizes, or does not answer, causes no warning: the moves have started anyway.
    """

    def __init__(self, client: ReassignmentClient, targets: Assignment, in_flight: InFlight, throttle: int) -> None:
        """`throttle`: bytes/s of each broker and direction; 0 or less: none."""
        self._client = client
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
            _say(text)

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
        f"{', '.join(first_lines(slow))}; run the same command again with --additional and a higher --throttle"
    )


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
