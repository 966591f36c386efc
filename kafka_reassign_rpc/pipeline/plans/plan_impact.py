"""What a plan does to partitions during its moves and afterwards, for those who approve it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.rack_evenness import fewer_or_less_even
from kafka_reassign_rpc.pipeline.plans.move_texts import pace_text
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    ImpactFigures,
    LoadFigures,
    PlanSummary,
    across_racks_text,
    rack_lines,
)
from kafka_reassign_rpc.planner.brokers.broker_targets import ALIKE
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import duration, size


class ImpactCount:
    """`racks`: of live brokers, None: none; `min_isrs`: min.insync.replicas of topics that set it."""

    def __init__(self, racks: Mapping[int, str | None], min_isrs: Mapping[str, int], default_min_isr: int) -> None:
        self._live = self._racks = racks
        self._min_isrs = min_isrs
        self._default = default_min_isr
        self._counts = Counter[str]()

    def add(
        self,
        topic: str,
        original: Sequence[int],
        target: Sequence[int],
        *,
        leader: int,
        first_leader: int,
        copied: int = 0,
    ) -> None:
        """leader: in the snapshot; first_leader: before the copy begins; -1: none. `copied`: bytes, over all new
        replicas.
        """
        least = self._min_isrs.get(topic, self._default)
        live = sum(broker in self._live for broker in original)
        leads = leader if first_leader < 0 else first_leader
        found = {
            "leader_leaves": leads >= 0 and leads not in target,
            "other_first": leads in target and target[0] not in (leads, original[0]),
            "led_first": first_leader >= 0,
            "lacking": live < len(original),
            "single": live < len(original) and live == 1,
            "below_min_isr": live < len(original) and live < least,
            "below_min_isr_after": len(target) < least,
        }
        self._counts.update(name for name, counts in found.items() if counts)
        new = [broker for broker in target if broker not in original]
        if copied and leads in self._racks:
            elsewhere = sum(self._racks[broker] != self._racks[leads] for broker in new)
            self._counts["bytes_across_racks"] += copied // len(new) * elsewhere
        if lost := fewer_or_less_even(original, target, self._racks):
            self._counts[lost] += 1

    def figures(self) -> ImpactFigures:
        return ImpactFigures(**self._counts)


def impact_lines(summary: PlanSummary) -> Iterator[str]:
    if not summary.moves:
        yield "Nothing moves."
        return
    took = duration(summary.expected_seconds)
    yield (
        f"{size(summary.bytes)} are copied in {took}, at {pace_text(summary)}{_across_racks(summary)}."
        if summary.bytes
        else ("Nothing is copied: only the order of replicas changes, or replicas are removed.")
    )
    yield from _fullest(summary)
    if summary.impact is not None:
        yield from _partition_lines(summary.impact, took)
    yield from (f"{line[0].upper()}{line[1:]}." for line in rack_lines(summary))


def _across_racks(summary: PlanSummary) -> str:
    text = across_racks_text(summary)
    return text and f"; {text}"


def _partition_lines(found: ImpactFigures, took: str) -> Iterator[str]:
    if found.leader_leaves or found.other_first:
        yield (
            f"{counted(found.leader_leaves, 'partition')} {agreeing(found.leader_leaves, 'get')} another leader when "
            f"the move ends, and {found.other_first} more when preferred leaders are elected. A change of leader is "
            "short: clients ask for the new leader and go on, usually within a second."
        )
    else:
        yield "No partition gets another leader by the end of its move."
    if found.led_first:
        yield (
            f"{counted(found.led_first, 'partition')} {agreeing(found.led_first, 'are')} led by another replica from "
            f"before the copy begins until the move ends: for {took} at the most."
        )
    if found.lacking:
        text = (
            f"{counted(found.lacking, 'partition')} {agreeing(found.lacking, 'are')} at risk until the move ends, in "
            f"{took} at the latest: a replica is on a broker that is lost"
        )
        if found.single:
            text += f"; {found.single} of them {agreeing(found.single, 'have')} one live replica"
        if found.below_min_isr:
            text += (
                f"; {found.below_min_isr} {agreeing(found.below_min_isr, 'have')} fewer than min.insync.replicas and "
                f"{agreeing(found.below_min_isr, 'take')} no records from producers with acks=all"
            )
        yield f"{text}."
    yield (
        f"{'No other' if found.lacking else 'No'} partition has fewer replicas meanwhile than before or after: new "
        "ones join the in-sync replicas before others leave."
    )
    if found.below_min_isr_after:
        yield (
            f"{counted(found.below_min_isr_after, 'partition')} {agreeing(found.below_min_isr_after, 'have')} fewer "
            "replicas than min.insync.replicas afterwards: producers with acks=all cannot write there."
        )
    else:
        yield "Afterwards no partition that moves has fewer replicas than min.insync.replicas."


def _fullest(summary: PlanSummary) -> Iterator[str]:
    before = _fullness([(one, one.before) for one in summary.brokers if one.live])
    after = _fullness([(one, one.after) for one in summary.brokers if one.live])
    if before and after:
        yield f"Most bytes of a live broker before: {before}. Afterwards: {after}."


def _fullness(loads: Sequence[tuple[BrokerFigures, LoadFigures]]) -> str:
    """Compares with the mean of the holding brokers; or with the target, where brokers are to hold unlike bytes."""
    holding = [(load.bytes, one.broker, one.target.bytes) for one, load in loads if load.replicas]
    total = sum(held for held, _, _ in holding)
    if not total:
        return ""
    most, broker, target = max(holding)
    text = f"{size(most)} on broker {broker}"
    targets = [one.target.bytes for one, _ in loads if one.target.bytes]
    if not targets or max(targets) <= min(targets) * (1 + ALIKE):
        share = most * len(holding) / total - 1
        return f"{text}, {share:.1%} above the mean of the {len(holding)} that hold replicas"
    if not target:
        return text
    share = most / target - 1
    return f"{text}, {abs(share):.1%} {'above' if share >= 0 else 'below'} its target"
