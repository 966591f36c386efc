"""A round in front of KRaft: decisions become moves with a phase, and what looks have found moves on.

What is decided about a partition is a move with a phase, and the partition as it is shown until a look has seen more.
Leader, ISR and their epochs are the cluster's own: what a decision says of them is dropped.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.events.decided_events import AssignmentDecision, reassigned
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.leadership.elections import allows_unclean
from kafka_reassign_rpc.core.phases.kraft_refusals import Cordons, cancel_refusal, cordons, target_refusal
from kafka_reassign_rpc.core.phases.phases import Act, Outcome, Step, first_act, outcome_event, would_go_astray
from kafka_reassign_rpc.core.phases.sightings import SeenPartition, former_moves
from kafka_reassign_rpc.core.reassignment_algebra import Replicas, without
from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

MOST_REPLACED = 4
"""How many moves one record replaces: as many targets may follow one another before the cluster has answered the first.
"""


def decided(before: Partition, after: Partition, by: Requester, asked: MoveTerms | None = None) -> Partition | None:
    """None: nothing of it is for the cluster. `by`: who asked; `asked`: see `PartitionChange`. A cancel asks for no
    target: it goes back to the original replicas where the move has not ended before. Who names these as the target
    gets them in any case, by a move of their own if need be.
    """
    if not after.is_moving:
        if before.is_moving and after.replicas == before.target != before.original:  # the end of a move is seen
            return None
        if asked is None and before.original == after.replicas and (before.is_moving or _is_still_told(before.move)):
            return _cancelled(before, by)
    is_same = (after.replicas, after.adding, after.removing) == (before.replicas, before.adding, before.removing)
    if (is_same and (asked is None or before.is_moving or not before.goes_back)) or (
        before.is_moving and after.target == before.target and _goes_on(before.move)
    ):
        return _with_terms(before, after)
    return _started(before, after, by, asked)


def _is_still_told(move: MoveRecord | None) -> bool:
    return move is not None and move.phase is Phase.START


def _goes_on(move: MoveRecord | None) -> bool:
    return move is not None and move.phase in (Phase.START, Phase.MOVING)


def _with_terms(before: Partition, after: Partition) -> Partition | None:
    """The same move with another lease, route or reason."""
    if before.move is None or after.move is None or before.move.terms == after.move.terms:
        return None
    return replace(before, move=replace(before.move, terms=after.move.terms))


def _cancelled(before: Partition, by: Requester) -> Partition | None:
    move = before.move or adopted(before)
    if move.phase in (Phase.CANCEL, Phase.RESTORE):
        return None
    return replace(before, move=replace(move, phase=Phase.CANCEL, cancelled_by=None if by == CONTROLLER else by))


def _started(before: Partition, after: Partition, by: Requester, asked: MoveTerms | None) -> Partition:
    known = before.move or (adopted(before) if before.is_moving else None)
    terms = asked or MoveTerms(after.target, by=None if by == CONTROLLER else by)
    if known is None:
        return as_started(before, MoveRecord(terms, before.replicas, phase=Phase.START))
    original, added = known.original, (*known.retained, *before.adding)
    record = MoveRecord(
        terms,
        original,
        retained=tuple(dict.fromkeys(without(added, original))),
        phase=Phase.START,
        replaces=_trimmed(known),
    )
    return as_started(before, record)


def _trimmed(record: MoveRecord) -> MoveRecord | None:
    """Without some between the latest and the oldest: these were never sent, since each waits for a look."""
    chain = [record, *former_moves(record)]
    kept = chain if len(chain) <= MOST_REPLACED else [*chain[: MOST_REPLACED - 2], *chain[-2:]]
    made: MoveRecord | None = None
    for one in reversed(kept):
        made = replace(one, replaces=made)
    return made


def adopted(partition: Partition) -> MoveRecord:
    """The record of a move in flight that others have started: of its original replicas only the present order is
    known.
    """
    return MoveRecord(MoveTerms(partition.target), partition.origin, phase=Phase.MOVING, adopted=True)


def as_started(partition: Partition, record: MoveRecord) -> Partition:
    """As the cluster lists it after the Alter (ReplicationControlManager, PartitionReassignmentReplicas)."""
    seen, target = SeenPartition(partition.replicas, partition.adding, partition.removing), record.terms.target
    is_cancelled_first = would_go_astray(seen, target)
    present: Replicas = without(seen.replicas, seen.adding) if is_cancelled_first else seen.replicas
    adding = tuple(sorted(without(target, present))) or (() if is_cancelled_first else seen.adding)
    removing = tuple(sorted(without(present, target)))
    return replace(partition, replicas=target + removing, adding=adding, removing=removing, move=record)


def as_seen(partition: Partition, seen: SeenPartition, record: MoveRecord | None) -> Partition:
    """As a look has found it. A move that has yet to be sent counts as in flight, for caps and for clients that ask; so
    do those that it replaces, if they had yet to be sent as well.
    """
    value = replace(partition, replicas=seen.replicas, adding=seen.adding, removing=seen.removing, move=record)
    return with_unsent(value, seen)


def with_unsent(value: Partition, seen: SeenPartition) -> Partition:
    """See `as_seen`."""
    record = value.move
    if record is None or record.phase is not Phase.START:
        return value
    for started in reversed([*_unsent(record, seen)]):
        value = as_started(value, started)
    return value


def _unsent(record: MoveRecord, seen: SeenPartition) -> Iterator[MoveRecord]:
    """The latest first."""
    for one in (record, *former_moves(record)):
        if seen.is_moving and seen.target == one.terms.target:
            break
        if one.phase is Phase.START:
            yield one


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
    needs_newest
             whether what others have changed a moment before would make an answer wrong: that a partition has its
             target, or the replicas that a request expects
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
        self.needs_newest = False
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
            self.needs_newest |= asked is not None and asked.expected is not None
        super().add(PartitionChange(topic, partition, value, assignment, missing, asked))

    def stays(self, name: TopicPartition) -> KafkaError | None:
        """What moves to it is looked at all the time."""
        if name.topic in self.cluster.soft.unseen:
            return UnknownTopicOrPartition(UNSEEN)
        found = self.get(*name)
        if found is not None and not found.is_moving:
            self.checked[name] = None
            self.needs_newest = True
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
