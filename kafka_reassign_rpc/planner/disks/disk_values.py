"""The log dirs of one broker and their replicas, as plain values. Sizes are in bytes."""

from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN

CANNOT_EMPTY = "no other log dir of the broker has room"
NOT_ASKED = "its topic is not among those asked for"
"""Such a replica stays, and is not left out: the goal does not concern it."""


class DiskDir(NamedTuple):
    """A log dir of the broker.

    volume      log dirs with the same number share one; None if unknown: the log dir counts as its own volume
    size, free  of the volume, or UNKNOWN
    cordoned    it gets no new replica (KIP-1066)
    """

    path: str
    online: bool = True
    volume: int | None = None
    size: int = UNKNOWN
    free: int = UNKNOWN
    cordoned: bool = False


class DiskReplica(NamedTuple):
    """A replica in a log dir. `stays` says why it cannot move now, "" if it can."""

    topic: str
    partition: int
    bytes: int
    log_dir: str
    stays: str = ""


class DiskMove(NamedTuple):
    replica: DiskReplica
    target: str
    reason: str


class DiskGoal(NamedTuple):
    """What a plan of one broker is for.

    empty       the log dirs to be emptied; without any the plan evens out
    tolerance   how far a volume may be from its target, as a share of it
    headroom    the share of each volume that the plan leaves free
    max_bytes   the most bytes that an even plan copies, UNKNOWN for no limit
    arriving    bytes that moves from other brokers will bring, to whichever log dir
    """

    empty: frozenset[str] = frozenset()
    tolerance: float = 0.1
    headroom: float = 0.05
    max_bytes: int = UNKNOWN
    arriving: int = 0


class BrokerDisks(NamedTuple):
    """`copying` has, by log dir, the bytes that running copies between log dirs have yet to bring."""

    dirs: tuple[DiskDir, ...]
    replicas: tuple[DiskReplica, ...]
    copying: tuple[tuple[str, int], ...] = ()


class DiskPlan(NamedTuple):
    """`left_out` are replicas that the goal would move, with the reason. `furthest_…` is the distance of the volume
    that is furthest from its target, as a share of the target.
    """

    moves: list[DiskMove]
    left_out: list[tuple[DiskReplica, str]]
    furthest_before: float = 0.0
    furthest_after: float = 0.0
