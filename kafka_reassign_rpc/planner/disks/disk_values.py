"""Log dirs of one broker. Sizes are in bytes."""

from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN

CANNOT_EMPTY = "no other log dir of the broker has room"
NOT_ASKED = "its topic is not among those asked for"
"""Such a replica is not left out: the goal does not concern it."""


class DiskDir(NamedTuple):
    """volume      log dirs with the same number share one; None: unknown, it counts as its own
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
    """`stays`: why it cannot move now, "" if it can."""

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
    """tolerance   how far a volume may be from its target, as a share of it
    headroom    the share of each volume that stays free
    max_bytes   of an even plan, UNKNOWN: no limit
    arriving    what moves from other brokers will bring, to whichever log dir

    Without log dirs to `empty` the plan evens out.
    """

    empty: frozenset[str] = frozenset()
    tolerance: float = 0.1
    headroom: float = 0.05
    max_bytes: int = UNKNOWN
    arriving: int = 0


class DiskLimits(NamedTuple):
    """What holds where a caller says nothing.

    bandwidth   bytes/s that a broker copies between its log dirs
    """

    moves_per_broker: int = 5
    moves_per_batch: int = 1000
    bandwidth: int = 100_000_000


class BrokerDisks(NamedTuple):
    """`copying`: by log dir, bytes that running copies between log dirs have yet to bring."""

    dirs: tuple[DiskDir, ...]
    replicas: tuple[DiskReplica, ...]
    copying: tuple[tuple[str, int], ...] = ()


class DiskPlan(NamedTuple):
    """`left_out`: what the goal would move, with the reason. `furthest_…`: of the furthest volume from its target, as
    a share of it.
    """

    moves: list[DiskMove]
    left_out: list[tuple[DiskReplica, str]]
    furthest_before: float = 0.0
    furthest_after: float = 0.0
