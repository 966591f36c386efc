"""The simulated brokers of `serve`: a child process that ends with it."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from kafka_reassign_rpc.embedded_zookeeper.child_process import tied_to_us

STOP_TIMEOUT_S = 20.0


class ChildFailed(RuntimeError):
    """The child process ended before it was ready. Its messages are on standard error."""


@asynccontextmanager
async def fleet_process(arguments: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs `fleet` until the block ends, in its own session: Ctrl-C reaches only `serve`, which then ends the brokers
    before the server.
    """
    # -P: without it -m looks for modules in the current folder first, and would run a file http.py there.
    command = [sys.executable, "-P", "-m", "kafka_reassign_rpc.cli.main", "fleet", *arguments]
    process = await asyncio.create_subprocess_exec(
        *tied_to_us(command, signal.SIGTERM),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line.startswith(b"ready "):
            raise ChildFailed(f"the simulated brokers did not start (exit code {await process.wait()})")
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
            except TimeoutError:
                process.kill()
                await process.wait()
