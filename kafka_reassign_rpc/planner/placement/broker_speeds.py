"""How fast brokers are among each other: bytes divided by a broker's speed compare as the seconds that they take."""

from collections.abc import Collection

from kafka_reassign_rpc.planner.network_limits import NetworkLimits


def broker_speeds(brokers: Collection[int], network: NetworkLimits) -> dict[int, float]:
    """What each broker copies in the time in which they copy 1.0 on average; 1.0 exactly where all have one rate."""
    mean = sum(network.rate(broker) for broker in brokers) / max(1, len(brokers))
    return {broker: network.rate(broker) / mean for broker in brokers}
