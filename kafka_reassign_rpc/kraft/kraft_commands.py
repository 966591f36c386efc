"""Commands of the service in front of KRaft, beside those of every controller."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.api.config_ports import ConfigChange
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.repair_commands import brake_waiting_repairs, forget_failures_of_registered
from kafka_reassign_rpc.core.events.cluster_news import config_changed
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.phases.intent_view import IntentView, as_started
from kafka_reassign_rpc.core.phases.kraft_refusals import no_restore
from kafka_reassign_rpc.core.phases.phases import (
    DELETED,
    LOOKS,
    Act,
    Outcome,
    Step,
    after_done,
    after_refusal,
    next_step,
)
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.round.round_view import SettingTo
from kafka_reassign_rpc.core.settings.server_settings import divided, telling
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import BrokersChanged, Fact
from kafka_reassign_rpc.core.writers.look_facts import LookNews, TakesNothing
from kafka_reassign_rpc.core.writers.replay import PartitionTransition


class Sighted(NamedTuple):
    """What the last looks have seen of a partition with a move: see `phases.next_step`. `record`: of the move then."""

    record: MoveRecord
    seen: SeenPartition | None
    looks: int
    before: SeenPartition | None = None
    is_settled: bool = True


class Noticed(NamedTuple):
    """brokers   have come or gone, or replicas on their log dirs
    arrived   partitions with replicas on brokers that had none of them
    """

    brokers: bool
    arrived: Sequence[PartitionTransition]


class LookSeen(Command[Noticed]):
    """Takes in what a look has seen, and decides what it means for the moves, and for repairs. `heard`: brokers of
    which the look shows all replicas."""

    def __init__(
        self,
        facts: Collection[Fact[object]],
        sighted: Mapping[TopicPartition, Sighted],
        heard: Collection[int] = (),
    ) -> None:
        super().__init__()
        self._facts = facts
        self._sighted = sighted
        self._heard = heard
        self._brokers = BrokersChanged()
        self._noticed = Noticed(brokers=False, arrived=())

    def learn(self, cluster: Cluster) -> Iterator[None]:
        for fact in self._facts:
            news = yield from fact.apply(cluster)
            if isinstance(news, BrokersChanged):
                self._brokers = news
            elif isinstance(news, LookNews):
                self._noticed = Noticed(news.offline or bool(self._brokers), news.arrived)

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        assert isinstance(view, IntentView)
        view.heard.update(self._heard)
        forget_failures_of_registered(work, self._brokers.joined)
        if self._brokers:
            yield from brake_waiting_repairs(work)
        for name, (record, seen, looks, before, is_settled) in self._sighted.items():
            known = view.get(*name)
            if seen is None:
                if looks >= LOOKS:
                    view.lose(name, record, DELETED)
            elif known is not None and known.move == record:
                why = no_restore(record.original, view.cordons)
                step = next_step(record, seen, looks, before=before, is_settled=is_settled, no_restore=why)
                if step != Step(record):
                    view.found(name, step, seen)
            yield
        self.answer(self._noticed)


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

    def learn(self, cluster: Cluster) -> Iterator[None]:
        return TakesNothing(self._takes_nothing).apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        assert isinstance(view, IntentView)
        for name, (record, act, error) in self._answered.items():
            known = view.get(*name)
            if known is not None and known.move == record:
                step = Step(after_done(record, act)) if error is None else after_refusal(record, act, error)
                if step != Step(record):
                    view.found(name, step, _as_it_is(known, record, step))
            yield
        self.answer(None)


def _as_it_is(shown: Partition, record: MoveRecord, step: Step) -> SeenPartition:
    """As far as it is known without a look: a target that was refused is shown no longer."""
    if step.outcome is Outcome.REFUSED and record.phase is Phase.START:
        shown = replace(shown, replicas=record.original, adding=(), removing=())
        if record.replaces is not None and record.replaces.phase is Phase.MOVING:
            shown = as_started(shown, record.replaces)
    return SeenPartition(shown.replicas, shown.adding, shown.removing)


class ChangeSettings(Command[None]):
    """Of those of all servers. `change` may raise KafkaError."""

    def __init__(self, change: ConfigChange, by: Requester) -> None:
        super().__init__()
        self.by = by
        self._change = change

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        before, _ = divided(view.set_now())
        after = telling(self._change(before), {})
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                view.settings[name] = SettingTo(after.get(name), self.by if self.by.is_client else None)
        news = config_changed("settings of all servers", before, after)
        if news is not None:
            view.report(news.asked_by(self.by))
        yield
        self.answer(None)


class TakenOver(Command[None]):
    """The first command of a term, and the first after everything was seen again."""

    def decide(self, work: Round) -> Iterator[None]:
        forget_failures_of_registered(work)
        yield from brake_waiting_repairs(work)
        yield from work.start_queued_moves()
        self.answer(None)
