"""Where one process has several clusters, each line says which one it is about."""

from contextvars import ContextVar

CLUSTER: ContextVar[str] = ContextVar("cluster", default="")
"""The cluster for which this task works, in any module: the log names it. "" where there is no other."""


def of_cluster(name: str) -> str:
    """How a line about it begins."""
    return f"cluster {name}: " if name else ""
