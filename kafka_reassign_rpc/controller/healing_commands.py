"""Commands about lost brokers (KIP-46): who is missing, whose repair is queued, whose repair is not needed any more.

Which broker is healed, and when, stands in `core.healing`; where its replicas go is the planner's.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import msgspec

from kafka_reassign_rpc.controller.command import SLICE, Command, Round
from kafka_reassign_rpc.controller.commands import every_partition, in_slices
from kafka_reassign_rpc.core import healing, waiting
from kafka_reassign_rpc.core.alter import alter
from kafka_reassign_rpc.core.changes import Change
from kafka_reassign_rpc.core.healing import Diagnosis, Healing, Losses, Watch, diagnose
from kafka_reassign_rpc.core.history import Event
from kafka_reassign_rpc.core.model import HEAL


class Memory:
    """What one controller remembers from look to look; its successor begins anew.

    missed      since when it has missed each lost broker, ms
    alerted     brokers that it has raised an alert about
    held_back   the reason that it has reported last why nothing is healed
    problems    configs that make no sense, as it has reported them last
    """

    def __init__(self) -> None:
        self.missed: dict[int, int] = {}
        self.alerted: set[int] = set()
        self.held_back: str | None = None
        self.problems: list[str] = []


class Found(msgspec.Struct, frozen=True):
    """What a look has found: what is to be done, replicas lost with each broker, and moves of repairs by state."""

    settings: Healing
    diagnosis: Diagnosis
    lost: Mapping[int, int]
    waiting: int
    moving: int


class Look(Command[Found]):
    """Who is gone: failures are noted and forgotten, repairs that nobody needs any more are given up.

    What is to be healed now is in the answer. `ordered`: brokers that an operator wants healed at once.
    """

    def __init__(self, started_with: Healing, memory: Memory, now_ms: int, ordered: Collection[int] = ()) -> None:
        super().__init__()
        self._started_with = started_with
        self._memory = memory
        self._now_ms = now_ms
        self._ordered = frozenset(ordered)
        self._waiting = self._moving = 0

    def decide(self, work: Round) -> Iterator[None]:
        cluster, memory = work.view.cluster, self._memory
        settings, problems = healing.settings_of(cluster, self._started_with)
        yield from self._queued(work)
        yield from self._under_way(work, cancel=settings.cancel_on_return)
        losses = Losses(cluster)
        for name, pause in in_slices(every_partition(cluster)):
            partition = work.view.get(*name)
            if partition is not None:
                queued = waiting.find(work.view, name)
                losses.count(partition, queued=None if queued is None else queued.target)
            if pause:
                yield
        lost = losses.replicas
        memory.missed = {broker: memory.missed.get(broker, self._now_ms) for broker in lost}
        watch = Watch(
            failed=cluster.failed,
            lost=lost,
            live=cluster.brokers,
            missed=memory.missed,
            now_ms=self._now_ms,
            ordered=self._ordered,
        )
        diagnosis = diagnose(watch, settings)
        for broker, since in diagnosis.record.items():
            work.view.failed[broker] = since
        for broker in diagnosis.forget:
            work.view.failed[broker] = None
        self._say(work, diagnosis, lost, problems)
        self.answer(Found(settings, diagnosis, lost, self._waiting, self._moving))

    def _queued(self, work: Round) -> Iterator[None]:
        """What has not started of the repair of a broker that is back leaves the queue."""
        self._waiting = 0
        dropped: Counter[str] = Counter()
        for looked, (name, place) in enumerate(_heals(work), 1):
            if healing.is_repaired(work.view.cluster, work.view.get(*name)):
                waiting.overrule(work.view, name)
                dropped[place] += 1
            else:
                self._waiting += 1
            if looked % SLICE == 0:
                yield
        for reason, count in dropped.items():
            work.view.report(Event("heal.dropped", reason=f"{reason}: {count} moves that had not started; it is back"))

    def _under_way(self, work: Round, *, cancel: bool) -> Iterator[None]:
        self._moving = looked = 0
        for topic, indexes in list(work.view.cluster.moving.items()):
            for index in list(indexes):
                looked += 1
                if looked % SLICE == 0:
                    yield
                partition = work.view.get(topic, index)
                if partition is None or partition.move is None or partition.move.route != HEAL:
                    continue
                changes: list[Change] = []
                if cancel and healing.may_go_back(work.view.cluster, partition):
                    _, changes = alter(work.view, topic, index, None, allow_replication_factor_change=True)
                for change in changes:
                    work.view.add(change)
                self._moving += not changes

    def _say(self, work: Round, found: Diagnosis, lost: Mapping[int, int], problems: list[str]) -> None:
        memory, report = self._memory, work.view.report
        for broker in found.record:
            report(Event("heal.noticed", broker=broker, reason=f"it is gone, with {lost[broker]} replicas"))
        for broker in sorted(found.forget):
            back = broker in work.view.cluster.brokers
            report(Event("heal.over", broker=broker, reason="it is back" if back else "it holds no replica any more"))
        for broker in found.alerts:
            if broker not in memory.alerted:
                report(
                    Event("heal.alert", broker=broker, reason=_alert(found.heal_at[broker], self._now_ms, lost[broker]))
                )
        memory.alerted = set(found.alerts)
        if found.held_back is not None and found.held_back != memory.held_back:
            report(Event("heal.held-back", reason=found.held_back))
        memory.held_back = found.held_back
        for problem in problems:
            if problem not in memory.problems:
                report(Event("heal.misconfigured", reason=problem))
        memory.problems = problems


def _heals(work: Round) -> Iterator[tuple[tuple[str, int], str]]:
    """Repairs that wait, with their reasons."""
    for topic, places in list(work.view.cluster.queue.topics.items()):
        for index, place in list(places.items()):
            if place.move.route == HEAL and waiting.find(work.view, (topic, index)) == place.move:
                yield (topic, index), place.move.reason


def _alert(heal_at: int | None, now_ms: int, replicas: int) -> str:
    when = "" if heal_at is None else f"; it is healed in {max(0, heal_at - now_ms) // 1000} s unless it comes back"
    return f"it is still gone, with {replicas} replicas{when}"


class Scheduled(Command[None]):
    """The repairs of these brokers are durable: their failures are forgotten.

    moves     how many moves each repair has
    left_out  partitions that cannot be repaired, with the reason
    """

    def __init__(self, moves: Mapping[int, int], left_out: Mapping[str, int], by: str) -> None:
        super().__init__()
        self.by = by
        self._moves = moves
        self._left_out = left_out

    def decide(self, work: Round) -> Iterator[None]:
        for broker, count in self._moves.items():
            if broker in work.view.cluster.failed:
                work.view.failed[broker] = None
            work.view.report(Event("heal.scheduled", broker=broker, reason=f"{count} moves joined the queue"))
        for reason, count in self._left_out.items():
            work.view.report(Event("heal.impossible", reason=f"{count} partitions stay as they are: {reason}"))
        self.answer(None)
        yield
