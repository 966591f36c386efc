"""WaitingMove for a client's hooks, and for conditions that nothing announces."""

import asyncio
from collections.abc import Callable

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


class Events:
    """The calls of a client's hooks, in order, each with the client's session id at that moment."""

    def __init__(self, zk: ZooKeeper) -> None:
        self.zk = zk
        self.seen: list[tuple[str, int | None]] = []
        self._more = asyncio.Event()
        zk.on_connected(lambda: self._note("connected", zk.session_id))
        zk.on_disconnected(lambda: self._note("disconnected", zk.session_id))
        zk.on_session_over(lambda old: self._note("over", old))

    def _note(self, what: str, session: int | None) -> None:
        self.seen.append((what, session))
        self._more.set()

    @property
    def names(self) -> list[str]:
        return [what for what, _ in self.seen]

    async def until(self, what: str, count: int = 1) -> None:
        async with asyncio.timeout(60):
            while self.names.count(what) < count:
                self._more.clear()
                await self._more.wait()


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Waits for a condition that nothing announces."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)
