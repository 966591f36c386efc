"""The directory that a job writes: what may not be there before."""

from pathlib import Path

from kafka_reassign_rpc.pipeline.job_errors import BadInput


def require_free(path: Path) -> None:
    """Raises BadInput where `path` exists and is not an empty directory: the job would overwrite something."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(f"{path}: exists already; give a directory that does not exist or is empty")
