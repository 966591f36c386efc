"""What the command prints: the stock tool's lines, or with --json one document at the end."""

from typing import Any, TextIO

from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.reassign_command.reassignment_json import compact


class Output:
    """Lines go out at once; what is noted makes up the document."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self.as_json = as_json
        self.stream = stream
        self._document: dict[str, Any] = {}

    @property
    def is_terminal(self) -> bool:
        return self.stream.isatty() and not self.as_json

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def write(self, text: str) -> None:
        if not self.as_json:
            self.stream.write(text)
            self.stream.flush()

    def note(self, **values: Any) -> None:
        """Values for the document, by their names in it."""
        self._document |= values

    def document(self, document: Any) -> None:
        """A whole document at once, as one line."""
        if self.as_json:
            self.stream.write(compact(document) + "\n")
            self.stream.flush()

    def finish(self) -> None:
        if self._document:
            self.document(self._document)
        self._document = {}


def plural(count: int) -> str:
    return "" if count == 1 else "s"


def named(partition: TopicPartition) -> dict[str, Any]:
    """A partition in a document."""
    return {"topic": partition[0], "partition": partition[1]}
