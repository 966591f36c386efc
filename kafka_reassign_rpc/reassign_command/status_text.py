"""The status document as text: what `status` prints. It derives nothing.

No line is wider than 80 columns, and what does not fit goes on further in. What others have written is shown without
control characters, and cut after a word.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from kafka_reassign_rpc.client import Event, HealingStatus, PastFigures, text_format
from kafka_reassign_rpc.client.move_progress import progress_of
from kafka_reassign_rpc.core.events.event_lines import as_one, folded
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_BYTES_IN_FLIGHT, MAX_PER_BROKER, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus, Throttle
from kafka_reassign_rpc.core.status.documents import Group, Move, Status
from kafka_reassign_rpc.reassign_command import action_events, action_heal, action_watch, history_plots
from kafka_reassign_rpc.support.bounded_text import abridged, printable
from kafka_reassign_rpc.support.counted import agreeing, all_of, counted
from kafka_reassign_rpc.support.human_units import duration, utc_time
from kafka_reassign_rpc.support.text_table import table, wrapped
from kafka_reassign_rpc.support.typed_commands import without_command

WIDTH = 80
"""Columns of a terminal."""
MOVES_SHOWN = 20
GROUPS_SHOWN = 10
EVENTS_SHOWN = 10
LONGEST, LONGEST_NAME, LONGEST_REASON, LONGEST_EVENT = 120, 50, 300, 400
"""Characters: of a name; of the name of a partition or a rack; of a reason; of an event's line."""
LONGEST_PROBLEM = 600
LONGEST_SHUTTING_DOWN, LONGEST_CORDONED = 65, 70
"""Characters of their ids: with the words before them they fit into 80 columns."""
UNKNOWN = "unknown"
NOT_ASKED = "not asked"
"""Of what only brokers and the controller know, where only ZooKeeper was read."""
OF_A_LEASE = "*"
"""Marks a throttle."""
NO_CAP = "none"
"""Of a cap that is not set, for people; JSON has null, as the API of the status page."""


class Seen(NamedTuple):
    """What was read: the status document, then the results of other calls.

    moves              all of them for JSON, else those with the most bytes left; `of`: how many there are
    is_stock           the controller has no document: it was made here
    at                 where the controller listens, as the nodes name it
    is_stored          no controller was asked: it was made from what ZooKeeper holds
    silent             brokers whose configs are not known
    events             None where there are none
    healing, history   None where the controller does not have it
    """

    status: Status
    moves: Sequence[Move]
    of: int
    brokers: Sequence[BrokerStatus]
    is_stock: bool = False
    is_stored: bool = False
    at: str | None = None
    silent: Collection[int] = ()
    events: Sequence[Event] | None = None
    healing: HealingStatus | None = None
    history: Sequence[PastFigures] | None = None


def lines(seen: Seen, blocks: str = history_plots.BLOCKS) -> Iterator[str]:
    """For people, in 80 columns. `blocks`: the characters of plots."""
    for line in _lines(seen, blocks):
        yield from fitted(line)


def last_lines(status: Status) -> Iterator[str]:
    """What was known last, where the present is not known."""
    last = status.last
    if status.totals is not None:
        return
    if last is None:
        yield from fitted("The state of the moves is not known, and the server that answers has known none before.")
        return
    age = duration(max(0, status.at - last.at) / 1000)
    who = "" if last.server is None else f" by server {last.server}"
    yield from fitted(f"Last known{who} {age} ago, at {utc_time(last.at)} UTC; it may have changed since:")
    for problem in last.problems:
        yield from fitted(f"  {'!!' if problem.level == 'wrong' else '!'} {_words(problem.text, LONGEST_PROBLEM)}")
    for line in (_health(last), _may_start(last), action_watch.headline(last), *_group_lines(last.groups or ())):
        yield from fitted(f"  {line}")


def fitted(line: str) -> list[str]:
    """The line, or what continues it further in, wrapped at words. A command has a line of its own."""
    text, typed = without_command(line)
    if cell_len(line) <= WIDTH and not typed:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    found = wrapped(text, WIDTH, first=indent, following=f"{indent}    ", breaks=True)
    return [*found, *([f"{indent}    {typed}"] if typed else [])]


def _lines(seen: Seen, blocks: str) -> Iterator[str]:
    status, controller = seen.status, seen.status.controller
    without_id = f"controller {UNKNOWN}" if seen.is_stock else "no controller"
    role = without_id if controller.id is None else f"controller {controller.id}"
    role += "" if seen.at is None else f" at {seen.at}"
    role += " (not a kafka-reassign-rpc server)" if seen.healing is None and not seen.is_stored else ""
    role += "" if controller.epoch is None else f", epoch {controller.epoch}"
    role += "" if controller.since is None else f", since {utc_time(controller.since)} UTC"
    yield f"cluster {_plain(status.cluster or UNKNOWN)}: {role}"
    if status.version:
        yield f"kafka-reassign-rpc {_plain(status.version)}"
    for problem in status.problems:
        yield f"{'!!' if problem.level == 'wrong' else '!'} {_words(problem.text, LONGEST_PROBLEM)}"
    if status.last is not None:
        yield from last_lines(status)
    yield _health(status)
    if not seen.is_stock:
        yield from _rule_lines(status)
    yield ""
    yield _stored_headline(status) if seen.is_stored else action_watch.headline(status)
    yield from _group_lines(status.groups or (), is_asked=not seen.is_stored)
    yield from _move_lines(seen)
    yield ""
    yield from _broker_lines(seen)
    yield ""
    if seen.is_stored:
        yield "Progress, self-healing, history and events: only a controller has them."
        return
    if seen.is_stock:
        yield "Caps, self-healing, history and events: a kafka-reassign-rpc server has them."
        return
    if seen.healing is not None:
        yield from action_heal.status_lines(seen.healing)
    else:
        yield "Self-healing: the controller does not know it."
    yield ""
    if seen.history is None:
        yield "History: the controller keeps none."
    else:
        yield from history_plots.lines(seen.history, blocks)
    yield ""
    if seen.events is None:
        yield "Events: the controller keeps none."
    else:
        lines = [action_events.line(as_one(group)) for group in folded(seen.events)]
        yield from (_words(one, LONGEST_EVENT) for one in lines[-EVENTS_SHOWN:])


def _rule_lines(status: Status) -> Iterator[str]:
    yield _may_start(status)
    no_cap = UNKNOWN if status.caps is None else NO_CAP
    caps = (f"{name}={no_cap if value is None else value}" for name, value in caps_of(status).items())
    yield f"caps: {', '.join(caps)}"
    yield from (f"{note.name}: {_words(note.text, LONGEST_REASON)}" for note in status.notes)


def _may_start(status: Status) -> str:
    if status.enabled is None:
        return "Whether new moves may start is not known here."
    if status.enabled:
        closed = status.window is not None and not status.window.open
        return "New moves wait for a window." if closed else "New moves may start."
    return f"No new move may start: {_words(status.disabled_by or UNKNOWN, LONGEST_REASON)}."


def _health(status: Status) -> str:
    totals = status.totals
    if totals is None or totals.under_replicated is None or totals.offline is None:
        if status.brokers_live == 0:
            return "Under-replicated and offline partitions are counted once a broker is there."
        return "How many partitions are under-replicated or offline is not known."
    under, offline = totals.under_replicated, totals.offline
    return f"{counted(under, 'partition', 'are')} under-replicated, {offline} {agreeing(offline, 'are')} offline"


def _stored_headline(status: Status) -> str:
    totals = status.totals
    if totals is None:
        return action_watch.headline(status)
    waiting = sum((totals.waiting or {}).values())
    also = f", {waiting} waiting" if waiting else ""
    asked = "; what is copied: not asked" if totals.in_flight else ""
    moving = f"{counted(totals.in_flight, 'move')} in flight" if totals.in_flight else "Nothing moves"
    return f"{moving}{also}{asked}."


def _group_lines(groups: Sequence[Group], *, is_asked: bool = True) -> Iterator[str]:
    """Only where there are several requests or plans."""
    for one in groups[:GROUPS_SHOWN] if len(groups) > 1 else ():
        unknown = UNKNOWN if is_asked else NOT_ASKED
        share = unknown if one.share is None else f"{int(100 * one.share)} %"
        counts = f"{one.in_flight} in flight, {one.waiting} waiting, {one.ended} ended"
        reason = "" if one.reason is None else f", {_words(one.reason, LONGEST_REASON)}"
        yield f"  by {one.route}{reason}: {share}, {counts}"


def _move_lines(seen: Seen) -> Iterator[str]:
    for one in seen.moves[:MOVES_SHOWN]:
        no_leader = "no leader" if one.leader_known else f"leader {UNKNOWN}"
        leader = no_leader if one.leader is None else f"leader {one.leader}"
        name = _plain(f"{one.topic}-{one.partition}", LONGEST_NAME)
        yield f"{name}  {list(one.original)} to {list(one.target)}: {comes_and_goes(one)}, {leader}"
        waits = one.state == "waiting"
        amounts = f"progress: {NOT_ASKED}" if seen.is_stored else text_format.amounts(progress_of(one))
        yield f"    {_words(_waits(one) if waits else amounts, LONGEST_REASON)}"
        since = [] if waits else [f"since {UNKNOWN if one.since is None else f'{utc_time(one.since)} UTC'}"]
        # A stock controller knows neither the reason nor the route.
        why = [] if seen.is_stock else [f"by {one.route}", f"asked by {_plain(one.who or UNKNOWN, LONGEST)}"]
        if one.reason:
            why.append(_words(one.reason, LONGEST_REASON))
        if told := [*since, *why]:
            yield f"    {', '.join(told)}"
    if seen.of > MOVES_SHOWN:
        yield f"… and {seen.of - MOVES_SHOWN} more (--json shows all)"


def comes_and_goes(one: Move) -> str:
    """For example `3, 4 and 5 come, 1 goes`."""
    told = [
        f"{all_of(brokers)} {agreeing(len(brokers), verb)}"
        for brokers, verb in ((one.adding, "come"), (one.removing, "go"))
        if brokers
    ]
    return ", ".join(told) or "only the order changes"


def _waits(one: Move) -> str:
    size = "" if one.bytes_total is None else f"{text_format.size(one.bytes_total)}, "
    place = "" if one.place is None else f", place {one.place}"
    return f"waits, {size}for {one.waits_for}{place}"


def _broker_lines(seen: Seen) -> Iterator[str]:
    """The table, and what its columns have no room for: a lease is a mark, a shutdown a line."""
    rows = [("BROKER", "RACK", "IN", "OUT", "THROTTLE IN", "THROTTLE OUT", "REPLICAS", "LEADERS")]
    for one in seen.brokers:
        silent = seen.is_stock and (not one.alive or one.id in seen.silent)
        rows.append(
            (
                f"{one.id}{'' if one.alive else ' dead'}",
                _plain(one.rack or ("none" if one.alive else UNKNOWN), LONGEST_NAME),
                NOT_ASKED if seen.is_stored else _rate(one.rate_in),
                NOT_ASKED if seen.is_stored else _rate(one.rate_out),
                UNKNOWN if silent else _throttle(one.throttle_in),
                UNKNOWN if silent else _throttle(one.throttle_out),
                UNKNOWN if one.replicas is None else str(one.replicas),
                UNKNOWN if one.leaders is None else str(one.leaders),
            )
        )
    yield from table(rows, WIDTH)
    if not seen.is_stock and any(one.throttle_in or one.throttle_out for one in seen.brokers):
        yield f"Throttles: {OF_A_LEASE} by a lease of moves, else by a config."
    shutting_down = [str(one.id) for one in seen.brokers if one.shutting_down]
    if shutting_down:
        yield f"Shutting down: {abridged(', '.join(shutting_down), LONGEST_SHUTTING_DOWN)}"
    closed = [str(one.id) for one in seen.brokers if one.cordoned]
    if closed:
        yield f"Cordoned: {abridged(', '.join(closed), LONGEST_CORDONED)}"


def _plain(text: str, limit: int = LONGEST) -> str:
    """Makes one short line of visible characters of what others have written."""
    return abridged(printable(text), limit)


def _words(text: str, limit: int) -> str:
    """A longer text ends after a word, so that no number of a ticket is cut."""
    plain = printable(text)
    if len(plain) <= limit:
        return plain
    start = plain[:limit]
    whole = start if plain[limit] == " " else start.rpartition(" ")[0]
    return f"{whole.rstrip() or start} …"


def _rate(bytes_per_second: int | None) -> str:
    return UNKNOWN if bytes_per_second is None else f"{text_format.size(bytes_per_second)}/s"


def _throttle(throttle: Throttle | None) -> str:
    if throttle is None:
        return "none"
    return _rate(throttle.rate) + (f" {OF_A_LEASE}" if throttle.by == "lease" else "")


def caps_of(status: Status) -> Mapping[str, int | None]:
    caps = status.caps
    values = (
        (None, None, None) if caps is None else (caps.moves_per_broker, caps.moves_per_cluster, caps.bytes_in_flight)
    )
    return dict(zip((MAX_PER_BROKER, MAX_PER_CLUSTER, MAX_BYTES_IN_FLIGHT), values, strict=True))
