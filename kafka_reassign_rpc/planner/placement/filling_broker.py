"""A broker that fills up: what it holds and what it receives raise its height, and the lowest brokers get most."""

from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_load import Load


class FillingBroker(NamedTuple):
    """A broker that fills up. factors: by measure, how much higher one unit of load makes it."""

    height: float
    factors: tuple[float, ...]

    def rise(self, load: Load) -> float:
        """How much higher the broker gets with the load."""
        return sum([factor * value for factor, value in zip(self.factors, load, strict=True)])
