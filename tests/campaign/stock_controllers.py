"""What the logs of stock brokers tell of their terms as the controller.

After an outage of ZooKeeper a stock controller (3.9.1) may be left with a StopReplica in its batch. Then it tells the
brokers nothing any more, but still writes the ends of moves to ZooKeeper: the replicas that these drop are never
stopped.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

_STUCK = "Controller to broker state change requests batch is not empty while creating a new one"
_RESIGNED = re.compile(r"\[Controller id=\d+\] Resigned ")
_ENDED = re.compile(
    r"Successfully updated assignment of partition (\S+) to "
    r"ReplicaAssignment\(replicas=([\d,]+), addingReplicas=, removingReplicas=\)"
)
_ASSIGNED = re.compile(
    r"\[([\d-]+ [\d:,]+)\] .*Successfully updated assignment of partition (\S+) to "
    r"ReplicaAssignment\(replicas=([\d,]+),"
)


def stock_assignments(logs: Iterable[Path]) -> tuple[tuple[str, frozenset[int], float], ...]:
    """The replicas that stock controllers gave to partitions, and when (seconds of the epoch), by the brokers' logs."""
    found = []
    for path in logs:
        with path.open(errors="replace") as log:
            for line in log:
                if one := _ASSIGNED.match(line):
                    at = datetime.fromisoformat(one[1]).timestamp()  # the time of this machine
                    found.append((one[2], frozenset(map(int, one[3].split(","))), at))
    return tuple(found)


def untold_ends(logs: Iterable[Path]) -> tuple[tuple[str, frozenset[int]], ...]:
    """The moves whose end no broker was told, and the replicas that were left, from the brokers' logs."""
    found = []
    for path in logs:
        is_stuck = False
        with path.open(errors="replace") as log:
            for line in log:
                if _STUCK in line:
                    is_stuck = True
                elif _RESIGNED.search(line):
                    is_stuck = False
                elif is_stuck and (ended := _ENDED.search(line)):
                    found.append((ended[1], frozenset(map(int, ended[2].split(",")))))
    return tuple(found)
