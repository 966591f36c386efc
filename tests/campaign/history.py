"""What has happened to brokers and partitions, and when."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Absence:
    """A time in which a broker could not be reached by the controller, or was not registered: seconds of the epoch."""

    broker: int
    begin: float
    end: float


@dataclass(frozen=True)
class Assigned:
    """The replicas of a partition from a moment on (seconds of the epoch), as a controller has recorded it.

    name    of the partition; of a topic, which has no replicas since then: its deletion has begun
    """

    name: str
    replicas: frozenset[int]
    at: float
