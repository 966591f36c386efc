"""When the rates are looked at again that stay for moves without a lease of their own."""

from collections.abc import Callable
from unittest.mock import Mock

from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.controller.throttle_leases import ThrottleLeases
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.writers.replay import PartitionTransition, ReplayedChanges
from tests.core.build import TOPIC, cluster, moving, not_moving
from tests.tables import for_each

KEPT = Entity(BROKERS, "3")
MOVE = moving((1, 2), (3, 4))


def changed(before: Partition | None, after: Partition) -> Callable[[ReplayedChanges], None]:
    def change(applied: ReplayedChanges) -> None:
        applied.partitions.append(PartitionTransition(TOPIC, 0, before, after))

    return change


@for_each(
    "change, again",
    [
        (lambda applied: None, False),
        (lambda applied: applied.deleting.append(TOPIC), True),
        (lambda applied: applied.deleted.append(Mock()), True),
        (changed(MOVE, not_moving(3, 4)), True),
        (changed(not_moving(1, 2), MOVE), False),
        (changed(MOVE, moving((1, 2), (5, 6))), False),
        (changed(None, not_moving(1, 2)), False),
    ],
)
def test_236_11_a_rate_that_stays_for_other_moves_is_looked_at_again_once_a_move_ends_or_a_topic_goes(
    change: Callable[[ReplayedChanges], None], *, again: bool
) -> None:
    leases, applied = ThrottleLeases(cluster(), Mock(), Mock(), Mock()), ReplayedChanges()
    leases._kept = {KEPT}
    change(applied)
    leases.after(applied)
    assert (KEPT in leases._waiting) is again
