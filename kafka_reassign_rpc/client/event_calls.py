"""Calls that read the recorded events of servers."""

from dataclasses import dataclass

from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.client.vendor_calls import ask_document
from kafka_reassign_rpc.core.document_and_command_bodies import EventLog, EventLogBody
from kafka_reassign_rpc.core.events.event_lines import Event, read_line

NO_EVENTS = "The controller records no events: that needs a kafka-reassign-rpc server of this version."
PAGE_BYTES = 1_048_576
FROM_NOW_ON = -1


@dataclass(frozen=True)
class EventPage:
    """Events of one server.

    oldest_seq    the number of the oldest event that the server still has
    next_seq      the number from which the next page begins
    complete_seq  from this number on the server has every event; it may have deleted older ones
    servers       with `from_seq` -1: the running servers, each with events of its own; empty if the server does not say
    """

    server: int
    events: tuple[Event, ...]
    oldest_seq: int
    next_seq: int
    complete_seq: int = 0
    servers: tuple[ClusterNode, ...] = ()


async def event_page(router: RequestRouter, from_seq: int, server: int | None) -> EventPage:
    body = EventLogBody(from_seq=from_seq, max_bytes=PAGE_BYTES)
    found = await ask_document(router, "event_log", EventLog, NO_EVENTS, body, server=server)
    events = tuple(map(read_line, found.events))
    complete_seq = found.oldest_seq if found.complete_seq is None else max(found.oldest_seq, found.complete_seq)
    servers = tuple(ClusterNode(one.id, one.host, one.port, None) for one in found.servers)
    return EventPage(found.server, events, found.oldest_seq, found.next_seq, complete_seq, servers)


class EventCursor:
    """Each server has its own event log. After a failover the cursor reads the new controller's log from its beginning,
    and leaves out events of epochs that the reader has already seen.
    """

    def __init__(self, from_seq: int) -> None:
        self.seq = from_seq
        self._server: int | None = None
        self._epoch: int | None = None
        self._after: int | None = None

    def take(self, page: EventPage) -> list[Event] | None:
        """The new events of the page that was asked for with `seq`; None: the log has no more."""
        if self._server is not None and (page.server != self._server or page.next_seq < self.seq):
            self._server, self._after, self.seq = page.server, self._epoch, 0
            return []
        ended = not page.events
        self._server, self.seq = page.server, page.next_seq
        found = [event for event in page.events if self._is_new(event["epoch"])]
        epochs = (self._epoch, *(event["epoch"] for event in found))
        self._epoch = max((one for one in epochs if one is not None), default=None)
        return None if ended else found

    def _is_new(self, epoch: int | None) -> bool:
        """An event whose epoch is not known is left out after a failover: the reader may have seen it."""
        return self._after is None or (epoch is not None and epoch > self._after)
