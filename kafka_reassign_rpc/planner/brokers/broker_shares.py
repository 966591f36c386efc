"""How much each broker should hold beside the others: what targets are made of."""

from collections.abc import Collection, Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerShares
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker


def broker_shares(
    brokers: Collection[PlannerBroker], holdable: Mapping[int, int], given: Mapping[int, Mapping[str, float]]
) -> BrokerShares:
    """`brokers`: those that may hold replicas.

    holdable    bytes that each can hold, or UNKNOWN
    given       weights by broker and measure; a measure that one of the brokers lacks follows the disks: bytes what
                they can hold, all others their size, equally if that is not known of all
    """
    ids = sorted(one.id for one in brokers)
    equal, sizes = dict.fromkeys(ids, 1), {one.id: max(one.capacity, 0) for one in brokers}
    by_size = equal if without_size(brokers) else {broker: sizes[broker] for broker in ids}
    room = {broker: holdable[broker] for broker in ids}
    by_room = room if any(room.values()) and UNKNOWN not in room.values() else equal
    found = []
    for name in MEASURES:
        named = {broker: given[broker][name] for broker in ids if name in given.get(broker, {})}
        found.append(named if len(named) == len(ids) else by_room if name == "bytes" else by_size)
    return found


def without_size(brokers: Collection[PlannerBroker]) -> list[int]:
    return sorted(one.id for one in brokers if one.capacity <= 0)
