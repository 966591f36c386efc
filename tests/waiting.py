"""How tests wait: for a condition, with a deadline. No test sleeps for a fixed time."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

LEAST_S, MOST_S, SHARE = 0.05, 0.25, 20


def pause_s(waited_s: float) -> float:
    """Seconds until the next look, after `waited_s` of waiting. To look costs CPU here and at the process that is
    asked: what takes long may be seen a twentieth of its time late.
    """
    return min(MOST_S, max(LEAST_S, waited_s / SHARE))


async def eventually(condition: Callable[[], Any], *, within: float = 60.0) -> Any:
    """What `condition()` (or what it awaits) gives, once that is true. Else the last failure or value is shown.

    A condition may raise: a server that is not there yet is no failure before the deadline.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    deadline = began + within
    while True:
        found: object = None
        try:
            found = condition()
            if inspect.isawaitable(found):
                found = await found
        except (OSError, EOFError, AssertionError, LookupError, ZkError) as error:
            if loop.time() > deadline:
                raise
            found = error
        else:
            if found:
                return found
            assert loop.time() <= deadline, f"not within {within:g} s: {_shown(condition)}: {found!r}"
        await asyncio.sleep(pause_s(loop.time() - began))


def _shown(condition: Callable[[], Any]) -> str:
    try:
        return inspect.getsource(condition).strip()
    except (TypeError, OSError):
        return repr(condition)
