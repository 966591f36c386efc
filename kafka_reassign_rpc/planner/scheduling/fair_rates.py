import numpy as np
import numpy.typing as npt

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
