"""Writes plans on disk, as `plan` does, with moves that a test chooses."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

Replicas = Sequence[int]
Moves = Mapping[tuple[str, int], tuple[Replicas, Replicas]]
"""By partition: the target, and the replicas expected before."""


def write_plan(path: Path, cluster_id: str, *batches: Moves, kind: str = "rebalance") -> Path:
    (path / "batches").mkdir(parents=True)
    (path / "summary.json").write_text(json.dumps({"kind": kind, "cluster_id": cluster_id, "at": 5, "more": []}))
    for number, batch in enumerate(batches, 1):
        entries = [
            {"topic": topic, "partition": index, "replicas": list(target), "expected_replicas": list(expected)}
            for (topic, index), (target, expected) in batch.items()
        ]
        (path / "batches" / f"batch-{number:04d}.json").write_text(json.dumps({"version": 1, "partitions": entries}))
    return path
