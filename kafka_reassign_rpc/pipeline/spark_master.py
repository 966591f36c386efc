"""What the address of a Spark master says, without PySpark, whose import takes a second."""

LOCAL = "local[*]"
DEFAULT_MEMORY = "2g"
"""Of the driver."""
NO_SPARK = "none"
"""In place of a master: this process alone does the work."""
ATTEMPTS = 4
"""Spark's default for spark.task.maxFailures."""


def is_local(master: str) -> bool:
    """The driver is the only executor (local-cluster has others)."""
    return master == "local" or master.startswith("local[")


def with_attempts(master: str) -> str:
    """A local master tries a task once, unless its address says otherwise: one Python worker killed for its memory
    would end a job. Others try it four times.
    """
    if master == "local":
        return f"local[1,{ATTEMPTS}]"
    return f"{master[:-1]},{ATTEMPTS}]" if is_local(master) and "," not in master else master
