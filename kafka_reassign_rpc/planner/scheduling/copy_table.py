from array import array
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove, sender_and_receivers

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

_PASSES = 40
"""Passes after which the remaining copies get what is certainly feasible."""


def fair_rates(outgoing: Ints, incoming: Ints, limits: Floats) -> Floats:
    """Bytes/s of each copy, max-min fairly: none can get more without taking from one that gets no more.

    outgoing, incoming    by copy: its links
    limits                bytes/s by link, or inf

    TCP divides links among connections roughly so, and so do Kafka's quotas: what a follower cannot take goes to the
    others. Progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2); a pass fills all links at once that
    hold back each of their copies.
    """
    rates = np.zeros(len(outgoing))
    left = limits.astype(np.float64)
    links = len(limits)
    rest = np.arange(len(outgoing))
    for turn in range(_PASSES):
        if not rest.size:
            break
        out, into = outgoing[rest], incoming[rest]
        counts = np.bincount(out, minlength=links) + np.bincount(into, minlength=links)
        shares = left / np.maximum(counts, 1)
        by_out, by_in = shares[out], shares[into]
        given = np.minimum(by_out, by_in)
        held = np.bincount(out[given < by_out], minlength=links) + np.bincount(into[given < by_in], minlength=links)
        full = held == 0
        done = full[out] | full[into] if turn < _PASSES - 1 else np.ones(len(rest), bool)
        rates[rest[done]] = given[done]
        left -= np.bincount(out[done], given[done], links) + np.bincount(into[done], given[done], links)
        np.maximum(left, 0, out=left)
        rest = rest[~done]
    return rates


class CopyArrays(NamedTuple):
    """brokers      the ids; the other arrays have indexes into them
    senders      by move; one more than the last index if no leader is known
    receivers    by move and copy; one more than the last index fills the rows of moves with fewer copies
    sizes        by move: bytes of each copy
    """

    brokers: tuple[int, ...]
    senders: Ints
    receivers: Ints
    sizes: Floats

    def part(self, first: int, end: int) -> Self:
        return self._replace(
            senders=self.senders[first:end], receivers=self.receivers[first:end], sizes=self.sizes[first:end]
        )

    def sent_and_received(self) -> tuple[Floats, Floats]:
        count = len(self.brokers)
        copies = (self.receivers < count).sum(axis=1)
        sent = np.bincount(self.senders, self.sizes * copies, count + 1)[:count]
        of_copies = np.broadcast_to(self.sizes[:, None], self.receivers.shape)
        received = np.bincount(self.receivers.ravel(), of_copies.ravel(), count + 1)[:count]
        return sent.astype(np.float64), received.astype(np.float64)


class CopyTable:
    """The copies that moves need, in start order; 300,000 moves take 10 MB. Moves that copy nothing are left out.
    `batches`: moves in the table at the end of each.
    """

    def __init__(self, moves: Iterable[PlannedMove] = ()) -> None:
        self._senders = array("i")
        self._receivers = array("i")
        self._counts = array("i")
        self._sizes = array("q")
        self.batches: list[int] = []
        for move in moves:
            self.add(move)

    def add(self, move: PlannedMove) -> None:
        sender, receivers, each = sender_and_receivers(move)
        if each > 0:
            self._senders.append(sender)
            self._receivers.extend(receivers)
            self._counts.append(len(receivers))
            self._sizes.append(each)

    def end_batch(self) -> None:
        self.batches.append(len(self._senders))

    def arrays(self) -> CopyArrays:
        senders, counts = np.array(self._senders, np.intp), np.array(self._counts, np.intp)
        receivers = np.array(self._receivers, np.intp)
        brokers = np.unique(np.concatenate((senders[senders >= 0], receivers)))
        table = np.full((len(senders), int(counts.max(initial=1))), len(brokers), np.intp)
        table[np.arange(table.shape[1]) < counts[:, None]] = np.searchsorted(brokers, receivers)
        places = np.where(senders < 0, len(brokers), np.searchsorted(brokers, senders))
        return CopyArrays(tuple(brokers.tolist()), places, table, np.array(self._sizes, np.float64))


class Bound(NamedTuple):
    """The least time for all copies, and the broker that decides it by what it sends or receives; None: nothing is
    copied.
    """

    seconds: float
    broker: int | None
    sends: bool
    bytes: int


def time_bound(copies: CopyArrays, network: NetworkLimits) -> Bound:
    sent, received = copies.sent_and_received()
    if not len(copies.sizes):
        return Bound(0.0, None, False, 0)
    rates = np.array([network.rate(broker) for broker in copies.brokers])
    times = np.concatenate((sent / rates, received / rates))
    place = int(times.argmax())
    side, broker = divmod(place, len(rates))
    return Bound(float(times[place]), copies.brokers[broker], side == 0, int((sent, received)[side][broker]))
