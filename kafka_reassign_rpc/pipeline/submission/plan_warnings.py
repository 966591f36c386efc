"""What submit warns of while a plan is carried out, and never refuses."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka_reassign_rpc.client import Progress, TopicPartition
from kafka_reassign_rpc.client.target_warnings import loses_racks, rack_warning, target_warnings
from kafka_reassign_rpc.client.text_format import named, size
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.submit_settings import ProgressOutput


@dataclass
class ThrottleWatch:
    """Finds moves to which producers write faster than the throttle (bytes/s) lets them copy. Pure.

    long      seconds after which a move whose remaining bytes grow will not end by itself
    """

    throttle: int
    long: float
    _first: dict[TopicPartition, tuple[float, int]] = field(default_factory=dict)
    """Time, and the bytes that were left then."""
    _warned: set[TopicPartition] = field(default_factory=set)

    def growing(self, now: float, moves: Mapping[TopicPartition, Progress]) -> list[TopicPartition]:
        """Moves with more left to copy than `long` ago; each is named once."""
        found = []
        for name, progress in moves.items():
            if progress.total is None or progress.done is None:
                continue
            left = progress.total - progress.done
            since, before = self._first.setdefault(name, (now, left))
            if now - since < self.long:
                continue
            if left > before and name not in self._warned:
                found.append(name)
            self._first[name] = now, left
        for gone in self._first.keys() - moves.keys():
            del self._first[gone]
        self._warned.update(found)
        return found

    def warning(self, growing: list[TopicPartition]) -> str:
        return (
            f"warning: producers write faster than the throttle of {size(self.throttle)}/s lets replicas copy: "
            f"{named(growing)}; run the same command again with a higher --throttle"
        )


class PlanWarnings:
    """`throttle`: bytes/s that submit was given; None or 0: none. `growing`: seconds."""

    def __init__(self, output: ProgressOutput, throttle: int | None, growing: float) -> None:
        self._output = output
        self._throttle = ThrottleWatch(throttle, growing) if throttle else None

    def of_moves(
        self, cluster: PatientCluster, plan: Mapping[TopicPartition, PlanEntry], begins: Collection[TopicPartition]
    ) -> None:
        """`begins`: the partitions of `plan` that are about to move."""
        self.of_racks(plan, begins, cluster.racks)
        targets = {name: entry.replicas for name, entry in plan.items() if name in begins}
        before = {name: plan[name].expected_replicas for name in targets}
        have_throttle = self._throttle is not None
        for text in target_warnings(cluster.client, targets, before, have_throttle=have_throttle) if targets else ():
            self._output.line(text)

    def of_racks(
        self,
        plan: Mapping[TopicPartition, PlanEntry],
        begins: Collection[TopicPartition],
        racks: Mapping[int, str | None],
    ) -> None:
        losing = [
            name
            for name, entry in plan.items()
            if name in begins and loses_racks(entry.expected_replicas, entry.replicas, racks)
        ]
        if losing:
            self._output.line(rack_warning(losing))

    def of_throttle(self, now: float, moves: Mapping[TopicPartition, Progress]) -> None:
        growing = [] if self._throttle is None else self._throttle.growing(now, moves)
        if self._throttle is not None and growing:
            self._output.line(self._throttle.warning(growing))
