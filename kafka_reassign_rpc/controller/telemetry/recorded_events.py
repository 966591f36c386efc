"""What this process has recorded, as the status page and clients read it."""

from kafka_reassign_rpc.api import ports
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.status_page.events import EventsUnknown, LogPage


class RecordedEvents:
    """An `EventReader`."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    async def page(self, first: int, max_bytes: int) -> LogPage:
        found = await self._recorder.read(first, max_bytes)
        if found is None:
            raise EventsUnknown("it keeps no event log (event.log.dir)")
        return LogPage([one.decode() for one in found.events], found.next_seq)


async def recorded_events(recorder: EventRecorder, first: int, max_bytes: int) -> ports.RecordedEvents | None:
    """As `api.ports.Node.events`. Raises KafkaStorageError."""
    try:
        read = await recorder.read(first, max_bytes)
    except OSError as error:
        raise KafkaStorageError(f"The event log cannot be read: {error}") from error
    if read is None:
        return None
    events = [one.decode() for one in read.events]
    return ports.RecordedEvents(events, read.next_seq, read.oldest_seq, read.complete_seq)
