"""What this process has recorded, as the status page reads it."""

from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
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
