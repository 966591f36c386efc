"""The page of the columns of plans."""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from docs.markdown import NOTE, kind_of, table
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import DISK_LEFT_OUT, DISK_MOVES
from kafka_reassign_rpc.pipeline.plans.plan_writer import LEFT_OUT_SCHEMA, MOVES_SCHEMA


class _Table(NamedTuple):
    """`meanings`: of each column of the schema; the page is not made where one lacks."""

    title: str
    rows: str
    schema: pa.Schema
    meanings: Mapping[str, str]


_PARTITION = {"topic": "its topic", "partition": "its number in the topic"}
_REPLICA = {**_PARTITION, "broker": "the broker of the replica"}
_START = "its place in the order in which moves start, over all batches; 1 starts first"
TABLES = (
    _Table(
        "moves",
        "`moves/` of a plan has a row for each partition that moves, in the order of the batches.",
        MOVES_SCHEMA,
        {
            **_PARTITION,
            "from_replicas": "its replicas in the snapshot, the preferred leader first",
            "to_replicas": "its replicas after the move",
            "leader": "its leader in the snapshot; null: none (of earlier releases: -1)",
            "bytes": "what the move copies, over all new replicas",
            "reason": "why it moves, for people",
            "rule": "the hard rule or the soft goal that moves it",
            "batch": "the number of its batch file",
            "priority": "0 starts first; a lower number comes before a higher one",
            "first_leader": "the replica that leads before the copy begins; null: the leader stays",
            "start": f"{_START}; null: the plan does not say it",
        },
    ),
    _Table(
        "left_out",
        "`left_out/` of a plan has a row for each partition that the goal concerns and that cannot move.",
        LEFT_OUT_SCHEMA,
        {
            **_PARTITION,
            "replicas": "its replicas in the snapshot",
            "reason": "why it cannot move, for people",
            "bytes": "the size of one replica; null: unknown, or a plan of an earlier release",
        },
    ),
    _Table(
        "moves of `plan disks`",
        "`moves/` of a plan between log dirs has a row for each replica that moves, in the order in which they start.",
        DISK_MOVES,
        {
            **_REPLICA,
            "from_log_dir": "the log dir in which it is",
            "to_log_dir": "the log dir of the same broker to which it goes",
            "bytes": "its size",
            "reason": "why it moves, for people",
            "batch": "the number of its batch file",
            "start": _START,
        },
    ),
    _Table(
        "left_out of `plan disks`",
        "`left_out/` of a plan between log dirs has a row for each replica that the goal would move and that cannot.",
        DISK_LEFT_OUT,
        {
            **_REPLICA,
            "log_dir": "the log dir in which it is",
            "bytes": "its size",
            "reason": "why it cannot move, for people",
        },
    ),
)


def plans_page() -> str:
    """Every table of a plan, with its columns."""
    parts = [
        NOTE.format(source="docs/plan_columns.py and the schemas that it names"),
        "# Columns of a plan",
        "`kafka-reassign-rpc plan` writes these tables as Parquet ([pipeline](pipeline.md)). Columns may be added:"
        " programs leave out those that they do not know.",
    ]
    for one in TABLES:
        kinds = {field.name: field.type for field in one.schema}
        rows = [[f"`{name}`", kind_of(kind), one.meanings[name]] for name, kind in kinds.items()]
        parts += [f"## {one.title}", one.rows, table(["column", "type", "meaning"], rows)]
    return "\n\n".join(parts) + "\n"
