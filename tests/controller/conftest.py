"""Every event that a test of the controller records is held against the catalogue of events, and every decision against
the rules that decisions write nothing, and that the settings which they look at are those of their sources."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.core.events.decided_events import Event
from tests.core.frozen import picture

PICTURED = 100
"""Topics, or waiting moves, up to which a cluster is compared."""


@pytest.fixture(autouse=True)
def decisions_write_nothing_into_the_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    decide = ControllerLoop._decide
    found: list[str] = []

    async def checked(commands: Sequence[Command[Any]], work: Round) -> list[Command[Any]]:
        cluster = work.view.cluster
        if len(cluster.topics) > PICTURED or len(cluster.queue) > PICTURED:
            return await decide(commands, work)
        before = dict(picture(cluster))
        decided = await decide(commands, work)
        after = dict(picture(cluster))
        names = [type(command).__name__ for command in commands]
        found.extend(f"{names} changed {field}" for field in before if before[field] != after[field])
        held = cluster.soft.in_force
        if sys.getprofile() is None:  # else the walk of a request is noted, which has no such call
            cluster.derive_settings()
        if cluster.soft.in_force != held:
            found.append(f"{names} saw settings that did not hold any more")
        return decided

    monkeypatch.setattr(ControllerLoop, "_decide", staticmethod(checked))
    yield
    assert found == []


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
