"""The events of all running servers as one stream, by time.

Each server records what it decides, so after a failover the history is in two places. The controller names the servers
that run; each is asked for its own events.
"""

import heapq
from collections.abc import Callable, Iterator
from contextlib import closing

from kafka_reassign_rpc.client import ClusterNode, Event, KafkaError, ReassignmentClient, Unreachable
from kafka_reassign_rpc.client.event_calls import FROM_NOW_ON, EventCursor
from kafka_reassign_rpc.client.running_servers import Connect, ServerClients, running_servers

Say = Callable[[str], None]


class MergedEvents:
    """Reads all running servers. Each call of `new` gives what they have recorded since the call before.

    A server that does not answer is named once, and asked again in the next call.
    """

    def __init__(self, client: ReassignmentClient, connect: Connect, say: Say) -> None:
        self._client = client
        self._say = say
        self._cursors: dict[int, EventCursor] = {}
        self._clients = ServerClients(client, connect)
        self._silent: set[int] = set()

    def new(self) -> Iterator[Event]:
        """New events, by time. Raises the errors of `event_page`; an answer that does not come raises nothing."""
        controller, nodes = running_servers(self._client)
        yield from heapq.merge(*(self._events(server, nodes[server], controller) for server in nodes), key=_time)

    def close(self) -> None:
        self._clients.close()

    def _events(self, server: int, node: ClusterNode | None, controller: int) -> Iterator[Event]:
        """The events of a server after those that were read. `node`: where it is; None: the controller does not tell
        where it is itself.
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


def _missing(server: int, node: ClusterNode | None, error: KafkaError) -> str:
    at = "" if node is None else f" at {node.host}:{node.port}"
    return f"Events of server {server}{at} are missing: {error.message}"


def newest_events(client: ReassignmentClient, connect: Connect, say: Say, most: int) -> list[Event]:
    """The newest events of all running servers that answer, at most so many of each, by time. Others are named. Raises
    KafkaError where the controller does not tell."""
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
    return sorted((event for events in found for event in events), key=_time)


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


def _time(event: Event) -> tuple[int, int, int]:
    return event["at"], event["server"], event["seq"]
