"""Events as lists show them, on the page and in a terminal: which are about a broker, and which are one line."""

from collections.abc import Iterable, Iterator
from typing import Any

from kafka_reassign_rpc.core.events.event_lines import Event

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
