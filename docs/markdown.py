"""What the generated pages are made of."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import Column

NOTE = "<!-- `python -m docs.generate` writes this page from {source}. Do not edit it. -->"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def columns_table(columns: Iterable[Column]) -> str:
    rows = [[f"`{one.name}`", kind_of(one.kind), one.unit, one.meaning, one.null] for one in columns]
    return table(["column", "type", "unit", "meaning", "null"], rows)


def kind_of(column: pa.DataType) -> str:
    """The type of a column of Parquet."""
    return f"list of {column.value_type}" if pa.types.is_list(column) else str(column)
