"""Follows changes that sequential znodes announce, as Kafka's ZkNodeChangeNotificationListener does: all is read after
each connection, since an announcement may have come and gone, then what is announced. The repair of a znode that could
not be read is not announced: it is watched.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Container

from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, Unknown

FIRST_RETRY_S, LONGEST_RETRY_S = 0.1, 10.0


class AnnouncedChanges:
    """feeds         the znodes whose children are announcements
    unreadable    paths of watched znodes that could not be read
    read_all      it and `read_changed` place the watch of the feeds first; one of the two runs at a time
    read_changed  gets the paths of unreadable znodes that have changed
    failed        gets what has gone wrong while ZooKeeper is there; all is read again after a while
    """

    def __init__(
        self,
        zk: ZooKeeper,
        feeds: Collection[str],
        unreadable: Container[str],
        read_all: Callable[[], Awaitable[None]],
        read_changed: Callable[[Collection[str]], Awaitable[None]],
        failed: Callable[[Exception], None],
    ) -> None:
        self._zk = zk
        self._feeds, self._unreadable = feeds, unreadable
        self._read_all, self._read_changed, self._failed = read_all, read_changed, failed
        self._is_stale = True
        self._repaired: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        zk.on_watch(self._watch_fired)
        zk.on_connected(self._connected)

    def start(self, name: str) -> None:
        """`name`: of the task."""
        if self._is_stale:
            self._wake.set()
        self._task = asyncio.create_task(self._run(), name=name)

    async def close(self) -> None:
        if self._task is not None:
            await end(self._task)

    def _watch_fired(self, _kind: WatchKind, path: str) -> None:
        if path in self._unreadable:
            self._repaired.add(path)
            self._wake.set()
        elif path in self._feeds:
            self._wake.set()

    def _connected(self) -> None:
        self._is_stale = True
        self._wake.set()

    async def read(self) -> None:
        """Once, before `start` too. Raises as `read_all` and `read_changed`."""
        self._wake.clear()
        is_stale, self._is_stale = self._is_stale, False
        repaired, self._repaired = self._repaired, set()
        try:
            await (self._read_all() if is_stale else self._read_changed(repaired))
        except BaseException:
            self._is_stale = True
            raise

    async def _run(self) -> None:
        backoff = Backoff(FIRST_RETRY_S, LONGEST_RETRY_S)
        while True:
            await self._wake.wait()
            try:
                await self.read()
            except Exception as error:
                if isinstance(error, NotSent | Unknown) or not self._zk.connected:
                    continue  # `_connected` comes, or has come
                self._failed(error)
                self._wake.set()
                await backoff.sleep()
            else:
                backoff.reset()
