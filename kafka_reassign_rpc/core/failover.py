"""Controller failover: under which epoch a new controller is elected, and what it decides about what it has loaded.

The former controller may have stopped between any two of its writes. The new one completes its work:

in the topic znode               elsewhere                  the new controller
no move                          a move record              removes the record: nothing had moved (an orphan)
no move, pending deletion        ISR or leader among them   takes them out of the ISR and elects another leader; if
                                                            no other is in sync, they stay until one is
a move                           no record                  writes one with the present origin (a stock move)
a move                           record of another target   corrects the record: the topic znode is the truth
a move                           the target is in sync      completes the move (again)
a move                           otherwise                  continues it, with a higher leader epoch, since it
                                                            cannot know which replicas the former one has reached
a partition                      no state                   writes the first leader and ISR, unless a deletion mark
                                                            of its topic waits (`topics.topic_deletion`)
other replicas, none in sync     -                          `round.changed_by_others`
its own broker id as a replica   -                          `topics.missing_replicas`, unless a broker has the id
                                                            (`topics.missing_replicas`)
a cordoned broker as a replica   never a state, newer       `topics.missing_replicas`
                                 than the cordon

Replicas that are pending deletion get their StopReplica again. A log that a dead stock controller had not yet stopped
stays on its broker: such a controller ends a move in the topic znode without waiting for StopReplica's answer
(`KafkaController.onPartitionReassignment`), and nothing names that replica afterwards. Kafka's failover leaves it too:
`ReplicaStateMachine.startup` goes by the assignment.

What others have edited by hand while no controller ran is known as far as brokers prove it: they know what the last
controller has told them. Who does not answer, or has started since, proves nothing.

in ZooKeeper                        as brokers know it            the controller
a topic with states, without an id  one id                        gives it that one: brokers refuse their logs under
                                                                  another
one that no controller has had,     one id                        gives it a new one: the name was another topic's,
without an id                                                     with higher epochs
the znode is as old as what         another id                    names both: the one that was written may be meant
brokers know, and was written since
a state with a leader               another, in the same leader   raises the leader epoch, so that brokers act on what
                                    epoch                         was written: an epoch has one leader

An edit that the running controller reads: `core.round.changed_by_others`.

The epoch under which it has to be elected so that brokers obey comes from the controllers before it. Brokers refuse a
controller with a lower epoch than they know (STALE_CONTROLLER_EPOCH), and do not say which that is. `/controller_epoch`
holds it, but that may have been lowered or deleted. Then the highest epoch that is known counts: that of this server's
last term, of the mark of the last control, of the states of partitions; and if brokers know a still higher one, the
epoch rises until they obey.

What waits in the queue was decided for the cluster as it was. After a migration to KRaft that was rolled back, or weeks
under a stock controller, it is held: an operator checks it first.
"""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.leadership.broker_changes import adapted
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, first_electable, first_live, unclean_leader
from kafka_reassign_rpc.core.reassignment_algebra import among
from kafka_reassign_rpc.core.round.changed_by_others import put_back, with_former_state, with_live_in_sync
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    Change,
    PartitionChange,
    RoundView,
    assignment_write,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition, Topic, topic_id_text
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.missing_replicas import corrected, place_missing
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.slices import sorted_in_slices


def reassigned_by_others(known: Partition | None, read: Partition) -> bool:
    """Whether others have given a known partition other replicas or another leader without a higher leader epoch.

    Brokers act on LeaderAndIsr only with a higher one. A leader with old replicas asks for an ISR with a replica that
    has left, and a stock leader never asks again once that is refused. A former leader goes on leading, while clients
    are sent to the one that was written.
    """
    return (
        known is not None
        and known.leader_epoch >= read.leader_epoch
        and (
            (known.replicas != read.replicas and set(known.replicas) != set(read.replicas))
            or (known.leader != read.leader and known.partition_epoch >= 0)
        )
    )


def fail_over(
    view: RoundView,
    topic: str,
    index: int,
    *,
    own_id: int = -1,
    is_as_known: bool = False,
    is_reassigned: bool = False,
) -> list[Change]:
    """own_id          this server's broker id, which no assignment may contain
    is_as_known     this controller read the partition again as it left and propagated it: a move continues unchanged,
                    since each higher leader epoch stops its followers for a moment
    is_reassigned   see `reassigned_by_others`; a new controller has no former value, and knows by brokers
                    (`proven`)
    """
    partition = view.get(topic, index)
    if partition is None:
        return []
    found = view.cluster.topics[topic]
    former = view.cluster.soft.former.of(found).get(index)
    known = partition
    if former is not None:
        is_repaired = view.cluster.soft.former.is_repaired(found, index)
        known = with_former_state(partition, former, is_repaired=is_repaired)
    elif view.cluster.soft.former.is_put_back(found, index):
        known = put_back(partition)
    value, missing = place_missing(view, topic, index, known, own_id)
    if former is None and known is partition:
        value = corrected(view, topic, index, value, own_id)
    placed = value is not known
    edited, value = value, with_live_in_sync(view.cluster, value, former)
    if value is not edited:
        _report_kept(view, topic, index, edited, value)
    value = _without_former_replicas(view.cluster, topic, value)
    value = adapted(view.cluster, topic, value)
    if value.is_moving:
        if not (is_as_known and value is partition):
            value = _resumed(value, partition)
    elif value.move is not None:
        # An orphan, or the end of a move that was not propagated: a higher leader epoch makes replicas accept it.
        value = replace(value, move=None, leader_epoch=max(value.leader_epoch, partition.leader_epoch + 1))
    if is_reassigned and partition.partition_epoch >= 0 and value.leader_epoch == partition.leader_epoch:
        value = replace(value, leader_epoch=partition.leader_epoch + 1)
    if value is partition:
        return []
    write = AssignmentWrite.NOW if placed else assignment_write(view, topic, partition, value)
    return [PartitionChange(topic, index, value, write, missing if placed else None)]


def _report_kept(view: RoundView, topic: str, index: int, edited: Partition, kept: Partition) -> None:
    moves = kept.target == edited.target
    reason = (
        "none of the replicas that others have written into the topic's znode is in sync and alive: the partition"
        " moves to them, and keeps replicas in sync until then"
        if moves
        else "all replicas were taken out of the topic's znode: they are written back"
    )
    view.report(
        Event(
            catalogue.PARTITION_EDIT_NOT_FOLLOWED,
            topic,
            index,
            reason=reason,
            target=edited.target,
            replicas=kept.replicas,
        )
    )


def _without_former_replicas(cluster: Cluster, topic: str, partition: Partition) -> Partition:
    """After a half-written cancel or change of target."""
    if not allows_unclean(cluster, topic):
        partition = _with_all_in_sync(partition)
    isr = among(partition.isr, partition.replicas)
    if isr == partition.isr and partition.leader in (NO_LEADER, *partition.replicas):
        return partition
    if not isr:
        # All records are on replicas that left. Only an unclean election helps. The former controller did this only
        # where the topic allows it; a stock controller always does, and the partition stays offline.
        if allows_unclean(cluster, topic):
            live = first_live(cluster, partition, partition.replicas)
            if live is not None:
                return unclean_leader(partition, live)
            isr = partition.replicas[:1]
        else:
            isr = partition.isr
        if partition.leader == NO_LEADER and isr == partition.isr:
            return partition
        return replace(partition, leader=NO_LEADER, isr=isr, leader_epoch=partition.leader_epoch + 1)
    leader = partition.leader
    if leader not in partition.replicas:
        elected = first_electable(cluster, partition, partition.replicas, isr)
        leader = NO_LEADER if elected is None else elected
    return replace(partition, isr=isr, leader=leader, leader_epoch=partition.leader_epoch + 1)


def _with_all_in_sync(partition: Partition) -> Partition:
    """If all in-sync replicas are pending deletion, keeps them until the others have caught up.

    No change of ours leaves that while an in-sync replica lives: the record is older than a stock controller's move.
    """
    move = partition.move
    kept = partition.pending_deletion
    if move is None or not among(partition.isr, kept) or among(partition.isr, partition.replicas):
        return partition
    return replace(
        partition,
        replicas=partition.replicas + kept,
        removing=partition.removing + kept,
        pending_deletion=(),
        move=replace(move, retained=(*move.retained, *kept)),
    )


def _resumed(value: Partition, loaded: Partition) -> Partition:
    move = value.move
    if move is None:
        move = MoveRecord(MoveTerms(value.target), value.origin)
    else:
        original = move.original if set(move.original) == set(value.origin) else value.origin
        terms = replace(move.terms, target=value.target)
        move = replace(move, terms=terms, original=original, retained=value.retained)
    return replace(value, move=move, leader_epoch=max(value.leader_epoch, loaded.leader_epoch + 1))


MOST_PARTITIONS = 10_000
"""Of how many partitions a broker is asked."""
MOST_WRITTEN = 2_000
"""Of how many in topics that have an id, those that were written last first: while no controller runs, only edits are
written. A controller that dies with thousands of moves under way has written all of them."""


class Told(NamedTuple):
    """What one broker knows. `leaders`: with their leader epochs; only those that live."""

    broker: int
    ids: dict[str, UUID]
    leaders: dict[TopicPartition, tuple[int, int]]


class IdEdited(NamedTuple):
    """`brokers` know the topic by `known`."""

    topic: str
    now: UUID
    known: UUID
    brokers: Sequence[int]

    @property
    def text(self) -> str:
        """A clause."""
        known, now = topic_id_text(self.known), topic_id_text(self.now)
        return (
            f"the topic_id of /brokers/topics/{self.topic} was edited from {known} to {now}, and brokers refuse their"
            f" logs under that (INCONSISTENT_TOPIC_ID): write {known} there, unless the logs are of no use"
        )


class Edits(NamedTuple):
    """lost     the ids of topics that have none
    edited   topics with another id
    leaders  partitions with another leader
    """

    lost: Mapping[str, UUID] = {}
    edited: Sequence[IdEdited] = ()
    leaders: Collection[TopicPartition] = ()


def to_ask_about(cluster: Cluster, written: Mapping[str, int], since: int) -> Generator[None, None, list[str]]:
    """Topics without an id, and those of which something was `written` after this zxid: that of the last mark of a
    controller of ours, which is a minute older than its end at most."""
    suspects = list[tuple[bool, int, str]]()
    for topic in list(cluster.topics.values()):
        last = written.get(topic.name, -1)
        if not topic.deleting and (topic.id is None or last > since):
            suspects.append((topic.id is not None, -last, topic.name))
        yield
    names, asked = list[str](), 0
    for has_id, _, name in chain.from_iterable((yield from sorted_in_slices(suspects))):
        size, most = len(cluster.topics[name].partitions), MOST_WRITTEN if has_id else MOST_PARTITIONS
        if asked + size <= most or not (has_id or names):
            names.append(name)
            asked += size
        yield
    return names


def is_as_stored(cluster: Cluster, names: Sequence[str], told: Told) -> bool:
    """Whether a broker knows all of these topics by the ids that they have: no other need be asked."""
    return all(name in told.ids and told.ids[name] == cluster.topics[name].id for name in names)


def proven(cluster: Cluster, told: Sequence[Told], since: int) -> Generator[None, None, Edits]:
    lost, edited, leaders, given = dict[str, UUID](), list[IdEdited](), set[TopicPartition](), set[UUID]()
    for name in {name: None for one in told for name in one.ids}:
        topic, known = cluster.topics.get(name), {one.broker: one.ids[name] for one in told if name in one.ids}
        if topic is None or len(set(known.values())) > 1:
            continue
        (id_,) = set(known.values())
        if topic.id is None:
            had_one = any(value.partition_epoch >= 0 for value in topic.partitions.values())
            if had_one and id_ not in cluster.topic_names and id_ not in given:
                lost[name] = id_
                given.add(id_)
        elif topic.id != id_ and topic.created <= since < topic.id_since:
            edited.append(IdEdited(name, topic.id, id_, sorted(known)))
        yield
    for one in told:
        for partition, (leader, epoch) in one.leaders.items():
            topic, value = cluster.topics.get(partition.topic), cluster.get(*partition)
            is_same = topic is not None and topic.id in (None, one.ids.get(partition.topic))
            has_epoch = value is not None and value.partition_epoch >= 0 and value.leader_epoch == epoch
            if is_same and has_epoch and value is not None and NO_LEADER != leader != value.leader:
                leaders.add(partition)
            yield
    return Edits(lost, edited, leaders)


def keep_ids(cluster: Cluster, lost: Mapping[str, UUID]) -> Iterator[None]:
    """The failover gives these topics the ids that they had."""
    for name, id_ in lost.items():
        topic = cluster.topics[name]
        cluster.soft.former.keep(Topic(name, id_, {}, created=topic.created), {}, is_reported=True)
        yield


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
