"""The rack rule: a change leaves a partition on no fewer racks than before, or than the usable brokers allow.

A broker without a rack is in the rack "". Where no live broker has a rack, all are in that one rack
and the rule never refuses anything. Where some have one, the others count as one more rack together, because nothing
is known about what they share.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker

NO_RACK = ""


class RackRule(msgspec.Struct, frozen=True):
    """What the rule knows of the cluster.

    racks           the rack of each broker that has one
    usable_racks    the number of racks with a broker that may get replicas
    """

    racks: dict[int, str]
    usable_racks: int

    def rack(self, broker: int) -> str:
        return self.racks.get(broker, NO_RACK)

    def count_racks(self, replicas: Sequence[int]) -> int:
        """The number of racks that the replicas lie in."""
        return len({self.racks.get(broker, NO_RACK) for broker in replicas})

    def allows(self, before: Sequence[int], after: Sequence[int]) -> bool:
        if self.usable_racks == 1:
            return True
        return self.count_racks(after) >= min(self.count_racks(before), len(after), self.usable_racks)


def racks_by_broker(brokers: Iterable[PlannerBroker], live: Collection[int]) -> tuple[dict[int, str], list[int]]:
    """The rack of each broker that has one, and the live brokers without one where others have one."""
    named = {broker.id: broker.rack for broker in brokers if broker.rack is not None}
    if not any(broker in named for broker in live):
        return {}, []
    without = sorted(broker for broker in live if broker not in named)
    return {broker: rack for broker, rack in named.items() if rack}, without
