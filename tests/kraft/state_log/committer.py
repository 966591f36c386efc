"""A server that leads until it is fenced, as a process that tests kill and freeze: `committer BOOTSTRAP TOPIC LEAD_S`.

Prints `claimed OFFSET`, then `acked NUMBER OFFSET` for each commit, and at last why it has ended.
"""

import asyncio
import contextlib
import sys

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.kraft.state_log.log_errors import LogError
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog

PAUSE_S = 0.02


async def main(bootstrap: str, topic: str, lead_s: str) -> None:
    async with StateLog(client_settings({"bootstrap_servers": bootstrap}), topic=topic, lead_s=float(lead_s)) as log:
        term = await log.claim()
        print("claimed", term.claim_offset, flush=True)
        keeping = asyncio.create_task(log.keep())
        try:
            for number in range(1_000_000):
                offset = await log.commit([str(number).encode()])
                print("acked", number, offset, flush=True)
                await asyncio.sleep(PAUSE_S)
        except LogError as error:
            first = keeping.exception() if keeping.done() else None  # what the heartbeat met ends the term for commits
            print(type(first or error).__name__, first or error, flush=True)
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError, LogError):
                await keeping


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
