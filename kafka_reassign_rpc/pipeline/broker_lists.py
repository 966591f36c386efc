"""Lists of brokers as arrays, a row for each."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[Any]
Mask = npt.NDArray[Any]

NOBODY = np.iinfo(np.int64).min
"""Fills the rows of shorter lists and stands for null. No broker has this id."""


def whole(column: pa.Array | pa.ChunkedArray, null: int = NOBODY) -> Ints:
    return np.asarray(pc.fill_null(column.cast(pa.int64()), null)).astype(np.int64, copy=False)


def told(value: int) -> int | None:
    return None if value == NOBODY else value


def lists(column: pa.Array | pa.ChunkedArray) -> Ints:
    """As wide as the longest list, or 1. Null is empty."""
    lengths = whole(pc.list_value_length(column), 0)
    table = np.full((len(lengths), max(1, int(lengths.max(initial=1)))), NOBODY, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = whole(pc.list_flatten(column))
    return table


def are_same(one: Ints, other: Ints) -> Mask:
    """By row, in their order."""
    width = max(one.shape[1], other.shape[1])
    same: Mask = (widened(one, width) == widened(other, width)).all(axis=1)
    return same


def widened(table: Ints, width: int) -> Ints:
    return np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=NOBODY)


def sizes(table: Ints) -> Ints:
    counted: Ints = (table != NOBODY).sum(axis=1)
    return counted


def in_some(places: Mask) -> Mask:
    """Of each row."""
    found: Mask = np.any(places, axis=1)
    return found


def in_all(places: Mask) -> Mask:
    found: Mask = np.all(places, axis=1)
    return found


def among(table: Ints, brokers: Collection[int]) -> Mask:
    found: Mask = np.isin(table, np.array(sorted(brokers), np.int64))
    return found


def inside(table: Ints, other: Ints) -> Mask:
    """Of each place: whether its broker is in the row's other list; NOBODY never is."""
    found: Mask = np.zeros(table.shape, bool)
    for place in range(other.shape[1]):
        found |= table == other[:, [place]]
    found &= table != NOBODY
    return found


def repeated(table: Ints) -> Mask:
    """Of each place: whether its broker stands before it in the row."""
    found: Mask = np.zeros(table.shape, bool)
    for place in range(1, table.shape[1]):
        found[:, place] = (table[:, :place] == table[:, [place]]).any(axis=1)
    found &= table != NOBODY
    return found


def looked_up(table: Ints, values: Mapping[int, int]) -> Ints:
    """NOBODY where a broker has no value."""
    ids = np.array(sorted(values), np.int64)
    if not len(ids):
        return np.full(table.shape, NOBODY, np.int64)
    of_ids = np.array([values[broker] for broker in ids.tolist()], np.int64)
    places = np.minimum(np.searchsorted(ids, table), len(ids) - 1)
    return np.where(ids[places] == table, of_ids[places], NOBODY)


def counted_by(codes: Ints, count: int) -> Ints:
    """By row: how often each of the codes 0 … count - 1 occurs."""
    found, rows = np.zeros((len(codes), count), np.int64), np.arange(len(codes))
    for place in range(codes.shape[1]):
        known = codes[:, place] != NOBODY
        found[rows[known], codes[known, place]] += 1
    return found


def stable(table: Ints, by: Ints) -> Ints:
    """Each row in the order of `by`."""
    return np.take_along_axis(table, np.argsort(by, axis=1, kind="stable"), axis=1)


def packed(table: Ints) -> Ints:
    """Each row without gaps."""
    return stable(table, table == NOBODY)


def taken(column: Ints, rows: Ints) -> Ints:
    """Of -1: NOBODY, or false."""
    fill = np.full((1, *column.shape[1:]), False if column.dtype == bool else NOBODY, column.dtype)
    return np.concatenate([column, fill])[rows]


def listed(row: Ints) -> list[int]:
    found: list[int] = row[row != NOBODY].tolist()
    return found


def texts_of(table: Ints, text: Callable[[list[int]], str]) -> Ints:
    """Of each row, which may have numbers in place of brokers."""
    distinct, rows = np.unique(table, axis=0, return_inverse=True)
    return np.array([text(listed(one)) for one in distinct], object)[rows.reshape(-1)]


def as_lists(table: Ints, of: Callable[[Ints], pa.Array] = lambda ids: pa.array(ids, pa.int32())) -> pa.ListArray:
    """`table` without gaps before brokers; `of` makes values of all that are in it."""
    ends = np.concatenate([np.zeros(1, np.int64), sizes(table).cumsum()])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), of(table[table != NOBODY]))


def grouped(by: Mapping[str, Ints], sums: Mapping[str, Ints]) -> list[dict[str, Any]]:
    """Exact sums, and a `count`, for each combination of `by`."""
    table = pa.table({**by, **sums})
    wanted: list[tuple[str | list[str], str]] = [(name, "sum") for name in sums]
    found = table.group_by(list(by)).aggregate([*wanted, ([], "count_all")])
    names = {f"{name}_sum": name for name in sums} | {"count_all": "count"}
    renamed = found.rename_columns([names.get(name, name) for name in found.column_names])
    rows: list[dict[str, Any]] = renamed.to_pylist()
    return rows


def flat(table: Ints, *of_rows: Sequence[int] | Ints) -> tuple[Ints, ...]:
    """Brokers, their places in their rows, and the values of `of_rows` for them."""
    rows, places = np.nonzero(table != NOBODY)
    return table[rows, places], places.astype(np.int64), *(np.asarray(column)[rows] for column in of_rows)
