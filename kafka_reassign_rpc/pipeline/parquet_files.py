"""Parquet files with a fixed schema, written atomically: a hidden file is renamed once its footer is durable. One row
group bounds the memory.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import (
    RemotePath,
    StoreError,
    StorePath,
    matching,
    open_for_arrow,
    rename,
    store_error,
)
from kafka_reassign_rpc.support.bounded_text import printable
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.product_version import product_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import DataType, StructType

GROUP_ROWS = 50_000
FILE_ROWS = 250_000
"""Several files let several tasks read."""
SHARE_ROWS = 2 * FILE_ROWS
_MOST_SHARES = 16
"""Each task that reads a share gets the whole file first."""

FORMAT = 1
"""A release that gives a column another meaning raises it; one that adds columns does not."""
_STAMP_FORMAT, _STAMP_VERSION, _STAMP_AT = b"kafka-reassign.format", b"kafka-reassign.version", b"kafka-reassign.at"

Row = Sequence[Any]
"""In the schema's order; missing values at the end are null."""


def required(*columns: tuple[str, pa.DataType]) -> list[pa.Field]:
    """Without nulls."""
    return [pa.field(name, kind, nullable=False) for name, kind in columns]


def table_of(rows: Collection[Row], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


class TableWriter:
    """The file exists once the context manager's block succeeds. The same rows give the same file. `at`: the time of
    the rows in ms since the epoch, for the metadata.
    """

    def __init__(
        self, path: StorePath, schema: pa.Schema, *, group_rows: int = GROUP_ROWS, at: int | None = None
    ) -> None:
        self.rows = 0
        self._path = path
        self._schema = schema
        self._group_rows = group_rows
        self._pending: list[Row] = []
        self._hidden = path.with_name(f".{path.name}.{os.getpid()}")
        self._sink = open_for_arrow(self._hidden, "wb")
        self._file = pq.ParquetWriter(self._sink, schema.with_metadata(_stamp(at)), compression="zstd")

    def add(self, row: Row) -> None:
        left_out = len(self._schema) - len(row)
        self._pending.append((*row, *(None,) * left_out) if left_out else row)
        self.rows += 1
        if len(self._pending) >= self._group_rows:
            self._flush()

    def extend(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.add(row)

    def _flush(self) -> None:
        if self._pending:
            self._file.write_table(table_of(self._pending, self._schema))
            self._pending = []

    def close(self) -> None:
        self._flush()
        self._file.close()
        self._sink.close()
        if isinstance(self._hidden, Path):
            with self._hidden.open("rb") as written:
                os.fsync(written.fileno())
        rename(self._hidden, self._path)

    def discard(self) -> None:
        with suppress(OSError, StoreError):  # on a full disk, and where the store is gone, writing the footer fails too
            self._file.close()
            self._sink.close()
        with suppress(StoreError):
            self._hidden.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


class DirectoryWriter:
    """At least one file, even without rows."""

    def __init__(
        self, directory: StorePath, schema: pa.Schema, *, file_rows: int = FILE_ROWS, at: int | None = None
    ) -> None:
        directory.mkdir()
        self._at = at
        self.rows = 0
        self._directory = directory
        self._schema = schema
        self._file_rows = file_rows
        self._files = 0
        self._current: TableWriter | None = None

    def add(self, row: Row) -> None:
        if self._current is None:
            self._current = self._next()
        self._current.add(row)
        self.rows += 1
        if self._current.rows >= self._file_rows:
            self._current.close()
            self._current = None

    def extend(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.add(row)

    def close(self) -> None:
        if self._current is None and not self._files:
            self._current = self._next()
        if self._current is not None:
            self._current.close()
            self._current = None

    def discard(self) -> None:
        if self._current is not None:
            self._current.discard()

    def _next(self) -> TableWriter:
        writer = TableWriter(self._directory / f"part-{self._files:05d}.parquet", self._schema, at=self._at)
        self._files += 1
        return writer


def _stamp(at: int | None) -> dict[bytes, bytes]:
    stamp = {_STAMP_FORMAT: b"%d" % FORMAT, _STAMP_VERSION: product_version().encode()}
    return stamp if at is None else stamp | {_STAMP_AT: b"%d" % at}


def _require_known_format(file: StorePath, metadata: Mapping[bytes, bytes]) -> None:
    """Tables from before 0.2.0 name no format: they have the first."""
    found = metadata.get(_STAMP_FORMAT, b"1")
    told, release = (
        printable(one.decode(errors="replace"))[:50] for one in (found, metadata.get(_STAMP_VERSION, b"?"))
    )
    if not found.isdigit() or not int(found[:9]):
        raise BadInput(
            f"{file}: its format is no number ({told!r}): kafka-reassign-rpc does not write that, another program"
            " has, or the file is damaged"
        )
    if int(found[:9]) > FORMAT:
        raise BadInput(
            f"{file}: its format is {told}, this release reads {FORMAT}: kafka-reassign-rpc {release} has written it, "
            "and can read it"
        )


def table_files(path: StorePath) -> list[StorePath]:
    """Raises BadInput if there is none."""
    if path.is_file():
        return [path]
    found = matching(path, "*.parquet")
    if not found:
        raise BadInput(f"{path}: no Parquet file there")
    return found


def check(path: StorePath, schema: pa.Schema) -> int:
    """Counts rows. Raises BadInput for a file that is missing, cut short, of a newer format, or lacks a column; it may
    have more.
    """
    rows = 0
    for file in table_files(path):
        try:
            with open_for_arrow(file, "rb") as source, pq.ParquetFile(source) as opened:
                found, rows = opened.schema_arrow, rows + opened.metadata.num_rows
                nulls = _columns_with_nulls(opened.metadata)
                metadata = opened.metadata.metadata or {}
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(file, "not a readable Parquet file", error) from None
        _require_known_format(file, metadata)
        for field in schema:
            index = found.get_field_index(field.name)
            if index < 0:
                raise BadInput(f"{file}: the column {field.name!r} is missing")
            if not _same(found.field(index).type, field.type):
                raise BadInput(f"{file}: the column {field.name!r} is {found.field(index).type}, not {field.type}")
            if not field.nullable and field.name in nulls:
                raise BadInput(f"{file}: the column {field.name!r} has rows without a value")
    return rows


def require_rows(path: StorePath, schema: pa.Schema, written: int, remedy: str) -> None:
    """As `check`, also where a file of the table is lost, or one is there that does not belong to it."""
    found = check(path, schema)
    if found == written:
        return
    if path.is_file():
        why = "it was changed, or is of another"
    else:
        why = "a file of it is missing" if found < written else "a file is of another"
    has = (
        f"{found} of {counted(written, 'row')}" if found < written else f"{counted(found, 'row')} in place of {written}"
    )
    raise BadInput(f"{path}: has {has}: {why}; {remedy}")


def _columns_with_nulls(metadata: pq.FileMetaData) -> set[str]:
    """Of plain columns, by the statistics in the footer."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    return {one.path_in_schema for one in columns if one.statistics is not None and one.statistics.null_count}


def read(path: StorePath, schema: pa.Schema, *, added: Collection[str] = ()) -> pa.Table:
    return pa.Table.from_batches(list(record_batches(path, schema, added=added)), schema=schema)


def record_batches(
    path: StorePath, schema: pa.Schema, *, rows: int = GROUP_ROWS, added: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    """In order. Columns of `added` are null where a file lacks them. Raises BadInput."""
    check(path, pa.schema([field for field in schema if field.name not in added]))
    for file in table_files(path):
        try:
            with open_for_arrow(file, "rb") as source, pq.ParquetFile(source) as opened:
                held = [name for name in schema.names if name in opened.schema_arrow.names]
                for batch in opened.iter_batches(rows, columns=held):
                    yield _with_all_columns(batch, schema)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(file, "cannot be read to its end", error) from None


def shares_of(path: StorePath) -> int:
    """By how many tasks a file is read, each of which takes some row groups: more than one where a file is much larger
    than those of `DirectoryWriter`. By the footers; a file that has none is named where it is read.
    """
    shares = 1
    for file in [path] if path.is_file() else matching(path, "*.parquet"):
        with suppress(pa.ArrowException, OSError), open_for_arrow(file, "rb") as source:
            found = pq.read_metadata(source)
            shares = max(shares, min(found.num_row_groups, found.num_rows // SHARE_ROWS, _MOST_SHARES))
    return shares


def table_in(name: str, content: bytes, schema: pa.Schema, share: int = 0, shares: int = 1) -> pa.Table:
    """Of a file that was read: columns that it lacks are null. `name` is for errors; `share`: see `shares_of`. Raises
    BadInput.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as opened:
            held = [name for name in schema.names if name in opened.schema_arrow.names]
            groups = range(share, opened.num_row_groups, shares)
            read = opened.iter_batches(GROUP_ROWS, row_groups=groups, columns=held) if groups else ()
            batches = [_with_all_columns(batch, schema) for batch in read]
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{name}: cannot be read to its end: {_first_line(error)}") from None
    return pa.Table.from_batches(batches, schema=schema)


def _with_all_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Raises ArrowInvalid for what is not of its type, such as text that is no UTF-8."""
    batch.validate(full=True)
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def spark_reader(spark: "SparkSession") -> "DataFrameReader":
    """Of names as they are: by itself Spark takes brackets, braces and stars for patterns."""
    return spark.read.option("__globPaths__", "false")


def whole_files(spark: "SparkSession", uris: Sequence[str], names: str = "*.parquet") -> "DataFrame":
    """A row for each file, in directories or by itself, with its `path` and `content`: to read rows and hand them over
    one by one takes Java four times the CPU. Call `check` first: Spark finds a bad file late.
    """
    files = spark_reader(spark).format("binaryFile").option("pathGlobFilter", names)
    return files.load(list(uris)).select("path", "content")


def spark_schema(schema: pa.Schema) -> "StructType":
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, _spark_type(field.type), field.nullable) for field in schema])


def _spark_type(kind: pa.DataType) -> "DataType":
    from pyspark.sql import types

    if pa.types.is_list(kind):
        return types.ArrayType(_spark_type(kind.value_type), containsNull=False)
    simple: dict[pa.DataType, DataType] = {
        pa.int32(): types.IntegerType(),
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.bool_(): types.BooleanType(),
        pa.string(): types.StringType(),
    }
    return simple[kind]


def _same(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Lists are the same if their element types are."""
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return _same(found.value_type, wanted.value_type)
    return bool(found == wanted)


def _unreadable(file: StorePath, why: str, error: Exception) -> Exception:
    """BadInput for a bad file, StoreError for a store that does not answer."""
    if isinstance(file, RemotePath) and isinstance(error, OSError):
        return store_error(file, error)
    return BadInput(f"{file}: {why}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
