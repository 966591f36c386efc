"""The rack rule (docs/pipeline.md): no change spreads the replicas of a partition less evenly over racks than they
were. With the counts by rack sorted, largest first, it raises neither the first, nor the sum of the first two, and
so on.

The racks are those of the remaining live brokers; a cordoned one counts for partitions that have a replica there. If
no live broker has a rack, the rule never refuses. If only some have one, the others count as one more. A lost broker
of unknown rack counts in the fullest: nobody knows what these share.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker

NO_RACK = ""
"""The rack of live brokers without one."""


def spread_over_racks(counts: Mapping[str, int], sizes: Mapping[str, int], more: int) -> dict[str, int]:
    """Puts `more` replicas, one by one, into the racks with the fewest, which have `sizes` brokers; takes them from
    the racks with the most if it is negative.
    """
    found = {rack: min(counts.get(rack, 0), size) for rack, size in sizes.items()}
    for _ in range(more):
        with_room = [rack for rack, count in found.items() if count < sizes[rack]]
        if not with_room:
            break
        found[min(with_room, key=lambda rack: (found[rack], rack))] += 1
    for _ in range(-more):
        found[max(found, key=lambda rack: (found[rack], rack))] -= 1
    return found


def _in_all(counts: Mapping[str, int], replicas: int) -> list[int]:
    found = sorted(counts.values(), reverse=True) or [0]
    found[0] += replicas - sum(found)
    return found


class RackRule(msgspec.Struct, frozen=True):
    """racks       by broker, without lost brokers whose rack is unknown
    sizes       by rack, NO_RACK among them: how many live brokers remain that are not cordoned
    cordoned    live brokers that remain and get nothing new
    failed      those of them with failed log dirs
    """

    racks: dict[int, str]
    sizes: dict[str, int]
    cordoned: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()

    def counts(self, replicas: Iterable[int]) -> dict[str, int]:
        return count_by_rack(replicas, self.racks)

    def places(self, replicas: Iterable[int]) -> dict[str, int]:
        if not self.cordoned:
            return self.sizes
        kept = self.counts(broker for broker in replicas if broker in self.cordoned)
        return {rack: self.sizes.get(rack, 0) + kept.get(rack, 0) for rack in sorted({*self.sizes, *kept})}

    def bound(self, before: Sequence[int], factor: int) -> list[int]:
        """The least even counts that `factor` replicas in place of `before` may have. A larger factor may add in any
        rack: which have room is not known here. A smaller one first takes replicas of unknown rack: they are on
        lost brokers, so none stays.
        """
        counts, places = self.counts(before), self.places(before)
        staying = {rack: min(counts.get(rack, 0), size) for rack, size in places.items()}
        found = spread_over_racks(staying, places, sum(counts.values()) - sum(staying.values()))
        return _in_all(spread_over_racks(found, places, min(0, factor - sum(found.values()))), factor)

    def allows(self, before: Sequence[int], after: Sequence[int]) -> bool:
        counts = self.counts(after)
        if len(before) == len(after) == len(counts):
            return True  # each replica has a rack of its own
        return is_as_even(_in_all(counts, len(after)), self.bound(before, len(after)))

    def can_become_even(self, kept: Sequence[int], left: Sequence[int], factor: int, bound: Sequence[int]) -> bool:
        """Whether `factor` of the replicas `left`, `kept` among them, can be as even as `bound`."""
        full = spread_over_racks(self.counts(kept), self.counts(left), factor - len(kept))
        return is_as_even(full.values(), bound)

    def copies_lacking(self, replicas: Sequence[int]) -> int:
        """Copies to other racks until replicas are spread as widely as possible. 0 if a broker has no rack."""
        held = self.counts(replicas)
        if NO_RACK in held or sum(held.values()) < len(replicas):
            return 0
        named = {rack: size for rack, size in self.places(replicas).items() if rack != NO_RACK}
        if not named or len(held) == len(replicas):
            return 0
        most = max(spread_over_racks({}, named, len(replicas)).values())
        above = sum(max(0, count - most) for count in held.values())
        return max(above, min(len(replicas), len(named)) - len(held))


def racks_by_broker(brokers: Iterable[PlannerBroker], live: Collection[int]) -> tuple[dict[int, str], list[int]]:
    """For `RackRule.racks`; and the live brokers without a rack if others have one."""
    named = {broker.id: broker.rack for broker in brokers if broker.rack}
    if not any(broker in named for broker in live):
        return dict.fromkeys(live, NO_RACK), []
    without = sorted(broker for broker in live if broker not in named)
    return named | dict.fromkeys(without, NO_RACK), without


def live_racks(brokers: Iterable[PlannerBroker]) -> dict[int, str]:
    listed = list(brokers)
    live = [one.id for one in listed if one.live]
    racks, _ = racks_by_broker(listed, live)
    return {broker: racks[broker] for broker in live}
