from pathlib import Path

import pyarrow as pa

from kafka_reassign_rpc.pipeline.move_history.history_job import history
from kafka_reassign_rpc.pipeline.reports.result_tables import rows_of
from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller


def tables_of(call: PieceCaller, events: Path, snapshot: Path | None) -> dict[str, pa.Table]:
    """All tables of a history, held as a whole. Raises BadInput."""
    with history(call, events, snapshot) as found:
        return {
            name: pa.Table.from_pylist([dict(zip(of.schema.names, row, strict=True)) for row in rows_of(of)], of.schema)
            for name, of in found.tables.items()
        }
