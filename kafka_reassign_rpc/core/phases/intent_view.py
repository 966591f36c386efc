"""A round in front of KRaft: decisions become moves with a phase, and what looks have found moves on."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafka_reassign_rpc.core.events.decided_events import AssignmentDecision, reassigned
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.leadership.elections import allows_unclean
from kafka_reassign_rpc.core.phases.decided_moves import as_seen, decided
from kafka_reassign_rpc.core.phases.kraft_refusals import Cordons, cancel_refusal, cordons, target_refusal
from kafka_reassign_rpc.core.phases.phases import Act, Outcome, Step, first_act, outcome_event
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.reassignment_algebra import Replicas
from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

UNSEEN = "No broker shows this topic for now: ask again."


class EndedMove(NamedTuple):
    """See `outcome_event`."""

    outcome: Outcome
    replicas: Replicas | None
    reason: str


class IntentView(RoundView):
    """`recorded`: the moves that are durable, also of partitions that no look has shown.

    acts     what the cluster is sent once the round is durable
    checked  partitions of which a decision depends on what was seen of them last
    lost     moves of partitions that are gone
    ended    how moves have ended, as looks and the answers of the cluster say
    """

    queue_requester = Requester("queue")
    """No znode holds it."""
    may_be_written = False
    """A look comes first, and what has no answer then is repeated until it has one."""

    def __init__(
        self,
        cluster: Cluster,
        too_large: Collection[str] = (),
        recorded: Mapping[TopicPartition, MoveRecord] = MappingProxyType({}),
    ) -> None:
        super().__init__(cluster, too_large)
        self._recorded = recorded
        self.acts: dict[TopicPartition, Act] = {}
        self.checked: dict[TopicPartition, None] = {}
        self.lost: dict[TopicPartition, None] = {}
        self.ended: dict[TopicPartition, EndedMove] = {}
        self._is_found = False
        self._cordons: Cordons | None = None
        self._judged: tuple[Partition, PartitionChange, Partition | None] | None = None
        """What `refusal` was asked about last, and what follows from it: usually that is added next."""

    def add(self, change: Change) -> None:
        """Topics are the cluster's own: nothing is decided about them."""
        if not isinstance(change, PartitionChange):
            return
        topic, partition, _, assignment, missing, asked = change
        before = self.get(topic, partition)
        value = None if before is None else self._decided(before, change)
        if before is None or value is None or value.move is None:
            return
        if before.move is None or (before.move.phase, before.move.terms.target) != (
            value.move.phase,
            value.move.terms.target,
        ):
            name = TopicPartition(topic, partition)
            self.checked[name] = None
            self.acts[name] = first_act(before, value.move)
        super().add(PartitionChange(topic, partition, value, assignment, missing, asked))

    def stays(self, name: TopicPartition) -> KafkaError | None:
        """What moves to it is looked at all the time."""
        if name.topic in self.cluster.soft.unseen:
            return UnknownTopicOrPartition(UNSEEN)
        found = self.get(*name)
        if found is not None and not found.is_moving:
            self.checked[name] = None
        return None

    def refusal(self, change: PartitionChange) -> KafkaError | None:
        before = self.get(change.topic, change.partition)
        if before is None:
            return None
        if change.topic in self.cluster.soft.unseen:
            return UnknownTopicOrPartition(UNSEEN)
        value = self._decided(before, change)
        self._judged = before, change, value
        asks_again = change.value.move is not None and before.move is not None and before.move.phase is Phase.CANCEL
        if asks_again and (value is None or value.move is None or value.move.phase is Phase.CANCEL):
            return InvalidReplicaAssignment("The move to this target is being cancelled: ask again when that has ended")
        if value is None or value.move is None:
            return None
        if value.move.phase is Phase.CANCEL:
            name, allowed = TopicPartition(change.topic, change.partition), allows_unclean(self.cluster, change.topic)
            eligible = self.cluster.soft.kraft.eligible.get(name, ())
            return cancel_refusal(name, before.isr, before.adding, eligible, allows_unclean=allowed)
        if value.move.phase is Phase.START:
            return target_refusal(value.move.terms.target, before.replicas, self.cordons)
        return None

    @property
    def cordons(self) -> Cordons:
        """The same in all decisions of a round: facts come before them."""
        if self._cordons is None:
            self._cordons = cordons(self.cluster)
        return self._cordons

    def _decided(self, before: Partition, change: PartitionChange) -> Partition | None:
        if self._judged is not None and self._judged[0] is before and self._judged[1] is change:
            return self._judged[2]
        return decided(before, change.value, self.by, change.asked)

    def found(self, name: TopicPartition, step: Step, seen: SeenPartition) -> None:
        """What a look, or an answer of the cluster, means for a move."""
        before = self.get(*name)
        if before is None or before.move is None:
            return
        if step.outcome is not None:
            replicas = None if step.outcome is Outcome.REFUSED else seen.replicas
            self._end(name, before.move, EndedMove(step.outcome, replicas, step.reason))
        self.acts[name] = step.act
        self._is_found = True
        super().add(PartitionChange(*name, as_seen(before, seen, step.record)))
        self._is_found = False

    def lose(self, name: TopicPartition, record: MoveRecord, reason: str) -> None:
        """The partition is gone, and so is its move, if that is still this one."""
        if name in self.partitions or self._recorded.get(name) != record:
            return
        self._end(name, record, EndedMove(Outcome.GONE, None, reason))
        self.lost[name] = None

    def end_former(self, name: TopicPartition, record: MoveRecord, reason: str) -> None:
        """As `lose`; but another topic has the name by now, and the partition there may have a move of its own."""
        self._end(name, record, EndedMove(Outcome.GONE, None, reason))
        if name not in self.partitions:
            self.lost[name] = None

    def _end(self, name: TopicPartition, record: MoveRecord, ended: EndedMove) -> None:
        self.ended[name] = ended
        self.report(outcome_event(name, record, *ended))

    def _note(self, before: Partition | None, change: PartitionChange) -> None:
        if self._is_found:  # an outcome has an event of its own
            return
        super()._note(before, change)
        is_kept = before is not None and before.goes_back and not reassigned(before, change.value)
        if before is not None and is_kept and not change.value.goes_back:  # the present replicas, and no cancel
            self.notes.append(AssignmentDecision(change.topic, change.partition, before, change.value, self.by))
