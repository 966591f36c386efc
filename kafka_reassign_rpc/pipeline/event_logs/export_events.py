"""Adds new events of a cluster's servers to a directory of Parquet files.

After a failover the history lies on two servers, so every running one is asked. The file names are the state: an
export continues after the last file, which is complete or does not exist. A server that lacks the last exported event
has restarted its log: its next files get a new generation.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.client import ClusterNode, KafkaError, ReassignmentClient
from kafka_reassign_rpc.client.blocking_client import Connect, ServerClients, running_servers
from kafka_reassign_rpc.client.server_calls import EventPage
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.host_port import Address


class ExportedEvents(NamedTuple):
    """`servers` counts those with nothing new too; `warnings` are about missing events."""

    events: int
    servers: int
    warnings: list[str]


def export_new_events(
    client: ReassignmentClient,
    connect: Connect,
    directory: StorePath,
    show_status: Callable[[str], None] = lambda _: None,
) -> ExportedEvents:
    """A server that does not answer gives a warning; the next export asks it again. `connect` makes a client of a
    server that is not the controller. Raises UnsupportedHere if the controller is none of our servers, BadInput,
    KafkaError if the controller refuses its events.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for unfinished in directory.glob(".events-*"):
        unfinished.unlink()
    known = {file.server: file for file in event_files.list_files(directory)}
    controller, nodes = running_servers(client)
    warnings = [f"server {server} does not run: its new events are missing" for server in sorted(known.keys() - nodes)]
    count = servers = 0
    with closing(ServerClients(client, connect)) as clients:
        for server in sorted(nodes):
            show_status(f"reading the events of server {server}")
            try:
                its_client = clients.of(None if server == controller else nodes[server])
                for events in _ServerLog(its_client, directory, server, known.get(server), warnings).run():
                    count += events
                    show_status(f"reading the events of server {server}: {counted(count, 'new event')} so far")
            except KafkaError as error:
                if server == controller:
                    raise
                warnings.append(f"new events of server {_at(server, nodes[server])} are missing: {error.message}")
            else:
                servers += 1
    return ExportedEvents(count, servers, warnings)


def _at(server: int, node: ClusterNode | None) -> str:
    return f"{server}" if node is None else f"{server} at {Address(node.host, node.port)}"


class _ServerLog:
    def __init__(
        self,
        client: ReassignmentClient,
        directory: StorePath,
        server: int,
        last: event_files.EventFile | None,
        warnings: list[str],
    ) -> None:
        self._client = client
        self._directory = directory
        self._server = server
        self._last = last
        self._warnings = warnings
        self._warned = False

    def run(self) -> Iterator[int]:
        """How many events each page has."""
        generation, seq = (0, 0) if self._last is None else (self._last.generation, self._last.last + 1)
        if self._last is not None and not self._is_same_log(self._last):
            generation, seq = generation + 1, 0
            self._warnings.append(
                f"server {self._server} has started a new log: its events are exported from 0,"
                f" as generation {generation}"
            )
        for page in self._pages(seq):
            if page.events:
                self._warn_of_deleted(page, seq)
            yield self._write(page, generation)
            seq = page.next_seq

    def _warn_of_deleted(self, page: EventPage, seq: int) -> None:
        """A server deletes refusals before decisions."""
        if page.oldest_seq > seq:
            deleted = f"events {seq} to {page.oldest_seq - 1}"
            self._warnings.append(f"server {self._server} has deleted {deleted}: they are missing")
        elif page.complete_seq > seq and not self._warned:
            self._warned = True
            deleted = f"some of the events {seq} to {page.complete_seq - 1}"
            self._warnings.append(f"server {self._server} has deleted {deleted}: refusals may be missing")

    def _is_same_log(self, last: event_files.EventFile) -> bool:
        """The server has the last exported event, or has deleted it since."""
        page = self._page(last.last)
        if page.next_seq <= last.last:
            return False
        [*_, batch] = parquet_files.record_batches(last.path, event_files.WHAT_AND_WHEN)
        stored = batch.slice(len(batch) - 1).to_pylist()[0]
        first = page.events[0] if page.events else None
        if first is None or first["seq"] > last.last:
            return max(page.oldest_seq, page.complete_seq) > last.last
        return bool((first["at"], first["event"]) == (stored["at"], stored["event"]))

    def _pages(self, seq: int) -> Iterator[EventPage]:
        while (page := self._page(seq)).events:
            yield page
            seq = page.next_seq

    def _page(self, seq: int) -> EventPage:
        try:
            page = self._client.event_page(seq, server=self._server)
        except msgspec.MsgspecError as error:
            raise JobFailed(f"server {self._server} sends an event from {seq} on that is no JSON: {error}") from None
        return page

    def _write(self, page: EventPage, generation: int) -> int:
        first, last = page.events[0]["seq"], page.events[-1]["seq"]
        name = f"events-{self._server}-{generation:03d}-{first:012d}-{last:012d}.parquet"
        with parquet_files.TableWriter(self._directory / name, event_files.EVENTS, at=page.events[-1]["at"]) as writer:
            writer.extend(map(event_files.to_row, page.events))
        return len(page.events)
