"""What is known of the controllers before this one: under which epoch a controller has to be elected so that brokers
obey, and for how long others have controlled the cluster.

Brokers refuse a controller with a lower epoch than they know (STALE_CONTROLLER_EPOCH), and do not say which that is.
`/controller_epoch` holds it, but that may have been lowered or deleted. Then the highest epoch that is known counts:
that of this server's last term, of the mark of the last control, of the states of partitions; and if brokers know a
still higher one, the epoch rises until they obey.

What waits in the queue was decided for the cluster as it was. After a migration to KRaft that was rolled back, or weeks
under a stock controller, it is held: an operator checks it first.
"""

from collections.abc import Generator

import msgspec

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.support.human_units import utc_time

UNREADABLE = "it is not known who has controlled this cluster before: the mark of the last control cannot be read"


class LastControl(msgspec.Struct, frozen=True):
    """The last time that a server of this product is known to have controlled the cluster.

    epoch   the controller epoch
    until   when it last was the controller, in ms since 1970
    kraft   whether a KRaft controller has been seen in control since
    zxid    of the write of this mark, where it was read
    """

    epoch: int
    until: int
    kraft: bool = False
    zxid: int = -1


def held_after(last: LastControl | str | None, epoch: int, now: int, limit: int) -> Held | None:
    """How the waiting moves are held at the start of a term, None if they may start. `now` is in ms since 1970.

    last    None if no server has left a mark, so that no absence is known; a text says why the mark cannot be read
    epoch   of the term that starts: if it follows that of `last`, no other controller was elected; if it is lower, it
            was set back
    limit   the longest control by others, in ms, that holds nothing; -1 means any
    """
    why = _why(last, epoch, now, limit)
    return None if why is None else Held(now, CONTROLLER.who, why)


def _why(last: LastControl | str | None, epoch: int, now: int, limit: int) -> str | None:
    if last is None:
        return None
    if isinstance(last, str):
        return UNREADABLE
    since = f"since {utc_time(last.until)} UTC"
    if last.kraft:
        return f"KRaft has controlled this cluster {since}: check whether the move still makes sense"
    if epoch == last.epoch + 1 or limit < 0 or now - last.until <= limit:
        return None
    return f"others have controlled this cluster {since}: check whether the move still makes sense"


STEPS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""By how much the epoch rises each time that a broker refuses it. After the last step the broker is taken to be wrong.
"""
FARTHEST = 10_000_000
"""A state that is this far ahead is not believed: a client that can write one could use up all epochs."""


def is_believable(epoch: int, own: int) -> bool:
    return epoch - own <= FARTHEST


def highest_epoch(cluster: Cluster, own: int) -> Generator[None, None, int]:
    """Of the controllers that have written states of partitions, as far as these are believed in a term of epoch
    `own`."""
    found = 0
    for topic in list(cluster.topics.values()):
        for value in topic.partitions.values():
            if value.controller_epoch > found and is_believable(value.controller_epoch, own):
                found = value.controller_epoch
        yield
    return found


class KnownEpochs:
    """What a process knows, over its terms. `highest`: the next term has a higher epoch."""

    def __init__(self) -> None:
        self.highest = 0
        self._refusals = 0

    def elected(self, epoch: int) -> None:
        self.highest = max(self.highest, epoch)

    def found(self, epoch: int, own: int) -> bool:
        """Whether the term of epoch `own` has to end, since another controller has had this epoch."""
        if epoch < own or not is_believable(epoch, own):
            return False
        self.highest = max(self.highest, epoch)
        return True

    def refused(self, own: int) -> bool:
        """A broker has refused this epoch, although no other controller is elected. Whether a higher one may help."""
        if self._refusals == len(STEPS):
            return False
        self.highest = max(self.highest, own + STEPS[self._refusals] - 1)
        self._refusals += 1
        return True
