"""ZooKeeper as one elected controller sees it: every write is fenced, every call is repeated over a lost connection.

Every transaction checks that `/controller_epoch` has the version of this server's election, and is bound to the session
that won it: a controller that was replaced without noticing cannot write.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from kafka_reassign_rpc.controller.controller_election import Leadership
from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.operations import Check, Op, Result, Stat
from kafka_reassign_rpc.zookeeper.transactions import split_ops, transact_many
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BatchesFailed,
    Fenced,
    NotSent,
    SessionOver,
    Unknown,
    ZkError,
)

T = TypeVar("T")


class FencedZooKeeper:
    """What duties use that only a controller in front of ZooKeeper has. Raises ControllerMoved and ReloadNeeded, as
    `controller.store.Store`."""

    def __init__(self, zk: ZooKeeper, leadership: Leadership) -> None:
        self._zk = zk
        self._leadership = leadership
        self._fence = Check(znode_paths.CONTROLLER_EPOCH, leadership.epoch_version)

    @property
    def is_in_a_copy(self) -> bool:
        return self._leadership.is_in_a_copy

    async def reading(self, read: Callable[[], Awaitable[T]]) -> T:
        """Calls `read` again after each lost connection."""
        try:
            return await self._zk.reading(read, self._leadership.session)
        except ZkError as error:
            raise _failure(error) from error

    async def confirm(self) -> None:
        await self._write([[self._fence]])

    async def write(self, operations: Iterable[Op]) -> None:
        """For writes outside of rounds: orphaned records, a block of producer ids, the znodes of a deleted topic."""
        await self._write(list(split_ops(operations)))

    async def write_together(self, groups: Iterable[Sequence[Op]], *, guard: Sequence[Op] = ()) -> None:
        """The operations of each group go into one transaction. `guard` begins every transaction."""
        batches: list[list[Op]] = []
        room = 0
        for group in groups:
            cost = sum(size_of(op, self._zk.chroot) for op in group)
            if not batches or cost > room or len(batches[-1]) + len(group) > transactions.MAX_OPERATIONS:
                batches.append([*guard])
                room = transactions.MAX_MULTI_BYTES - sum(size_of(op, self._zk.chroot) for op in guard)
            batches[-1].extend(group)
            room -= cost
        await self._write(batches)

    async def read(self, places: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        return await self.reading(lambda: self._zk.multi_get(places))

    async def children(self, places: Sequence[str]) -> list[list[str] | None]:
        return await self.reading(lambda: self._zk.multi_children(places))

    async def ensure(self, places: Iterable[str]) -> None:
        for path in places:
            await self.reading(partial(self._zk.ensure_path, path))

    async def _write(self, batches: list[list[Op]]) -> list[list[Result]]:
        try:
            return await transact_many(self._zk, batches, self._leadership.session, self._fence)
        except ZkError as error:
            raise _failure(error) from error


def _failure(error: ZkError) -> ControllerMoved | ReloadNeeded:
    if isinstance(error, SessionOver):
        return ControllerMoved("the ZooKeeper session is over")
    first = error.first if isinstance(error, BatchesFailed) else error
    if isinstance(first, Fenced | SessionOver):
        return ControllerMoved(str(first))
    return ReloadNeeded(str(error), is_unknown=isinstance(first, NotSent | Unknown))
