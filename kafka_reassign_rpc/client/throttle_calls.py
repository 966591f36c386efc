"""Calls that give moves another throttle lease."""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.client.reassignment_calls import by_topic
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.vendor_calls import do_command
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.vendor_bodies import LONGEST_BODY, ThrottleBody

NO_RATES = (
    "The controller does not change the throttles of moves: that needs a kafka-reassign-rpc server of this version. "
    "This request was not sent."
)

_Named = dict[str, list[int] | None]
_NUMBERS = 5_000
"""Partitions of one topic that a part names."""
_NUMBER_BYTES = 11
_NAME_BYTES = 16
"""What JSON has around a name."""


async def alter_throttles(
    router: RequestRouter,
    throttle: int,
    topics: Iterable[str] | None,
    partitions: Iterable[tuple[str, int]] | None,
) -> ThrottledMoves:
    """More names than a request has room for go in several, one after the other."""
    if topics is None and partitions is None:
        return await _alter(router, throttle, None)
    moving = waiting = repairs = 0
    for part in _parts([*topics] if topics is not None else [], by_topic(partitions or ())):
        found = await _alter(router, throttle, part)
        moving, waiting, repairs = moving + found.moving, waiting + found.waiting, repairs + found.repairs
    return ThrottledMoves(moving, waiting, repairs)


async def _alter(router: RequestRouter, throttle: int, named: _Named | None) -> ThrottledMoves:
    body = ThrottleBody(rate=throttle, topics=named)
    return await do_command(router, "throttle", ThrottledMoves, NO_RATES, body)


def _parts(whole: Iterable[str], some: dict[str, list[int]]) -> Iterator[_Named]:
    """At least one, so that a server says what it does not support. A topic that is named whole is named once."""
    named: list[tuple[str, list[int] | None]] = [(name, None) for name in dict.fromkeys(whole)]
    taken = {name for name, _ in named}
    for name, indexes in some.items():
        if name not in taken:
            named += [(name, indexes[at : at + _NUMBERS]) for at in range(0, len(indexes), _NUMBERS)]
    part: _Named = {}
    room = LONGEST_BODY - 100
    for name, wanted in named:
        size = _NAME_BYTES + 6 * len(name) + _NUMBER_BYTES * len(wanted or ())
        if part and (size > room or name in part):
            yield part
            part, room = {}, LONGEST_BODY - 100
        part[name] = wanted
        room -= size
    yield part
