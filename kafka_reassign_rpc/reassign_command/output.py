"""Prints lines of text or, with --json, one document at the end."""

import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.reassign_command.reassignment_json import compact
from kafka_reassign_rpc.support.standard_output import write_out
from kafka_reassign_rpc.support.typed_commands import ANY, Connection


class Output:
    """Prints each line at once, and collects the values of the JSON document. `connection` goes into the commands that
    a text names.

    What prints raises OutputFailed, and BrokenPipeError where the reader has gone.
    """

    def __init__(self, stream: TextIO, *, as_json: bool, connection: Connection = ANY) -> None:
        self.as_json = as_json
        self.stream = stream
        self._connection = connection
        self._document: dict[str, Any] = {}

    @property
    def is_terminal(self) -> bool:
        """A drawing can be changed in place."""
        return self.stream.isatty() and not self.as_json and os.environ.get("TERM") != "dumb"

    def can_write(self, text: str) -> bool:
        """The stream's encoding has all of these characters."""
        try:
            text.encode(self.stream.encoding or "ascii")
        except UnicodeEncodeError:
            return False
        return True

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.line(text)

    def write(self, text: str) -> None:
        if not self.as_json:
            write_out(self.stream, self._connection.filled(text))

    def collect(self, **values: Any) -> None:
        self._document |= values

    def document(self, document: Any) -> None:
        """Prints a whole document now, as one line."""
        if self.as_json:
            write_out(self.stream, compact(document) + "\n")

    def finish(self) -> None:
        """Prints the document that was collected."""
        if self._document:
            self.document(self._document)
        self._document = {}


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"{text}\n")


def partition_fields(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition[0], "partition": partition[1]}
