"""Commands of the service in front of KRaft, beside those of every controller."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.phases.intent_view import IntentView
from kafka_reassign_rpc.core.phases.kraft_refusals import cordons, no_restore
from kafka_reassign_rpc.core.phases.phases import DELETED, LOOKS, Act, Step, after_done, after_refusal, next_step
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import Fact
from kafka_reassign_rpc.core.writers.look_facts import TakesNothing


class Sighted(NamedTuple):
    """What the last looks have seen of a partition with a move: see `phases.next_step`. `record`: of the move then."""

    record: MoveRecord
    seen: SeenPartition | None
    looks: int
    before: SeenPartition | None = None
    is_settled: bool = True


class LookSeen(Command[None]):
    """Takes in what a look has seen, and decides what it means for the moves."""

    def __init__(self, facts: Collection[Fact[object]], sighted: Mapping[TopicPartition, Sighted]) -> None:
        super().__init__()
        self._facts = facts
        self._sighted = sighted

    def learn(self, cluster: Cluster) -> Iterator[None]:
        for fact in self._facts:
            yield from fact.apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        assert isinstance(view, IntentView)
        for name, (record, seen, looks, before, is_settled) in self._sighted.items():
            known = view.get(*name)
            if seen is None:
                if looks >= LOOKS:
                    view.lose(name, record, DELETED)
            elif known is not None and known.move == record:
                why = no_restore(record.original, cordons(view.cluster))
                step = next_step(record, seen, looks, before=before, is_settled=is_settled, no_restore=why)
                if step != Step(record):
                    view.found(name, step, seen)
            yield
        self.answer(None)


class AnsweredAct(NamedTuple):
    record: MoveRecord
    act: Act
    error: KafkaError | None


class ActsAnswered(Command[None]):
    """What the cluster has taken, or refused.

    takes_nothing  why it takes nothing at all from this server: until it does, no move starts. "": it does
    """

    def __init__(self, answered: Mapping[TopicPartition, AnsweredAct], takes_nothing: str = "") -> None:
        super().__init__()
        self._answered = answered
        self._takes_nothing = takes_nothing
        self._news: Event | None = None

    def learn(self, cluster: Cluster) -> Iterator[None]:
        if bool(cluster.soft.takes_nothing) != bool(self._takes_nothing):
            self._news = (
                Event(catalogue.REASSIGNMENTS_DISABLED, reason=self._takes_nothing)
                if self._takes_nothing
                else Event(catalogue.REASSIGNMENTS_ENABLED)
            )
        yield from TakesNothing(self._takes_nothing).apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        assert isinstance(view, IntentView)
        if self._news is not None:
            view.report(self._news)
        for name, (record, act, error) in self._answered.items():
            known = view.get(*name)
            if known is not None and known.move == record:
                step = Step(after_done(record, act)) if error is None else after_refusal(record, error)
                if step != Step(record):
                    view.found(name, step, _as_it_is(known, record, step))
            yield
        self.answer(None)


def _as_it_is(shown: Partition, record: MoveRecord, step: Step) -> SeenPartition:
    """As far as it is known without a look: a target that was refused is shown no longer."""
    is_taken_back = step.record is None and record.phase is Phase.START
    return (
        SeenPartition(record.original) if is_taken_back else SeenPartition(shown.replicas, shown.adding, shown.removing)
    )


class TakenOver(Command[None]):
    """The first command of a term, and the first after everything was seen again."""

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.start_queued_moves()
        self.answer(None)
