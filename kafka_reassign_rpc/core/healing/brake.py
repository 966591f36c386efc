"""The brake of self-healing (KIP-46)."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from kafka_reassign_rpc.core.settings.healing_settings import MAX_BROKERS, MAX_PERCENTAGE, PAUSED, HealingSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.cluster import Cluster
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


def listed(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))
