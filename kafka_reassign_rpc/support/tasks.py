"""The end of background tasks."""

import asyncio
from typing import Any


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they are over. Raises the exception with which one of them failed before.

    (A caller that awaits a cancelled task and suppresses its CancelledError would suppress its own cancellation too.)
    """
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
