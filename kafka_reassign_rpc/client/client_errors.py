"""What the client raises: the Kafka errors of `core.kafka_errors`, whatever code a server answers with."""

from kafka.errors import for_code

from kafka_reassign_rpc.core import kafka_errors
from kafka_reassign_rpc.core.kafka_errors import KafkaError

_CLASSES: dict[int, type[KafkaError]] = {
    found.code: found
    for found in vars(kafka_errors).values()
    if isinstance(found, type) and issubclass(found, KafkaError)
}


class UnsupportedHere(KafkaError):
    """Nothing was sent: the server lacks what was asked for; the message says what would have it."""

    code = 35
    default_message = "The version of API is not supported."


class Unreachable(KafkaError):
    """No answer: nobody could be reached, or nothing came back in time. The message says what is known of it."""

    code = 7
    retriable = True
    default_message = "The request timed out."


class Unauthenticated(KafkaError):
    """The server refused our credentials."""

    code = 58
    default_message = "SASL Authentication failed."


def error_of(code: int, message: str | None) -> KafkaError | None:
    """The error that a server answered with; None for code 0. A message of null gives Kafka's default text."""
    if code == 0:
        return None
    known = _CLASSES.get(code)
    if known is not None:
        return known(message)
    text = for_code(code)
    unknown = KafkaError(message if message is not None else getattr(text, "description", None) or text.__name__)
    unknown.code = code  # type: ignore[misc]
    return unknown


def raise_for(code: int, message: str | None) -> None:
    """Raise what `error_of` gives, if anything."""
    error = error_of(code, message)
    if error is not None:
        raise error
