"""Every event that a test of the controller records is held against the catalogue of events."""

from collections.abc import Iterable, Iterator

import pytest

from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.core.events.decided_events import Event


def unknown(event: Event) -> Iterator[str]:
    """What the catalogue does not know of an event."""
    known = EVENTS.get(event.event)
    for field in Event.__struct_fields__:
        value = getattr(event, field)
        if known is None or (field != "event" and value is not None and field not in known.fields):
            yield f"{event.event}: {field}={value!r}"


@pytest.fixture(autouse=True)
def recorded_events_are_in_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found: list[str] = []
    record = EventRecorder.record

    def checked(events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            found.extend(unknown(event))
            yield event

    def recorded(self: EventRecorder, epoch: int, events: Iterable[Event]) -> None:
        record(self, epoch, checked(events))

    monkeypatch.setattr(EventRecorder, "record", recorded)
    yield
    assert found == []
