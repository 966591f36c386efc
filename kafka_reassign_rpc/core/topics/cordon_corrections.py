"""Moves new replicas off cordoned brokers before they have a log.

A stock broker that creates a topic, and a tool that adds partitions in ZooKeeper, know no cordon. A partition that
never had a state has no log anywhere, so the server changes its assignment before it writes the first state: nothing is
copied, and the cordoned broker never hears of it.

This corrects only topics without any earlier state that were written after the cordon: a partition that merely lost its
state may have a log. A replica for which no open broker is left stays.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import parse_brokers
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.topics.missing_replicas import free_broker


def corrected(view: RoundView, topic: str, index: int, partition: Partition, own_id: int) -> Partition:
    """Returns the same object if nothing changes."""
    cluster, value = view.cluster, partition
    if partition.partition_epoch >= 0 or partition.is_moving or topic in view.too_large:
        return partition
    closed = parse_brokers(cluster.settings.get(CORDONED_BROKERS, "")) or frozenset()
    is_new = cluster.topics[topic].stateless_since > cluster.settings_changed
    wrong = [broker for broker in partition.replicas if broker in closed] if is_new else []
    for broker in wrong:
        rest = replace(value, replicas=without(value.replicas, (broker,)))
        other = free_broker(cluster, rest, own_id, index)
        if other is None:
            break
        value = replace(value, replicas=tuple([other if one == broker else one for one in value.replicas]))
    if value is not partition:
        placed = ", ".join(map(str, partition.replicas))
        reason = f"somebody else has placed it on {placed}: no new replica lands on a cordoned broker"
        view.report(Event(catalogue.CORDON_CORRECTED, topic, index, reason=reason, replicas=value.replicas))
    return value
