"""The line of an event: what a server writes, and what anybody reads of it.

`server` and `epoch` are null where they are not known. Up to release 0.3.0 they were -1 then: such lines are in event
logs, and servers of that release send them.

Events as lists show them, on the page and in a terminal: which are about a broker, and which are one line.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

Event = dict[str, Any]
"""The fields of a line by name."""
_SINCE_NULL = ("server", "epoch")


class LinePlace(msgspec.Struct, frozen=True):
    """A line without its event."""

    seq: int
    at: int
    server: int | None
    event: str


place_of = msgspec.json.Decoder(LinePlace).decode
_read = msgspec.json.Decoder(Event).decode


def line_of(place: tuple[int, int], server: int | None, epoch: int | None, event: bytes) -> bytes:
    """`place`: number and time (ms since 1970). `event`: its own fields, as a JSON object that has some."""
    by = b"null" if server is None else b"%d" % server
    under = b"null" if epoch is None else b"%d" % epoch
    return b'{"seq":%d,"at":%d,"server":%b,"epoch":%b,%b' % (*place, by, under, event[1:])


def read_line(line: str | bytes | msgspec.Raw) -> Event:
    """Raises msgspec.DecodeError, a ValueError."""
    event = _read(line)
    for name in _SINCE_NULL:
        if event.get(name) == -1:
            event[name] = None
    return event


SKEW_MS = 600_000
"""A server's clock may be this far ahead of the reader's."""


class LogClock:
    """When events were recorded if their server's clock jumps: none is older than one before it, or later than now."""

    def __init__(self) -> None:
        self._latest: int | None = None

    def recorded_at(self, at: int, now: int) -> int | None:
        """The earliest time, ms since 1970, at which the log's next event can have been recorded, None if unknown.
        `at`, its own time, does not count if it is far after `now`, the reader's.
        """
        if at <= now + SKEW_MS:
            self._latest = at if self._latest is None else max(self._latest, at)
        return self._latest


SAME_REQUEST_MS = 2_000
_BROKER_LISTS = ("target", "original", "replicas")
_OF_EACH = ("at", "seq", "broker")


def is_about(event: Event, broker: int) -> bool:
    """A move may be to, from or with this broker."""
    return event.get("broker") == broker or any(broker in _listed(event.get(name)) for name in _BROKER_LISTS)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def folded(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events of each line, in their order."""
    group: list[Event] = []
    for event in events:
        if group and not are_one_line(group[0], event):
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def as_one(group: list[Event]) -> Event:
    """What a line shows of them: the first one, with all brokers."""
    first = group[0]
    if len(group) == 1:
        return first
    brokers = sorted({one["broker"] for one in group})
    return {("brokers" if name == "broker" else name): brokers if name == "broker" else first[name] for name in first}


def are_one_line(one: Event, other: Event) -> bool:
    """Whether one request has given both brokers their rate."""
    return (
        one["event"].startswith("throttle.")
        and isinstance(one.get("broker"), int)
        and isinstance(other.get("broker"), int)
        and abs(other["at"] - one["at"]) < SAME_REQUEST_MS
        and _without_own(one) == _without_own(other)
    )


def _without_own(event: Event) -> Event:
    return {name: value for name, value in event.items() if name not in _OF_EACH}
