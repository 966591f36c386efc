"""Batches of the topic from an offset on, one Fetch each."""

import asyncio
from typing import NamedTuple

from kafka_reassign_rpc.kraft.state_log import leader_calls
from kafka_reassign_rpc.kraft.state_log.leader_calls import LOOKS, Fetched, LeaderCalls
from kafka_reassign_rpc.kraft.state_log.log_errors import LogLost
from kafka_reassign_rpc.kraft.state_log.log_reading import DAMAGED, TermReading
from kafka_reassign_rpc.kraft.state_log.record_batches import BadBatch, Batch, batches

_OUT_OF_RANGE = 1
_OTHER_EPOCH = frozenset({74, 75})
"""FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH."""


class RecordsDeleted(Exception):
    """A snapshot has replaced them: reading starts again at the first offset that is there."""

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.first = first


class Fetch(NamedTuple):
    """`end`: the offset behind the last durable record, -1 if the broker did not tell."""

    batches: list[Batch]
    end: int
    throttle_s: float


async def fetch(calls: LeaderCalls, at: TermReading, wait_ms: int) -> Fetch:
    """What follows `at`. Raises RecordsDeleted, LogLost, LogRefused, LogUnavailable, Unreachable."""
    for look in range(LOOKS):
        if look:
            await asyncio.sleep(leader_calls.LOOK_AGAIN_S)
            calls.look_again()
        found = await _fetched(calls, at, wait_ms)
        if not _lacks(found):
            break
        await calls.end_offset()  # a leader that does not know yet what is durable says so here
    else:
        raise LogLost(
            f"the state log does not have the records before offset {at.position} that were acknowledged: brokers have"
            f" lost their disks, or an unclean election was held; {DAMAGED}"
        )
    if found.error:
        calls.look_again()
        raise calls.trouble(found.error)
    try:
        whole = [*batches(found.data)]
    except BadBatch as error:
        raise LogLost(f"the state log cannot be read from offset {at.position} on: {error}; {DAMAGED}") from None
    if found.data and not whole:
        raise LogLost(f"the batch at offset {at.position} of the state log is too large to be read; {DAMAGED}")
    return Fetch(whole, found.end, found.throttle_s)


async def _fetched(calls: LeaderCalls, at: TermReading, wait_ms: int) -> Fetched:
    """Raises RecordsDeleted."""
    found = await calls.fetch(at.position, at.leader_epoch, wait_ms)
    if found.error in _OTHER_EPOCH:  # mostly the same leader in its next epoch
        calls.look_again()
        found = await calls.fetch(at.position, at.leader_epoch, wait_ms)
    if found.error == _OUT_OF_RANGE:
        first = await calls.first_offset()
        if first > at.position:
            raise RecordsDeleted(first)
        if first == at.position and at.leader_epoch >= 0:  # nothing is left of the epoch before it
            return await calls.fetch(at.position, -1, wait_ms)
    return found


def _lacks(found: Fetched) -> bool:
    """Whether the broker has not the records before."""
    return found.diverges or found.error == _OUT_OF_RANGE


async def read_to_end(calls: LeaderCalls, reading: TermReading | None) -> TermReading:
    """All that is durable by now, from `reading` on, which advances; None: from the first record on. Raises as `fetch`,
    without RecordsDeleted.
    """
    at, end = reading, await calls.end_offset()
    while at is None or at.position < end:
        if at is None:
            at = TermReading(await calls.first_offset())
        try:
            found = await fetch(calls, at, 0)
        except RecordsDeleted as deleted:
            at = TermReading(deleted.first)
            continue
        for batch in found.batches:
            at.take(batch)
    return at
