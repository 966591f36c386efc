"""What the API answers, as types. docs/status-api.md is written from them.

`null` is what the server does not know, never 0. Times are ms since 1970 (UTC) by the server's clock, sizes are bytes,
rates bytes per second, durations ms.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.core.reassignment import figure_history

VERSION = 1
"""Of the API: fields may be added under it, and none changes its meaning or goes."""


def _about(text: str) -> Meta:
    return Meta(description=text)


Ms = Annotated[int, _about("ms since 1970 (UTC)")]


def known(value: int) -> int | None:
    """What other modules give as -1 where they do not know it."""
    return None if value < 0 else value


class Controller(msgspec.Struct, frozen=True):
    """The controller of the cluster."""

    id: Annotated[int | None, _about("its broker id; null: no controller is known")]
    epoch: Annotated[int | None, _about("its epoch; null where this server is not the controller")]
    since: Annotated[int | None, _about("when it was elected")]
    page: Annotated[
        str | None, _about("the address of its status page; null: a stock broker, or a server that serves none")
    ]


class Caps(msgspec.Struct, frozen=True):
    """Caps on moves in flight; null: there is no such cap."""

    moves_per_broker: int | None
    moves_per_cluster: int | None
    bytes_in_flight: int | None


class Totals(msgspec.Struct, frozen=True):
    """All moves together, and the health of the cluster."""

    in_flight: Annotated[int, _about("moves in flight")]
    waiting: Annotated[Mapping[str, int], _about("moves that wait, by route")]
    stalled: Annotated[int | None, _about("moves that are stalled; null before the first sample")]
    bytes_total: Annotated[int | None, _about("what the moves in flight copy in all, as far as sizes are known")]
    bytes_left: Annotated[int | None, _about("what is still to be copied, as far as sizes are known")]
    moves_without_size: Annotated[int, _about("moves in flight whose size no broker has told yet: no sum has them")]
    rate: Annotated[int | None, _about("how fast all moves together copy")]
    remaining_ms: Annotated[int | None, _about("until the slowest move ends whose remaining time is known")]
    under_replicated: Annotated[int | None, _about("partitions with fewer replicas in the ISR than they should have")]
    offline: Annotated[int | None, _about("partitions without a leader")]


class FailedBroker(msgspec.Struct, frozen=True):
    """A broker that is gone while it holds replicas."""

    broker: int
    since: Annotated[int, _about("when a controller first missed it")]
    heal_at: Annotated[int | None, _about("when its replicas are moved elsewhere; null: never")]
    replicas: Annotated[int, _about("how many replicas it holds that no move takes away from it yet")]


class Repair(msgspec.Struct, frozen=True):
    """The repair of a broker that is under way. It goes on where the broker comes back meanwhile."""

    broker: int
    waiting: int
    in_flight: int


class Healing(msgspec.Struct, frozen=True):
    """Self-healing (KIP-46), as last diagnosed."""

    interval_ms: Annotated[int | None, _about("how long a broker has to be gone; null: self-healing is off")]
    paused: bool
    held_back: Annotated[
        str | None, _about("why brokers whose time has come are not healed, and waiting repairs do not go on")
    ]
    failed: Sequence[FailedBroker]
    repairs: Sequence[Repair]
    waiting: Annotated[int, _about("moves of repairs that wait")]
    in_flight: Annotated[int, _about("moves of repairs in flight")]
    problems: Annotated[Sequence[str] | None, _about("what an operator has to look at; null with `counts` alone")]


class Status(msgspec.Struct, frozen=True):
    """`/api/v1/status`, and the events of `/api/v1/stream`."""

    at: Annotated[int, _about("when this was made, by the server's clock")]
    server: Annotated[int, _about("the broker id of the server that answers")]
    version: Annotated[str, _about("of the server that answers")]
    cluster: Annotated[str | None, _about("the id of the cluster; null until it is known")]
    access: Annotated[Literal["counts", "full"], _about("`counts`: no names, reasons or addresses are told to anybody")]
    role: Annotated[
        Literal["controller", "standby", "none"], _about("of the server that answers; `none`: `reason` says why")
    ]
    reason: Annotated[str | None, _about("why it is neither controller nor standby")]
    controller: Controller
    brokers_live: Annotated[int, _about("registered brokers")]
    enabled: Annotated[bool | None, _about("whether new moves may start; null on a standby")]
    disabled_by: Annotated[str | None, _about("what disables reassignments")]
    caps: Annotated[Caps | None, _about("null on a standby")]
    totals: Annotated[Totals | None, _about("null on a standby")]
    healing: Annotated[Healing | None, _about("null on a standby, and before the first diagnosis")]


class Move(msgspec.Struct, frozen=True):
    """One move, in flight or waiting."""

    topic: str
    partition: int
    state: Literal["moving", "waiting"]
    id: Annotated[int | None, _about("the czxid of `/admin/reassignments/TOPIC/PARTITION`; unique for the partition")]
    original: Annotated[Sequence[int], _about("the replicas that it moves from")]
    target: Annotated[Sequence[int], _about("the replicas that it leads to")]
    adding: Annotated[Sequence[int], _about("replicas that get a copy")]
    removing: Annotated[Sequence[int], _about("replicas that leave")]
    leader: Annotated[int | None, _about("null: the partition has none")]
    bytes_total: Annotated[int | None, _about("what is copied in all: the leader's size for each adding replica")]
    bytes_copied: Annotated[int | None, _about("what is copied by now")]
    rate: Annotated[int | None, _about("how fast all its replicas together grow")]
    remaining_ms: Annotated[int | None, _about("the remaining time, also where it shares a throttle with other moves")]
    stalled: Annotated[str | None, _about("why it is stalled; null: it advances, or waits")]
    route: Annotated[str, _about("how it came: `rpc`, `batch`, `queue`, `request` or `heal`")]
    reason: Annotated[str | None, _about("why, in the words of whoever asked for it")]
    who: Annotated[
        str | None, _about("who asked for it; null: that was before this controller's term, and the events tell")
    ]
    since: Annotated[int | None, _about("when it started; null while it waits")]


class MoveSums(msgspec.Struct, frozen=True):
    """Sums over all moves that the filters leave, on all pages."""

    in_flight: int
    waiting: int
    stalled: int
    bytes_total: Annotated[int | None, _about("of the moves in flight with a known size; null where none has one")]
    bytes_copied: Annotated[int | None, _about("of the same moves")]
    moves_without_size: int


class Moves(msgspec.Struct, frozen=True):
    """`/api/v1/moves`"""

    at: Annotated[int, _about("when this was made")]
    listed_at: Annotated[int, _about("when the order and the sums were made: less often with very many moves")]
    offset: int
    limit: int
    count: Annotated[int, _about("all moves that the filters leave")]
    sums: MoveSums
    moves: Sequence[Move]


class Throttle(msgspec.Struct, frozen=True):
    """The throttle in force on one side of a broker."""

    rate: int
    by: Annotated[
        Literal["lease", "config"],
        _about("`lease`: the controller has set it for moves, and removes it after them; `config`: somebody else has"),
    ]


class BrokerStatus(msgspec.Struct, frozen=True):
    """One broker."""

    id: int
    alive: Annotated[bool, _about("whether it is registered")]
    shutting_down: Annotated[bool, _about("whether it is in controlled shutdown")]
    rack: str | None
    rate_in: Annotated[int | None, _about("how fast moves copy to it")]
    rate_out: Annotated[int | None, _about("how fast moves copy from it, as the leader")]
    throttle_in: Annotated[Throttle | None, _about("as a follower; null: none is set")]
    throttle_out: Annotated[Throttle | None, _about("as a leader; null: none is set")]
    replicas: int
    leaders: Annotated[int, _about("partitions that it leads")]


class Brokers(msgspec.Struct, frozen=True):
    """`/api/v1/brokers`"""

    at: Annotated[int, _about("when this was made")]
    counted_at: Annotated[int, _about("when replicas and leaders were counted: less often in a large cluster")]
    brokers: Annotated[Sequence[BrokerStatus], _about("those that are registered or hold replicas, by id")]


class SilentServer(msgspec.Struct, frozen=True):
    """A server whose events are missing."""

    server: int
    why: str


class Events(msgspec.Struct, frozen=True):
    """`/api/v1/events`"""

    at: Annotated[int, _about("when this was made")]
    events: Annotated[Sequence[Mapping[str, Any]], _about("the newest first; their fields: [events](events.md#fields)")]
    missing: Annotated[Sequence[SilentServer], _about("servers whose events could not be read")]


Point = figure_history.Point
"""The history keeps these as they are."""


class History(msgspec.Struct, frozen=True):
    """`/api/v1/history`"""

    at: Annotated[int, _about("when this was made")]
    step_ms: Annotated[int, _about("the time from one point to the next")]
    points: Annotated[
        Sequence[Point], _about("the oldest first; only of times at which this server was the controller")
    ]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer where there is no document: 400, 401, 403, 404, 405 and 503."""

    error: Annotated[str, _about("what is wrong, and what to do")]
    controller: Annotated[int | None, _about("with 503: who is the controller")] = None
    page: Annotated[str | None, _about("with 503: the controller's status page")] = None
