from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_load import Load


class FillingBroker(NamedTuple):
    """The lowest brokers get most. `factors`: how much one unit of each measure raises the height."""

    height: float
    factors: tuple[float, ...]

    def rise(self, load: Load) -> float:
        return sum([factor * value for factor, value in zip(self.factors, load, strict=True)])
