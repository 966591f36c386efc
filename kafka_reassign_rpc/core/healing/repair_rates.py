"""How fast repairs may copy: what `self.healing.throttle` amounts to, for each broker."""

from collections.abc import Callable

from kafka_reassign_rpc.core.settings.healing_settings import ASSUMED_THROUGHPUT, HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import rate_of

Rate = Callable[[int, str], float | None]
"""How fast a broker copies on one side (LEADER_RATE, FOLLOWER_RATE), bytes/s; None where that is not known."""


def rates_of(cluster: Cluster, throttle: HealingThrottle, fastest: int) -> Rate:
    """The rates of repairs: of `self.healing.throttle`, or a stricter one that a broker has; without a throttle
    `fastest`, a broker's observed throughput in bytes/s, 0 before the first observation.
    """
    leased = throttle.of(fastest)

    def rate(broker: int, side: str) -> float | None:
        if leased < 0:
            return fastest or None
        standing = rate_of(side, cluster.broker_configs.get(str(broker), {}), cluster.default_configs)
        return leased if standing is None else min(leased, standing)

    return rate


def renewed(throttle: HealingThrottle, present: int, fastest: int, former: HealingThrottle | None) -> int:
    """The rate of a repair that waits or moves at `present`. `former`: the throttle that repairs had from this
    controller before, None: it has seen none.

    A number holds at once; a share is computed when a repair joins the queue and when the setting changes, not with
    each observation. A new controller has observed nothing yet, so it keeps what it finds.
    """
    if throttle.percent and (throttle == former or (former is None and present > 0)):
        return present
    return throttle.of(fastest)


def explained(throttle: HealingThrottle, fastest: int) -> str:
    """What a share amounts to, and of what; else ""."""
    if not throttle.percent:
        return ""
    link = f"a broker was seen to receive {fastest} B/s"
    if not fastest:
        link = f"no broker's link was seen, {ASSUMED_THROUGHPUT} B/s are assumed"
    return f"at {throttle.of(fastest)} B/s for each broker, {throttle}: {link}"
