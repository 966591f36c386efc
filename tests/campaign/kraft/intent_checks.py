"""What has to hold of intents and their outcomes, by the state log, the event logs and what clients were told. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from kafka_reassign_rpc.core.phases.phases import EVENTS, Outcome
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.round_records import JOINS, RoundRecord

from .asked import Asked, touching

CLOCK_S = 1.0
"""What is told at a time may be in a round with an earlier one."""
JUST_ENDED_S = 8.0
"""Who asks for the target of a move that has ended so shortly before may be right that there is nothing to do."""
_OUTCOMES = frozenset(EVENTS.values())
OutcomeKey = tuple[str, str, int, int]
"""Its event, the partition, the id of the move."""


class Round(NamedTuple):
    """A document of the log, and the offset of its commit."""

    offset: int
    record: RoundRecord


@dataclass
class Life:
    """A move, or a place in the queue (`id` is its part), as the log has it. Times are seconds of the epoch.

    since      when the first of those began that it has replaced, one after the other
    ended      None: it was replaced, or is not over
    replicas   of the partition as they were seen at the end
    """

    name: TopicPartition
    id: int
    target: tuple[int, ...]
    begin: float
    record: MoveRecord | None
    since: float = float("inf")
    waits: bool = False
    cancelled: bool = False
    end: float = float("inf")
    ended: Outcome | None = None
    replicas: tuple[int, ...] | None = None
    reason: str = ""


@dataclass
class Story:
    """What the log tells: lives in the order of their begin, and what cannot be."""

    lives: list[Life] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    outcomes: Counter[OutcomeKey] = field(default_factory=Counter)
    memories: set[tuple[str, str]] = field(default_factory=set)

    @property
    def open(self) -> list[Life]:
        return [one for one in self.lives if one.end == float("inf")]


def story(rounds: Iterable[Round]) -> Story:
    told = Story()
    moves: dict[TopicPartition, Life] = {}
    waiting: dict[tuple[int, TopicPartition], Life] = {}
    for offset, record in rounds:
        at = record.at / 1000
        over: set[TopicPartition] = set()
        for end in record.ended:
            name = TopicPartition(end.topic, end.partition)
            life = moves.get(name)
            if life is None or life.ended is not None:
                told.wrong.append(f"{offset}: {name} ends {end.outcome} and has no move")
                continue
            life.ended, life.end, life.replicas, life.reason = end.outcome, at, end.replicas, end.reason
            told.outcomes[EVENTS[end.outcome], *name, life.id] += 1
            over.add(name)
        for move in record.moves:
            name = TopicPartition(move.topic, move.partition)
            life = moves.get(name)
            if move.record is None:
                if name not in over:
                    told.wrong.append(f"{offset}: the move of {name} is gone without an outcome")
                moves.pop(name, None)
                continue
            id_ = offset if move.record.id is None else move.record.id
            if life is None or life.id != id_:
                since = at
                if life is not None and life.ended is None:
                    life.end, since = at, life.since  # it has got another target
                life = moves[name] = Life(name, id_, move.record.terms.target, at, move.record, since)
                told.lives.append(life)
            elif life.ended is Outcome.REFUSED:  # its cancel was
                life.ended, life.end = None, float("inf")
            elif name in over:
                told.wrong.append(f"{offset}: {name} goes on with the id of a move that has ended")
            life.record = move.record
            life.cancelled = life.cancelled or move.record.phase in (Phase.CANCEL, Phase.RESTORE)
        for one in record.waiting:
            name = TopicPartition(one.topic, one.partition)
            key = offset if one.part == JOINS else one.part, name
            if one.move is None:
                if (life := waiting.pop(key, None)) is not None:
                    life.end = at
            elif key not in waiting:
                waiting[key] = Life(name, key[0], one.move.terms.target, at, None, waits=True)
                told.lives.append(waiting[key])
        for memory in record.memories:
            is_kept = any((memory.topic, memory.broker, memory.topic_after, memory.broker_after))
            (told.memories.add if is_kept else told.memories.discard)((memory.kind, memory.name))
    return told


def still_open(told: Story) -> list[str]:
    """Nothing waits, moves or is remembered in the end."""
    found = [f"{one.name} {'waits for' if one.waits else 'moves to'} {list(one.target)}" for one in told.open]
    return found + [f"former configs of {kind} {name} are remembered" for kind, name in sorted(told.memories)]


def each_once(told: Story) -> list[str]:
    """Each move ends once; more than one cancel of it may be refused."""
    ends = ((key, times) for key, times in sorted(told.outcomes.items()) if key[0] != EVENTS[Outcome.REFUSED])
    return told.wrong + [f"{times} outcomes {key}" for key, times in ends if times > 1]


def in_events(told: Story, events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each outcome is in an event log. Two servers may have it, in the same words."""
    found: defaultdict[OutcomeKey, set[str]] = defaultdict(set)
    for one in events:
        if one["event"] in _OUTCOMES and one.get("id") is not None:
            key = str(one["event"]), str(one["topic"]), int(one["partition"]), int(one["id"])
            found[key].add(repr({name: one.get(name) for name in ("target", "original", "replicas", "reason")}))
    missing = [f"{key} is in no event log" for key in sorted(told.outcomes.keys() - found.keys())]
    more = [
        f"{key} is in an event log, and not in the state log" for key in sorted(found.keys() - told.outcomes.keys())
    ]
    return missing + more + [f"{key} is told as {words}" for key, words in sorted(found.items()) if len(words) > 1]


def acknowledged(told: Story, of_ours: Iterable[Asked], behind: Sequence[Asked]) -> list[str]:
    """What clients were told is taken is in the log, unless there was nothing to do, or it joined the queue in the
    round in which another request took it out again: then neither of the two need be there."""
    of_ours = list(of_ours)
    lives: defaultdict[TopicPartition, list[Life]] = defaultdict(list)
    for life in told.lives:
        lives[life.name].append(life)
    found = []
    for one in of_ours:
        has_nothing_to_do = one.target is not None and (one.is_there or _others_gave(behind, one, lives[one.name]))
        if not one.is_taken or has_nothing_to_do or any(_fits(life, one) for life in lives[one.name]):
            continue
        if _replaced_at_once(of_ours, one, lives[one.name]):
            continue
        what = "a cancel" if one.target is None else f"the target {list(one.target)}"
        found.append(f"{one.name}: {what} was acknowledged at {one.end:.1f}, and is not in the log")
    return found


def _others_gave(behind: Sequence[Asked], asked: Asked, lives: Iterable[Life]) -> bool:
    """Whether others were the last to ask for a target before, and it was this one: their move may just have ended."""
    before = [one for one in behind if one.name == asked.name and one.begin <= asked.end and one.is_taken is not False]
    last = max(before, key=lambda one: one.begin, default=None)
    if last is None or last.target is None or asked.target is None or not _may_become(last.target, asked.target):
        return False
    return not any(not life.waits and last.begin < life.begin <= asked.end for life in lives)


def _may_become(target: tuple[int, ...], replicas: tuple[int, ...]) -> bool:
    """Also without some of its replicas: where a target leaves nothing to remove, KRaft (4.4) keeps what the former
    move was to remove, and that goes (ReplicationControlManager.changePartitionReassignment).
    """
    return replicas == tuple(one for one in target if one in replicas)


def _replaced_at_once(of_ours: Sequence[Asked], asked: Asked, lives: Sequence[Life]) -> bool:
    """By another request that was under way at the same time, and that is in the log if both have a target and there
    was something to do for it. A cancel replaces what it took out of the queue, also if its own answer was lost."""
    at_once = (
        one
        for one in of_ours
        if one is not asked and one.name == asked.name and one.begin <= asked.end and asked.begin <= one.end
    )
    taken = [one for one in at_once if one.is_taken or (one.is_taken is None and one.target is None)]
    if asked.target is None:
        return any(one.target is not None for one in taken)
    return any(one.target is None or one.is_there or any(_fits(life, one) for life in lives) for one in taken)


def _fits(life: Life, asked: Asked) -> bool:
    if asked.target is None:
        # Others may have cancelled it a moment before: that is what was asked for.
        by_others = life.ended is Outcome.CANCELLED_BY_OTHERS
        is_meant = life.cancelled or by_others or (life.waits and life.end < float("inf"))
    else:
        is_meant = life.target == asked.target
    return is_meant and life.begin <= asked.end + CLOCK_S and life.end >= asked.begin - JUST_ENDED_S


def as_decided(
    told: Story,
    behind: Sequence[Asked],
    replicas: Mapping[TopicPartition, tuple[int, ...]],
    created: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[str]:
    """Where nobody else had a hand in it, a partition has in the end what its last move was to give it. What has begun
    before its topic was `created` was a move of a former topic of that name."""
    lives = [one for one in told.lives if one.ended is not None and one.begin >= created.get(one.name.topic, 0.0)]
    last = {one.name: one for one in sorted(lives, key=lambda one: one.end)}
    for name, life in sorted(last.items()):
        if name not in replicas or touching(behind, name, life.begin - CLOCK_S):
            continue
        assert life.record is not None
        wanted = None
        if life.ended is Outcome.DONE:
            wanted = life.target
        elif life.ended is Outcome.CANCELLED and not life.reason:
            wanted = life.record.original
        if wanted is not None and replicas[name] != wanted:
            yield f"{name} was {life.ended} ({life.id}), and has {list(replicas[name])} instead of {list(wanted)}"


def nobody_else(told: Story, behind: Sequence[Asked], deleted: Iterable[str]) -> Iterator[str]:
    """Only what others have done is theirs."""
    gone = set(deleted)
    for life in told.lives:
        if life.ended in (Outcome.SUPERSEDED, Outcome.CANCELLED_BY_OTHERS) and not touching(
            behind, life.name, life.since - 60
        ):
            yield f"{life.name} ({life.id}) to {list(life.target)} is {life.ended}, and nobody else was there"
        if life.ended is Outcome.GONE and life.name.topic not in gone:
            yield f"{life.name} ({life.id}) is gone, and nobody has deleted the topic"
