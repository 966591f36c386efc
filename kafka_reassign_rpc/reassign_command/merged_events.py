"""The events of all running servers as one stream, by time.

Each server records what it decides, so after a failover the history is on two. The events of one server come in the
order of its log, even if its clock was set back: see `LogClock`.
"""

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from kafka_reassign_rpc.client import ClusterNode, Event, KafkaError, ReassignmentClient, Unreachable
from kafka_reassign_rpc.client.event_calls import FROM_NOW_ON, EventCursor
from kafka_reassign_rpc.client.running_servers import Connect, ServerClients, running_servers
from kafka_reassign_rpc.core.events.event_lines import LogClock

Say = Callable[[str], None]
Recorded = tuple[int, Event]
"""An event, and when it was recorded (ms since 1970)."""


class MergedEvents:
    """Each call of `new` gives what running servers have recorded since the call before. A server that does not answer
    is named once, and asked again in the next call.

    since  ms since 1970: older events are left out. What a server records after its log was read to its end is new,
           by any clock
    clock  ms since 1970
    """

    def __init__(
        self,
        client: ReassignmentClient,
        connect: Connect,
        say: Say,
        *,
        since: int | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._client = client
        self._since = since
        self._clock = clock
        self._is_past = since is None or since <= clock()
        self._clocks: dict[int, LogClock] = {}
        self._read: set[int] = set()
        """Servers whose logs were read to their ends."""
        self._say = say
        self._cursors: dict[int, EventCursor] = {}
        self._clients = ServerClients(client, connect)
        self._silent: set[int] = set()

    def new(self) -> Iterator[Event]:
        """Events come by time. Raises the errors of `event_page`, but nothing for a server that does not answer."""
        controller, nodes = running_servers(self._client)
        now = self._clock()
        logs = (self._wanted(server, self._events(server, nodes[server], controller), now) for server in nodes)
        for _, event in heapq.merge(*logs, key=time_of):
            yield event

    def close(self) -> None:
        self._clients.close()

    def _wanted(self, server: int, events: Iterable[Event], now: int) -> Iterator[Recorded]:
        since, is_new = self._since, self._is_past and server in self._read
        for recorded, event in with_times(self._clocks.setdefault(server, LogClock()), events, now):
            if since is None or is_new or max(recorded, event["at"]) >= since:
                yield recorded, event

    def _events(self, server: int, node: ClusterNode | None, controller: int) -> Iterator[Event]:
        """Events after those that were read. `node`: None for the controller, which does not say where it is
        itself.
        """
        cursor = self._cursors.setdefault(server, EventCursor(0))
        try:
            client = self._clients.of(node)
            while (found := cursor.take(client.event_page(cursor.seq, server=server))) is not None:
                yield from found
        except KafkaError as error:
            if server == controller and not isinstance(error, Unreachable):
                raise
            if server not in self._silent:
                self._silent.add(server)
                self._say(_missing(server, node, error))
        else:
            self._silent.discard(server)
            self._read.add(server)


def _missing(server: int, node: ClusterNode | None, error: KafkaError) -> str:
    at = "" if node is None else f" at {node.host}:{node.port}"
    return f"Events of server {server}{at} are missing: {error.message}"


def newest_events(client: ReassignmentClient, connect: Connect, say: Say, most: int) -> list[Event]:
    """The newest of all running servers that answer, by time, at most `most` of each. Others are named. Raises
    KafkaError where the controller does not say which servers run.
    """
    controller, nodes = running_servers(client)
    found: list[list[Event]] = []
    with closing(ServerClients(client, connect)) as clients:
        for server, node in nodes.items():
            try:
                found.append(_last(clients.of(None if server == controller else node), server, most))
            except KafkaError as error:
                if server == controller:
                    raise
                say(_missing(server, node, error))
    now = time.time_ns() // 1_000_000
    return [event for _, event in heapq.merge(*(with_times(LogClock(), log, now) for log in found), key=time_of)]


def _last(client: ReassignmentClient, server: int, most: int) -> list[Event]:
    page = client.event_page(FROM_NOW_ON, server=server)
    end, first = page.next_seq, max(page.oldest_seq, page.next_seq - most)
    found: list[Event] = []
    while first < end:
        page = client.event_page(first, server=server)
        found += page.events
        if page.next_seq <= first:
            break
        first = page.next_seq
    return found


def with_times(clock: LogClock, log: Iterable[Event], now: int) -> Iterator[Recorded]:
    """An unknown time counts as the earliest."""
    for event in log:
        yield clock.recorded_at(event["at"], now) or 0, event


def time_of(recorded: Recorded) -> tuple[int, int, int, int]:
    at, event = recorded
    return at, event["at"], -1 if event["server"] is None else event["server"], event["seq"]
