"""Carries out moves in virtual time.

Moves start in order, each as soon as the caps let it. One that does not fit lets others pass, but no more than the
window, as in `submit`. A broker's cap counts separately the moves that copy to it and those that it sends, as
`core.queue.in_flight_caps` does with a move's own cap. Here the room of brokers is a list by link, which becomes an
array: with `TakenPlaces` a plan would be simulated in twice the time. A move ends with its last copy.

A step lasts until a copy ends; with more than a few thousand moves, until some have ended. What these leave unused
within the step goes to the others and to those that start then. So 300,000 moves take a few thousand steps, and the
time is wrong by 2 % at most.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.scheduling.copy_table import (
    Bound,
    CopyArrays,
    CopyTable,
    Floats,
    Ints,
    fair_rates,
    time_bound,
)

WINDOW = 10_000
"""A move starts only if fewer moves than this are between it and the first that waits."""
_REFILLED_AT = 0.9
"""The window goes on when at most this share of it is behind the first waiting move."""
_VISITED_AT_ONCE = 256
"""Waiting moves visited before the brokers with room are computed again."""
_MOST_ENDS = 0.1
_ENDS_PER_MOVE = 1e-6
"""The share of the copies in flight that end in a step: this for each move, up to the most."""
_UNLIMITED = 1 << 40
_LEAST_RATE = 1e-9
POINTS = 60
"""Spans of a timeline."""


class Timeline:
    """What brokers send and receive over virtual time, in spans of equal length. When they are used up, two become
    one.

    seconds           length of a span
    sent, received    bytes by span and broker (in the order of `brokers`)
    """

    def __init__(self, brokers: tuple[int, ...]) -> None:
        self.brokers = brokers
        self.seconds = 0.0
        self.sent: Floats = np.zeros((POINTS, len(brokers) + 1))
        self.received: Floats = np.zeros((POINTS, len(brokers) + 1))

    def add(self, now: float, seconds: float, senders: Ints, receivers: Ints, copied: Floats) -> None:
        """`senders`, `receivers`: indexes into `brokers`; `copied`: bytes."""
        if not seconds:
            return
        end = now + seconds
        self.seconds = self.seconds or end / POINTS
        while end > POINTS * self.seconds * (1 + 1e-9):
            self._halve()
        width = len(self.brokers) + 1
        sent, received = np.bincount(senders, copied, width), np.bincount(receivers, copied, width)
        last = min(POINTS - 1, int(end / self.seconds))
        first = min(last, int(now / self.seconds))
        lasts = end - now  # as far as floats tell after a long time: no byte is lost or counted twice
        for span in range(first, last + 1):
            begins = now if span == first else span * self.seconds
            ends = end if span == last else (span + 1) * self.seconds
            share = (ends - begins) / lasts if lasts else 1.0
            self.sent[span] += sent * share
            self.received[span] += received * share

    def _halve(self) -> None:
        self.seconds *= 2
        for of in (self.sent, self.received):
            of[: POINTS // 2] = of[::2] + of[1::2]
            of[POINTS // 2 :] = 0


class Simulated(NamedTuple):
    """`seconds` until the last move ended; `batches`: of each batch, if they wait for each other; `reached_in_all`: as
    many moves as the cap allows were in flight at a time, so that a higher one may change something.
    """

    seconds: float
    timeline: Timeline
    batches: tuple[float, ...] = ()
    reached_in_all: bool = False


def simulate(copies: CopyArrays, network: NetworkLimits, caps: PlanCaps, window: int = WINDOW) -> Simulated:
    timeline = Timeline(copies.brokers)
    run = _Run(copies, network, caps, window, timeline)
    return Simulated(run.to_the_end(0.0), timeline, reached_in_all=run.reached_in_all)


def simulate_batches(table: CopyTable, network: NetworkLimits) -> Simulated:
    """One batch after the other, all moves of a batch at once."""
    copies = table.arrays()
    timeline = Timeline(copies.brokers)
    now, first, times = 0.0, 0, list[float]()
    for end in table.batches:
        run = _Run(copies.part(first, end), network, PlanCaps(-1), end - first, timeline, steps_for=len(copies.sizes))
        times.append(run.to_the_end(now))
        now, first = now + times[-1], end
    return Simulated(now, timeline, tuple(times))


class _Run:
    """Arrays with an element for each copy in flight; and the moves that wait."""

    def __init__(
        self,
        copies: CopyArrays,
        network: NetworkLimits,
        caps: PlanCaps,
        window: int,
        timeline: Timeline,
        steps_for: int | None = None,
    ) -> None:
        self._copies = copies
        self._timeline = timeline
        self._window = window
        brokers = len(copies.brokers)
        rates = [float(network.rate(broker)) for broker in copies.brokers]
        self._limits = np.array([*rates, np.inf, *rates])
        self._into = brokers + 1
        self._room = 2 * ([_UNLIMITED if caps.per_broker < 0 else caps.per_broker] * brokers + [_UNLIMITED])
        """By link, as `_limits`."""
        self.reached_in_all = False
        self._room_in_all = _UNLIMITED if caps.in_all < 0 else caps.in_all
        self._ends_per_step = min(_MOST_ENDS, (steps_for or len(copies.sizes)) * _ENDS_PER_MOVE)
        self._pending = (copies.receivers < brokers).sum(axis=1)
        self._waiting: Ints = np.zeros(0, np.intp)
        self._next = 0
        self._moves: Ints = np.zeros(0, np.intp)
        self._out: Ints = np.zeros(0, np.intp)
        self._in: Ints = np.zeros(0, np.intp)
        self._left: Floats = np.zeros(0)

    def to_the_end(self, now: float) -> float:
        """Returns how long it takes: of the time when it ends, less `now`, a short one would be wrong."""
        took = 0.0
        self._start()
        while self._moves.size:
            seconds, spared = self._step(now + took)
            self._start()
            if spared is not None and self._moves.size:
                self._use(spared, now + took, seconds)
            took += seconds
        return took

    # -- starting --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._waiting = self._start_among(self._waiting)
        moves = len(self._copies.sizes)
        while self._next < moves:
            first = int(self._waiting[0]) if self._waiting.size else self._next
            if self._next - first > _REFILLED_AT * self._window:
                break
            end = min(moves, first + self._window)
            fresh = self._start_among(np.arange(self._next, end))
            self._waiting = np.concatenate((self._waiting, fresh))
            self._next = end

    def _start_among(self, waiting: Ints) -> Ints:
        """Returns those that go on waiting."""
        senders, receivers = self._copies.senders[waiting], self._copies.receivers[waiting] + self._into
        places, room, chosen = np.arange(len(waiting)), self._room, list[int]()
        while places.size and self._room_in_all:
            free = np.array(room) > 0
            fits = free[senders[places]]
            for column in range(receivers.shape[1]):
                fits &= free[receivers[places, column]]
            places = places[fits]
            first, places = places[:_VISITED_AT_ONCE], places[_VISITED_AT_ONCE:]
            for place, sender, into in zip(
                first.tolist(), senders[first].tolist(), receivers[first].tolist(), strict=True
            ):
                if room[sender] <= 0:
                    continue
                for link in into:
                    if room[link] <= 0:
                        break
                else:
                    chosen.append(place)
                    room[sender] -= 1
                    for link in into:
                        room[link] -= 1
                    self._room_in_all -= 1
                    if not self._room_in_all:
                        self.reached_in_all = True
                        break
        if not chosen:
            return waiting
        self._fly(waiting[chosen])
        return np.delete(waiting, chosen)

    def _fly(self, started: Ints) -> None:
        receivers = self._copies.receivers[started]
        rows, columns = np.nonzero(receivers < len(self._copies.brokers))
        moves = started[rows]
        self._moves = np.concatenate((self._moves, moves))
        self._out = np.concatenate((self._out, self._copies.senders[moves]))
        self._in = np.concatenate((self._in, receivers[rows, columns] + self._into))
        self._left = np.concatenate((self._left, self._copies.sizes[moves]))

    # -- going on --------------------------------------------------------------------------------------------------

    def _step(self, now: float) -> tuple[float, Floats | None]:
        """Copies until copies end; returns how long, and the bytes by link that ended copies left unused."""
        rates = fair_rates(self._out, self._in, self._limits)
        times = self._left / np.maximum(rates, _LEAST_RATE)
        nth = int(self._ends_per_step * len(times))
        seconds = float(np.partition(times, nth)[nth])
        ended = times <= seconds
        possible = rates * seconds
        copied = np.where(ended, self._left, possible)
        spared = None
        if nth:
            links, rest = len(self._limits), np.maximum(possible - copied, 0)
            of_links = np.bincount(self._out, rest, links) + np.bincount(self._in, rest, links)
            spared = of_links.astype(np.float64)
        self._copy(now, seconds, copied)
        self._end(ended)
        return seconds, spared

    def _use(self, spared: Floats, began: float, seconds: float) -> None:
        copied = np.minimum(fair_rates(self._out, self._in, spared), self._left)
        self._copy(began, seconds, copied)

    def _copy(self, began: float, seconds: float, copied: Floats) -> None:
        self._timeline.add(began, seconds, self._out, self._in - self._into, copied)
        self._left = self._left - copied

    def _end(self, ended: npt.NDArray[np.bool_]) -> None:
        np.subtract.at(self._pending, self._moves[ended], 1)
        over = np.unique(self._moves[ended])
        over = over[self._pending[over] == 0]
        self._room_in_all += len(over)
        senders, receivers = self._copies.senders[over], self._copies.receivers[over] + self._into
        for link in (*senders.tolist(), *receivers.ravel().tolist()):
            self._room[link] += 1
        stay = ~ended
        self._moves, self._out = self._moves[stay], self._out[stay]
        self._in, self._left = self._in[stay], self._left[stay]


_MORE_TRIED_UP_TO = 20_000
"""Larger plans try only one other cap: caps matter on small clusters."""
_RAISED = (1.0, 2.0, 4.0, 8.0)
"""More moves at a time keep more brokers busy."""
_LOWERED = (0.6, 0.5, 0.4, 0.3, 0.2)
"""With fewer at a time a large move has more of the network, if the end waits for it alone. They come last, the fewest
at the end: if bytes are few, starts and ends of moves take the time, and the simulation does not count those.
"""
_CHOSEN_AMONG = (*_RAISED, *_LOWERED)
WORTH = 0.98
"""A gain must bring the time below this share."""


class Gain(NamedTuple):
    """Seconds with another `setting`: moves_per_broker, moves_per_batch (in all), or throttle (bytes/s of each
    broker).
    """

    setting: str
    value: int
    seconds: float


class PlanEstimate(NamedTuple):
    """caps           those that were given, or better ones
    carried_out    moves start as others end
    in_batches     each batch waits for the one before
    bound          no order takes less
    """

    caps: PlanCaps
    carried_out: Simulated
    in_batches: Simulated
    bound: Bound
    gains: tuple[Gain, ...]


def estimate(table: CopyTable, network: NetworkLimits, caps: PlanCaps, *, chooses_cap: bool = False) -> PlanEstimate:
    """`chooses_cap` takes another cap per broker if that is worth it."""
    tries = _Tries(table.arrays(), network, caps)
    cap = tries.best_cap(caps.per_broker, _CHOSEN_AMONG) if chooses_cap else caps.per_broker
    return PlanEstimate(
        caps._replace(per_broker=cap),
        tries.with_cap(cap),
        simulate_batches(table, network),
        tries.bound,
        tuple(tries.gains(cap)),
    )


def soonest_caps(copies: CopyArrays, network: NetworkLimits, caps: PlanCaps, good: float) -> tuple[PlanCaps, float]:
    """The best of those that `estimate` may choose, or the first with which the plan takes `good` seconds at most. And
    how long it takes.
    """
    tries = _Tries(copies, network, caps)
    caps_per_broker = tries.multiples(caps.per_broker, _CHOSEN_AMONG)
    found = next((cap for cap in caps_per_broker if tries.with_cap(cap).seconds <= good), None)
    if found is None:
        found = min(caps_per_broker, key=lambda cap: tries.with_cap(cap).seconds)
    return caps._replace(per_broker=found), tries.with_cap(found).seconds


class _Tries:
    def __init__(self, copies: CopyArrays, network: NetworkLimits, caps: PlanCaps) -> None:
        self._copies, self._network, self._caps = copies, network, caps
        self.bound = time_bound(copies, network)
        self._found: dict[PlanCaps, Simulated] = {}
        self._is_small = len(copies.sizes) <= _MORE_TRIED_UP_TO

    def with_cap(self, cap: int) -> Simulated:
        return self._with(self._caps._replace(per_broker=cap))

    def _with(self, caps: PlanCaps) -> Simulated:
        if caps not in self._found:
            self._found[caps] = simulate(self._copies, self._network, caps)
        return self._found[caps]

    def best_cap(self, cap: int, times: Sequence[float]) -> int:
        return self._best([self._caps._replace(per_broker=one) for one in self.multiples(cap, times)]).per_broker

    def multiples(self, cap: int, times: Sequence[float]) -> list[int]:
        """A large plan, or one without a cap, keeps it."""
        return [max(1, int(cap * one)) for one in times] if self._is_small and cap > 0 else [cap]

    def _best(self, caps: Sequence[PlanCaps]) -> PlanCaps:
        least = self.bound.seconds
        for one in caps:
            if WORTH * self._with(one).seconds <= least:
                return one
        least = min(self._with(one).seconds for one in caps)
        return next(one for one in caps if WORTH * self._with(one).seconds <= least)

    def gains(self, cap: int) -> Iterator[Gain]:
        """At its bound a plan gains by another bound alone."""
        caps = self._caps._replace(per_broker=cap)
        if WORTH * self._with(caps).seconds > self.bound.seconds:
            if cap > 0:
                yield self._gain_of(self.best_cap(2 * cap, _RAISED))
            if cap > 1 and self._is_small:
                yield self._gain_of(cap // 2)
            yield from self._gain_in_all(caps)
        if self._network.throttle >= 0:
            twice = msgspec.structs.replace(self._network, throttle=2 * self._network.throttle)
            yield Gain("throttle", twice.throttle, simulate(self._copies, twice, caps).seconds)

    def _gain_of(self, cap: int) -> Gain:
        return Gain("moves_per_broker", cap, self.with_cap(cap).seconds)

    def _gain_in_all(self, caps: PlanCaps) -> Iterator[Gain]:
        """There is one if the limit keeps brokers waiting that have room."""
        now = self._with(caps)
        if not now.reached_in_all:
            return
        times = _RAISED if self._is_small else _RAISED[:1]
        best = self._best([caps._replace(in_all=int(2 * caps.in_all * one)) for one in times])
        if self._with(best).seconds < WORTH * now.seconds:
            yield Gain("moves_per_batch", best.in_all, self._with(best).seconds)
