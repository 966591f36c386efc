"""Exports new events of a cluster's servers into Parquet files, which are only ever added (see `event_files`).

The file names are the state: the next export goes on after the last file. A file is complete or does not exist, so an
export that is killed repeats nothing and misses nothing. Where the server no longer has the last exported event, it has
started its log anew; the files of the new log get the next generation number.
"""

from collections.abc import Iterator, Set
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient
from kafka_reassign_rpc.client.event_calls import EventPage
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.server_nodes import is_server
from kafka_reassign_rpc.pipeline.store_paths import StorePath


class ExportedEvents(NamedTuple):
    """The result of an export: how many events of how many servers, and warnings about events that are missing."""

    events: int
    servers: int
    warnings: list[str]


def export_new_events(client: ReassignmentClient, directory: StorePath) -> ExportedEvents:
    """Add the events that servers have recorded since the last export.

    Raises UnsupportedHere where the controller is not a kafka-reassign-rpc server, BadInput for unreadable files or
    events.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for unfinished in directory.glob(".events-*"):
        unfinished.unlink()
    known = {file.server: file for file in event_files.list_files(directory)}
    warnings: list[str] = []
    count = 0
    servers = _servers(client, known.keys(), warnings)
    for server in servers:
        count += _ServerLog(client, directory, server, known.get(server), warnings).run()
    return ExportedEvents(count, len(servers), warnings)


def _servers(client: ReassignmentClient, known: Set[int], warnings: list[str]) -> list[int]:
    """The controller, and every other kafka-reassign-rpc server that answers."""
    found = {client.event_page(-1).server}
    asked = client.describe_brokers({node.id: {} for node in client.describe_cluster()})
    found |= {node for node, dirs in asked.items() if not isinstance(dirs, KafkaError) and is_server(dirs.log_dirs)}
    warnings += [f"server {server} does not answer: its new events are missing" for server in known - found]
    return sorted(found)


class _ServerLog:
    """One server's log, from the end of the last file."""

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

    def run(self) -> int:
        generation, seq = (0, 0) if self._last is None else (self._last.generation, self._last.last + 1)
        if self._last is not None and not self._is_same_log(self._last):
            generation, seq = generation + 1, 0
            self._warnings.append(f"server {self._server} has started its log anew")
        count = 0
        for page in self._pages(seq):
            if page.events:
                self._warn_of_deleted(page, seq)
            count += self._write(page, generation)
            seq = page.next_seq
        return count

    def _warn_of_deleted(self, page: EventPage, seq: int) -> None:
        """Warn of what the server has deleted since the last export. It deletes refusals before decisions."""
        if page.oldest_seq > seq:
            deleted = f"events {seq} to {page.oldest_seq - 1}"
            self._warnings.append(f"server {self._server} has deleted {deleted}: they are missing")
        elif page.complete_seq > seq and not self._warned:
            self._warned = True
            deleted = f"some of the events {seq} to {page.complete_seq - 1}"
            self._warnings.append(f"server {self._server} has deleted {deleted}: refusals may be missing")

    def _is_same_log(self, last: event_files.EventFile) -> bool:
        """Whether the server still writes the log of the files: it has the last event, or has deleted it meanwhile."""
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
        with parquet_files.TableWriter(self._directory / name, event_files.EVENTS) as writer:
            writer.extend(map(event_files.to_row, page.events))
        return len(page.events)
