"""The paths of the status page and its API. Each answers from memory, within bounds, and changes nothing.

Costly values are computed for all viewers at once, and only as often as `SHARE` of a core allows.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Hashable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from kafka_reassign_rpc.core.reassignment.move_sums import SPANS
from kafka_reassign_rpc.core.status import brokers, departures, moves, partitions
from kafka_reassign_rpc.core.status.brokers import ReplicaCounts
from kafka_reassign_rpc.core.status.documents import History, Problem, Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, Selection
from kafka_reassign_rpc.core.status.partitions import Found, PartitionFilter
from kafka_reassign_rpc.core.status.problems import reason_of
from kafka_reassign_rpc.core.status.summary import status_of, with_last
from kafka_reassign_rpc.core.status.views import ServerView, TermView
from kafka_reassign_rpc.server.http_server import HttpPage, Page, QueryPage, StreamPage
from kafka_reassign_rpc.status_page.events import EventFeed, Readers
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.status_page.page import assets, page
from kafka_reassign_rpc.status_page.requests import (
    PARAMETERS,
    BadParameter,
    DepartureRequest,
    EventsRequest,
    Given,
    MovesRequest,
    Parameters,
    PartitionsRequest,
)
from kafka_reassign_rpc.status_page.status_stream import StatusStream
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.support.wall_clock import now_ms

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Steps = Generator[None, None, V]
"""Work in steps that ends with a value."""

SHARE = 0.01
MOST_KEPT = 8
"""Values of one kind that are kept, for different filters."""


class Kept(NamedTuple, Generic[V]):
    """`at`: when it was made, on the event loop's clock; `cost_s`: what that took."""

    value: V
    at: float
    cost_s: float


class PacedViews(Generic[K, V]):
    """make  steps that end with the value of a key
    free  frees a value that is not needed any longer, in steps
    """

    def __init__(
        self,
        make: Callable[[K], Generator[None, None, V]],
        free: Callable[[V], Generator[None, None, None]] | None = None,
    ) -> None:
        self._make = make
        self._free = free
        self._kept: dict[K, Kept[V]] = {}
        self._turn = asyncio.Lock()

    async def get(self, key: K) -> Kept[V]:
        """Values are made one at a time. Use the value before the next `await`: then another may
        have taken its place, and it is freed."""
        kept = self._fresh(key)
        if kept is not None:
            return kept
        async with self._turn:
            kept = self._fresh(key)
            if kept is not None:
                return kept
            clock = _Clock()
            value = await in_turns(clock.timed(self._make(key)))
            former = self._kept.pop(key, None)
            if former is None and len(self._kept) >= MOST_KEPT:
                former = self._kept.pop(next(iter(self._kept)))
            found = self._kept[key] = Kept(value, asyncio.get_running_loop().time(), clock.seconds)
            if former is not None and self._free is not None:
                await in_turns(self._free(former.value))
            return found

    def clear(self) -> None:
        self._kept.clear()

    def _fresh(self, key: K) -> Kept[V] | None:
        """The costs of all keys together count."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        pause = sum(one.cost_s for one in self._kept.values()) / SHARE
        return kept if asyncio.get_running_loop().time() - kept.at < pause else None


class _Clock:
    """Measures the steps of a generator, and not what runs between them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, steps: Steps[V]) -> Steps[V]:
        while True:
            since = time.perf_counter()
            try:
                next(steps)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.seconds += time.perf_counter() - since
            yield


API = "/api/v1/"
HIDDEN = (
    "without authentication only counts are shown: give metrics.listener users or client certificates, or set"
    " status.page=full"
)


F = TypeVar("F", bound=Hashable)
F_co = TypeVar("F_co", covariant=True)


class _Asked(Protocol[F_co]):
    offset: int
    limit: int

    @property
    def filter(self) -> F_co: ...


class StatusApi:
    """view     the server now
    readers  of the event logs of all servers
    full     whether names, reasons, principals and addresses are shown
    last     what this server last knew of the moves; None: nothing
    name     of the cluster, where the process has several
    api      the path below which the API answers
    """

    def __init__(
        self,
        view: Callable[[], ServerView],
        readers: Readers,
        figures: FigureKeeper,
        version: str,
        *,
        full: bool,
        last: Callable[[], Status | None] = lambda: None,
        name: str = "",
        api: str = API,
    ) -> None:
        self._name, self._api = name, api
        self._last = last
        self._view = view
        self._version = version
        self._full = full
        self._figures = figures
        self._feed = EventFeed(readers)
        self._selections: PacedViews[MoveFilter, Selection] = PacedViews(self._select, lambda one: emptied(one.keys))
        self._found: PacedViews[PartitionFilter, Found] = PacedViews(self._find)
        self._counts: PacedViews[None, ReplicaCounts] = PacedViews(self._count)
        self._departures: PacedViews[frozenset[int] | None, departures.Asked] = PacedViews(self._ask_departure)
        self._stream = StatusStream(self.status)
        self._cluster: object = None

        self._documents: Mapping[str, Callable[[Given], Awaitable[HttpPage]]] = {
            "moves": self._moves_document,
            "brokers": self._brokers_document,
            "partitions": self._partitions_document,
            "departure": self._departure_document,
        }
        """Those with names: pages show them in full or not at all."""

    @property
    def pages(self) -> Mapping[str, Page]:
        """Reads the files of the page: before the server serves anybody."""
        api: dict[str, Page] = {
            "status": QueryPage(self._status_page),
            "stream": StreamPage(self._stream.watch),
            **{name: QueryPage(document if self._full else _hidden) for name, document in self._documents.items()},
            "events": QueryPage(self._events_page),
            "history": QueryPage(self._history_page),
        }
        return {
            "/": lambda: page(self._view(), self._version, full=self._full, api=self._api, name=self._name),
            **assets(),
            **{self._api + name: answer for name, answer in api.items()},
        }

    async def document(self, name: str, given: Mapping[str, str]) -> tuple[int, bytes]:
        """HTTP's status code and JSON; in full, whatever the page shows."""
        answers = {"status": self._status_document, "history": self._history_page, **self._documents}
        page = await answers[name](given)
        return page.status, page.body

    async def close(self) -> None:
        await self._stream.close()

    def whole_status(self) -> Status:
        return self._status_now(full=True)

    def status(self) -> Status:
        return self._status_now(full=self._full)

    def _status_now(self, *, full: bool) -> Status:
        now = status_of(self._view(), at=now_ms(), version=self._version, full=full)
        return with_last(now, self._last(), full=full)

    # ------------------------------------------------------------------------------------------------ answers

    async def _status_page(self, query: str) -> HttpPage:
        return _problem_of(query) or _document(self.status())

    async def _status_document(self, query: Given) -> HttpPage:
        return _problem_of(query) or _document(self._status_now(full=True))

    async def _moves_document(self, query: Given) -> HttpPage:
        return await self._page_of(MovesRequest, query, self._selections, moves.page_of)

    async def _partitions_document(self, query: Given) -> HttpPage:
        return await self._page_of(PartitionsRequest, query, self._found, partitions.partitions_of)

    async def _page_of(
        self,
        parse: Callable[[Given], _Asked[F]],
        query: Given,
        views: PacedViews[F, V],
        page: Callable[..., msgspec.Struct],
    ) -> HttpPage:
        try:
            asked = parse(query)
        except BadParameter as error:
            return _problem(400, str(error))
        if self._term() is None:
            return self._elsewhere()
        kept = await views.get(asked.filter)
        term = self._term()
        if term is None:
            return self._elsewhere()
        at = now_ms()
        listed_at = at - _age_ms(kept.at)
        return _document(page(term, kept.value, offset=asked.offset, limit=asked.limit, at=at, listed_at=listed_at))

    async def _brokers_document(self, query: Given) -> HttpPage:
        if (problem := _problem_of(query)) is not None:
            return problem
        if self._term() is None:
            return self._elsewhere()
        kept = await self._counts.get(None)
        may_go = await self._departures.get(None)
        term = self._term()
        if term is None:
            return self._elsewhere()
        at = now_ms()
        counted_at = at - _age_ms(kept.at)
        term.viewed()
        made = brokers.brokers_of(
            term.cluster,
            kept.value,
            term.progress.rates,
            term.disks,
            term.silent,
            term.closed,
            hidden=term.hidden,
            knows_leases=term.knows_leases,
            throttles_at=term.throttles_at,
            at=at,
            counted_at=counted_at,
        )
        answers = departures.Answers(term, may_go.value) if term.knows_configs else None
        return _document(await in_turns(brokers.with_departures(await in_turns(made), answers)))

    async def _departure_document(self, query: Given) -> HttpPage:
        try:
            asked = DepartureRequest(query).brokers
        except BadParameter as error:
            return _problem(400, str(error))
        term = self._term()
        if term is None:
            return self._elsewhere()
        if not term.knows_configs:
            return _problem(503, "`watch` reads no min.insync.replicas: ask `kafka-reassign-rpc check` with --without")
        term.viewed()
        kept = await self._departures.get(asked)
        term = self._term()
        if term is None or not kept.value.losses:  # it was not the controller while it counted
            return self._elsewhere()
        at = now_ms()
        answers = departures.Answers(term, kept.value)
        return _document(answers.document(at=at, counted_at=at - _age_ms(kept.at)))

    async def _events_page(self, query: str) -> HttpPage:
        try:
            asked = EventsRequest(query)
        except BadParameter as error:
            return _problem(400, str(error))
        return _document(await self._feed.newest(asked, now_ms())) if self._full else _problem(403, HIDDEN)

    async def _history_page(self, query: Given) -> HttpPage:
        try:
            span = Parameters(query, tuple(PARAMETERS[f"{API}history"])).one_of("span", tuple(SPANS)) or "hour"
        except BadParameter as error:
            return _problem(400, str(error))
        past = self._figures.history.past(span, time.monotonic(), now_ms())
        return _document(History(past.at, past.step_ms, past.points))

    # ------------------------------------------------------------------------------------------------- parts

    def _term(self) -> TermView | None:
        """Drops what was made of another term's cluster."""
        term = self._view().term
        cluster = None if term is None else term.progress
        if cluster is not self._cluster:
            self._cluster = cluster
            self._selections.clear()
            self._found.clear()
            self._counts.clear()
            self._departures.clear()
        return term

    def _elsewhere(self) -> HttpPage:
        view = self._view()
        if view.server is None:
            return _problem(503, reason_of(view, full=self._full) or "the cluster is not seen yet")
        controller = view.controller.id
        who = "no controller is known" if controller is None else f"broker {controller} is the controller"
        problem = Problem(f"this server is not the controller: {who}", controller, view.controller.page)
        return _encoded(503, problem)

    def _select(self, wanted: MoveFilter) -> Generator[None, None, Selection]:
        view = self._view()
        term = view.term
        if term is None:  # a watch does not know what waits
            return Selection([], 0, moves.no_sums(knows_waiting=view.server is not None))
        return (yield from moves.select_moves(term, wanted))

    def _find(self, wanted: PartitionFilter) -> Generator[None, None, Found]:
        term = self._view().term
        return Found([], 0) if term is None else (yield from partitions.find_partitions(term, wanted))

    def _ask_departure(self, away: frozenset[int] | None) -> Generator[None, None, departures.Asked]:
        term = self._view().term
        if term is None or not term.knows_configs:
            return departures.Asked({}, {})
        return (yield from departures.ask(term, away))

    def _count(self, _: None) -> Generator[None, None, ReplicaCounts]:
        counts = brokers.no_counts()
        term = self._view().term
        if term is not None:
            yield from brokers.count_replicas(term.cluster, counts)
        return counts


async def _hidden(_: Given) -> HttpPage:
    return _problem(403, HIDDEN)


def _problem_of(query: Given) -> HttpPage | None:
    """For a path without parameters."""
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
