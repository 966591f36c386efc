from collections.abc import Sequence

from kafka_reassign_rpc.support.text_columns import padded, width_of


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first row is the heading."""
    widths = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
