"""What the logs of stock brokers tell of their terms as the controller.

After an outage of ZooKeeper a stock controller (3.9.1) may be left with a StopReplica in its batch. Then it tells the
brokers nothing any more, but still writes the ends of moves to ZooKeeper: the replicas that these drop are never
stopped. One that resigns takes along what waits to be sent: a busy broker is not told of the replicas that were dropped
a moment before. The same goes for a broker whose session has ended: its channel is closed with all that waits there,
and for one that is killed while it ends a move.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from .history import Absence, Assigned

_STUCK = "Controller to broker state change requests batch is not empty while creating a new one"
_RESIGNED = re.compile(r"\[([\d-]+ [\d:,]+)\] .*\[Controller id=\d+\] Resigned ")
WAITING_S = 2.0
"""A request for a broker waits no longer than this. A later one may be lost with its controller."""
_ENDED = "addingReplicas=, removingReplicas=)"
_ASSIGNED = re.compile(
    r"\[([\d-]+ [\d:,]+)\] .*Successfully updated assignment of partition (\S+) to "
    r"ReplicaAssignment\(replicas=([\d,]+),"
)
_ENDS = re.compile(
    r"\[([\d-]+ [\d:,]+)\] .*Target replicas List\(([\d, ]+)\) have all caught up with the leader for reassigning "
    r"partition (\S+) "
)
_CHANGED = re.compile(r"\[([\d-]+ [\d:,]+)\] .*, deleted brokers: ([\d,]*), bounced brokers: ([\d,]*), all live")
_ELECTED = re.compile(r"\[([\d-]+ [\d:,]+)\] .* successfully elected as the controller\.")


class StockTerms(NamedTuple):
    """What stock brokers have logged as controllers.

    elections             when one was elected: seconds of the epoch
    ended_registrations   of brokers that went or registered anew, be it by a step or on a busy machine
    assigned              the replicas that they gave to partitions
    untold                the changes of these of which brokers may not have been told
    """

    elections: list[float]
    ended_registrations: list[Absence]
    assigned: list[Assigned]
    untold: list[Assigned]


def stock_terms(logs: Iterable[Path]) -> StockTerms:
    """What the logs of brokers tell."""
    found = StockTerms([], [], [], [])
    for path in logs:
        with path.open(errors="replace") as log:
            _read(log, found)
    return found


def _read(log: Iterable[str], found: StockTerms) -> None:
    is_stuck = False
    last: list[Assigned] = []
    ends: dict[str, Assigned] = {}  # moves that it ends, until it says that it has
    for line in log:
        if _STUCK in line:
            is_stuck = True
        elif assigned := _ASSIGNED.match(line):
            one = Assigned(assigned[2], _replicas(assigned[3]), _seconds(assigned[1]))
            found.assigned.append(one)
            ends.pop(one.name, None)
            if not is_stuck:
                last.append(one)
            elif _ENDED in line:
                found.untold.append(one)
        elif resigned := _RESIGNED.match(line):
            found.untold.extend(one for one in last if one.at >= _seconds(resigned[1]) - WAITING_S)
            is_stuck, last = False, []
        elif ending := _ENDS.match(line):
            ends[ending[3]] = Assigned(ending[3], _replicas(ending[2].replace(" ", "")), _seconds(ending[1]))
        elif changed := _CHANGED.match(line):
            at = _seconds(changed[1])
            brokers = [*changed[2].split(","), *changed[3].split(",")]
            found.ended_registrations.extend(Absence(int(broker), at, at) for broker in brokers if broker)
        elif elected := _ELECTED.match(line):
            found.elections.append(_seconds(elected[1]))
            found.untold.extend(ends.values())
            ends = {}
    found.untold.extend(ends.values())


def _replicas(listed: str) -> frozenset[int]:
    return frozenset(map(int, listed.split(",")))


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()  # the time of this machine
