"""Where a followed history remembers what it has read. Does not import PySpark, which takes seconds."""

from kafka_reassign_rpc.pipeline.store_paths import StorePath

CHECKPOINT = ".checkpoint"


def checkpoint_directory(out: StorePath) -> StorePath:
    """Beside `out`, since each update replaces `out` as a whole."""
    return out.with_name(f"{out.name}{CHECKPOINT}")
