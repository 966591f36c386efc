"""`kafka-reassign-rpc health`: asks a server on this machine whether it is alive."""

import argparse
import ssl
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli.cluster_settings import WATCH
from kafka_reassign_rpc.cli.http_settings import LISTENER, PROTOCOL
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.server_settings import SETTINGS, SETTINGS_OF_WATCH
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.cli.value_parsers import whole
from kafka_reassign_rpc.security.properties import BadSetting, prefix_of
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.quiet_arguments import QuietParser, UsageError, checked

HELP = "ask a server on this machine whether it is alive"
USAGE = "kafka-reassign-rpc health [--pid PID] [--ready] [--config FILE] [--SETTING VALUE …]"
DESCRIPTION = """\
Asks a server on this machine for /health at its metrics.listener, for the health checks of containers and the like.
--pid names the process of the server, whose own command line then says address and files; without it give the flags and
files of `kafka-reassign-rpc serve`, and --watch for a `kafka-reassign-rpc watch`.

It needs no password: a server that asks for one is alive. Only --ready needs a listener without metrics.users.file.
Where the listener speaks TLS it shows the server's own certificate, which has to be one that the server trusts if
clients need one.
"""
EPILOG = """\
exit codes: 0 the server lives (with --ready: is ready), 1 it does not or does not answer in time, 2 wrong flags or
            settings, or nothing to ask: no server has this process id, or it has no metrics.listener
example:    kafka-reassign-rpc health --pid 1
"""
DEFAULT_TIMEOUT_MS = 5_000
HEALTH = "/health"
ALIVE = (200, 401)
"""One that wants a password lives."""
LONGEST_ANSWER = 1_024
LONGEST_COMMAND_LINE = 2**20
EVERY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Where a listener on all addresses can be reached."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pid", metavar="PID", type=int, help="the process id of the server; 1 in a container")
    parser.add_argument("--ready", action="store_true", help="ask for /ready: whether it can be used, not only lives")
    parser.add_argument(
        "--timeout-ms",
        metavar="MS",
        default=DEFAULT_TIMEOUT_MS,
        help="milliseconds for each step of the question (default: %(default)s)",
    )
    add_flags(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    seconds = checked("--timeout-ms", whole(1, 3_600_000), arguments.timeout_ms) / 1000
    said = arguments if arguments.pid is None else _command_line(arguments.pid)
    values = read_settings(said, SETTINGS)
    connection = _connection(read_settings(said, SETTINGS_OF_WATCH) if values[WATCH] else values, seconds)
    path = "/ready" if arguments.ready else HEALTH
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read(LONGEST_ANSWER).decode(errors="replace").strip()
    except (OSError, HTTPException) as error:
        sys.stderr.write(
            f"kafka-reassign-rpc health: {Address(connection.host, connection.port)}: {error or 'no answer'}\n"
        )
        return 1
    finally:
        connection.close()
    print(text)  # noqa: T201
    return 0 if answer.status in (ALIVE if path == HEALTH else (200,)) else 1


def _command_line(pid: int) -> argparse.Namespace:
    """Finds the flags of a running `serve` or `watch`, however it was started. Raises UsageError."""
    try:
        with Path(f"/proc/{pid}/cmdline").open("rb") as file:
            words = file.read(LONGEST_COMMAND_LINE).decode(errors="surrogateescape").split("\0")[:-1]
    except OSError as error:
        raise UsageError(f"--pid: process {pid}: {error.strerror}") from None
    command = next((word for word in words if word in ("serve", "watch")), None)
    if command is None:
        raise UsageError(f"--pid: process {pid} is no `kafka-reassign-rpc serve` and no `watch`")
    said = _parsed(words[words.index(command) + 1 :])
    if command == "watch":
        said.watch = "true"
    return said


def _parsed(flags: Sequence[str]) -> argparse.Namespace:
    parser = QuietParser(prog="kafka-reassign-rpc serve", add_help=False)
    add_flags(parser, SETTINGS)
    return parser.parse_args(flags)


def _connection(values: Mapping[str, Any], seconds: float) -> HTTPConnection:
    """Connects to the metrics.listener. Reads the stores. Raises UsageError."""
    if values["metrics.listener"] is None:
        raise UsageError("metrics.listener is not set: there is nothing to ask")
    host, port = values["metrics.listener"]
    if port == 0:
        raise UsageError("metrics.listener has port 0: it is not known where the server listens")
    host = EVERY_ADDRESS.get(host, host)
    if values[PROTOCOL] == "PLAINTEXT":
        return HTTPConnection(host, port, timeout=seconds)
    try:
        context = TlsConfig.of(security_properties(values), (prefix_of(LISTENER), "")).load_client().context
    except BadSetting as error:
        raise UsageError(str(error)) from None
    # Any process that listens at an address of this machine is asked for a word, and gets no secret.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return HTTPSConnection(host, port, timeout=seconds, context=context)
