"""The parameters of a request, within their limits: anybody may send anything."""

from collections.abc import Iterable, Mapping
from typing import get_args
from urllib.parse import parse_qsl

from kafka_reassign_rpc.core.config_values import BROKER_IDS, INT32, parse_brokers
from kafka_reassign_rpc.core.status.documents import Ms
from kafka_reassign_rpc.core.status.moves import MoveFilter, Sort, State
from kafka_reassign_rpc.core.status.partitions import Health, PartitionFilter
from kafka_reassign_rpc.support.bounded_text import shown, whole_number

MOST_PARAMETERS = 10
LONGEST_QUERY = 8_192
"""Characters of all parameters together."""
LONGEST_TEXT = 249
"""Characters: Kafka's limit of a topic's name."""
MOST_MOVES, MOVES = 500, 50
"""Moves of one answer, at most and by default."""
MOST_EVENTS, EVENTS = 500, 50
MOST_OFFSET = 10_000_000
LAST_MS = 10**14

Given = str | Mapping[str, str]
"""The query of a URL, or the same by name."""


class BadParameter(ValueError):
    """The text says what is wrong, and what is expected."""


class Parameters:
    """Raises BadParameter where one is unknown, or given twice."""

    def __init__(self, given: Given, known: tuple[str, ...]) -> None:
        self._values: dict[str, str] = {}
        if len(given) > LONGEST_QUERY:
            raise BadParameter(f"the parameters have more than {LONGEST_QUERY} characters")
        seen: set[str] = set()
        for name, value in _pairs(given):
            if name not in known:
                takes = f"expected {', '.join(known)}" if known else "expected none"
                raise BadParameter(f"unknown parameter {shown(name)}: {takes}")
            if name in seen:
                raise BadParameter(f"{name} is given twice")
            seen.add(name)
            if value:
                self._values[name] = value

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is not None and len(value) > LONGEST_TEXT:
            raise BadParameter(f"{name}: expected at most {LONGEST_TEXT} characters")
        return value

    def number(self, name: str, low: int, high: int) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        found = whole_number(value, low, high)
        if found is None:
            raise BadParameter(f"{name}: expected a whole number from {low} to {high}, got {shown(value)}")
        return found

    def brokers(self, name: str) -> frozenset[int]:
        """The ids of a parameter, at least one. Raises BadParameter."""
        value = self._values.get(name, "")
        found = None if len(value) > LONGEST_QUERY else parse_brokers(value)
        if not found:
            raise BadParameter(f"{name}: expected {BROKER_IDS}, got {shown(value)}")
        return found

    def one_of(self, name: str, choices: tuple[str, ...]) -> str | None:
        value = self._values.get(name)
        if value is not None and value not in choices:
            raise BadParameter(f"{name}: expected one of {', '.join(choices)}, got {shown(value)}")
        return value


def _pairs(given: Given) -> Iterable[tuple[str, str]]:
    if not isinstance(given, str):
        return given.items()
    try:
        return parse_qsl(given, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        raise BadParameter(f"more than {MOST_PARAMETERS} parameters") from None


PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "/api/v1/moves": {
        "offset": "how many moves to leave out, from the first on (0)",
        "limit": f"moves of one page, {MOST_MOVES} at most ({MOVES})",
        "topic": "only topics whose name contains this text",
        "broker": "only moves with this broker among their replicas, old or new",
        "state": "`moving`, `waiting` or `stalled`",
        "sort": "`topic` (the default), `left`: most bytes first, `remaining`: longest first, `rate`: slowest first,"
        " `since`: oldest first, `stalled`: stalled ones first. What is not known comes last",
    },
    "/api/v1/partitions": {
        "offset": "how many partitions to leave out, from the first on (0)",
        "limit": f"partitions of one page, {MOST_MOVES} at most ({MOVES})",
        "name": "a part of the topic's name, or a partition: `payments-3`",
        "broker": "only partitions with a replica on this broker",
        "state": "`under_replicated` or `offline`",
    },
    "/api/v1/departure": {"brokers": "the ids of the brokers that would go, with commas between them (needed)"},
    "/api/v1/events": {
        "since": "only events from this time on, ms since 1970 (UTC)",
        "topic": "only events of topics whose name contains this text",
        "broker": "only events of this broker, and of moves with a replica on it",
        "principal": "only events with this text in the principal, or in the text that says who asked",
        "limit": f"events of one answer, {MOST_EVENTS} at most ({EVENTS})",
        "folded": "`yes`: those of one request that gives brokers a rate are one, with `brokers` in place of `broker`",
    },
    "/api/v1/history": {"span": "`hour` (the default): a point every 10 seconds; `day`: one every 5 minutes"},
}
"""The parameters of each path, with their meaning and default."""


class _Page:
    def __init__(self, given: Parameters) -> None:
        self.offset = given.number("offset", 0, MOST_OFFSET) or 0
        self.limit = given.number("limit", 1, MOST_MOVES) or MOVES


class MovesRequest(_Page):
    """`/api/v1/moves`."""

    def __init__(self, asked: Given) -> None:
        given = Parameters(asked, tuple(PARAMETERS["/api/v1/moves"]))
        super().__init__(given)
        self.filter = MoveFilter(
            given.text("topic"),
            given.number("broker", 0, INT32),
            given.one_of("state", get_args(State)),  # type: ignore[arg-type]
            given.one_of("sort", get_args(Sort)) or "topic",  # type: ignore[arg-type]
        )


class PartitionsRequest(_Page):
    """`/api/v1/partitions`."""

    def __init__(self, asked: Given) -> None:
        given = Parameters(asked, tuple(PARAMETERS["/api/v1/partitions"]))
        super().__init__(given)
        self.filter = PartitionFilter(
            given.text("name"),
            given.number("broker", 0, INT32),
            given.one_of("state", get_args(Health)),  # type: ignore[arg-type]
        )


class DepartureRequest:
    """`/api/v1/departure`."""

    def __init__(self, asked: Given) -> None:
        given = Parameters(asked, tuple(PARAMETERS["/api/v1/departure"]))
        self.brokers = given.brokers("brokers")


class EventsRequest:
    """`/api/v1/events`."""

    def __init__(self, asked: Given) -> None:
        given = Parameters(asked, tuple(PARAMETERS["/api/v1/events"]))
        self.since: Ms = given.number("since", 0, LAST_MS) or 0
        self.topic = given.text("topic")
        self.broker = given.number("broker", 0, INT32)
        self.principal = given.text("principal")
        self.limit = given.number("limit", 1, MOST_EVENTS) or EVENTS
        self.is_folded = given.one_of("folded", ("yes",)) is not None
