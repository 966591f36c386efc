"""The errors that calls of the client raise."""

from kafka.errors import for_code

from kafka_reassign_rpc.core import kafka_errors
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.broker import LostQuorum

_CLASSES: dict[int, type[KafkaError]] = {
    found.code: found
    for found in vars(kafka_errors).values()
    if isinstance(found, type) and issubclass(found, KafkaError)
}


MAY_HAVE_HAD_EFFECT = " It is not known whether the request had its effect."


class UnsupportedHere(KafkaError):
    """The server does not support the call, and nothing was sent. The message says which server would."""

    code = 35
    default_message = "The version of API is not supported."


class Unreachable(KafkaError):
    """No node could be reached, or none answered in time. The message says what is known. `may_have_had_effect`: the
    request was sent, it changes something, and its answer is lost.
    """

    code = 7
    retriable = True
    default_message = "The request timed out."

    def __init__(self, message: str | None = None, *, may_have_had_effect: bool = False) -> None:
        effect = MAY_HAVE_HAD_EFFECT if may_have_had_effect else ""
        super().__init__(f"{message or self.default_message}{effect}")
        self.may_have_had_effect = may_have_had_effect


class NoActiveController(Unreachable):
    """In KRaft mode. Brokers answer what they know themselves; what has to reach a controller waits for one."""

    def __init__(self, found: LostQuorum, *, may_have_had_effect: bool = False) -> None:
        super().__init__(f"{found.text}.", may_have_had_effect=may_have_had_effect)
        self.found = found


class NotSent(KafkaError):
    """The request changes something, which its sender may not do any more (`MaySend`). Nothing was sent."""

    code = 41
    default_message = "Nothing was sent: this server may no longer be the one that controls the moves."


class Unauthenticated(KafkaError):
    """The server refused the client's credentials."""

    code = 58
    default_message = "SASL Authentication failed."


def error_of(code: int, message: str | None) -> KafkaError | None:
    """Without a message the error has Kafka's default text."""
    if code == 0:
        return None
    message = message or None
    known = _CLASSES.get(code)
    if known is not None:
        return known(message)
    text = for_code(code)
    unknown = KafkaError(message if message is not None else getattr(text, "description", None) or text.__name__)
    unknown.code, unknown.retriable = code, bool(text.retriable)  # type: ignore[misc]
    return unknown


def name_of(code: int) -> str:
    """Kafka's, with the code: "NOT_ENOUGH_REPLICAS (19)"; of one that nobody here knows the code alone."""
    known = error_of(code, None)
    name = known.name if code in _CLASSES and known is not None else for_code(code).message
    return f"error {code}" if name == "UNKNOWN" else f"{name} ({code})"


def raise_for(code: int, message: str | None) -> None:
    error = error_of(code, message)
    if error is not None:
        raise error
