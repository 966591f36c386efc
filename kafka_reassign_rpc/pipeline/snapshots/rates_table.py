"""The file of `export --rates`; docs/pipeline.md describes it. Does not import PySpark."""

import io
import math
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import MOST_RATE
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import first_of

_RATES = ("bytes_in", "bytes_out", "messages_in", "cpu")
_COLUMNS = {"topic": pa.string(), "partition": pa.int32(), **dict.fromkeys(_RATES, pa.float64())}
_NAMED = 20

Rates = tuple[float | None, float | None, float | None, float | None]
"""Bytes in, bytes out, messages in, and microseconds of CPU, per second; None: not known."""
NO_RATES: Rates = (None, None, None, None)


class RatesTable:
    def __init__(self, path: StorePath) -> None:
        """Raises BadInput, which names the rows."""
        self._path = path
        self._rates: dict[str, dict[int | None, Rates]] = {}
        wrong = [f"{name} {fault}" for name, fault in self._faults()]
        if wrong:
            raise BadInput(f"{path}: {first_of(wrong, _NAMED, between='; ')}")
        self._unseen = {(topic, index) for topic, rows in self._rates.items() for index in rows}

    def _faults(self) -> Iterator[tuple[str, str]]:
        for topic, index, *rates in zip(*_columns(self._path), strict=True):
            name = f"{topic}-{index}" if index is not None else f"{topic}"
            of_topic = self._rates.setdefault(topic or "", {})
            if not topic:
                yield "a row", "has no topic"
            elif index is not None and index < 0:
                yield name, "is no partition"
            elif index in of_topic:
                yield name, "occurs twice"
            elif of_topic and (index is None or None in of_topic):
                yield topic, "has a rate of its own and rates of partitions: give one or the others"
            elif any(one is not None and not (math.isfinite(one) and 0 <= one < MOST_RATE) for one in rates):
                yield name, "has a rate that is negative, too large or no number"
            of_topic[index] = (rates[0], rates[1], rates[2], rates[3])

    def take(self, topic: str, partitions: Collection[int]) -> dict[int, Rates]:
        given = self._rates.get(topic, {})
        if None in given and partitions:
            self._unseen.discard((topic, None))
            each = [None if one is None else one / len(partitions) for one in given[None]]
            return dict.fromkeys(partitions, (each[0], each[1], each[2], each[3]))
        found = {index: given[index] for index in partitions if index in given}
        self._unseen -= {(topic, index) for index in found}
        return found

    def require_all_taken(self) -> None:
        """Raises BadInput for topics and partitions that the cluster does not have."""
        left = sorted(topic if index is None else f"{topic}-{index}" for topic, index in self._unseen)
        if left:
            raise BadInput(f"{self._path}: the cluster does not have {first_of(left, _NAMED)}")


def _columns(path: StorePath) -> list[list[Any]]:
    try:
        data = path.read_bytes()
        if data[:4] == b"PAR1":
            table = pa.parquet.read_table(io.BytesIO(data))
        else:
            convert = pa.csv.ConvertOptions(column_types=_COLUMNS, null_values=[""], strings_can_be_null=True)
            table = pa.csv.read_csv(io.BytesIO(data), convert_options=convert)
        odd = [name for name in table.column_names if name not in _COLUMNS]
        if odd or "topic" not in table.column_names or len({*table.column_names}) < len(table.column_names):
            names = ",".join(table.column_names)
            raise BadInput(f"{path}: expected columns of {', '.join(_COLUMNS)}, got {names!r}")
        missing: list[Any] = [None] * table.num_rows
        return [
            table.column(name).cast(kind).to_pylist() if name in table.column_names else missing
            for name, kind in _COLUMNS.items()
        ]
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: {error}") from None
