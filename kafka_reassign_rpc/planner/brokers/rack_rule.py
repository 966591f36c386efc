"""The rack rule: a change leaves a partition in as many racks as before, or in as many as there are.

There are as many racks as the live brokers have that remain, whether or not they may get replicas. Where no live broker
has a rack, all of them are in one, and the rule never refuses anything. Where some have one, the others count as one
more rack together, because nothing is known about what they share. A lost broker counts with its rack if that is known;
if not, it counts as none: a partition cannot be asked to keep a rack of which nobody knows that it had it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker

NO_RACK = ""
"""The rack of the live brokers without one."""


R = TypeVar("R", bound=str | None)


def known_racks(replicas: Iterable[int], racks: Mapping[int, R]) -> set[R]:
    """The racks that the replicas lie in, of those brokers whose racks are known."""
    return {racks[broker] for broker in replicas if broker in racks}


class RackRule(msgspec.Struct, frozen=True):
    """What the rule knows of the cluster.

    racks              by broker; no entry: a lost broker whose rack is not known
    remaining_racks    the number of racks with a live broker that remains
    named_racks        the number of these that have a name
    """

    racks: dict[int, str]
    remaining_racks: int
    named_racks: int = 0

    def count_racks(self, replicas: Sequence[int]) -> int:
        """The number of known racks that the replicas lie in."""
        return len(known_racks(replicas, self.racks))

    def is_violated(self, replicas: Sequence[int]) -> bool:
        """Whether replicas on brokers with racks are in fewer of them than they could be: what `audit` reports."""
        held = {self.racks.get(broker, NO_RACK) for broker in replicas}
        return len(held) < min(len(replicas), self.named_racks) and NO_RACK not in held

    def least_racks(self, before: Sequence[int], factor: int) -> int:
        """The number of racks that `factor` replicas need which take the place of `before`."""
        return min(self.count_racks(before), factor, self.remaining_racks)

    def allows(self, before: Sequence[int], after: Sequence[int]) -> bool:
        return self.count_racks(after) >= self.least_racks(before, len(after))


def racks_by_broker(brokers: Iterable[PlannerBroker], live: Collection[int]) -> tuple[dict[int, str], list[int]]:
    """`RackRule.racks`, and the live brokers without a rack where others have one."""
    named = {broker.id: broker.rack for broker in brokers if broker.rack}
    if not any(broker in named for broker in live):
        return dict.fromkeys(live, NO_RACK), []
    without = sorted(broker for broker in live if broker not in named)
    return named | dict.fromkeys(without, NO_RACK), without
