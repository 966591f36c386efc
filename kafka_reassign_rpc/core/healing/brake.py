"""What keeps repairs from starting (KIP-46): the brake, and approval (`self.healing.approval`).

While approval is required, repairs that self-healing queues by itself wait for it; one that an operator orders (`heal
--now`) counts as approved. Each move stores its need, which outlasts failovers and the end of the setting. A held move
(`core.queue.holding`) also waits for its release.
"""

from collections.abc import Collection

from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.repair_targets import listed, repaired_brokers
from kafka_reassign_rpc.core.settings.healing_settings import (
    MAX_BROKERS,
    MAX_PERCENTAGE,
    NO_APPROVAL,
    PAUSED,
    HealingSettings,
)
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.support.counted import agreeing, counted


def brake(gone: Collection[int], live: Collection[int], settings: HealingSettings) -> str | None:
    """Why no repair may join the queue, and no waiting one may start, or None.

    gone   brokers with lost replicas that no move in flight takes away, and no repair that may start
    """
    if settings.unreadable:
        return settings.unreadable
    if settings.paused:
        return f"healing is paused ({PAUSED}=true)"
    return too_many_gone(gone, live, settings)


def paused_who(cluster: Cluster) -> str | None:
    """Who has paused self-healing, in words for people, None if unknown."""
    by = cluster.set_by(PAUSED)
    return None if by is None else by.who


def too_many_gone(gone: Collection[int], live: Collection[int], settings: HealingSettings) -> str | None:
    """Why the fault is not a broker's, or None, also while paused."""
    known = len({*gone, *live})
    how = "gone" if set(gone).isdisjoint(live) else "gone or have lost log dirs"
    if not live:
        return "no broker is there to take replicas"
    if len(gone) > settings.max_brokers:
        missing = f"{counted(len(gone), 'broker', 'are')} {how}"
        return f"{missing}, more than {MAX_BROKERS}={settings.max_brokers}: {listed(gone)}"
    if 100 * len(gone) > settings.max_percentage * known:
        return (
            f"{len(gone)} of {known} brokers {agreeing(len(gone), 'are')} {how},"
            f" more than {MAX_PERCENTAGE}={settings.max_percentage}: {listed(gone)}"
        )
    return None


def braked_caps(cluster: Cluster, gone: Collection[int]) -> InFlightCaps:
    """The caps in force, under which no repair starts while the brake holds. `gone` as in `counting`."""
    rules = cluster.soft.in_force
    held_back = brake(counting(gone, cluster), cluster.brokers, rules.healing)
    return rules.caps if held_back is None else replace(rules.caps, repairs=0)


def counting(gone: Collection[int], cluster: Cluster) -> set[int]:
    """Of the last count: brokers that are still gone, or have recorded lost log dirs."""
    return {broker for broker in gone if broker not in cluster.brokers or broker in cluster.failed_log_dirs}


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
