"""`kafka-reassign-rpc`: finds the module of a command, and which extra of the package it needs, parses its flags and
runs it. The package itself brings the Python client and `kafka-reassign`.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from kafka_reassign_rpc.support.connection_flags import misspelt
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.quiet_arguments import QuietParser, UsageError, add_completion
from kafka_reassign_rpc.support.standard_output import written_out

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


COMMANDS = tuple(EXTRA_OF_COMMAND)


class CliCommand(Protocol):
    """A module. It may also have USAGE and EPILOG, which `--help` shows."""

    HELP: str
    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0: success; 1: failure; 2: wrong flags or settings, or a missing extra."""
    arguments = sys.argv[1:] if argv is None else argv
    return written_out("kafka-reassign-rpc", lambda: _run(arguments))


def _run(argv: Sequence[str]) -> int:
    missing = {name: advice for name in COMMANDS if (advice := missing_extra(name)) is not None}
    wanted = next((argument for argument in argv if not argument.startswith("-")), None)
    known = (wanted,) if wanted in COMMANDS else COMMANDS  # the modules of other commands cost seconds to import
    if wanted in missing:
        sys.stderr.write(f"kafka-reassign-rpc {wanted}: {missing[wanted]}\n")
        return 2
    if (wrong := misspelt(os.environ)) is not None:
        sys.stderr.write(f"kafka-reassign-rpc: {wrong}\n")
        return 2
    parser = QuietParser(
        prog="kafka-reassign-rpc",
        description="A Kafka cluster's reassignment controller (serve), and tools to plan and execute reassignments.",
        epilog="`kafka-reassign-rpc COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {product_version()}")
    add_completion(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules: dict[str, CliCommand] = {}
    for name in COMMANDS:
        if name in missing:
            commands.add_parser(name, help=missing[name])
            continue
        if name not in known:
            commands.add_parser(name)
            continue
        module = cast(CliCommand, import_module(f"kafka_reassign_rpc.cli.{name}_command"))
        modules[name] = module
        module.add_arguments(
            commands.add_parser(
                name,
                help=module.HELP,
                description=module.DESCRIPTION,
                usage=getattr(module, "USAGE", None),
                epilog=getattr(module, "EPILOG", None),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    arguments = parser.parse_args(argv)
    try:
        return modules[arguments.command].run(arguments)
    except UsageError as error:
        sys.stderr.write(f"kafka-reassign-rpc {arguments.command}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
