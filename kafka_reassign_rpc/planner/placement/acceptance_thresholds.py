"""How many of the proposals for a broker are accepted: all below a bucket, found by adding buckets up to a limit."""

from collections.abc import Callable, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.broker_room import Spare
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, GAIN_UNIT

BucketSums = Sequence[tuple[int, Load, int]]
"""Bucket, load that its proposals bring or take, their gain; in ascending order."""

ROUNDING = 1e-12
_BORNE = 0.1


def threshold_at_bytes(buckets: BucketSums, limit: int) -> int:
    for bucket, copied, _ in buckets:
        limit -= copied.bytes
        if limit < 0:
            return bucket
    return ALL_BUCKETS


def threshold_within(buckets: BucketSums, spare: Load) -> int:
    """The bucket below which no measure exceeds `spare`."""
    for bucket, load, _ in buckets:
        spare = spare.minus(load)
        if min(spare) < 0:
            return bucket
    return ALL_BUCKETS


def thresholds_at_least_cost(
    buckets: BucketSums, load: Load, sign: int, cost: Callable[[Load], float], room: Spare
) -> tuple[int, int]:
    """(need, allow): below `need` the broker's cost falls as far as possible; below `allow` it rises by no more than a
    part of what all proposals gain together.
    """
    first = least = cost(load)
    following = [bucket for bucket, *_ in buckets[1:]] + [ALL_BUCKETS]
    need = allow = buckets[0][0]
    gained = 0.0
    for (_, part, gain), end in zip(buckets, following, strict=True):
        load = load.plus(part) if sign > 0 else load.minus(part)
        room = room.without(part)
        if room.is_over:
            break
        now, gained = cost(load), gained + gain * GAIN_UNIT
        if now < least - ROUNDING:
            least, need = now, end
        if now <= max(least, first + _BORNE * gained) + ROUNDING:
            allow = end
    return need, allow
