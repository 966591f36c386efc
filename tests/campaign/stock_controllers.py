"""What the logs of stock brokers tell of their terms as the controller.

After an outage of ZooKeeper a stock controller (3.9.1) may be left with a StopReplica in its batch. Then it tells the
brokers nothing any more, but still writes the ends of moves to ZooKeeper: the replicas that these drop are never
stopped. One that resigns takes along what waits to be sent: a busy broker is not told of the replicas that were dropped
a moment before. The same goes for a broker whose session has ended: its channel is closed with all that waits there.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path

_STUCK = "Controller to broker state change requests batch is not empty while creating a new one"
_RESIGNED = re.compile(r"\[([\d-]+ [\d:,]+)\] .*\[Controller id=\d+\] Resigned ")
WAITING_S = 2.0
"""A request for a broker waits no longer than this. A later one may be lost with its controller."""
_ENDED = "addingReplicas=, removingReplicas=)"
_ASSIGNED = re.compile(
    r"\[([\d-]+ [\d:,]+)\] .*Successfully updated assignment of partition (\S+) to "
    r"ReplicaAssignment\(replicas=([\d,]+),"
)
_CHANGED = re.compile(r"\[([\d-]+ [\d:,]+)\] .*, deleted brokers: ([\d,]*), bounced brokers: ([\d,]*), all live")

_ELECTED = re.compile(r"\[([\d-]+ [\d:,]+)\] .* successfully elected as the controller\.")


def stock_elections(logs: Iterable[Path]) -> tuple[float, ...]:
    """When stock brokers were elected (seconds of the epoch)."""
    found = map(_ELECTED.match, chain.from_iterable(map(_lines, logs)))
    return tuple(_seconds(one[1]) for one in found if one is not None)


def ended_registrations(logs: Iterable[Path]) -> tuple[tuple[int, float], ...]:
    """The brokers that stock controllers saw go or register anew, and when (seconds of the epoch)."""
    found = []
    for line in chain.from_iterable(map(_lines, logs)):
        if changed := _CHANGED.match(line):
            brokers = [*changed[2].split(","), *changed[3].split(",")]
            found += [(int(broker), _seconds(changed[1])) for broker in brokers if broker]
    return tuple(found)


def stock_assignments(logs: Iterable[Path]) -> tuple[tuple[str, frozenset[int], float], ...]:
    """The replicas that stock controllers gave to partitions, and when (seconds of the epoch), by the brokers' logs."""
    return tuple(one for line in chain.from_iterable(map(_lines, logs)) for one in _assigned(line))


def _assigned(line: str) -> list[tuple[str, frozenset[int], float]]:
    one = _ASSIGNED.match(line)
    return [] if one is None else [(one[2], _replicas(one[3]), _seconds(one[1]))]


def untold_ends(logs: Iterable[Path]) -> tuple[tuple[str, frozenset[int], float], ...]:
    """The changes that brokers may not have been told, as `stock_assignments` has them, from the brokers' logs."""
    found = []
    for path in logs:
        is_stuck = False
        last: list[tuple[str, frozenset[int], float]] = []
        for line in _lines(path):
            if _STUCK in line:
                is_stuck = True
            elif resigned := _RESIGNED.match(line):
                found += [one for one in last if one[2] >= _seconds(resigned[1]) - WAITING_S]
                is_stuck, last = False, []
            elif is_stuck:
                found += _assigned(line) if _ENDED in line else []
            else:
                last += _assigned(line)
    return tuple(found)


def _lines(path: Path) -> Iterator[str]:
    with path.open(errors="replace") as log:
        yield from log


def _replicas(listed: str) -> frozenset[int]:
    return frozenset(map(int, listed.split(",")))


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()  # the time of this machine
