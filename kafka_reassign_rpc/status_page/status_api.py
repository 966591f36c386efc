"""The paths of the status page and its API. Each answers from memory, within bounds, and changes nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping

import msgspec

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.move_requesters import MoveRequesters
from kafka_reassign_rpc.core.reassignment.figure_history import SPANS
from kafka_reassign_rpc.server.http_server import HttpPage, Page, QueryPage, StreamPage
from kafka_reassign_rpc.status_page import brokers, moves
from kafka_reassign_rpc.status_page.brokers import ReplicaCounts
from kafka_reassign_rpc.status_page.documents import History, Problem, Status, known
from kafka_reassign_rpc.status_page.events import EventFeed, Readers
from kafka_reassign_rpc.status_page.figure_keeper import FigureKeeper
from kafka_reassign_rpc.status_page.moves import MoveFilter, Selection
from kafka_reassign_rpc.status_page.paced_views import PacedViews
from kafka_reassign_rpc.status_page.page import assets, page
from kafka_reassign_rpc.status_page.requests import (
    PARAMETERS,
    BadParameter,
    EventsRequest,
    MovesRequest,
    Parameters,
)
from kafka_reassign_rpc.status_page.server_view import ServerView, TermView
from kafka_reassign_rpc.status_page.status_stream import StatusStream
from kafka_reassign_rpc.status_page.summary import status_of
from kafka_reassign_rpc.support.slice_timer import in_turns

API = "/api/v1/"
HIDDEN = (
    "without authentication only counts are told: give metrics.listener users or client certificates, or set"
    " status.page=full"
)


class StatusApi:
    """The status page of one server.

    look     the server now
    readers  of the event logs of all servers
    figures  of this server's moves, now and in the past
    full     whether names, reasons, principals and addresses are told
    """

    def __init__(
        self, look: Callable[[], ServerView], readers: Readers, figures: FigureKeeper, version: str, *, full: bool
    ) -> None:
        self._look = look
        self._version = version
        self._full = full
        self._figures = figures
        self._requesters = MoveRequesters()
        self._feed = EventFeed(readers)
        self._selections: PacedViews[MoveFilter, Selection] = PacedViews(self._select, moves.free)
        self._counts: PacedViews[None, ReplicaCounts] = PacedViews(self._count)
        self._stream = StatusStream(self.status)
        self._cluster: object = None

    @property
    def pages(self) -> Mapping[str, Page]:
        """The answers by path. Reads the files of the page: before the server serves anybody."""
        api: dict[str, Page] = {
            "status": QueryPage(self._status_page),
            "stream": StreamPage(self._watch),
            "moves": QueryPage(self._moves_page),
            "brokers": QueryPage(self._brokers_page),
            "events": QueryPage(self._events_page),
            "history": QueryPage(self._history_page),
        }
        return {
            "/": lambda: page(self._look(), self._version, full=self._full),
            **assets(),
            **{API + name: answer for name, answer in api.items()},
        }

    def event(self, event: Event) -> None:
        """An event is being recorded."""
        if event.event == catalogue.CONTROLLER_ELECTED:
            self._requesters.clear()
        if event.topic is not None and event.partition is not None:
            self._requesters.note(event.event, event.topic, event.partition, event.who, event.principal)

    async def close(self) -> None:
        await self._stream.close()

    def status(self) -> Status:
        """The status now."""
        view = self._look()
        return status_of(view, at=_now_ms(), version=self._version, rate=self._figures.rate(view.term), full=self._full)

    # ------------------------------------------------------------------------------------------------ answers

    def _watch(self) -> AsyncIterator[bytes] | None:
        return self._stream.watch()

    async def _status_page(self, query: str) -> HttpPage:
        return _problem_of(query) or _document(self.status())

    async def _moves_page(self, query: str) -> HttpPage:
        try:
            asked = MovesRequest(query)
        except BadParameter as error:
            return _problem(400, str(error))
        if (problem := self._refusal()) is not None:
            return problem
        kept = await self._selections.get(asked.filter)
        term = self._term()
        if term is None:
            return self._elsewhere()
        at = _now_ms()
        return _document(
            moves.page_of(
                term,
                kept.value,
                self._requesters,
                offset=asked.offset,
                limit=asked.limit,
                at=at,
                listed_at=at - _age_ms(kept.at),
            )
        )

    async def _brokers_page(self, query: str) -> HttpPage:
        if (problem := _problem_of(query) or self._refusal()) is not None:
            return problem
        kept = await self._counts.get(None)
        term = self._term()
        if term is None:
            return self._elsewhere()
        at = _now_ms()
        counted_at = at - _age_ms(kept.at)
        made = brokers.brokers_of(term.cluster, kept.value, self._figures.rates, at=at, counted_at=counted_at)
        return _document(await in_turns(made))

    async def _events_page(self, query: str) -> HttpPage:
        try:
            asked = EventsRequest(query)
        except BadParameter as error:
            return _problem(400, str(error))
        return _document(await self._feed.newest(asked, _now_ms())) if self._full else _problem(403, HIDDEN)

    async def _history_page(self, query: str) -> HttpPage:
        try:
            span = Parameters(query, tuple(PARAMETERS[f"{API}history"])).one_of("span", tuple(SPANS)) or "hour"
        except BadParameter as error:
            return _problem(400, str(error))
        past = self._figures.history.past(span, time.monotonic(), _now_ms())
        return _document(History(past.at, past.step_ms, past.points))

    # ------------------------------------------------------------------------------------------------- parts

    def _term(self) -> TermView | None:
        """What the controller knows. What was made of another term's cluster is dropped."""
        term = self._look().term
        cluster = None if term is None else term.progress
        if cluster is not self._cluster:
            self._cluster = cluster
            self._selections.clear()
            self._counts.clear()
        return term

    def _refusal(self) -> HttpPage | None:
        """The answer where names are not told, or where another server knows them."""
        if not self._full:
            return _problem(403, HIDDEN)
        return self._elsewhere() if self._term() is None else None

    def _elsewhere(self) -> HttpPage:
        view = self._look()
        controller = known(view.controller)
        who = "no controller is known" if controller is None else f"broker {controller} is the controller"
        problem = Problem(f"this server is not the controller: {who}", controller, view.pages.get(view.controller))
        return _encoded(503, problem)

    def _select(self, wanted: MoveFilter) -> Generator[None, None, Selection]:
        term = self._look().term
        if term is None:
            return Selection([], 0, moves.NO_SUMS)
        return (yield from moves.select_moves(term, wanted))

    def _count(self, _: None) -> Generator[None, None, ReplicaCounts]:
        counts = brokers.no_counts()
        term = self._look().term
        if term is not None:
            yield from brokers.count_replicas(term.cluster, counts)
        return counts


def _problem_of(query: str) -> HttpPage | None:
    """The answer to parameters where there should be none."""
    try:
        Parameters(query, ())
    except BadParameter as error:
        return _problem(400, str(error))
    return None


def _document(document: msgspec.Struct) -> HttpPage:
    return _encoded(200, document)


def _problem(status: int, text: str) -> HttpPage:
    return _encoded(status, Problem(text))


def _encoded(status: int, document: msgspec.Struct) -> HttpPage:
    return HttpPage(msgspec.json.encode(document), status=status)


def _age_ms(made_at: float) -> int:
    return round((asyncio.get_running_loop().time() - made_at) * 1000)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
