"""What was read of KIP-236's znodes."""

from collections.abc import Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.state.queue_entries import QueuePart
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchZnode, CancelAll


class ZnodeProblem(NamedTuple):
    """A problem of the batch or of a part of a queue, for operators.

    root     path of the batch or of the queue's root
    changed  mzxid of the znode, -1: others have put children under it
    """

    root: str
    path: str
    changed: int
    text: str


class QueueRootRead(NamedTuple):
    """`part` None: the znode does not exist. `children`: paths of its parts; `has_children`: other children too."""

    root: str
    part: QueuePart | None = None
    children: Sequence[str] = ()
    has_children: bool = False
    problems: Sequence[ZnodeProblem] = ()


class AdminZnodes(NamedTuple):
    """`problems`: those of the batch."""

    disabled_by_znode: bool
    cancel_all: CancelAll | None
    batch: BatchZnode | None
    problems: Sequence[ZnodeProblem] = ()
