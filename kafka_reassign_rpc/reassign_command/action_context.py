"""The context of an action: client, options and output. Addresses are checked before the client connects. The output is
lines of text or, with --json, one document at the end.
"""

import os
import socket
import sys
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TextIO

from kafka_reassign_rpc.client import (
    KafkaError,
    PartitionInfo,
    ReassignmentClient,
    TopicPartition,
    client_configs,
    load_properties,
)
from kafka_reassign_rpc.client.blocking_client import configs_of_another
from kafka_reassign_rpc.client.config_calls import Changes
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, from_server
from kafka_reassign_rpc.reassign_command.options import ParsedOptions
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, compact, joined, set_order
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.host_port import BadAddress, host_ports
from kafka_reassign_rpc.support.standard_output import write_out
from kafka_reassign_rpc.support.tasks import word_if_slow
from kafka_reassign_rpc.support.typed_commands import ANY, Connection


class Output:
    """Prints each line at once, and collects the values of the JSON document. `connection` goes into the commands that
    a text names.
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


CLIENT_ID = "reassign-partitions-tool"
SLOW_S = 10.0
"""After this time a user reads that no node answers: the whole limit is a minute, as in the stock tool."""
_NO_CLIENT = "Failed to create new KafkaAdminClient"


class ActionContext:
    """Given to every action. The client connects when an action first uses it.

    asks_controllers    by --bootstrap-controller: KRaft's controllers answer for all brokers
    """

    def __init__(self, options: ParsedOptions, output: Output) -> None:
        self.options = options
        self.output = output
        path = options.value("command-config")
        controllers = options.value("bootstrap-controller")
        self._bootstrap = options.value("bootstrap-server") or controllers or ""
        try:
            properties = load_properties(path, _warn)
            check_addresses(self._bootstrap)
            configs = client_configs(self._bootstrap, properties, _warn)
        except BadSetting as error:
            raise CommandFailed(str(error)) from None
        self._configs = {"client_id": CLIENT_ID, **configs}
        self.asks_controllers = controllers is not None
        if self.asks_controllers:
            self._configs["bootstrap_controllers"] = self._configs.pop("bootstrap_servers")
        self._client: ReassignmentClient | None = None

    @property
    def client(self) -> ReassignmentClient:
        if self._client is None:
            try:
                with word_if_slow(say, f"{self._bootstrap} does not answer yet, trying on", SLOW_S):
                    self._client = ReassignmentClient(**self._configs)
                self._client.say_what_is_waited_for(say)
            except ValueError as error:
                raise CommandFailed(f"{_NO_CLIENT}: {error}") from None
        return self._client

    def client_of(self, address: str) -> ReassignmentClient:
        """Makes a client of the server at HOST:PORT, with the same configs. The caller closes it."""
        return ReassignmentClient(**configs_of_another(self._configs, address))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._client is not None:
            self._client.close()

    def brokers(self) -> list[int]:
        return [node.id for node in self.client.describe_cluster()]

    def topics(self, names: Iterable[str]) -> dict[str, dict[int, PartitionInfo]]:
        """Raises CommandFailed if a topic does not exist."""
        order = set_order(names)
        described = self.client.describe_topics(order)
        found = {}
        for name in order:
            topic = described[name]
            if isinstance(topic, KafkaError):
                if topic.code == 3:
                    topic = type(topic)(f"Topic {name} not found.")
                raise from_server(topic)
            found[name] = topic
        return found

    def partitions(self, names: Iterable[str]) -> dict[TopicPartition, PartitionInfo]:
        """Raises CommandFailed if a topic does not exist."""
        return {
            TopicPartition(topic, index): one
            for topic, found in self.topics(names).items()
            for index, one in found.items()
        }

    def assignment_of(self, partitions: Sequence[TopicPartition]) -> Assignment:
        """Raises CommandFailed if a partition does not exist."""
        known = self.partitions(partition.topic for partition in partitions)
        found = {partition: known[partition].replicas for partition in partitions if partition in known}
        missing = set_order(partition for partition in partitions if partition not in found)
        if missing:
            raise CommandFailed(
                "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Unable to find partition: "
                f"{joined(missing, ', ')}"
            )
        return found

    def configure(self, changes: Changes) -> None:
        """Tries all changes, then raises CommandFailed for the first one that was refused."""
        for error in self.client.change_configs(changes).values():
            if error is not None:
                raise from_server(error)


def check_addresses(given: str) -> None:
    """Raises CommandFailed if one is not HOST:PORT, or if none can be resolved."""
    try:
        found = host_ports(given)
    except BadAddress as error:
        raise CommandFailed(f"{_NO_CLIENT}: {error}") from None
    resolved = False
    for text, address in found:
        try:
            socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):  # a label of a name is empty or too long
            _warn(f"Couldn't resolve server {text} from bootstrap.servers")
        else:
            resolved = True
    if not resolved:
        raise CommandFailed(f"{_NO_CLIENT}: No resolvable bootstrap urls given in bootstrap.servers")


def _warn(text: str) -> None:
    say(f"WARN {text}")
