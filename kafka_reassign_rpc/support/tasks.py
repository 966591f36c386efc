"""The end of background tasks."""

import asyncio
from typing import Any


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they are over. What one of them failed with before is raised.

    (Awaiting a cancelled task and suppressing its CancelledError would suppress that of the caller as well.)
    """
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
