"""The ZooKeeper client: one session, exactly one attempt per call, a typed outcome for each.

Paths have no chroot. ZooKeeper carries out calls in their order. A call raises a ZkError at the latest when the
watchdog gives the connection up. Watches fire once, and are *not* restored after a reconnect: owners read again in
their `on_connected` hooks. Only `reading`, and those of `transactions`, wait for a lost connection.
"""

import asyncio
import logging
import struct
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from kafka_reassign_rpc.support.host_port import parse_connect_string
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import jute
from kafka_reassign_rpc.zookeeper.access import PLAIN, Access
from kafka_reassign_rpc.zookeeper.operations import (
    ANY_VERSION,
    AclEntry,
    Create,
    Op,
    Result,
    SetData,
    Stat,
    WatchKind,
)
from kafka_reassign_rpc.zookeeper.tcp_connection import Parse, ZooKeeperConnection
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    NodeExists,
    NoNode,
    NotSent,
    Unimplemented,
    Unknown,
)
from kafka_reassign_rpc.zookeeper.zookeeper_session import ZooKeeperSession

SESSION_TIMEOUT_MS = 18_000
"""Kafka's default of zookeeper.session.timeout.ms."""
READS_PER_PACKET = 500
READ_BYTES_PER_PACKET = 256 << 10
READS_IN_FLIGHT = 4
WATCH_BYTES_PER_PACKET = 128 << 10
DECODED_AT_ONCE_BYTES = 100_000
AGAIN_S = 0.005
"""The pause before what a connection has failed at is tried again."""

_GET_DATA, _EXISTS, _GET_ACL, _CHILDREN, _SYNC, _SET_DATA, _DELETE, _CREATE2 = 4, 3, 6, 8, 9, 5, 2, 15
_WHO_AM_I = 107
_INT = struct.Struct(">i")

T = TypeVar("T")
log = logging.getLogger(__name__)


class Receipt:
    """A znode of this session that exists. Transactions use it one after the other (`transactions`)."""

    def __init__(self, session: int, path: str) -> None:
        self.session = session
        self.path = path
        self.version = 0
        self.is_known = True
        """Whether the version is right: not while a transaction is under way."""

    def write(self, data: bytes) -> Op:
        return SetData(self.path, data, self.version)

    def written(self) -> None:
        self.version += 1
        self.is_known = True


class Receipts:
    """The free receipts of a client."""

    def __init__(self) -> None:
        self.free: list[Receipt] = []
        self.numbers = count()


class ZooKeeper:
    """The server may grant another `session_timeout_ms`."""

    def __init__(
        self,
        connect: str,
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        access: Access = PLAIN,
    ) -> None:
        self.connect = connect
        hosts, self.chroot = parse_connect_string(connect)
        self._acl_of = access.acl_of
        self._watchers: list[Callable[[WatchKind, str], None]] = []
        self._reads_many = True
        """Until a server of before 3.6 was met: it has no request for many znodes."""
        self.receipts = Receipts()
        self._session = ZooKeeperSession(hosts, session_timeout_ms / 1000, access=access, watch=self._watch_fired)
        self.lease_left = self._session.lease_left
        """Seconds for which the session cannot expire. At 0 or less another process may act already."""

    # The session

    async def start(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109 (part of the interface)
        """Raises NotSent, and closes, if it reaches no server within `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._session.start()
        except TimeoutError:
            await self.close()
            raise NotSent(
                f"no ZooKeeper session at {self.connect} within {timeout:g} s; last: {self._session.last_error}"
            ) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """The session's ephemeral znodes go at once. Calls no hook; calls in flight end in Unknown."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def session_id(self) -> int | None:
        """None before the first session, and from the end of one to the beginning of the next."""
        return self._session.session_id

    @property
    def connected(self) -> bool:
        return self._session.connected

    @property
    def last_zxid(self) -> int:
        return self._session.last_zxid

    @property
    def round_trip(self) -> float:
        """Seconds of the last answered request."""
        return self._session.round_trip

    async def connected_again(self, session: int) -> None:
        """Raises SessionOver as soon as the session is over or its lease has run out."""
        await self._session.connected_again(session)

    async def reading(self, read: Callable[[], Awaitable[T]], session: int | None = None) -> T:
        """Calls `read` again after each lost connection for as long as the session (None: the present one) lives.
        Raises NotSent if there is none, and SessionOver.
        """
        session = self.session_id if session is None else session
        if session is None:
            raise NotSent(f"not connected to ZooKeeper: {self._session.last_error}")
        while True:
            await self.connected_again(session)
            try:
                return await read()
            except (NotSent, Unknown) as error:
                log.debug("read again: %s", error)
                await asyncio.sleep(AGAIN_S)

    def on_session_over(self, hook: Callable[[int], None]) -> None:
        """`hook(old_session_id)`: the session is over or its lease has run out, and no new one is asked for yet."""
        self._session.over_hooks.append(hook)

    def on_connected(self, hook: Callable[[], None]) -> None:
        """Calls `hook` on every connection, with a new session or the same: compare `session_id`."""
        self._session.connected_hooks.append(hook)

    def on_disconnected(self, hook: Callable[[], None]) -> None:
        self._session.disconnected_hooks.append(hook)

    def on_watch(self, hook: Callable[[WatchKind, str], None]) -> None:
        """Calls `hook` for every watch that fires, before any call returns an answer that shows the change."""
        self._watchers.append(hook)

    def _watch_fired(self, kind: int, path: str) -> None:
        if kind not in WatchKind.__members__.values():
            return  # a session event, or a kind of watch that this client never sets
        local = path[len(self.chroot) :] or "/"
        for hook in list(self._watchers):
            try:
                hook(WatchKind(kind), local)
            except Exception:
                log.exception(
                    "a watch hook failed on %s of %s: the change may go unnoticed until the next connection",
                    WatchKind(kind).name,
                    local,
                )

    # One znode

    async def get(self, path: str, watch: bool = False) -> tuple[bytes, Stat]:
        """Raises NoNode. Sets the watch only if the znode exists."""

        return await self._call(_GET_DATA, path, _flag(watch), _data)

    async def get_or_null(self, path: str) -> tuple[bytes | None, Stat]:
        """Distinguishes empty data from none, as Kafka does. Raises NoNode."""

        def parse(answer: bytes) -> tuple[bytes | None, Stat]:
            data, end = jute.decode_buffer(answer, jute.HEADER)
            return None if answer.startswith(jute.NULL, jute.HEADER) else data, jute.decode_stat(answer, end)

        return await self._call(_GET_DATA, path, _flag(False), parse)

    async def exists(self, path: str, watch: bool = False) -> Stat | None:
        """Sets the watch also if there is no znode (CREATED, or CHANGED and DELETED)."""
        try:
            return await self._call(_EXISTS, path, _flag(watch), _stat)
        except NoNode:
            return None

    async def if_there(self, path: str, read: Callable[[], Awaitable[T]], *, watch: bool) -> T | None:
        """What `read` finds at the znode, None where it raises NoNode. `watch`: it sets a watch there, and where there
        is no znode, one reports its creation."""
        while True:
            try:
                return await read()
            except NoNode:
                if not watch or await self.exists(path, watch=True) is None:
                    return None

    async def children(self, path: str, watch: bool = False, *, many: bool = False) -> list[str]:
        """In no order. Raises NoNode.

        `many`: there may be more names than a turn of the event loop can decode. Then a thread decodes them, and the
        answers to later calls may overtake this one.
        """
        if many:
            answer = await self._call(_CHILDREN, path, _flag(watch), bytes)
            if len(answer) > DECODED_AT_ONCE_BYTES:
                return (await asyncio.to_thread(jute.decode_strings, answer, jute.HEADER))[0]
            return _names(answer)
        return await self._call(_CHILDREN, path, _flag(watch), _names)

    async def acl(self, path: str) -> list[AclEntry]:
        """Raises NoNode, and NoAuth if not even that may be read."""
        return await self._call(_GET_ACL, path, b"", lambda answer: jute.decode_acl(answer, jute.HEADER))

    async def who_am_i(self) -> frozenset[tuple[str, str]]:
        """(scheme, id) of this connection's identities, such as ("sasl", "kafka"); nothing before ZooKeeper 3.7."""
        xid = self._session.next_xid()
        packet = struct.pack(">ii", xid, _WHO_AM_I)
        connection = self._session.connection()
        try:
            found = await connection.submit(xid, packet, lambda answer: jute.decode_pairs(answer, jute.HEADER))
        except Unimplemented:
            await self._after_unimplemented(connection)
            return frozenset()
        return frozenset(found)

    async def _after_unimplemented(self, connection: ZooKeeperConnection) -> None:
        """Raises SessionOver."""
        session = self.session_id
        connection.drop("this ZooKeeper is too old for a request, and closes it")
        if session is not None:
            await self.connected_again(session)

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        session: int | None = None,
    ) -> tuple[str, Stat]:
        """Returns the path, with its digits if `sequence`. Raises NodeExists, NoNode (of the parent)."""

        def parse(answer: bytes) -> tuple[str, Stat]:
            made, end = jute.decode_buffer(answer, jute.HEADER)
            return made.decode()[len(self.chroot) :], jute.decode_stat(answer, end)

        flags = (1 if ephemeral else 0) | (2 if sequence else 0)
        body = _INT.pack(len(data)) + data + self._acl_of(path) + _INT.pack(flags)
        return await self._call(_CREATE2, path, body, parse, session)

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION, *, session: int | None = None) -> Stat:
        """Raises NoNode, BadVersion."""
        return await self._call(_SET_DATA, path, _INT.pack(len(data)) + data + _INT.pack(version), _stat, session)

    async def delete(self, path: str, version: int = ANY_VERSION, *, session: int | None = None) -> None:
        """Raises NoNode, BadVersion, NotEmpty."""
        await self._call(_DELETE, path, _INT.pack(version), _nothing, session)

    async def sync(self, path: str = "/") -> None:
        """Waits until the connected server has caught up with the leader."""
        await self._call(_SYNC, path, b"", _nothing)

    async def _call(
        self, opcode: int, path: str, body: bytes, parse: Callable[[bytes], T], session: int | None = None
    ) -> T:
        connection = self._session.connection(session)
        xid = self._session.next_xid()
        head = struct.pack(">ii", xid, opcode) + jute.ustring(jute.real_path(self.chroot, path))
        return cast(T, await connection.submit(xid, head + body, parse, path))

    # Transactions

    async def multi(self, ops: Sequence[Op], session: int | None = None) -> list[Result]:
        """All of the operations, in order, or none. `session` binds the transaction to that session. Raises
        TransactionFailed(index, error), SessionOver, TooBig, NotSent, Unknown.
        """
        return await self.submit_multi(ops, session)

    def submit_multi(self, ops: Sequence[Op], session: int | None = None) -> asyncio.Future[list[Result]]:
        """Sends before it returns: transactions go out in the order of these calls."""
        connection = self._session.connection(session)
        xid = self._session.next_xid()
        acls = [self._acl_of(op.path) for op in ops if isinstance(op, Create)]
        packet = jute.encode_multi(xid, ops, self.chroot, acls)
        return connection.submit(xid, packet, lambda answer: jute.decode_multi(answer, ops, self.chroot))

    # Many znodes

    async def multi_get(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """None if a znode does not exist. It is fast from ZooKeeper 3.6 on, but no snapshot."""
        return await self._multi_read(jute.GET_DATA, paths, jute.decode_data_reads)

    async def multi_children(self, paths: Sequence[str]) -> list[list[str] | None]:
        """As `multi_get`."""
        return await self._multi_read(jute.GET_CHILDREN, paths, jute.decode_children_reads)

    async def _multi_read(
        self, opcode: int, paths: Sequence[str], decode: Callable[[bytes, Sequence[str]], list[T]]
    ) -> list[T]:
        connection, at_once = self._session.connection(), self._reads_many
        found: list[T] = []
        try:
            async for part in self._reads(opcode, paths, decode):
                found += part
        except (Unimplemented, Unknown) as error:
            if isinstance(error, Unimplemented) and self._reads_many:
                self._reads_many = False
                log.info("this ZooKeeper is older than 3.6: znodes are read one by one")
            if self._reads_many == at_once:  # it is lost for another reason
                raise
            await self._after_unimplemented(connection)
            return await self._multi_read(opcode, paths, decode)
        return found

    async def _reads(
        self, opcode: int, paths: Sequence[str], decode: Callable[[bytes, Sequence[str]], list[T]]
    ) -> AsyncIterator[list[T]]:
        flying: deque[asyncio.Future[list[T]]] = deque()
        try:
            for part in _slices(paths, READS_PER_PACKET):
                if self._reads_many:
                    xid = self._session.next_xid()
                    packet = jute.encode_multi_read(xid, opcode, part, self.chroot)
                    flying.append(self._session.connection().submit(xid, packet, _decoder(decode, part)))
                else:
                    flying.append(asyncio.create_task(self._one_by_one(opcode, part)))
                if len(flying) == READS_IN_FLIGHT:
                    yield await flying.popleft()
            while flying:
                yield await flying.popleft()
        finally:
            for future in flying:
                future.cancel()

    async def _one_by_one(self, opcode: int, paths: Sequence[str]) -> list[Any]:
        async def read(path: str) -> Any:
            try:
                return await self._call(opcode, path, _flag(False), _ONE_BY_ONE[opcode])
            except NoNode:
                return None

        return await asyncio.gather(*map(read, paths))

    async def place_watches(self, paths: Sequence[str], since_zxid: int) -> None:
        """On the data of znodes. A one-shot watch fires at once if its znode has changed after `since_zxid`: with the
        `last_zxid` from before the znodes were read, no change between reading and watching is lost.
        """
        flying: list[asyncio.Future[None]] = []
        pace = Pace()
        try:
            for part in jute.split_paths(paths, WATCH_BYTES_PER_PACKET, 4 + len(self.chroot)):
                xid = self._session.next_xid()
                packet = jute.encode_set_watches(xid, since_zxid, [part, (), ()], self.chroot)
                flying.append(self._session.connection().submit(xid, packet, _nothing))
                await pace.rest()
            for future in flying:
                await future
        finally:
            for future in flying:
                future.cancel()

    async def ensure_path(self, path: str) -> None:
        """With its missing parents, the chroot's included: without data, as Kafka creates them, since it parses empty
        data of some. Existing znodes stay as they are."""
        names = [name for name in (self.chroot + path).split("/") if name]
        missing = ["/" + "/".join(names[:depth]) for depth in range(len(names), 0, -1)]
        made_from = len(missing)
        for index, real in enumerate(missing):  # from the deepest upwards: usually the first one exists
            try:
                await self._create_real(real)
            except NoNode:
                continue
            except NodeExists:
                pass
            made_from = index
            break
        for real in reversed(missing[:made_from]):
            try:
                await self._create_real(real)
            except NodeExists:
                continue

    async def _create_real(self, real: str) -> None:
        xid = self._session.next_xid()
        acl = self._acl_of(real.removeprefix(self.chroot) if real.startswith(f"{self.chroot}/") else real)
        packet = struct.pack(">ii", xid, _CREATE2) + jute.ustring(real) + jute.NULL + acl + _INT.pack(0)
        await self._session.connection().submit(xid, packet, _nothing, real)

    async def tree(self, path: str) -> list[str]:
        """Children before their parents; nothing if the znode does not exist."""
        levels: list[list[str]] = []
        level = [path]
        while level:
            found = await self.multi_children(level)
            levels.append([parent for parent, names in zip(level, found, strict=True) if names is not None])
            level = [
                f"{parent.rstrip('/')}/{name}"
                for parent, names in zip(level, found, strict=True)
                for name in names or ()
            ]
        return [one for level in reversed(levels) for one in level]


def _flag(watch: bool) -> bytes:
    return b"\1" if watch else b"\0"


def _stat(answer: bytes) -> Stat:
    return jute.decode_stat(answer, jute.HEADER)


def _data(answer: bytes) -> tuple[bytes, Stat]:
    data, end = jute.decode_buffer(answer, jute.HEADER)
    return data, jute.decode_stat(answer, end)


def _names(answer: bytes) -> list[str]:
    return jute.decode_strings(answer, jute.HEADER)[0]


_ONE_BY_ONE: Mapping[int, Callable[[bytes], Any]] = {jute.GET_DATA: _data, jute.GET_CHILDREN: _names}


def _nothing(_: bytes) -> None:
    return None


def _decoder(decode: Callable[[bytes, Sequence[str]], list[T]], paths: Sequence[str]) -> Parse:
    return lambda answer: decode(answer, paths)


def _slices(paths: Sequence[str], count: int) -> Iterable[Sequence[str]]:
    for start in range(0, len(paths), count):
        yield from jute.split_paths(paths[start : start + count], READ_BYTES_PER_PACKET, jute.OP_OVERHEAD + 1)
