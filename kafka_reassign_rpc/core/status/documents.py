"""What the API answers, as types, from which docs/status-api.md is written. `null` is what the server does not know,
never 0. Times are ms since 1970 (UTC) by the server's clock, sizes are bytes, rates bytes per second, durations ms.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.core.reassignment import move_sums

VERSION = 1
"""Of the API: fields may be added under it, and none changes its meaning or goes."""


Form = Literal["text", "bytes", "rate", "ms", "time"]


def about(text: str, shown: str = "", form: Form = "text") -> Meta:
    """`shown`: what screens call the field, which they then show by `notes` alone; `form`: of its value."""
    return Meta(description=text, extra={"name": shown, "form": form} if shown else None)


class Note(msgspec.Struct, frozen=True):
    """A field that screens show as it is."""

    name: str
    text: Annotated[str, about("its value, in words")]


Role = Literal["controller", "standby", "watch", "none"]
ROLES: Mapping[str, Role] = {"controller": "controller", "standby": "standby", "watch": "watch"}
"""All others are "none"."""
Ms = Annotated[int, about("ms since 1970 (UTC)")]


def share(copied: int | None, total: int | None) -> float | None:
    """The copied share, rounded down, so that only what is complete has 1."""
    if copied is None or total is None:
        return None
    return 1.0 if copied >= total else 10_000 * copied // total / 10_000


def known(value: int) -> int | None:
    """Turns the -1 of other modules into None."""
    return None if value < 0 else value


class Controller(msgspec.Struct, frozen=True):
    """The controller of the cluster."""

    id: Annotated[int | None, about("its broker id; null: no controller is known")]
    epoch: Annotated[int | None, about("its epoch; null where this server is not the controller")]
    since: Annotated[int | None, about("when it was elected")]
    page: Annotated[
        str | None, about("the address of its status page; null: a stock broker, or a server that serves none")
    ]


class Caps(msgspec.Struct, frozen=True):
    """Caps on moves in flight; null: there is no such cap."""

    moves_per_broker: int | None
    moves_per_cluster: int | None
    bytes_in_flight: int | None


class StartWindow(msgspec.Struct, frozen=True):
    """What `reassignment.windows` means now. `caps` has the caps of the window."""

    open: Annotated[bool, about("whether waiting moves start; false: none does, at most repairs")]
    now: Annotated[str, about("which window holds, or why none can", "windows")]
    until: Annotated[int | None, about("when that changes; null: not within a week")]
    rate: Annotated[int | None, about("of throttle leases and repairs, bytes/s; null: their own")] = None


class Work(msgspec.Struct, frozen=True):
    """All the work: moves in flight, moves that wait, and those that have ended since there was nothing to do."""

    moves: int
    ended: Annotated[int, about("moves that are over")]
    bytes_total: Annotated[int | None, about("what all of them copy, those that are over and those that wait included")]
    bytes_copied: Annotated[int | None, about("what they have copied")]
    bytes_left: Annotated[int | None, about("what is still to be copied; known where only moves that are over are not")]
    moves_without_size: Annotated[
        int,
        about(
            "moves whose bytes are not all known, including those that were over before a broker reported them: while"
            " there is one, the sum of all is not known"
        ),
    ]
    share: Annotated[
        float | None, about("the share of bytes that is copied, from 0 to 1: it does not go back as moves end")
    ]
    done_ms: Annotated[
        int | None, about("until all is done, waiting moves included, at the present rates and under the present caps")
    ]
    no_estimate: Annotated[str | None, about("why `done_ms` is not known")]


class Group(msgspec.Struct, frozen=True):
    """Moves that came together: those of one request or plan have one route and one reason."""

    route: Annotated[str | None, about("null: not known, as in Move")]
    reason: str | None
    in_flight: int
    waiting: Annotated[int | None, about("null on `watch`")]
    stalled: int
    ended: int
    bytes_total: Annotated[int | None, about("as in Work")]
    bytes_copied: int | None
    share: float | None


class Totals(msgspec.Struct, frozen=True):
    """All moves together, and the health of the cluster."""

    in_flight: Annotated[int, about("moves in flight")]
    waiting: Annotated[
        Mapping[str, int] | None, about("moves that wait, by route; null on `watch`: only the controller knows them")
    ]
    stalled: Annotated[int | None, about("moves that are stalled; null before the first sample")]
    bytes_total: Annotated[int | None, about("what the moves in flight copy in all, as far as sizes are known")]
    bytes_left: Annotated[int | None, about("what is still to be copied, as far as sizes are known")]
    moves_without_size: Annotated[
        int, about("moves in flight whose size, or what they have copied, no broker has reported yet: no sum has them")
    ]
    rate: Annotated[int | None, about("how fast all moves together copy")]
    remaining_ms: Annotated[
        int | None, about("until the slowest move ends whose remaining time is known; 0: none is in flight")
    ]
    under_replicated: Annotated[
        int | None,
        about(
            "partitions with fewer replicas in the ISR than they should have; null: not counted yet, or `watch` may"
            " not see all topics"
        ),
    ]
    offline: Annotated[int | None, about("partitions without a leader; null as `under_replicated`")]
    held: Annotated[
        int | None, about("moves of `waiting` that do not start before they are released; null: not known")
    ] = None


CopyMs = Annotated[int | None, about("how long the busiest broker copies that at the present rates; null: not known")]
NextCommand = Annotated[str | None, about("the command that its next step waits for; null: there is none")]
Unsized = Annotated[
    int, about("copies of a size that is not known: `bytes` lacks them, and is what is copied at least")
]
Fate = Annotated[str, about("what will happen to it, in words; empty: not known")]
Impossible = Annotated[int, about("those of `replicas` that the last try could not place; `heal_at`: the next")]


class FailedBroker(msgspec.Struct, frozen=True):
    """A broker that is gone while it holds replicas."""

    broker: int
    since: Annotated[int, about("when a controller first missed it")]
    heal_at: Annotated[
        int | None,
        about("when its replicas are moved elsewhere; null: never, or not while something keeps repairs from starting"),
    ]
    replicas: Annotated[int, about("how many replicas it holds that no move takes away from it yet")]
    bytes: Annotated[int | None, about("what its repair copies, or what of it waits; null: not known")] = None
    copy_ms: CopyMs = None
    fate: Fate = ""
    command: NextCommand = None
    unsized: Unsized = 0
    impossible: Impossible = 0


class GoneBroker(msgspec.Struct, frozen=True):
    """A broker that is gone, and holds nothing that has yet to be repaired."""

    broker: int
    since: Annotated[int | None, about("when this controller first missed it; null: before its term")]
    repaired: Annotated[int, about("how many replicas repairs, waiting or in flight, take away")]
    awaited: Annotated[int, about("how many moves, waiting or in flight, would bring a replica there")]
    fate: Annotated[str, about("what will happen to it, in words")]
    command: Annotated[str | None, about("as in FailedBroker")] = None
    bytes: Annotated[int | None, about("what of its repair waits; null: not known")] = None
    copy_ms: Annotated[int | None, about("as in FailedBroker")] = None
    unsized: Annotated[int, about("as in FailedBroker")] = 0


class FailedLogDirs(msgspec.Struct, frozen=True):
    """A registered broker that has lost log dirs with replicas."""

    broker: int
    log_dirs: Annotated[
        Sequence[str] | None, about("their paths; empty: the broker has not answered; null with `counts` alone")
    ]
    since: Annotated[int, about("when a controller first noticed it")]
    heal_at: Annotated[
        int | None,
        about(
            "when its offline replicas are moved elsewhere; null: never, or not while something keeps repairs from"
            " starting"
        ),
    ]
    replicas: Annotated[
        int | None,
        about("how many of its replicas are offline that no move takes away yet; null: the broker has yet to say"),
    ]
    bytes: Annotated[int | None, about("what their repair copies; null: not known")] = None
    copy_ms: CopyMs = None
    fate: Fate = ""
    command: NextCommand = None
    unsized: Unsized = 0
    impossible: Impossible = 0


class Repair(msgspec.Struct, frozen=True):
    """The repair of a broker that is under way. It goes on where the broker comes back meanwhile."""

    broker: int
    waiting: int
    in_flight: int
    unapproved: Annotated[int, about("those of `waiting` that start only once they are approved")] = 0
    bytes: Annotated[int | None, about("what its repair copies, or what of it waits; null: not known")] = None
    copy_ms: CopyMs = None
    unsized: Annotated[int, about("as in FailedBroker")] = 0
    held: Annotated[int, about("those of `waiting` that do not start before they are released")] = 0


class Healing(msgspec.Struct, frozen=True):
    """Self-healing (KIP-46), as last diagnosed."""

    interval_ms: Annotated[int | None, about("how long a broker has to be gone; null: self-healing is off")]
    paused: bool
    paused_who: Annotated[
        str | None, about("who has paused it; null: it is not paused, not known, or with `counts` alone")
    ]
    held_back: Annotated[
        str | None, about("why brokers whose time has come are not healed, and waiting repairs do not go on")
    ]
    failed: Sequence[FailedBroker]
    failed_log_dirs: Sequence[FailedLogDirs]
    repairs: Sequence[Repair]
    waiting: Annotated[int, about("moves of repairs that wait")]
    in_flight: Annotated[int, about("moves of repairs in flight")]
    problems: Annotated[Sequence[str] | None, about("what an operator has to look at; null with `counts` alone")]
    approval: Annotated[bool, about("whether new repairs wait for approval")] = False
    gone: Annotated[
        Sequence[GoneBroker], about("brokers that are gone besides those of `failed`: repairs or moves still name them")
    ] = ()


class StatusProblem(msgspec.Struct, frozen=True):
    """Something that an operator has to look at."""

    kind: Literal[
        "no_controller",
        "no_brokers",
        "lost_brokers",
        "failed_log_dirs",
        "topics_left_alone",
        "offline",
        "stalled",
        "disabled",
        "healing_paused",
        "healing_held_back",
        "repairs_unapproved",
        "under_replicated",
        "needless_throttles",
        "removed_throttles",
        "unseen",
        "certificates",
    ]
    level: Literal["wrong", "warn"]
    text: str
    since: Annotated[int | None, about("since when; null: not known")]


class Status(msgspec.Struct, frozen=True):
    """`/api/v1/status`, and the events of `/api/v1/stream`."""

    at: Annotated[int, about("when this was made, by the server's clock")]
    server: Annotated[int | None, about("the broker id of the server that answers; null: `watch` has none")]
    version: Annotated[str, about("of the server that answers")]
    cluster: Annotated[str | None, about("the id of the cluster; null until it is known")]
    access: Annotated[
        Literal["counts", "full"], about("`counts`: without names of topics and people, and without addresses")
    ]
    role: Annotated[
        Role, about("of the server that answers; `watch`: it only looks at the cluster; `none`: `reason` says why")
    ]
    reason: Annotated[str | None, about("why it has none of these roles")]
    controller: Controller
    problems: Annotated[Sequence[StatusProblem], about("what to look at, the worst first")]
    brokers_live: Annotated[int | None, about("registered brokers; null: `watch` does not see the cluster")]
    brokers_lost: Annotated[int | None, about("brokers that hold replicas and are not registered; null on a standby")]
    enabled: Annotated[bool | None, about("whether new moves may start; null on a standby and on `watch`")]
    disabled_by: Annotated[str | None, about("what disables reassignments")]
    disabled_who: Annotated[
        str | None, about("who has disabled reassignments; null: they are enabled, not known, or with `counts` alone")
    ]
    caps: Annotated[Caps | None, about("null on a standby and on `watch`")]
    totals: Annotated[Totals | None, about("null on a standby")]
    work: Annotated[Work | None, about("null on a standby")]
    groups: Annotated[Sequence[Group] | None, about("the largest first; null on a standby, and with `counts` alone")]
    healing: Annotated[Healing | None, about("null on a standby, and before the first diagnosis")]
    window: Annotated[StartWindow | None, about("null: there are no windows; also on a standby and on `watch`")] = None
    last: Annotated[
        "Status | None",
        about(
            "what this server last knew of the moves, or last heard from the controller, as of its own `at`; null"
            " where `totals` has the present, and where it knew nothing before"
        ),
    ] = None
    notes: Annotated[Sequence[Note], about("what screens show as it is: more of them may come")] = ()


class Move(msgspec.Struct, frozen=True):
    """One move, in flight or waiting."""

    topic: str
    partition: int
    state: Literal["moving", "waiting"]
    id: Annotated[int | None, about("the czxid of `/admin/reassignments/TOPIC/PARTITION`; unique for the partition")]
    original: Annotated[Sequence[int], about("the replicas that it moves from")]
    target: Annotated[Sequence[int], about("the replicas that it leads to")]
    adding: Annotated[Sequence[int], about("replicas that get a copy")]
    removing: Annotated[Sequence[int], about("replicas that leave")]
    leader: Annotated[int | None, about("null: the partition has none, or it is not known (`leader_known`)")]
    bytes_total: Annotated[
        int | None,
        about(
            "what is copied in all: for each adding replica the size of the leader's (with what retention has cut from"
            " it after that was copied), or of the largest old replica where the leader is not known"
        ),
    ]
    bytes_copied: Annotated[
        int | None,
        about(
            "what is copied by now; null also where sizes do not show it: the topic is compacted, or a replica out of"
            " sync holds more than its leader"
        ),
    ]
    copied: Annotated[Mapping[int, int], about("the bytes that adding replicas have, by broker, as far as known")]
    rate: Annotated[int | None, about("how much arrives at all its replicas together")]
    remaining_ms: Annotated[int | None, about("the remaining time, also where it shares a throttle with other moves")]
    share: Annotated[float | None, about("the share that is copied, from 0 to 1; null: not known, or nothing to copy")]
    stalled: Annotated[
        str | None, about("why it is stalled; null: it advances, or waits, also for its share of a throttle")
    ]
    waits_for: Annotated[
        str | None,
        about("what it waits for; also in flight: a dead broker, replicas to be in the ISR, its share of a throttle"),
    ]
    place: Annotated[int | None, about("its place among the moves that wait in the queue, from 1; else null")]
    route: Annotated[
        str | None,
        about("how it came: `rpc`, `batch`, `queue`, `request` or `heal`; null: a stock controller does not report it"),
    ]
    reason: Annotated[str | None, about("why, in the words of who asked for it")]
    who: Annotated[str | None, about("who asked for it; null: a client of which nothing is recorded")]
    since: Annotated[int | None, about("when it started; null while it waits, and where it is not known")]
    leader_known: Annotated[bool, about("whether `leader` is known; `watch` may not see it")] = True


class MoveSums(msgspec.Struct, frozen=True):
    """Sums over all moves that the filters leave, on all pages."""

    in_flight: int
    waiting: Annotated[int | None, about("null on `watch`")]
    stalled: int
    bytes_total: Annotated[int | None, about("of the moves in flight with a known size; null where none has one")]
    bytes_copied: Annotated[int | None, about("of the same moves")]
    share: Annotated[float | None, about("of the same moves")]
    moves_without_size: int


class Moves(msgspec.Struct, frozen=True):
    """`/api/v1/moves`"""

    at: Annotated[int, about("when this was made")]
    listed_at: Annotated[int, about("when the order and the sums were made: less often with very many moves")]
    offset: int
    limit: int
    count: Annotated[int, about("all moves that the filters leave")]
    sums: MoveSums
    moves: Sequence[Move]


class MovesInFlight(msgspec.Struct, frozen=True):
    """Asked for by AskDocument alone: each move as it is now, on one page."""

    moves: Annotated[Sequence[Move], about("those in flight, then those that wait until one of them has ended")]


class PartitionStatus(msgspec.Struct, frozen=True):
    """One partition, whether it moves or not."""

    topic: str
    partition: int
    state: Literal["at_rest", "moving", "waiting"]
    replicas: Sequence[int]
    isr: Annotated[Sequence[int] | None, about("null: not known, as `watch` may not see it")]
    adding: Annotated[Sequence[int], about("replicas that get a copy")]
    removing: Annotated[Sequence[int], about("replicas that leave")]
    leader: Annotated[int | None, about("null: it has none; where `isr` is null it is not known")]
    size: Annotated[int | None, about("of the leader's replica; null: only those that move or wait are measured")]
    under_replicated: Annotated[
        bool | None, about("whether replicas are missing in the ISR that no move adds; null: not known")
    ]
    offline: Annotated[bool | None, about("whether it has no leader; null: not known")]


class Partitions(msgspec.Struct, frozen=True):
    """`/api/v1/partitions`"""

    at: Annotated[int, about("when this was made")]
    listed_at: Annotated[int, about("when they were looked for: less often in a large cluster")]
    offset: int
    limit: int
    count: Annotated[int, about("all partitions that the filters leave; 5,000 of them can be paged through")]
    partitions: Annotated[Sequence[PartitionStatus], about("by name; a topic of exactly the wanted name comes first")]


class SilentServer(msgspec.Struct, frozen=True):
    """A server whose events are missing."""

    server: Annotated[int | None, about("null: `watch` itself")]
    why: str


class Events(msgspec.Struct, frozen=True):
    """`/api/v1/events`"""

    at: Annotated[int, about("when this was made")]
    events: Annotated[Sequence[Mapping[str, Any]], about("the newest first; their fields: [events](events.md#fields)")]
    missing: Annotated[Sequence[SilentServer], about("servers whose events could not be read")]


Point = move_sums.Point
"""The history keeps these as they are."""


class History(msgspec.Struct, frozen=True):
    """`/api/v1/history`"""

    at: Annotated[int, about("when this was made")]
    step_ms: Annotated[int, about("the time from one point to the next")]
    points: Annotated[Sequence[Point], about("the oldest first; only of times at which this server was the controller")]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer where there is no document: 400, 401, 403, 404, 405 and 503."""

    error: Annotated[str, about("what is wrong, and what to do")]
    controller: Annotated[int | None, about("with 503: who is the controller")] = None
    page: Annotated[str | None, about("with 503: the controller's status page")] = None
