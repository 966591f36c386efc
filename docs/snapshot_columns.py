"""The page of the columns of snapshots."""

from docs.markdown import NOTE, code, columns_table
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import COLUMNS, FILES, OPTIONAL, ROWS


def snapshots_page() -> str:
    """Every table of a snapshot, with its columns."""
    parts = [
        NOTE.format(source="kafka_reassign_rpc/pipeline/snapshots/snapshot_schema.py"),
        "# Columns of a snapshot",
        "`kafka-reassign-rpc export` writes these tables as Parquet ([pipeline](pipeline.md)). Columns may be added:"
        " programs leave out those that they do not know. The column *null* says what a null means; where it is empty,"
        " there is none.",
    ]
    for name, columns in COLUMNS.items():
        file = FILES[name] if FILES[name].endswith(".parquet") else f"{FILES[name]}/"
        notes = [f"`{file}` has {ROWS[name]}."]
        if name in OPTIONAL:
            notes.append("Snapshots of 0.1.0 lack it.")
        if added := [column.name for column in columns if column.added]:
            notes.append(f"Older snapshots may lack {code(added)}: all are null then.")
        parts += [
            f"## {name}",
            " ".join(notes),
            columns_table(columns),
        ]
    return "\n\n".join(parts) + "\n"
