"""Which extra of the package each command needs. The package itself brings the Python client and `kafka-reassign`."""

from functools import cache
from importlib.util import find_spec

_SERVER = ("aiohttp", "aiozk", "jinja2", "joserfc", "prometheus_client")
MODULES_OF_EXTRA: dict[str, tuple[str, ...]] = {
    "server": _SERVER,
    "demo": (*_SERVER, "pyspark"),
    "pipeline": ("jinja2", "matplotlib", "numpy", "pyarrow", "pyspark"),
}
"""The modules without which an extra's commands cannot run.

`serve` runs without uvloop, which is not asked for here. pyspark has the jars of the ZooKeeper that `serve` starts
where it is given none.
"""

EXTRA_OF_COMMAND: dict[str, str] = {
    "serve": "server",
    "check": "server",
    "status": "server",
    "leave": "server",
    "watch": "server",
    "log": "server",
    "health": "server",
    "notify": "server",
    "fleet": "server",
    "zookeeper": "demo",
    "hash": "server",
    "export": "pipeline",
    "plan": "pipeline",
    "submit": "pipeline",
    "audit": "pipeline",
    "history": "pipeline",
    "prepare": "pipeline",
}
"""The commands, in the order of the help, and the extra that each needs."""


def missing_extra(command: str) -> str | None:
    """Says in one line what to install before the command can run; None where all of it is installed."""
    return lacking(EXTRA_OF_COMMAND[command])


@cache
def lacking(extra: str) -> str | None:
    """Says in one line what to install for an extra; None where it is installed. Cached, since each module costs a
    walk over `sys.path`.
    """
    if all(find_spec(module) is not None for module in MODULES_OF_EXTRA[extra]):
        return None
    return f"needs the extra [{extra}]: pip install 'kafka-reassign-rpc[{extra}]'"
