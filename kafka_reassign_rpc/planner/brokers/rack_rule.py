"""The rack rule: no change spreads the replicas of a partition less evenly over racks than they were.

What counts is how many replicas each rack has, most first. A change may leave as many in the fullest rack as there
were, as many in the two fullest together, and so on: then no rack is given up, and the loss of a rack takes no more
replicas with it than before. Where racks have fewer brokers than replicas, or the factor falls, `RackRule.bound` says
what takes the place of the former replicas: those that can stay, and the others as evenly as the racks allow.

The racks are those of the live brokers that remain, whether or not they may get replicas. Where no live broker has a
rack, all of them are in one, and the rule never refuses anything. Where some have one, the others count as one more
rack together, because nothing is known about what they share. A lost broker counts with its rack if that is known; if
not, with the fullest: a partition cannot be asked to keep a rack of which nobody knows that it had it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker

NO_RACK = ""
"""The rack of the live brokers without one."""


def poured(counts: Mapping[str, int], sizes: Mapping[str, int], more: int) -> dict[str, int]:
    """The counts after `more` replicas have gone to the racks with the fewest; the number of brokers limits a rack.

    With a negative `more`, so many leave the racks with the most.
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
    """The counts, with the replicas that no known rack has in the fullest."""
    found = sorted(counts.values(), reverse=True) or [0]
    found[0] += replicas - sum(found)
    return found


class RackRule(msgspec.Struct, frozen=True):
    """What the rule knows of the cluster.

    racks    by broker; no entry: a lost broker whose rack is not known
    sizes    by rack: how many live brokers remain in it; NO_RACK among them
    """

    racks: dict[int, str]
    sizes: dict[str, int]

    def counts(self, replicas: Iterable[int]) -> dict[str, int]:
        """How many of the replicas each known rack has."""
        return count_by_rack(replicas, self.racks)

    def bound(self, before: Sequence[int], factor: int) -> list[int]:
        """The least even counts by rack that `factor` replicas may have which take the place of `before`.

        Those that a larger factor adds may be in any rack: which have room is not known here.
        """
        counts = self.counts(before)
        unknown = len(before) - sum(counts.values())
        staying = {rack: min(counts.get(rack, 0), size) for rack, size in self.sizes.items()}
        more = min(factor, len(before)) - unknown - sum(staying.values())
        return _in_all(poured(staying, self.sizes, more), factor)

    def allows(self, before: Sequence[int], after: Sequence[int]) -> bool:
        counts = self.counts(after)
        if len(before) == len(after) == len(counts):
            return True  # each replica has a rack of its own
        return is_as_even(_in_all(counts, len(after)), self.bound(before, len(after)))

    def copies_lacking(self, replicas: Sequence[int]) -> int:
        """How many replicas must be copied to other racks before the replicas are on as many racks as can be, with no
        more in any than needed. None where one of them is on a broker without a rack: nobody knows what it shares."""
        held = self.counts(replicas)
        if NO_RACK in held or sum(held.values()) < len(replicas):
            return 0
        named = {rack: size for rack, size in self.sizes.items() if rack != NO_RACK}
        if not named or len(held) == len(replicas):
            return 0
        most = max(poured({}, named, len(replicas)).values())
        above = sum(max(0, count - most) for count in held.values())
        return max(above, min(len(replicas), len(named)) - len(held))


def racks_by_broker(brokers: Iterable[PlannerBroker], live: Collection[int]) -> tuple[dict[int, str], list[int]]:
    """`RackRule.racks`, and the live brokers without a rack where others have one."""
    named = {broker.id: broker.rack for broker in brokers if broker.rack}
    if not any(broker in named for broker in live):
        return dict.fromkeys(live, NO_RACK), []
    without = sorted(broker for broker in live if broker not in named)
    return named | dict.fromkeys(without, NO_RACK), without
