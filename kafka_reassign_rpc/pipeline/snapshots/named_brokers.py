"""Whether what an operator says of brokers fits those of a snapshot. Does not import PySpark."""

from collections.abc import Collection, Mapping

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.support.counted import first_of, those

_NAMED = 20


def require_brokers(flag: str, brokers: Collection[int], named: Collection[int]) -> None:
    """Raises BadInput."""
    missing = set(named) - set(brokers)
    if missing:
        raise BadInput(f"{flag}: the snapshot has no {those(missing)}: it has {first_of(sorted(brokers), _NAMED)}")


def require_weights(brokers: Mapping[int, bool], weights: Collection[int]) -> None:
    """Raises BadInput unless there are no weights, or some of every live broker. `brokers`: whether each is live."""
    require_brokers("broker-weights", brokers, weights)
    unnamed = {broker for broker, live in brokers.items() if live} - set(weights)
    if unnamed and weights:
        raise BadInput(f"broker-weights: the file has no weight of {those(unnamed)}")
