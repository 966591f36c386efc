"""KRaft's controller, as far as one partition and its reassignment go: no I/O, no clock.

From ReplicationControlManager, PartitionReassignmentReplicas, PartitionReassignmentRevert (4.1 to 4.4).
"""

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.phases.sightings import SeenPartition

Replicas = tuple[int, ...]


class KRaftPartition:
    """at           as listed
    isr          in sync
    eligible     who may lead without loss although nobody is in sync (KIP-966)
    cordoned     4.4: no target may name one of these
    history      all assignments, the latest last: a broker may answer with an older one
    """

    def __init__(self, *replicas: int) -> None:
        self.at = SeenPartition(replicas)
        self.isr = replicas
        self.eligible: Replicas = ()
        self.cordoned: frozenset[int] = frozenset()
        self.history = [self.at]

    def alter(self, target: Replicas | None) -> KafkaError | None:
        if target is None:
            return self._cancel()
        if not self.cordoned.isdisjoint(target):
            return InvalidReplicaAssignment("cordoned")
        replicas = self.at.replicas
        removing = tuple(sorted(set(replicas) - set(target)))
        adding = tuple(sorted(set(target) - set(replicas)))
        after = SeenPartition(target + removing, adding or self.at.adding, removing or self.at.removing)
        if after != self.at:
            self._put(after)
            self._complete()
        return None

    def _cancel(self) -> KafkaError | None:
        if not self.at.is_moving:
            return NoReassignmentInProgress()
        adding = self.at.adding
        isr = tuple(replica for replica in self.isr if replica not in adding)
        if not isr:
            return InvalidReplicaAssignment("unclean")
        self.isr = isr
        self._put(SeenPartition(tuple(replica for replica in self.at.replicas if replica not in adding)))
        return None

    def lose_all(self) -> None:
        """The brokers of all replicas go, one after the other. The last one stays eligible, and leads once it is
        back."""
        self.isr, self.eligible = (), self.isr[-1:] or self.eligible

    def catch_up(self) -> None:
        """All replicas get in sync, one after the other; a removing one does not come back."""
        self.isr = tuple(dict.fromkeys((*self.isr, *self.eligible, *self.at.adding, *self.at.target)))
        self.eligible = ()
        self._complete()

    def _complete(self) -> None:
        if not self.at.is_moving:
            return
        isr = tuple(replica for replica in self.isr if replica not in self.at.removing)
        if isr and set(self.at.adding) <= set(isr) and set(self.at.target) <= set(isr):
            self.isr = isr
            self._put(SeenPartition(self.at.target))

    def _put(self, at: SeenPartition) -> None:
        self.at = at
        self.isr = tuple(replica for replica in self.isr if replica in at.replicas)
        self.history.append(at)
