"""Random histories of one partition: clients of ours, a foreign writer, crashes and take-overs between any two steps,
brokers that answer with what was. What is durable is one record, as in the state log.
"""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.phases.intent_view import as_seen, decided
from kafka_reassign_rpc.core.phases.kraft_refusals import Cordons, no_restore
from kafka_reassign_rpc.core.phases.phases import Act, Outcome, Step, after_done, after_refusal, first_act, next_step
from kafka_reassign_rpc.core.phases.sightings import SeenPartition, Sighting, former_moves, sighting
from kafka_reassign_rpc.core.reassignment_algebra import Reassigned, cancelled, reassign
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from tests.core.phases.kraft_model import KRaftPartition
from tests.effort import examples

Replicas = tuple[int, ...]
Happening = Callable[["World"], object]

THEIRS = 9
"""A broker in all targets of the foreign writer, and in none of ours."""
OURS: list[Replicas] = [(3, 2), (2, 3), (4, 2), (3, 4), (4, 1), (1, 2, 3), (2, 1), (1,), (1, 2)]
FOREIGN: list[Replicas] = [(1, 9), (9, 3), (2, 9, 1)]
LONG_ENOUGH = 12
"""Looks after which a move has ended, if replicas catch up and others leave it alone."""


class World:
    """`record` is durable. What a server has seen, and what it is about to send, dies with it.

    ended       how often each acknowledged move has ended; `replaced`: those that another target has followed
    in_the_air  what a server that is gone, or this one without an answer, has sent: it may arrive until it is settled
    is_deleted  the partition is gone
    met         rows of the table of phases that looks have met, each with `since`: what a test says has happened before
    """

    def __init__(self) -> None:
        self.kraft = KRaftPartition(1, 2)
        self.record: MoveRecord | None = None
        self.acknowledged = 0
        self.ended: Counter[int] = Counter()
        self.replaced: set[int] = set()
        self.cancelled: set[int | None] = set()
        self.outcomes: set[Outcome] = set()
        self.in_the_air: tuple[MoveRecord, Act] | None = None
        self.is_deleted = False
        self.since = ""
        self.met: set[tuple[str, Phase, Sighting]] = set()
        self._last_look = 0
        self._foreign = self._late = -1
        """Places in the history of the cluster: as old as a broker's answer may be, where others wrote last, and where
        what had lost its answer arrived."""
        self._is_theirs = False
        """Whether the last Alter that the cluster has taken was theirs."""
        self._is_of_the_past = False
        """Whether it was one of ours whose move was over."""
        self._begin()

    def _begin(self) -> None:
        self._seen: SeenPartition | None = None
        self._unsettled = False
        self._before: SeenPartition | None = None
        self._looks = 0
        self._oldest = 0
        self._to_tell: tuple[MoveRecord, Act] | None = None
        self._shown: Partition | None = None
        self._last_look = 0
        self._is_sure = False
        """Whether this term has decided on a request."""

    # ------------------------------------------------------------------------------------------- what may happen

    def crash(self) -> None:
        """Another server takes over."""
        self.in_the_air = self._to_tell
        self._begin()

    def foreign(self, target: Replicas | None) -> None:
        if not self.is_deleted and self.kraft.alter(target) is None:
            self._foreign, self._is_theirs = len(self.kraft.history) - 1, target is not None

    def client(self, target: Replicas | None) -> None:
        """An Alter or a cancel: decided on what was seen last, durable, answered. The first decision of a term waits
        for a look at what the cluster has (`KRaftStore.sure_s`): what the term began with may be older than that."""
        if self._shown is not None and not self._is_sure:
            self.look(0)
            self._is_sure = True
        before = self._shown
        if before is None or (target is None and not _may_go_back(before)):
            return
        if target == before.target and (before.is_moving or not before.goes_back):
            return
        to = cancelled(before) if target is None else reassign(before, target)
        value = decided(before, _after(before, to, target), CONTROLLER, None if target is None else MoveTerms(target))
        if value is None or value.move is None:
            goes_back = before.move is not None and before.move.phase in (Phase.CANCEL, Phase.RESTORE)
            assert target is not None or not before.is_moving or goes_back, "a cancel that is acknowledged is durable"
            return
        record = value.move
        if record.id is None:
            self.acknowledged += 1
            record = replace(record, id=self.acknowledged)
            if self.record is not None and self.record.id is not None:
                self.replaced.add(self.record.id)
        self.record, self._shown = record, replace(value, move=record)
        self._to_tell = record, first_act(before, record)
        self._looks = 0

    def look(self, stale: int) -> None:
        """What moves is as the controller has it; what is at rest as a broker has it, which may be `stale`."""
        at: SeenPartition | None = self.kraft.at
        history, is_settled = self.kraft.history, self.in_the_air is None
        if self.is_deleted:
            at = None
        elif not self.kraft.at.is_moving:
            at = SeenPartition(history[max(self._last_look, len(history) - 1 - stale)].replicas)
        self._looks = self._looks + 1 if at == self._seen else 1
        self._looks = 1 if is_settled and self._unsettled else self._looks
        self._unsettled = not is_settled
        before, self._seen = self._seen, at
        self._oldest, self._last_look = self._last_look, len(history) - 1
        self._to_tell = None
        record = self.record
        if record is not None:
            self.met.add((self.since, record.phase or Phase.START, sighting(record, at)))
            why = no_restore(record.original, Cordons(self.kraft.cordoned, staying=True))
            step = next_step(record, at, self._looks, before=before, is_settled=is_settled, no_restore=why)
            self._take(record, step, at or SeenPartition(()))
            if step.record is not None and step.act is not Act.NOTHING:
                self._to_tell = step.record, step.act
        self._shown = None if at is None else as_seen(Partition(at.replicas), at, self.record)

    def tell(self) -> None:
        if self._to_tell is None:
            return
        (record, act), seen = self._to_tell, self._seen or SeenPartition(())
        self._begin_looks()
        error = self._arrives(record, act)
        if error is not None and record == self.record:
            self._take(record, after_refusal(record, act, error), seen)
            self._shown = None
        elif error is None and record == self.record:
            self.record = after_done(record, act)
            self._shown = None if self._shown is None else replace(self._shown, move=self.record)

    def arrive(self) -> None:
        if self.in_the_air is not None:
            (record, act), self.in_the_air = self.in_the_air, None
            assert act is not Act.SEND or record.id not in self.cancelled, "a cancel has ended once nothing can undo it"
            self._arrives(record, act, is_late=True)

    # ------------------------------------------------------------------------------------------------- its parts

    def _begin_looks(self) -> None:
        self._to_tell, self._seen, self._looks = None, None, 0

    def _arrives(self, record: MoveRecord, act: Act, *, is_late: bool = False) -> KafkaError | None:
        if act is Act.NOTHING:
            return None
        if self.is_deleted:
            return UnknownTopicOrPartition()
        at = self.kraft.at
        knows = any(
            THEIRS in (*one.original, *one.retained, *one.terms.target) for one in (record, *former_moves(record))
        )
        if not is_late and self._is_theirs and THEIRS in at.replicas and not knows and not at.never_ends:
            assert self._foreign > self._oldest, "what another has started is overwritten in the window at most"
        targets = {Act.SEND: record.terms.target, Act.CANCEL: None, Act.RESTORE: record.original}
        error = self.kraft.alter(targets[act])
        if error is None:
            self._is_theirs = False
            meets_late = is_late or self._late > self._last_look
            self._is_of_the_past = is_late and (self.record is None or self.record.id != record.id)
            if is_late:
                self._late = len(self.kraft.history) - 1
            is_without_end = self.kraft.at.never_ends and THEIRS not in self.kraft.at.replicas
            assert not is_without_end or meets_late, "it meets others' at most, or what no look has shown"
        return error

    def _take(self, record: MoveRecord, step: Step, seen: SeenPartition) -> None:
        self.record = step.record
        if step.outcome is None or (step.record is not None and step.record.id == record.id):
            return  # only its cancel was refused
        assert record.id is not None
        self.ended[record.id] += 1
        self.outcomes.add(step.outcome)
        if step.record is not None and step.record.id is not None:
            self.replaced.discard(step.record.id)
        if step.outcome is Outcome.CANCELLED and not step.reason:
            self.cancelled.add(record.id)
            assert seen.replicas == record.original, "a cancel gives the original order"
        if step.outcome is Outcome.DONE and record.phase is not Phase.CANCEL:
            since = self.kraft.history[self._oldest :]
            assert SeenPartition(record.terms.target) in since, "it was so since the look before"

    def look_without(self) -> None:
        """A broker leaves the topic out: this says nothing, and the next look counts as the first."""
        self._begin_looks()

    def lose_the_answer(self) -> None:
        """What is sent arrives, at any time until it is settled."""
        if self._to_tell is not None and self.in_the_air is None:
            self.in_the_air = self._to_tell
            self._begin_looks()

    def come_to_rest(self) -> None:
        self.arrive()
        for _ in range(LONG_ENOUGH):
            self.look(0)
            self.tell()
            self.kraft.catch_up()

    def check(self) -> None:
        assert self.record is None, "each move ends"
        for id_ in range(1, self.acknowledged + 1):
            assert self.ended[id_] + (id_ in self.replaced) == 1, f"move {id_} has one outcome"
        is_by_others = self._is_theirs or THEIRS in self.kraft.at.replicas
        assert is_by_others or self._is_of_the_past or not self.kraft.at.never_ends, (
            "no Alter of ours makes such a move"
        )


def _may_go_back(partition: Partition) -> bool:
    is_told = partition.move is None or partition.move.phase is not Phase.START
    return partition.is_moving or (not is_told and partition.replicas != partition.original)


def _after(before: Partition, to: Reassigned, target: Replicas | None) -> Partition:
    move = None if target is None or not to.is_moving else MoveRecord(MoveTerms(target), before.original)
    return replace(before, replicas=to.replicas, adding=to.adding, removing=to.removing, move=move)


OF_OTHERS: st.SearchStrategy[Happening] = st.one_of(
    st.sampled_from(FOREIGN).map(lambda target: lambda world: world.foreign(target)),
    st.just(lambda world: world.foreign(None)),
)
OWN: st.SearchStrategy[Happening] = st.one_of(
    st.sampled_from(OURS).map(lambda target: lambda world: world.client(target)),
    st.just(lambda world: world.client(None)),
    st.integers(0, 3).map(lambda stale: lambda world: world.look(stale)),
    st.just(lambda world: world.tell()),
    st.just(lambda world: world.look_without()),
    st.just(lambda world: world.lose_the_answer()),
    st.just(lambda world: world.crash()),
    st.just(lambda world: world.arrive()),
    st.just(lambda world: world.kraft.catch_up()),
    st.just(lambda world: world.kraft.lose_all()),
)
HAPPENINGS = st.one_of(OF_OTHERS, OWN)


CANCELLED_BEHIND_A_BROKER_THAT_LAGS: list[Happening] = [
    lambda world: world.client((1, 2, 3)),
    lambda world: world.tell(),
    lambda world: world.look(0),
    lambda world: world.foreign(None),
    lambda world: world.look(1),
]


WHAT_IS_OVER_ARRIVES_LATE_AND_MEETS_THE_NEXT: list[Happening] = [
    lambda world: world.client((3, 2)),
    lambda world: world.lose_the_answer(),
    lambda world: world.foreign((1, 9)),
    lambda world: world.look(0),
    lambda world: world.foreign(None),
    lambda world: world.look(0),
    lambda world: world.arrive(),
    lambda world: world.client((2, 1)),
    lambda world: world.tell(),
]


@pytest.mark.more
@settings(max_examples=examples(2_000))
@example(CANCELLED_BEHIND_A_BROKER_THAT_LAGS)
@example(WHAT_IS_OVER_ARRIVES_LATE_AND_MEETS_THE_NEXT)
@given(st.lists(HAPPENINGS, max_size=40))
def test_kr_6_and_kr_8_every_acknowledged_move_has_one_outcome_and_what_others_started_is_left_alone(
    happenings: list[Happening],
) -> None:
    world = World()
    world.look(0)
    for happening in happenings:
        happening(world)
    world.come_to_rest()
    world.check()


REACHED_BEFORE_IT_WAS_REPLACED: list[Happening] = [
    lambda world: world.client((1,)),
    lambda world: world.tell(),
    lambda world: world.client((3, 2)),
    lambda world: world.tell(),
    lambda world: world.client((1, 2, 3)),
]
WHAT_IS_REPLACED_ARRIVES_LATE: list[Happening] = [
    lambda world: world.client((3, 2)),
    lambda world: world.tell(),
    lambda world: world.client((2, 3)),
    lambda world: world.lose_the_answer(),
    lambda world: world.client((4, 2)),
    lambda world: world.look(0),
]


TAKEN_OVER_BEHIND_A_BROKER_THAT_LAGS: list[Happening] = [
    lambda world: world.client((2, 3)),
    lambda world: world.tell(),
    lambda world: world.kraft.catch_up(),
    lambda world: world.look(0),
    lambda world: world.look(0),
    lambda world: world.crash(),
    lambda world: world.look(1),
    lambda world: world.client((3, 2)),
]


@pytest.mark.more
@settings(max_examples=examples(2_000))
@example(TAKEN_OVER_BEHIND_A_BROKER_THAT_LAGS)
@example(REACHED_BEFORE_IT_WAS_REPLACED)
@example(WHAT_IS_REPLACED_ARRIVES_LATE)
@given(st.lists(OWN, max_size=30))
def test_kr_6_where_nobody_else_writes_no_move_ends_as_if_somebody_had(happenings: list[Happening]) -> None:
    world = World()
    world.look(0)
    for happening in happenings:
        happening(world)
    world.come_to_rest()
    world.check()
    assert world.outcomes.isdisjoint({Outcome.SUPERSEDED, Outcome.CANCELLED_BY_OTHERS})


@pytest.mark.more
@settings(max_examples=examples(1_000))
@given(st.lists(HAPPENINGS, max_size=20), st.lists(st.sampled_from(OURS), min_size=1, max_size=3), st.integers(0, 3))
def test_kr_6_after_a_cancel_the_original_replicas_are_back_in_their_order(
    happenings: list[Happening], targets: list[Replicas], stale: int
) -> None:
    """Whatever has happened before: one target after the other, a cancel, a take-over."""
    world = World()
    world.look(0)
    for happening in happenings:
        happening(world)
    world.come_to_rest()
    original = world.kraft.at
    for target in targets:
        original = world.kraft.at if world.record is None else original
        world.client(target)
        world.tell()
        world.look(0)
        world.tell()
        world.look(0)
    if original.is_moving or not world.kraft.at.is_moving:
        return  # another's move without an end; or all targets were reached at once
    world.client(None)
    world.tell()
    world.crash()
    world.look(stale)
    for _ in range(LONG_ENOUGH):
        world.look(0)
        world.tell()
        world.arrive()
    world.check()
    assert world.kraft.at == original


def test_kr_6_where_the_cluster_does_not_take_the_original_order_back_the_cancel_ends_and_says_so() -> None:
    world = World()
    world.kraft = KRaftPartition(2, 1)
    world.look(0)
    world.client((1, 3))
    world.tell()
    world.look(0)
    world.kraft.cordoned = frozenset({2})
    world.client(None)
    world.tell()
    world.come_to_rest()
    world.check()
    assert world.kraft.at == SeenPartition((1, 2))
