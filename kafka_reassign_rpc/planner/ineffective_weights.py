"""Weights that change nothing, for want of figures."""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.support.counted import agreeing, counted

_RATES = ("produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")


def ineffective_weights(weights: GoalWeights, held: Iterable[Load]) -> Iterator[str]:
    """Notes on weights that somebody has asked for and that change nothing."""
    usual, loads = GoalWeights(), list(held)
    for name in _RATES:
        given, place = getattr(weights, name), MEASURES.index(name)
        if given > getattr(usual, name) and not any(load[place] for load in loads):
            yield f"--weight {name}={given:g} changes nothing: the snapshot has no such rate (`export --rates`)"


def size_notes(known: int, unknown: int, partitions: int, typical_size: int) -> Iterator[str]:
    """Notes on sizes that are not known, of so many partitions. `typical_size`: bytes that the plan assumes."""
    if not known and partitions:
        yield "no size is known: replicas are counted instead of bytes"
    elif unknown:
        yield (
            f"{unknown} of {counted(partitions, 'partition')} {agreeing(unknown, 'have')} no known size: "
            f"the plan assumes {typical_size} bytes for each, the mean of the others"
        )
