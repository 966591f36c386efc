"""What only servers of this product answer and do: documents of the status, recorded events, throttles and holds of
moves, and repairs. Each call says which server it needs.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.client.settings_calls import NO_HEALING
from kafka_reassign_rpc.client.vendor_calls import Connected, ask_document, ask_document_here, do_command
from kafka_reassign_rpc.core.document_and_command_bodies import (
    LONGEST_BODY,
    ApproveBody,
    EventLog,
    EventLogBody,
    HealBody,
    HoldBody,
    InFlightBody,
    ReleaseBody,
    RepairAnswer,
    ThrottleBody,
)
from kafka_reassign_rpc.core.events.event_lines import Event, read_line
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair, RepairMove
from kafka_reassign_rpc.core.queue.holding import HoldOutcome
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.reassignment.move_sums import SPANS, PastFigures
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.core.status.broker_documents import Brokers, ControllerState
from kafka_reassign_rpc.core.status.documents import History, Move, Moves, MovesInFlight, Status

NAMED = 500
"""Partitions that a request names: where there are more, all moves are asked for."""
PAGE_BYTES = 1_048_576
FROM_NOW_ON = -1

NO_STATUS = "The controller has no status document: that needs a kafka-reassign-rpc server of this version."
NO_HISTORY = "The controller keeps no figures of the past: that needs a kafka-reassign-rpc server of this version."
NO_STATE = (
    "The controller does not report its version, leases and shutdowns: that needs a kafka-reassign-rpc server of this"
    " version."
)
NO_RATES = (
    "The controller does not change the throttles of moves: that needs a kafka-reassign-rpc server of this version. "
    "This request was not sent."
)
NO_HOLD = (
    "The controller cannot hold moves: that needs a kafka-reassign-rpc server of this version. This request was not"
    " sent."
)
NO_APPROVAL = (
    "The controller knows no approval of repairs: that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)
NO_EVENTS = "The controller records no events: that needs a kafka-reassign-rpc server of this version."

_Named = dict[str, list[int] | None]
_NUMBERS = 5_000
"""Partitions of one topic that a part names."""
_NUMBER_BYTES = 11
_NAME_BYTES = 16
"""What JSON has around a name."""


@dataclass(frozen=True)
class EventPage:
    """Events of one server.

    oldest_seq    the number of the oldest event that the server still has
    next_seq      the number from which the next page begins
    complete_seq  from this number on the server has every event; it may have deleted older ones
    servers       with `from_seq` -1: the running servers, each with events of its own; empty if the server does not say
    """

    server: int
    events: tuple[Event, ...]
    oldest_seq: int
    next_seq: int
    complete_seq: int = 0
    servers: tuple[ClusterNode, ...] = ()


class ServerCalls(Connected):
    """Calls of the client."""

    async def event_page(self, from_seq: int = 0, *, server: int | None = None) -> EventPage:
        """A page of the events of a server (its id; None: the controller), from number `from_seq` on.

        With `from_seq` below 0 the page is empty, and `next_seq` is the number of the next event to come. Raises
        UnsupportedHere; PolicyViolation if the server keeps no event log.
        """
        body = EventLogBody(from_seq=from_seq, max_bytes=PAGE_BYTES)
        found = await ask_document(self._connected, "event_log", EventLog, NO_EVENTS, body, server=server)
        events = tuple(map(read_line, found.events))
        complete_seq = found.oldest_seq if found.complete_seq is None else max(found.oldest_seq, found.complete_seq)
        servers = tuple(ClusterNode(one.id, one.host, one.port, None) for one in found.servers)
        return EventPage(found.server, events, found.oldest_seq, found.next_seq, complete_seq, servers)

    async def reassignment_events(
        self, from_seq: int = 0, *, server: int | None = None, follow: bool = False, poll_s: float = 1.0
    ) -> AsyncIterator[Event]:
        """The events of the controller, or of the server with this id, from number `from_seq` on; -1: the next to come.

        With `follow` it waits for more events, `poll_s` seconds between two requests, and after a failover continues
        with the new controller. Raises as `event_page`.
        """
        cursor = EventCursor(from_seq)
        while True:
            found = cursor.take(await self.event_page(cursor.seq, server=server))
            for event in found or ():
                yield event
            if found is None:
                if not follow:
                    return
                await asyncio.sleep(poll_s)

    async def alter_throttles(
        self,
        throttle: int,
        *,
        topics: Iterable[str] | None = None,
        partitions: Iterable[tuple[str, int]] | None = None,
    ) -> ThrottledMoves:
        """Give moves, in flight and waiting, a throttle lease in bytes/s, or none (0).

        Without `topics` and `partitions`: all moves. Moves of repairs are passed over: they follow
        `self.healing.throttle`. Raises UnsupportedHere.
        """
        router = self._connected
        if topics is None and partitions is None:
            return await _alter(router, throttle, None)
        moving = waiting = repairs = 0
        # More names than a request has room for go in several, one after the other.
        for part in _parts([*topics] if topics is not None else [], by_topic(partitions or ())):
            found = await _alter(router, throttle, part)
            moving, waiting, repairs = moving + found.moving, waiting + found.waiting, repairs + found.repairs
        return ThrottledMoves(moving, waiting, repairs)

    async def healing_status(self) -> HealingStatus:
        """The failed brokers and the state of their repairs (KIP-46). Raises UnsupportedHere."""
        return await ask_document(self._connected, "healing", HealingStatus, NO_HEALING)

    async def history(self) -> list[PastFigures]:
        """Figures of all moves in the last hour and day, of the times at which the server was the controller; empty if
        it keeps none. Raises UnsupportedHere."""
        router, found = self._connected, []
        for span, points in SPANS.items():
            past = await ask_document(router, "history", History, NO_HISTORY, {"span": span})
            found.append(PastFigures(past.at, past.step_ms, past.step_ms * points.points, past.points))
        return found

    async def status(self) -> Status:
        """The status document, as the controller's page shows it: see docs/status-api.md. Raises UnsupportedHere if the
        controller does not report it.
        """
        return await ask_document(self._connected, "status", Status, NO_STATUS)

    async def status_here(self) -> Status:
        """The status document of a server at the given addresses, controller or not.

        `last` is what that server last knew of the moves. Raises UnsupportedHere if there is no such server.
        """
        return await ask_document_here(self._connected, "status", Status, NO_STATUS)

    async def moves_in_flight(self, partitions: Iterable[tuple[str, int]] | None = None) -> Sequence[Move]:
        """The moves in flight of these partitions, or all, each as in `moves`: how far it is, and what it waits for.
        Then come the moves of the queue that wait until one of them has ended. Raises UnsupportedHere.
        """
        wanted = None if partitions is None else {*partitions}
        few = wanted is not None and len(wanted) <= NAMED
        body = InFlightBody(topics=by_topic(sorted(wanted)) if few and wanted is not None else None)
        found = (await ask_document(self._connected, "in_flight", MovesInFlight, NO_STATUS, body)).moves
        return found if wanted is None else [one for one in found if (one.topic, one.partition) in wanted]

    async def moves(self, /, **parameters: object) -> Moves:
        """One page of the moves. `parameters`: those of /api/v1/moves. Raises UnsupportedHere, InvalidRequest."""
        given = {name: str(value) for name, value in parameters.items()}
        return await ask_document(self._connected, "moves", Moves, NO_STATUS, given)

    async def brokers(self) -> Brokers:
        """The brokers: what moves copy to and from them, and their throttles. Raises UnsupportedHere."""
        return await ask_document(self._connected, "brokers", Brokers, NO_STATUS)

    async def controller_state(self) -> ControllerState:
        """The version, epoch and election of the controller, its leased rates, and the brokers in controlled shutdown.

        Raises UnsupportedHere, also if the server does not report it yet.
        """
        return await ask_document(self._connected, "controller", ControllerState, NO_STATE)

    async def heal_broker(self, broker: int, *, dry_run: bool = False) -> Repair:
        """Move the replicas of a failed broker to other brokers now, without waiting for failure.interval.ms.

        With `dry_run` only return the repair. Raises UnsupportedHere; InvalidRequest if the broker has not failed,
        PolicyViolation if repairs are held back.
        """
        body = HealBody(broker=broker, dry_run=dry_run)
        answer = await do_command(self._connected, "heal", RepairAnswer, NO_HEALING, body, changes=not dry_run)
        return Repair(
            moves=tuple(
                RepairMove(TopicPartition(one.topic, one.partition), one.replicas, one.target) for one in answer.moves
            ),
            left_out={TopicPartition(one.topic, one.partition): one.reason for one in answer.left_out},
            bytes=answer.bytes,
            copy_ms=answer.copy_ms,
            unsized=answer.unsized,
        )

    async def approve_repairs(self, brokers: Iterable[int] | None = None) -> ApprovalOutcome:
        """Let the repairs of these brokers start that wait for approval (`self.healing.approval`); None: all.

        Raises KafkaError where repairs are held back, UnsupportedHere.
        """
        body = ApproveBody(brokers=None if brokers is None else frozenset(brokers))
        return await do_command(self._connected, "approve", ApprovalOutcome, NO_APPROVAL, body)

    async def hold(
        self,
        *,
        topics: Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
        requests: Iterable[str] | None = None,
        reason: str = "",
    ) -> HoldOutcome:
        """Hold moves of the queue: those that all of these name, or all. They do not start before `release`.

        `topics`; `brokers` among the old or new replicas; `requests`, the reasons that they were asked for with. Moves
        in flight go on. Raises UnsupportedHere.
        """
        body = HoldBody(reason=reason, **_selection(topics, brokers, requests))
        return await do_command(self._connected, "hold", HoldOutcome, NO_HOLD, body)

    async def release(
        self,
        *,
        topics: Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
        requests: Iterable[str] | None = None,
    ) -> HoldOutcome:
        """Release held moves: each starts when it is its turn, from the replicas that it had when it was held."""
        body = ReleaseBody(**_selection(topics, brokers, requests))
        return await do_command(self._connected, "release", HoldOutcome, NO_HOLD, body)


def _selection(
    topics: Iterable[str] | None, brokers: Iterable[int] | None, requests: Iterable[str] | None
) -> dict[str, Any]:
    return {
        "all": topics is None and brokers is None and requests is None,
        "topics": None if topics is None else frozenset(topics),
        "brokers": None if brokers is None else frozenset(brokers),
        "reasons": None if requests is None else frozenset(requests),
    }


def _parts(whole: Iterable[str], some: dict[str, list[int]]) -> Iterator[_Named]:
    """At least one, so that a server says what it does not support. A topic that is named whole is named once."""
    named: list[tuple[str, list[int] | None]] = [(name, None) for name in dict.fromkeys(whole)]
    taken = {name for name, _ in named}
    for name, indexes in some.items():
        if name not in taken:
            named += [(name, indexes[at : at + _NUMBERS]) for at in range(0, len(indexes), _NUMBERS)]
    part: _Named = {}
    room = LONGEST_BODY - 100
    for name, wanted in named:
        size = _NAME_BYTES + 6 * len(name) + _NUMBER_BYTES * len(wanted or ())
        if part and (size > room or name in part):
            yield part
            part, room = {}, LONGEST_BODY - 100
        part[name] = wanted
        room -= size
    yield part


class EventCursor:
    """Each server has its own event log. After a failover the cursor reads the new controller's log from its beginning,
    and leaves out events of epochs that the reader has already seen.
    """

    def __init__(self, from_seq: int) -> None:
        self.seq = from_seq
        self._server: int | None = None
        self._epoch: int | None = None
        self._after: int | None = None

    def take(self, page: EventPage) -> list[Event] | None:
        """The new events of the page that was asked for with `seq`; None: the log has no more."""
        if self._server is not None and (page.server != self._server or page.next_seq < self.seq):
            self._server, self._after, self.seq = page.server, self._epoch, 0
            return []
        ended = not page.events
        self._server, self.seq = page.server, page.next_seq
        found = [event for event in page.events if self._is_new(event["epoch"])]
        epochs = (self._epoch, *(event["epoch"] for event in found))
        self._epoch = max((one for one in epochs if one is not None), default=None)
        return None if ended else found

    def _is_new(self, epoch: int | None) -> bool:
        """An event whose epoch is not known is left out after a failover: the reader may have seen it."""
        return self._after is None or (epoch is not None and epoch > self._after)


async def _alter(router: RequestRouter, throttle: int, named: _Named | None) -> ThrottledMoves:
    body = ThrottleBody(rate=throttle, topics=named)
    return await do_command(router, "throttle", ThrottledMoves, NO_RATES, body)
