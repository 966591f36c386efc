"""One request gives a rate to many brokers: its events are one line, as on the status page."""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.client import Event

SAME_REQUEST_MS = 2_000
_OF_EACH = ("at", "seq", "broker")


def folded(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events of each line, in their order."""
    group: list[Event] = []
    for event in events:
        if group and not _is_same(group[0], event):
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


def _is_same(one: Event, other: Event) -> bool:
    return (
        one["event"].startswith("throttle.")
        and "broker" in one
        and "broker" in other
        and abs(other["at"] - one["at"]) < SAME_REQUEST_MS
        and _without_own(one) == _without_own(other)
    )


def _without_own(event: Event) -> Event:
    return {name: value for name, value in event.items() if name not in _OF_EACH}
