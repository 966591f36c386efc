"""The states of a connection as data, and whether it is read: `server_connection` follows these tables, a test walks
them over real objects, and `docs/connections.md` prints them.
"""

import asyncio
from collections.abc import Mapping
from enum import Enum, IntEnum, auto
from typing import NamedTuple, Protocol


class Work(IntEnum):
    """What becomes of a connection's requests. (Python finds an IntEnum faster in a dict than an Enum.)"""

    NEW = auto()
    READING = auto()
    WORKING = auto()
    DUE = auto()
    QUEUED = auto()
    WAITING = auto()
    MUTED = auto()
    FAILING = auto()
    CLOSING = auto()
    CLOSED = auto()


MEANINGS: Mapping[Work, str] = {
    Work.NEW: "The server has not admitted the connection yet",
    Work.READING: "Nothing is in work",
    Work.WORKING: "Queued frames are answered one after the other. It lasts for a part of one turn of the event loop",
    Work.DUE: "The turn was over before the frames were; the next turn goes on with them",
    Work.QUEUED: "A frame waits for its place among `queued.max.requests`",
    Work.WAITING: "The answer to a request, or a step of the authentication, takes time",
    Work.MUTED: "A quota of the client is used up",
    Work.FAILING: "Authentication has failed: the end, and the answer if there is one, wait for"
    " `connection.failed.authentication.delay.ms`",
    Work.CLOSING: "The transport sends what it has, and closes",
    Work.CLOSED: "The transport is gone. What is in work is finished, and its answer goes nowhere",
}


class WorkEvent(IntEnum):
    ADMITTED = auto()
    FRAMES = auto()
    TURN = auto()
    PLACE = auto()
    ANSWERED = auto()
    UNMUTED = auto()
    DONE = auto()
    TURN_OVER = auto()
    NO_PLACE = auto()
    TAKES_TIME = auto()
    THROTTLED = auto()
    FAILED = auto()
    OVER = auto()
    ABORTED = auto()
    LOST = auto()


class WorkRow(NamedTuple):
    states: tuple[Work, ...]
    event: WorkEvent
    after: Work
    meaning: str


AT_REST = (Work.READING, Work.DUE, Work.QUEUED, Work.WAITING, Work.MUTED, Work.FAILING)
"""The states in which the event loop may find an open connection."""

WORK: tuple[WorkRow, ...] = (
    WorkRow(
        (Work.NEW,), WorkEvent.ADMITTED, Work.READING, "It has a place, and its listener knows how to authenticate it"
    ),
    WorkRow((Work.READING,), WorkEvent.FRAMES, Work.WORKING, "Frames have arrived, and the peer has taken its answers"),
    WorkRow((Work.DUE,), WorkEvent.TURN, Work.WORKING, "The next turn of the event loop"),
    WorkRow((Work.QUEUED,), WorkEvent.PLACE, Work.WORKING, "There is a place among `queued.max.requests`"),
    WorkRow((Work.WAITING,), WorkEvent.ANSWERED, Work.WORKING, "The answer is made, or the step is done"),
    WorkRow((Work.MUTED,), WorkEvent.UNMUTED, Work.WORKING, "The throttle time is over, or the server drains"),
    WorkRow((Work.WORKING,), WorkEvent.DONE, Work.READING, "No frame is left, or the peer has answers to take"),
    WorkRow((Work.WORKING,), WorkEvent.TURN_OVER, Work.DUE, "Frames are left after `turn_ms`"),
    WorkRow((Work.WORKING,), WorkEvent.NO_PLACE, Work.QUEUED, "`queued.max.requests` are in work"),
    WorkRow((Work.WORKING,), WorkEvent.TAKES_TIME, Work.WAITING, "The answer, or the step, needs a task"),
    WorkRow((Work.WORKING,), WorkEvent.THROTTLED, Work.MUTED, "The answer before tells its client to wait"),
    WorkRow(
        (Work.READING, Work.WORKING),
        WorkEvent.FAILED,
        Work.FAILING,
        "A step, or the size of a frame, ends authentication",
    ),
    WorkRow(
        (Work.READING, Work.MUTED, Work.FAILING),
        WorkEvent.OVER,
        Work.CLOSING,
        "The stream has ended and all answers are with the transport, or the delay of a failure is over",
    ),
    WorkRow(
        (Work.NEW, Work.WORKING, *AT_REST, Work.CLOSING),
        WorkEvent.ABORTED,
        Work.CLOSING,
        "A limit, the end of a drain, or a defect: what is not sent is lost",
    ),
    WorkRow((*AT_REST, Work.CLOSING), WorkEvent.LOST, Work.CLOSED, "The peer has closed, or the transport has"),
)

AFTER: Mapping[Work, Mapping[WorkEvent, Work]] = {
    state: {row.event: row.after for row in WORK if state in row.states} for state in Work
}
"""The next state, by state and event. An event that a state lacks is a defect."""


class Pause(Enum):
    """Why a connection is not read."""

    UNREAD = auto()
    BEHIND = auto()
    STARVED = auto()
    SATED = auto()


class PauseRow(NamedTuple):
    begins: str
    ends: str


PAUSES: Mapping[Pause, PauseRow] = {
    Pause.UNREAD: PauseRow("The peer leaves answers unread", "It has taken all of them"),
    Pause.BEHIND: PauseRow("Bytes arrive behind a frame that is not answered yet", "No frame is left behind another"),
    Pause.STARVED: PauseRow(
        "All connections together hold more than `queued.max.request.bytes`, and this one holds some, with nothing in"
        " work",
        "There is room again, and its turn has come",
    ),
    Pause.SATED: PauseRow("A large piece of input was read in this turn of the event loop", "The next turn"),
}


class Budgets(Protocol):
    def charge(self, difference: int) -> bool: ...

    def starve(self, reader: "Reader") -> None: ...

    def unread(self, owner: "Reader", size: int) -> None: ...


class Reader(Protocol):
    def fed(self) -> None:
        """There is room for request bytes again."""


class FlowControl:
    """Whether a connection is read, and what it holds of the bytes that all connections share. It is paused only when
    bytes arrive that it does not want yet: most clients wait for their answers.

    reasons   why the connection is not read
    level     whether nothing is held and nothing paused: then `update` has nothing to do
    """

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._transport: asyncio.Transport | None = None
        self._held = 0
        self._unread = 0
        self.reasons: set[Pause] = set()
        self.paused = False
        self.level = True

    def begin(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def end(self, owner: Reader) -> None:
        self._transport = None
        self._hold(0)
        self._keep_unread(owner, 0)

    def sate(self) -> bool:
        """Much was read in this turn. If it returns True, call `hungry` in the next turn."""
        new = Pause.SATED not in self.reasons
        self.reasons.add(Pause.SATED)
        self.level = False
        return new

    def hungry(self) -> None:
        self.reasons.discard(Pause.SATED)

    def feed(self) -> None:
        self.reasons.discard(Pause.STARVED)

    def update(self, owner: Reader, requests: int, unread: int, *, clogged: bool, behind: bool, idle: bool) -> bool:
        """Updates what is held, and pauses or resumes. Returns whether reading was resumed.

        requests   bytes of requests without an answer
        unread     bytes of answers that the peer has yet to take; `clogged`: there are such answers
        behind     whether bytes wait for the request in work
        idle       whether nothing is in work: what is in work is not starved
        """
        self._keep_unread(owner, unread)
        held = requests + unread
        if held != self._held and self._hold(held) and held and idle:
            self.reasons.add(Pause.STARVED)
            self._budgets.starve(owner)
        self._mark(Pause.UNREAD, on=clogged)
        self._mark(Pause.BEHIND, on=behind)
        resumed = self._apply()
        self.level = not (held or self.paused or self.reasons)
        return resumed

    def _mark(self, reason: Pause, *, on: bool) -> None:
        if on:
            self.reasons.add(reason)
        else:
            self.reasons.discard(reason)

    def _apply(self) -> bool:
        transport, wanted = self._transport, bool(self.reasons)
        if transport is None or wanted == self.paused or (self.paused and transport.is_closing()):
            return False
        self.paused = wanted
        if wanted:
            transport.pause_reading()
        else:
            transport.resume_reading()
        return not wanted

    def _hold(self, held: int) -> bool:
        difference, self._held = held - self._held, held
        return self._budgets.charge(difference)

    def _keep_unread(self, owner: Reader, size: int) -> None:
        if size != self._unread:
            self._unread = size
            self._budgets.unread(owner, size)
