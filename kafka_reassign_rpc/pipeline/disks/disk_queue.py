"""How far moves between log dirs are, which begin next, and what became of each, from what brokers show. Each broker
has its own places, so one that does not answer holds up no other.

The broker alone shows what is left to do, so submit can be killed at any point and started again:

the replica                                      its state
lies in the target, no copy                      done
lies where it was, its copy goes to the target   moving
lies where it was, no copy                       to begin
lies in the target, its copy goes back           to begin: the same request ends that copy
anything else                                    does not fit: submit does not begin it
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from kafka_reassign_rpc.client import Replica
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue.in_flight_caps import TakenPlaces
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.waiting_lines import receiving

MOST_BEGINNINGS, MOST_REFUSALS = 3, 30
"""A copy that ends so often undone, or is refused so often for the moment, is not begun again."""
NO_ROOM = "{} has {} bytes free, the replica has {}"


class DirMove(NamedTuple):
    """`size` comes from the snapshot."""

    replica: Replica
    present: str
    target: str
    size: int


class SeenReplica(NamedTuple):
    """The replica's log dir, its copy's, and their bytes."""

    current: str | None = None
    future: str | None = None
    size: int = 0
    copied: int = 0


class MoveState(StrEnum):
    DONE = "done"
    MOVING = "moving"
    TO_BEGIN = "to begin"
    DOES_NOT_FIT = "does not fit"


def state_of(move: DirMove, seen: SeenReplica) -> tuple[MoveState, str]:
    """The state, and why the move does not fit."""
    if seen.current is None:
        return MoveState.DOES_NOT_FIT, "the broker has it in no live log dir"
    if seen.current == move.target:
        if seen.future is None:
            return MoveState.DONE, ""
        if seen.future == move.present:
            return MoveState.TO_BEGIN, ""
    elif seen.current == move.present:
        if seen.future is None:
            return MoveState.TO_BEGIN, ""
        if seen.future == move.target:
            return MoveState.MOVING, ""
    else:
        return MoveState.DOES_NOT_FIT, f"lies in {seen.current}, the plan was made for {move.present}"
    return MoveState.DOES_NOT_FIT, f"its broker copies it to {seen.future} already"


@dataclass
class DiskQueue:
    """at_a_time    moves of a broker
    left_out     replicas that do not move, and why
    given_up     brokers that are asked no more, and why
    begun        moves that this run began
    unseen       copies of brokers that are given up: nobody sees their end
    """

    at_a_time: int
    waiting: dict[int, deque[DirMove]] = field(default_factory=dict)
    flying: dict[Replica, DirMove] = field(default_factory=dict)
    done: list[DirMove] = field(default_factory=list)
    left_out: dict[Replica, str] = field(default_factory=dict)
    given_up: dict[int, str] = field(default_factory=dict)
    begun: int = 0
    unseen: int = 0
    copied: dict[Replica, int] = field(default_factory=dict)
    """Bytes of the copies in flight."""
    _beginnings: Counter[Replica] = field(default_factory=Counter)
    _refusals: Counter[Replica] = field(default_factory=Counter)

    def add(self, moves: Iterable[DirMove]) -> None:
        for move in moves:
            self.waiting.setdefault(move.replica.broker, deque()).append(move)

    @property
    def unfinished(self) -> int:
        return len(self.flying) + sum(map(len, self.waiting.values()))

    @property
    def brokers(self) -> set[int]:
        return {one.broker for one in self.flying} | {broker for broker, some in self.waiting.items() if some}

    def to_look_at(self) -> dict[int, list[DirMove]]:
        """Moves in flight, and moves that may begin next."""
        found: dict[int, list[DirMove]] = {}
        for move in self.flying.values():
            found.setdefault(move.replica.broker, []).append(move)
        taken = self._taken()
        for broker, some in self.waiting.items():
            places = max(0, self.at_a_time - taken.at(receiving(broker)))
            found.setdefault(broker, []).extend(islice(some, places))
        return {broker: some for broker, some in found.items() if some}

    def _taken(self) -> TakenPlaces:
        return TakenPlaces([receiving(one.broker)] for one in self.flying)

    def see(self, broker: int, moves: Iterable[DirMove], shown: Mapping[Replica, SeenReplica]) -> None:
        flying = {replica for replica in self.flying if replica.broker == broker}
        waiting = self.waiting.get(broker, deque())
        for move in moves:
            seen = shown.get(move.replica, SeenReplica())
            state, why = state_of(move, seen)
            if move.replica not in flying:
                if state is MoveState.TO_BEGIN:
                    continue
                waiting.remove(move)
            self.flying.pop(move.replica, None)
            self.copied.pop(move.replica, None)
            if state is MoveState.DONE:
                self.done.append(move)
            elif state is MoveState.MOVING:
                self.flying[move.replica], self.copied[move.replica] = move, seen.copied
            elif state is MoveState.DOES_NOT_FIT:
                self.left_out[move.replica] = why
            elif self._beginnings[move.replica] < MOST_BEGINNINGS:
                waiting.appendleft(move)
            else:
                self.left_out[move.replica] = f"its broker has ended the copy {MOST_BEGINNINGS} times"

    def next(self, broker: int, shown: Mapping[Replica, SeenReplica], free: Mapping[str, int | None]) -> list[DirMove]:
        """Moves to begin now; they count as in flight. `free`: bytes by log dir, None where not known. One without
        room beside the copies in flight waits for them; without any in flight it is left out.
        """
        flying = {one: move for one, move in self.flying.items() if one.broker == broker}
        coming = sum(max(0, shown[one].size - self.copied.get(one, 0)) for one in flying if one in shown)
        chosen: list[DirMove] = []
        waiting, taken = self.waiting.get(broker, deque()), self._taken()
        while waiting and not taken.is_full(receiving(broker), InFlightCaps(), self.at_a_time):
            move = waiting[0]
            seen = shown.get(move.replica)
            if seen is None:
                break
            room, needs = free.get(move.target), 0 if seen.current == move.target else seen.size
            if room is not None and needs + coming > room:
                if flying or chosen:
                    break
                self.left_out[move.replica] = NO_ROOM.format(move.target, room, needs)
                waiting.popleft()
                continue
            coming += needs
            chosen.append(waiting.popleft())
            taken.take([receiving(broker)])
        self.flying |= {move.replica: move for move in chosen}
        return chosen

    def answered(self, move: DirMove, error: KafkaError | None) -> None:
        if error is None:
            self._beginnings[move.replica] += 1
            self.begun += self._beginnings[move.replica] == 1
            return
        if error.retriable and self._refusals[move.replica] < MOST_REFUSALS:
            del self.flying[move.replica]
            self._refusals[move.replica] += 1
            self.waiting[move.replica.broker].appendleft(move)
        else:
            self.leave_out(move.replica, error.message)

    def leave_out(self, replica: Replica, why: str) -> None:
        del self.flying[replica]
        self.left_out[replica] = why

    def give_up(self, broker: int, why: str) -> None:
        """Copies in flight go on unseen."""
        self.given_up[broker] = why
        flying = [move for one, move in self.flying.items() if one.broker == broker]
        self.unseen += len(flying)
        for move in (*flying, *self.waiting.pop(broker, ())):
            self.flying.pop(move.replica, None)
            self.copied.pop(move.replica, None)
            self.left_out[move.replica] = why
