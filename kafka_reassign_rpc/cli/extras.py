"""Which extra of the package each command needs. The package itself brings the Python client and `kafka-reassign`."""

from functools import cache
from importlib.util import find_spec

MODULES_OF_EXTRA: dict[str, tuple[str, ...]] = {
    "server": ("aiohttp", "aiozk", "jinja2", "joserfc", "prometheus_client"),
    "pipeline": ("jinja2", "matplotlib", "numpy", "pyarrow", "pyspark"),
}
"""The modules without which an extra's commands cannot run.

`serve` runs without uvloop, and on an operator's ZooKeeper without pyspark: neither is asked for here.
"""

EXTRA_OF_COMMAND: dict[str, str] = {
    "serve": "server",
    "check": "server",
    "status": "server",
    "health": "server",
    "fleet": "server",
    "zookeeper": "server",
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
    """What to install before the command can run, as one line; None where all of it is installed."""
    extra = EXTRA_OF_COMMAND[command]
    return None if _is_installed(extra) else f"needs the extra [{extra}]: pip install 'kafka-reassign-rpc[{extra}]'"


@cache
def _is_installed(extra: str) -> bool:
    """Looked up once for all commands of the extra: each module costs a walk over `sys.path`."""
    return all(find_spec(module) is not None for module in MODULES_OF_EXTRA[extra])
