"""Whether somebody else has controlled the cluster for long: then what waits in the queue is held.

Moves that waited for a server of this product were decided for the cluster as it was then. After a migration to KRaft
that was rolled back, or after weeks under a stock controller, an operator looks at them first.
"""

import msgspec

from kafka_reassign_rpc.core.config_values import INT64, number
from kafka_reassign_rpc.core.reassignment_settings import HOLD_AFTER_ABSENCE, ReassignmentSettings
from kafka_reassign_rpc.core.settings_in_force import in_force
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.support.human_units import utc_time

UNREADABLE = "who has controlled this cluster before is not known: the mark of the last control cannot be read"


class LastControl(msgspec.Struct, frozen=True):
    """The last time that a server of this product is known to have controlled the cluster.

    epoch   its controller epoch
    until   ms since 1970: it was the controller then
    kraft   whether a server has seen a KRaft controller in control since
    """

    epoch: int
    until: int
    kraft: bool = False


def limit_in_force(cluster: Cluster, settings: ReassignmentSettings) -> int:
    """ms of control by others that holds nothing; -1: however long it is."""
    return in_force(cluster, HOLD_AFTER_ABSENCE, lambda text: number(text, -1, INT64), settings.hold_after_absence_ms)


def held_after(last: LastControl | str | None, epoch: int, now: int, limit: int) -> Held | None:
    """Returns as what the waiting moves are held at the start of a term; None: they may start.

    last    None: no server has left a mark, so nothing is known of an absence. A text: why it cannot be read
    epoch   of the term that starts: one more than that of `last` says that nobody else was elected. A lower one says
            that somebody has set it back
    now     ms since 1970
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
        return f"KRaft has controlled this cluster {since}: look whether the move still makes sense"
    if epoch == last.epoch + 1 or limit < 0 or now - last.until <= limit:
        return None
    return f"others have controlled this cluster {since}: look whether the move still makes sense"
