"""Sums of whole numbers by code. Floats would round them, and int64 overflow."""

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]

_AT_ONCE = 1 << 20
"""So many halves of 32 bits have a sum below 2**53, which a float holds exactly."""
_HALF = 2**32


def exact_sums(codes: Numbers, values: Numbers, count: int) -> list[int]:
    """By code, from 0 to `count` - 1. `values`: integers, or whole floats."""
    found = [0] * count
    for first in range(0, len(codes), _AT_ONCE):
        some, part = values[first : first + _AT_ONCE], codes[first : first + _AT_ONCE]
        high = np.floor(some / _HALF) if some.dtype.kind == "f" else some >> 32
        halves = [np.bincount(part, half, count).tolist() for half in (high, some - high * _HALF)]
        found = [total + int(one) * _HALF + int(other) for total, one, other in zip(found, *halves, strict=True)]
    return found
