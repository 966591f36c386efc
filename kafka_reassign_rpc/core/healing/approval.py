"""Approval of repairs (`self.healing.approval`): while it is required, repairs that self-healing queues by itself wait
for it; one that an operator orders (`heal --now`) counts as approved.

Each move stores its need, which outlasts failovers and the end of the setting. A held move
(`core.queue.holding`) also waits for its release.
"""

from collections.abc import Collection

from kafka_reassign_rpc.core.healing.repair_targets import repaired_brokers
from kafka_reassign_rpc.core.settings.healing_settings import NO_APPROVAL, HealingSettings
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester


def needed_since(settings: HealingSettings, by: Requester, adopted: WaitingMove | None, now_ms: int) -> int | None:
    """Since when a new move of a repair needs approval, ms since the epoch; None: it needs none.

    by       who has asked for the repair
    adopted  the move of others that the repair replaces: they wanted it to start, unless they held it
    """
    is_wanted = by != CONTROLLER or (adopted is not None and adopted.may_start)
    return None if settings.approval == NO_APPROVAL or is_wanted else now_ms


def awaits(move: WaitingMove, brokers: Collection[int] | None) -> bool:
    """Whether a move needs approval and repairs one of `brokers`, None: any."""
    if move.unapproved is None:
        return False
    return brokers is None or not repaired_brokers(move.terms.reason, move.terms.target).isdisjoint(brokers)
