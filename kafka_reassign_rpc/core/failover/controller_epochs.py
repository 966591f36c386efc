"""Under which epoch a controller has to be elected so that brokers obey.

Brokers refuse a controller with a lower epoch than they know (STALE_CONTROLLER_EPOCH), and do not say which that is.
`/controller_epoch` holds it, but that may have been lowered or deleted. Then the highest epoch that is known counts:
that of this server's last term, of the mark of the last control, of the states of partitions; and if brokers know a
still higher one, the epoch rises until they obey.
"""

from collections.abc import Generator

from kafka_reassign_rpc.core.state.cluster import Cluster

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
