"""Another rate for throttle leases of moves in flight and waiting, which keep all else. The configs follow the leases
(`core.throttling.leased_configs`).
"""

from collections.abc import Collection, Generator, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, PartitionChange, RoundView
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

Wanted = Mapping[str, Collection[int] | None] | None
"""Topics with the partitions that are meant, None: all of them; None alone: all topics."""


class ThrottledMoves(msgspec.Struct, frozen=True):
    """How many have the rate now, in flight and waiting; how many of repairs were passed over."""

    moving: int
    waiting: int
    repairs: int


def change_rates(view: RoundView, wanted: Wanted, rate: int) -> Generator[None, None, ThrottledMoves]:
    """Gives the moves of these partitions a lease with this rate in bytes/s; 0 ends their lease. One that lifts
    stricter rates goes on to do so.

    Repairs are passed over: their rate follows `self.healing.throttle`. Entries of `/admin/reassign_partitions` and
    request znodes that wait have no lease before they start. Yields after each move.
    """
    moving = waiting = repairs = 0
    for name in _named(view.cluster.moving, wanted):
        partition = view.get(*name)
        if partition is not None and partition.move is not None and partition.is_moving:
            if partition.move.terms.route == HEAL:
                repairs += 1
            else:
                moving += 1
                if not change_moving(view, name, rate) and rate > 0:
                    view.asked_again.add(name)
        yield
    for name in _named(view.cluster.queue.topics, wanted):
        move = queue_admission.find(view, name)
        if move is not None:
            if move.terms.route == HEAL:
                repairs += 1
            else:
                waiting += 1
                change_waiting(view, name, rate)
        yield
    return ThrottledMoves(moving, waiting, repairs)


def _named(known: Mapping[str, Collection[int]], wanted: Wanted) -> Iterator[TopicPartition]:
    for topic in [topic for topic in known if wanted is None or topic in wanted]:
        asked = None if wanted is None else wanted[topic]
        for index in list(known[topic]) if asked is None else sorted(set(known[topic]).intersection(asked)):
            yield TopicPartition(topic, index)


def change_moving(view: RoundView, name: TopicPartition, rate: int) -> bool:
    """Returns whether it had another rate."""
    partition = view.get(*name)
    if partition is None or partition.move is None or (partition.move.terms.throttle or 0) == max(rate, 0):
        return False
    terms = partition.move.terms
    terms = replace(terms, throttle=rate if rate > 0 else None, lifts=terms.lifts and rate > 0)
    changed = replace(partition, move=replace(partition.move, terms=terms))
    view.add(PartitionChange(*name, changed, AssignmentWrite.LATER))
    return True


def change_waiting(view: RoundView, name: TopicPartition, rate: int) -> bool:
    """Returns whether it had another rate."""
    move = queue_admission.find(view, name)
    if move is None or (move.terms.throttle or 0) == max(rate, 0):
        return False
    terms = replace(move.terms, throttle=max(rate, 0), lifts=move.terms.lifts and rate > 0)
    queue_admission.change_rate(view, name, replace(move, terms=terms))
    return True
