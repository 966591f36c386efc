"""Which events a webhook reports, and how they wait for one receiver. A notification is one JSON body, which stays the
same, byte for byte, until the receiver takes it or its first event is too old.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.event_lines import place_of
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.secrecy import told

DEFAULT_KINDS = (
    catalogue.BROKER_LOST,
    catalogue.BROKER_RETURNED,
    catalogue.BROKER_REPLICAS_OFFLINE,
    catalogue.BROKER_REPLICAS_STOPPED,
    catalogue.MOVE_STALLED,
    catalogue.MOVE_RESUMED,
    catalogue.MOVE_HELD,
    catalogue.MOVES_DONE,
    catalogue.REASSIGNMENTS_DISABLED,
    catalogue.HEAL_NOTICED,
    catalogue.HEAL_ALERT,
    catalogue.HEAL_HELD_BACK,
    catalogue.HEAL_PAUSED,
    catalogue.HEAL_MISCONFIGURED,
    catalogue.HEAL_IMPOSSIBLE,
    catalogue.HEAL_SCHEDULED,
    catalogue.HEAL_UNAPPROVED,
    catalogue.HEAL_APPROVED,
    catalogue.HEAL_DONE,
    catalogue.TOPIC_VANISHED,
    catalogue.TOPIC_LEFT_ALONE,
    catalogue.TOPIC_ID_EDITED,
    catalogue.TOPIC_TAKEN_UP,
    catalogue.CORDON_BROKEN,
    catalogue.CONTROLLER_ELECTED,
    catalogue.CONTROLLER_RESIGNED,
)
"""What an operator on call wants to know: lost, stalled, held back, done, and who controls."""
DEFAULT = "default"
TEST = "webhook.test"
"""The event of a test notification: no server records it."""

MOST_EVENTS, MOST_BYTES = 10_000, 8 * 2**20
"""What may wait for one receiver."""
BODY_EVENTS, BODY_BYTES = 500, 256 * 2**10
"""What one body has at most."""
LINES = 10
"""How many events the text of a notification lists one by one."""


def kinds(words: Iterable[str]) -> frozenset[str]:
    """What `webhook.events` chooses: names, `heal.*`, `default`. Raises ValueError with all names."""
    found: set[str] = set()
    for word in words:
        if word == DEFAULT:
            chosen: Sequence[str] = DEFAULT_KINDS
        elif word.endswith(".*"):
            chosen = [name for name in catalogue.EVENTS if name.startswith(word[:-1])]
        else:
            chosen = [word] if word in catalogue.EVENTS else []
        if not chosen:
            raise ValueError(
                f"there is no event {told(word)}; there are {', '.join(catalogue.EVENTS)}; heal.* means all that begin"
                f" with heal., and {DEFAULT} for the default"
            )
        found.update(chosen)
    return frozenset(found)


class WebhookCounts(NamedTuple):
    """Notifications that were taken, attempts that failed, events that were dropped."""

    sent: int = 0
    failed: int = 0
    dropped: int = 0


class Sender(NamedTuple):
    """cluster   its id, None if not yet known
    server    None: `watch` or `notify`
    name      what `watch` calls the cluster if it follows several
    """

    cluster: str | None
    server: int | None
    name: str | None = None


class Notice(NamedTuple):
    """An event to be reported.

    seq   its number in the event log
    at    when it was recorded, ms
    id    of its own among all events of the cluster, also after a restart
    text  the line for people
    item  the entry of a body, as JSON
    """

    seq: int
    at: int
    id: str
    text: str
    item: bytes


def notice(line: bytes, text: str, source: str) -> Notice:
    """Of a line of the event log that `source` names. Raises msgspec.DecodeError, a ValueError."""
    place = place_of(line)
    id_ = f"{source}-{place.at}-{place.seq}"
    item = b'{"id":"%s","text":%s,"event":%s}' % (id_.encode(), msgspec.json.encode(text), line)
    return Notice(place.seq, place.at, id_, text, item)


class Notification(NamedTuple):
    """`dropped`: how many events this body says the receiver did not get."""

    id: str
    body: bytes
    notices: tuple[Notice, ...]
    dropped: int


class Outbox:
    """What waits for one receiver.

    next_seq   all events before it were reported or dropped
    sent       notifications that the receiver took; `failed`: attempts
    dropped    events: too many waited, they were too old, or the receiver refused them
    """

    def __init__(self) -> None:
        self._waiting: deque[Notice] = deque()
        self._bytes = 0
        self._under_way: Notification | None = None
        self._unreported = 0
        """Dropped events that no notification has reported yet."""
        self.next_seq = 0
        self.sent = self.failed = self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, one: Notice) -> bool:
        """Whether there is room. What came first is kept: it is closest to the cause."""
        if len(self._waiting) >= MOST_EVENTS or self._bytes + len(one.item) > MOST_BYTES:
            self.missed(1)
            return False
        self._waiting.append(one)
        self._bytes += len(one.item)
        return True

    def drop_older(self, than_ms: int) -> int:
        """Returns how many."""
        count = 0
        while self._waiting and self._waiting[0].at < than_ms:
            self._take()
            count += 1
        if count:
            self._under_way = None
            self.missed(count)
        return count

    def notification(self, sender: Sender) -> Notification | None:
        """The same until it is taken or dropped."""
        if self._under_way is None and self._waiting:
            chosen: list[Notice] = []
            size = 0
            for one in self._waiting:
                size += len(one.item)
                if chosen and (len(chosen) >= BODY_EVENTS or size > BODY_BYTES):
                    break
                chosen.append(one)
            self._under_way = notification_of(tuple(chosen), sender, dropped=self._unreported)
        return self._under_way

    def taken(self) -> None:
        self.sent += 1
        self._unreported -= self._end().dropped

    def refused(self) -> None:
        """The receiver will never take this body."""
        self.missed(len(self._end().notices))

    def _end(self) -> Notification:
        found, self._under_way = self._under_way, None
        assert found is not None
        for _ in found.notices:
            self._take()
        return found

    def _take(self) -> None:
        one = self._waiting.popleft()
        self._bytes -= len(one.item)
        self.next_seq = one.seq + 1

    def missed(self, count: int) -> None:
        """The next notification says so."""
        self.dropped += count
        self._unreported += count


def notification_of(notices: tuple[Notice, ...], sender: Sender, *, dropped: int = 0) -> Notification:
    """The id hashes the events' ids and `dropped`, so each body has its own."""
    ids = "\n".join([str(dropped), *(one.id for one in notices)])
    id_ = f"{notices[0].id}-{hashlib.sha256(ids.encode()).hexdigest()[:16]}"
    lines = [] if sender.name is None else [f"cluster {sender.name}:"]
    lines += [one.text for one in notices[:LINES]]
    if len(notices) > LINES:
        lines.append(f"and {counted(len(notices) - LINES, 'more event')}")
    if dropped:
        lines.append(f"{counted(dropped, 'event', 'were')} dropped before")
    head = {"version": 1, "id": id_, **sender._asdict(), "dropped": dropped, "text": "\n".join(lines)}
    body = b'%s,"events":[%s]}' % (msgspec.json.encode(head)[:-1], b",".join(one.item for one in notices))
    return Notification(id_, body, notices, dropped)
