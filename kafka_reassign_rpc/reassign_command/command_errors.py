"""The errors that end the command, and the names that Kafka's Java errors have in the stock tool's texts.

A filter that finds nothing ends the command with exit code 1, and names what was probably meant.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from kafka_reassign_rpc.client import KafkaError, PartitionInfo, ReassignmentClient, TopicPartition, UnsupportedHere
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.support.counted import all_of
from kafka_reassign_rpc.support.error_text import no_such, unknown_names

_JAVA_NAMES = {
    "InvalidConfig": "InvalidConfiguration",
    "InvalidTopic": "InvalidTopic",
    "RequestTimedOut": "Timeout",
    "Unreachable": "Timeout",
    "NoActiveController": "Timeout",
    "Unauthenticated": "SaslAuthentication",
    "UnsupportedHere": "UnsupportedVersion",
    "ClusterAuthorizationFailed": "ClusterAuthorization",
    "UnknownServerError": "UnknownServer",
    "KafkaError": "UnknownServer",
    "KafkaStorageError": "KafkaStorage",
}


class UnreadableCommandLine(Exception):
    """There is no such option, or options do not go together.

    usage  of a command
    hint   what is meant perhaps, with a blank before it: the stock tool has no such words
    """

    def __init__(self, message: str, usage: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.usage = usage
        self.hint = hint


class TerseFailure(Exception):
    """The command prints the message alone (TerseReassignmentFailureException of the stock tool)."""


def failure_of(what: str, reasons: Mapping[TopicPartition, str]) -> TerseFailure:
    """With a line for each partition."""
    return TerseFailure("\n".join([f"{what}:", *(f"{name}: {reasons[name]}" for name in sorted(reasons))]))


@contextmanager
def our_server_needed() -> Iterator[None]:
    """Raises TerseFailure where the controller is another one than a kafka-reassign-rpc server."""
    try:
        yield
    except UnsupportedHere as error:
        raise TerseFailure(error.message) from None


class CommandFailed(Exception):
    """The command prints "Error: " and the message."""


def from_server(error: KafkaError) -> CommandFailed:
    """Prints as Java does: the class of the error, then its message."""
    return CommandFailed(f"org.apache.kafka.common.errors.{java_name(error)}: {error.message}")


def java_name(error: KafkaError) -> str:
    name = type(error).__name__
    return f"{_JAVA_NAMES.get(name, name)}Exception"


def nothing_matched(
    client: ReassignmentClient,
    what: str,
    *,
    topics: Iterable[str] | None = None,
    partitions: Iterable[TopicPartition] | None = None,
    brokers: Iterable[int] | None = None,
    requests: Iterable[str] | None = None,
    others: Iterable[str] = (),
) -> TerseFailure:
    """The failure to raise: `what` there is none of, then each given name that nothing has, with the nearest one.

    requests  the reasons that moves were asked for with
    others    what else there is not, as `unknown_names` says it
    """
    wanted = [*(partitions or ())]
    named = {*(topics or ()), *(one.topic for one in wanted)}
    hints: list[str] = []
    with suppress(KafkaError):  # who may not see the names learns that nothing matched all the same
        if named:
            known = _topics(client, named)
            hints += unknown_names("topic", named, known)
            indexes = {str(TopicPartition(topic, index)) for topic, count in known.items() for index in range(count)}
            hints += unknown_names("partition", (str(one) for one in wanted if one.topic in known), indexes)
        if brokers:
            hints += unknown_names("broker", map(str, brokers), {str(one) for one in known_brokers(client)})
        if requests:
            moves = client.list_partition_reassignments().values()
            hints += unknown_names("reason", requests, {one.reason for one in moves if one.reason})
    hints += others
    return TerseFailure(f"{what}{': there is ' if hints else ''}{all_of(hints) if hints else ''}.")


def existing_topic(client: ReassignmentClient, topic: str) -> dict[int, PartitionInfo]:
    """The topic's partitions. Raises TerseFailure if there is no such topic, CommandFailed."""
    found = client.describe_topics([topic])[topic]
    if isinstance(found, UnknownTopicOrPartition):
        known: Collection[str] = ()
        with suppress(KafkaError):
            known = _topics(client, ())
        raise TerseFailure(f"There is {no_such('topic', topic, known)}.")
    if isinstance(found, KafkaError):
        raise from_server(found)
    return found


def known_brokers(client: ReassignmentClient) -> set[int]:
    """Registered ones, and lost ones that replicas or moves still name."""
    nodes = {node.id for node in client.describe_cluster()}
    found = nodes - client.servers_among(nodes)
    with suppress(KafkaError):  # a stock controller does not say
        status = client.healing_status()
        for lost in (status.failed, status.gone, status.repairs):
            found |= {one.broker for one in lost}
    return found


def unknown_brokers(brokers: Iterable[int], known: Iterable[int]) -> str:
    """`no broker 33 (is 3 meant?)`, of all that are not known; "": there are none such."""
    found = unknown_names("broker", map(str, brokers), {str(one) for one in known})
    return all_of(found) if found else ""


def _topics(client: ReassignmentClient, named: Iterable[str]) -> dict[str, int]:
    """All topics with the number of their partitions; 0 for those not in `named`."""
    sought = {*named}
    topics = client.describe_everything().topics
    return {one.name: len(one.partitions) if one.name in sought else 0 for one in topics}
