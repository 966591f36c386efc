"""Shared by serve, fleet and zookeeper: logging on standard error, the ready line, the end on a signal."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal

from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.server.process_limits import LoopName
from kafka_reassign_rpc.server.process_limits import run as run_loop
from kafka_reassign_rpc.support.bounded_log import BoundedFormatter, JsonFormatter
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LOG_FORMATS = TEXT, JSON = ("text", "json")


def add_log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log-level",
        default="INFO",
        metavar="LEVEL",
        help="the lowest level to log on standard error (default: %(default)s)",
    )
    parser.add_argument(
        "--log-format",
        default=TEXT,
        choices=LOG_FORMATS,
        help="log lines of text, or a JSON object on each line (default: %(default)s)",
    )


def check_level(level: str) -> None:
    if level.upper() not in LEVELS:
        raise UsageError(f"--log-level: expected one of {', '.join(LEVELS)}, got {told(level)}")


def set_up_logging(level: str, log_format: str) -> None:
    """Logs go to standard error. Standard output is for the ready line alone."""
    check_level(level)
    handler = logging.StreamHandler(sys.stderr)
    text = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    handler.setFormatter(JsonFormatter() if log_format == JSON else BoundedFormatter(text))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for noisy in ("aiozk", "kafka", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLogger().level))


def announce(line: str) -> None:
    """Prints the ready line: from now on this process can be used."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def ended_first(work: Coroutine[Any, Any, None], stop: asyncio.Event) -> bool:
    """Returns whether `work` has ended before `stop` was set; else it is cancelled, and has cleaned up."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        has_ended = working.done()
    finally:
        await end(stopping, working)
    return has_ended


def _why(error: Exception) -> str:
    """A defect has also the name of its class."""
    foreseen = isinstance(error, OSError) or type(error).__module__.startswith("kafka_reassign_rpc.")
    return error_text(error) if foreseen else f"defect: {type(error).__name__}: {error}"


def run_until_signalled(
    main: Callable[[asyncio.Event], Awaitable[None]], log_format: str, *, loop: LoopName | Literal["auto"] = "auto"
) -> int:
    """SIGTERM and SIGINT set `stop` of `main(stop)`; a second signal cancels.

    Returns exit code 0, or 1 after one line about the error, which has the format of the log.
    """

    async def wrapped() -> None:
        stop = asyncio.Event()
        task = asyncio.ensure_future(main(stop))

        def signalled() -> None:
            if stop.is_set():
                task.cancel()
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, signalled)
        collector = asyncio.create_task(process_limits.collect_garbage_periodically())
        try:
            await task
        finally:
            collector.cancel()

    process_limits.tune_interpreter()
    process_limits.raise_descriptor_limit()
    try:
        run_loop(wrapped(), None if loop == "auto" else loop)
    except asyncio.CancelledError:
        return 130
    except UsageError:
        raise
    except BadSetting as error:
        raise UsageError(str(error)) from None
    except Exception as error:
        log.debug("ended by", exc_info=True)
        if log_format == JSON:
            log.critical("%s", _why(error))
        else:
            sys.stderr.write(f"kafka-reassign-rpc: {_why(error)}\n")
        return 1
    return 0
