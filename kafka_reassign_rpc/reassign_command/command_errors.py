"""How the command ends when it does not succeed, and how the stock tool would have put it."""

from kafka_reassign_rpc.client import KafkaError

_JAVA_NAMES = {
    "InvalidConfig": "InvalidConfiguration",
    "InvalidTopic": "InvalidTopic",
    "RequestTimedOut": "Timeout",
    "Unreachable": "Timeout",
    "Unauthenticated": "SaslAuthentication",
    "UnsupportedHere": "UnsupportedVersion",
    "ClusterAuthorizationFailed": "ClusterAuthorization",
    "UnknownServerError": "UnknownServer",
    "KafkaError": "UnknownServer",
    "KafkaStorageError": "KafkaStorage",
}


class OptionsError(Exception):
    """A wrong command line: the message, then the help, on standard error."""


class OptionError(Exception):
    """A command line that cannot be read at all: one line on standard error."""


class Terse(Exception):
    """A failure whose message says it all."""


class Failed(Exception):
    """A failure that is printed as "Error: " and its message."""


def from_server(error: KafkaError) -> Failed:
    """As Java prints what a future failed with: the class of the cause, then its message."""
    return Failed(f"org.apache.kafka.common.errors.{java_name(error)}: {error.message}")


def java_name(error: KafkaError) -> str:
    name = type(error).__name__
    return f"{_JAVA_NAMES.get(name, name)}Exception"
