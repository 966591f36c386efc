"""Holds what waits in the queue after others have controlled the cluster for long.

The moves were decided for the cluster as it was. After a migration to KRaft that was rolled back, or weeks under a
stock controller, an operator checks them first.
"""

import msgspec

from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.support.human_units import utc_time

UNREADABLE = "it is not known who has controlled this cluster before: the mark of the last control cannot be read"


class LastControl(msgspec.Struct, frozen=True):
    """The last time that a server of this product is known to have controlled the cluster.

    epoch   the controller epoch
    until   when it last was the controller, in ms since 1970
    kraft   whether a KRaft controller has been seen in control since
    """

    epoch: int
    until: int
    kraft: bool = False


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
