"""The JSON bodies of the two vendor APIs, AskDocument and DoCommand, that no other type has: what a request may say,
and what is answered. An unknown field of a request is refused: a server that skipped a term would do something else.
Answers may have more fields than a client knows.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.core.config_values import INT32, INT64

LONGEST_BODY = 128 * 1024
"""Bytes of a request's body. It is decoded in one go: at the worst some 8 ms."""

MOST_NAMES = 5_000
"""Topics, brokers or reasons of a selection."""

BrokerId = Annotated[int, Meta(ge=0, le=INT32)]
_Names = Annotated[frozenset[str], Meta(max_length=MOST_NAMES)]
_Brokers = Annotated[frozenset[BrokerId], Meta(max_length=MOST_NAMES)]

Parameters = dict[str, str | int]
"""Of a document that the status page has too, as in the query of its path: docs/status-api.md."""


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True): ...


class Nothing(Body, frozen=True, kw_only=True): ...


class InFlightBody(Body, frozen=True, kw_only=True):
    """`topics`: topics with their partitions; None: all moves."""

    topics: dict[str, list[int]] | None = None


class EventLogBody(Body, frozen=True, kw_only=True):
    """`from_seq` below 0: no events, only the numbers and the running servers."""

    from_seq: Annotated[int, Meta(ge=-INT64, le=INT64)] = 0
    max_bytes: Annotated[int, Meta(ge=-INT32, le=INT32)] = INT32


class ReleaseBody(Body, frozen=True, kw_only=True):
    """The moves of the queue that all these lists name, None: any; or `all` of them, without a list.

    brokers  one of these is among the replicas, old or new
    reasons  the moves were asked for with one of these
    """

    all: bool = False
    topics: _Names | None = None
    brokers: _Brokers | None = None
    reasons: _Names | None = None


class HoldBody(ReleaseBody, frozen=True, kw_only=True):
    """`reason`: why they are held."""

    reason: str = ""


class ThrottleBody(Body, frozen=True, kw_only=True):
    """`rate`: bytes/s for the replicas of these moves on each broker, as a lease; 0: no throttle. `topics`: topics with
    their partitions, None: all of them; None alone: all moves.
    """

    rate: Annotated[int, Meta(ge=-INT64, le=INT64)]
    topics: dict[str, list[int] | None] | None = None


class HealBody(Body, frozen=True, kw_only=True):
    """`dry_run`: the answer shows the moves, and nothing is changed."""

    broker: BrokerId
    dry_run: bool = True


class ApproveBody(Body, frozen=True, kw_only=True):
    """None: of all brokers."""

    brokers: _Brokers | None = None


class SwitchState(msgspec.Struct, frozen=True):
    """Why reassignments are disabled (KIP-236); None: they are enabled."""

    disabled: str | None


class ServerAddress(msgspec.Struct, frozen=True):
    id: int
    host: str
    port: int


class EventLog(msgspec.Struct, frozen=True):
    """Events of one server, each a JSON object, from a number on.

    oldest_seq    of the oldest event that the server still has
    next_seq      to ask for next. It is lower than the number that was asked for if the server has begun a new log
    complete_seq  from this number on the server has every event; None: it has all from the oldest on
    servers       the running servers, this one included, if no events were asked for: each has a log of its own
    """

    server: int
    oldest_seq: int
    next_seq: int
    complete_seq: int | None
    events: Sequence[msgspec.Raw]
    servers: Sequence[ServerAddress] = ()


class RepairedPartition(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    target: tuple[int, ...]


class LeftOutPartition(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    reason: str


class RepairAnswer(msgspec.Struct, frozen=True):
    """A `Repair`: moves in the order of their urgency."""

    bytes: int | None
    copy_ms: int | None
    moves: Sequence[RepairedPartition]
    left_out: Sequence[LeftOutPartition]
    unsized: int = 0
