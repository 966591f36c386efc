"""The errors that end the command, and the names that Kafka's Java errors have in the stock tool's texts."""

from kafka_reassign_rpc.client import KafkaError

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


class CommandFailed(Exception):
    """The command prints "Error: " and the message."""


def from_server(error: KafkaError) -> CommandFailed:
    """Prints as Java does: the class of the error, then its message."""
    return CommandFailed(f"org.apache.kafka.common.errors.{java_name(error)}: {error.message}")


def java_name(error: KafkaError) -> str:
    name = type(error).__name__
    return f"{_JAVA_NAMES.get(name, name)}Exception"
