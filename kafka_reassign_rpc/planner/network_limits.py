from collections.abc import Collection, Mapping

import msgspec

BANDWIDTH = 100_000_000
"""Bytes/s each way of a broker, where a caller says nothing."""


class NetworkLimits(msgspec.Struct, frozen=True):
    """`bandwidth`: bytes/s each way of a broker (`by_broker`: of those that differ), of which moves get at most
    `throttle` bytes/s (-1: no limit).
    """

    bandwidth: int = BANDWIDTH
    by_broker: Mapping[int, int] = {}
    throttle: int = -1

    def rate(self, broker: int) -> int:
        """Bytes/s of moves, each way."""
        given = self.bandwidth_of(broker)
        return given if self.throttle < 0 else min(given, self.throttle)

    def bandwidth_of(self, broker: int) -> int:
        """Moves share it with clients."""
        return self.by_broker.get(broker, self.bandwidth)


def broker_speeds(brokers: Collection[int], network: NetworkLimits) -> dict[int, float]:
    """Bytes divided by a broker's speed compare as the seconds that they take. The mean is 1.0, which all have exactly
    if their rates are equal.
    """
    mean = sum(network.rate(broker) for broker in brokers) / max(1, len(brokers))
    return {broker: network.rate(broker) / mean for broker in brokers}
