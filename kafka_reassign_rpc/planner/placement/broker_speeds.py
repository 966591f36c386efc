from collections.abc import Collection

from kafka_reassign_rpc.planner.network_limits import NetworkLimits


def broker_speeds(brokers: Collection[int], network: NetworkLimits) -> dict[int, float]:
    """Bytes divided by a broker's speed compare as the seconds that they take. The mean is 1.0, which all have exactly
    if their rates are equal.
    """
    mean = sum(network.rate(broker) for broker in brokers) / max(1, len(brokers))
    return {broker: network.rate(broker) / mean for broker in brokers}
