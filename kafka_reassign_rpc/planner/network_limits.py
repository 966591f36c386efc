"""What brokers can send and receive."""

from collections.abc import Mapping

import msgspec


class NetworkLimits(msgspec.Struct, frozen=True):
    """What each broker sends for moves, and what it receives, at most.

    bandwidth    bytes/s of each broker, each way
    by_broker    bytes/s of the brokers that differ
    throttle     bytes/s of moves on each broker, each way; -1: none
    """

    bandwidth: int
    by_broker: Mapping[int, int] = {}
    throttle: int = -1

    def rate(self, broker: int) -> int:
        """Bytes/s of moves on this broker, each way."""
        given = self.bandwidth_of(broker)
        return given if self.throttle < 0 else min(given, self.throttle)

    def bandwidth_of(self, broker: int) -> int:
        """The same without the throttle: what moves share with clients."""
        return self.by_broker.get(broker, self.bandwidth)
