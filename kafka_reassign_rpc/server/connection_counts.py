"""How many connections there are, in all and from each address, against their limits. Pure: the caller passes the time
in.
"""

from collections import Counter

from kafka_reassign_rpc.core.quotas.connection_quotas import UNLIMITED
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.support.counted import counted


class AddressRates:
    """At most one second's worth of connections at once."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}
        """By address: the time of its last connection, and its share used then."""

    def __len__(self) -> int:
        return len(self._used)

    def admits(self, host: str, now: float, per_second: int) -> bool:
        if per_second >= UNLIMITED:
            return True
        before, used = self._used.get(host, (now, 0.0))
        used = min(per_second, max(0.0, used - (now - before) * per_second))
        admitted = used + 1 <= per_second
        self._used[host] = now, used + admitted
        return admitted

    def forget(self, now: float) -> None:
        """Whose last connection is a second ago has its whole share again."""
        self._used = {host: use for host, use in self._used.items() if use[0] > now - 1.0}


class ConnectionCounts:
    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_host: Counter[str] = Counter()
        self.total = 0

    @property
    def over(self) -> str | None:
        most = self._limits.max_connections
        return f"max.connections={most} reached" if self.total >= most else None

    def over_of(self, host: str) -> str | None:
        most = self._limits.max_connections_per_ip_overrides.get(host, self._limits.max_connections_per_ip)
        if self._by_host[host] < most:
            return None
        return f"{counted(most, 'connection')} from {host} reached (max.connections.per.ip)"

    def add(self, host: str) -> None:
        self.total += 1
        self._by_host[host] += 1

    def remove(self, host: str) -> None:
        self.total -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
