"""What brokers can send and receive."""

from collections.abc import Mapping

import msgspec


class NetworkLimits(msgspec.Struct, frozen=True):
    """What a broker sends for moves and what it receives is limited: to `bandwidth` bytes/s each way (`by_broker` for
    those that differ), and to `throttle` bytes/s of moves each way (-1: none).
    """

    bandwidth: int
    by_broker: Mapping[int, int] = {}
    throttle: int = -1

    def rate(self, broker: int) -> int:
        """Bytes/s of moves on this broker, each way."""
        given = self.bandwidth_of(broker)
        return given if self.throttle < 0 else min(given, self.throttle)

    def bandwidth_of(self, broker: int) -> int:
        """Without the throttle: moves share it with clients."""
        return self.by_broker.get(broker, self.bandwidth)
