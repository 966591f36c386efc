"""Jute encoded by hand, for requests that go out by the thousand. aiozk's classes take some 18 us an operation; this
takes about one. Layouts: ZooKeeper's zookeeper.jute and MultiOperationRecord.

A request here is a packet without its length: xid, opcode, body. An answer is a whole packet: xid, zxid, error (16
bytes), then the body, where the decoders begin.
"""

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct, pack

from kafka_reassign_rpc.zookeeper.operations import AclEntry, Check, Create, Delete, Op, Result, SetData, Stat
from kafka_reassign_rpc.zookeeper.zookeeper_errors import TransactionFailed, ZkError, from_code

CREATE, DELETE, GET_DATA, SET_DATA, GET_CHILDREN = 1, 2, 4, 5, 8
CHECK, MULTI, CREATE2, MULTI_READ, SET_WATCHES = 13, 14, 15, 22, 101
ERROR = -1
NO_NODE = -101

HEADER = 16
"""Bytes of an answer before its body: xid, zxid, error code."""

_INT = Struct(">i")
_ZXID = Struct(">q")
_STAT = Struct(">qqqqiiiqiiq")
_REQUEST = Struct(">ii")
_OP = Struct(">ibi")
_OP_PATH = Struct(">ibii")
_END = _OP.pack(-1, 1, -1)
_EPHEMERAL, _SEQUENCE = 1, 2
_RUNTIME_INCONSISTENCY = -2

OP_OVERHEAD = _OP_PATH.size
MULTI_OVERHEAD = _REQUEST.size + len(_END)


NULL = _INT.pack(-1)
"""A buffer that is none."""


def real_path(chroot: str, path: str) -> str:
    """With the chroot ("" or "/a/b"). Raises ValueError without a slash."""
    if path == "/":
        return chroot or "/"
    if path[:1] != "/":
        raise ValueError(f"a znode's path begins with a slash: {path!r}")
    return chroot + path


def ustring(text: str) -> bytes:
    data = text.encode()
    return _INT.pack(len(data)) + data


def encode_acl(entries: Sequence[tuple[int, str, str]]) -> bytes:
    return _INT.pack(len(entries)) + b"".join(
        _INT.pack(permissions) + ustring(scheme) + ustring(name) for permissions, scheme, name in entries
    )


def decode_acl(answer: bytes, at: int) -> list[AclEntry]:
    """Raises ValueError or struct.error."""
    count = max(_INT.unpack_from(answer, at)[0], 0)
    at += 4
    found = []
    for _ in range(count):
        (permissions,) = _INT.unpack_from(answer, at)
        scheme, at = decode_buffer(answer, at + 4)
        name, at = decode_buffer(answer, at)
        found.append(AclEntry(permissions, scheme.decode(errors="replace"), name.decode(errors="replace")))
    return found


OPEN_ACL = encode_acl([(31, "world", "anyone")])
"""All permissions for everybody: Kafka creates znodes with it while `zookeeper.set.acl` is false."""
ACL_ROOM = 48
"""The bytes that the ACL of a create counts: as many as the longest that this package sends, and more than most."""


def encode_multi(xid: int, ops: Sequence[Op], chroot: str = "", acls: Iterable[bytes] = ()) -> bytes:
    """Creates are `create2`, whose answer has the Stat. `acls`: one for each, in their order."""
    parts, following = [_REQUEST.pack(xid, MULTI)], iter(acls)
    add = parts.append
    head, integer = _OP_PATH.pack, _INT.pack
    for op in ops:
        path = real_path(chroot, op.path).encode()
        kind = type(op)
        if kind is SetData:
            add(head(SET_DATA, 0, -1, len(path)))
            add(path)
            add(integer(len(op.data)))  # type: ignore[union-attr]  # `type(op) is` costs a third of isinstance or match
            add(op.data)  # type: ignore[union-attr]
            add(integer(op.version))  # type: ignore[union-attr]
        elif kind is Create:
            add(head(CREATE2, 0, -1, len(path)))
            add(path)
            add(integer(len(op.data)))  # type: ignore[union-attr]
            add(op.data)  # type: ignore[union-attr]
            add(next(following))
            add(integer((_EPHEMERAL if op.ephemeral else 0) | (_SEQUENCE if op.sequence else 0)))  # type: ignore[union-attr]
        elif kind is Check or kind is Delete:
            add(head(CHECK if kind is Check else DELETE, 0, -1, len(path)))
            add(path)
            add(integer(op.version))  # type: ignore[union-attr]
        else:
            raise TypeError(f"not an operation: {op!r}")
    add(_END)
    return b"".join(parts)


def decode_multi(answer: bytes, ops: Sequence[Op], chroot: str = "") -> list[Result]:
    """Raises TransactionFailed; struct.error or ValueError if the answer is malformed.

    ZooKeeper before 3.7 answers to a create with the path alone. Then its zxid and time are those of a write that comes
    before it in the transaction; without one the time is 0.
    """
    results: list[Result] = []
    add = results.append
    zxid, time_ms = _ZXID.unpack_from(answer, 4)[0], 0
    at, cut = HEADER, len(chroot)
    header, stat, make = _OP.unpack_from, _STAT.unpack_from, tuple.__new__
    for op in ops:
        kind, done, _ = header(answer, at)
        at += 9
        if kind == SET_DATA:
            written = make(Stat, stat(answer, at))
            add(written)
            zxid, time_ms = written.mzxid, written.mtime
            at += 68
        elif kind == CREATE and isinstance(op, Create):
            path, at = decode_buffer(answer, at)
            add((path.decode()[cut:], new_stat(zxid, time_ms, op.data)))
        elif kind == CREATE2:
            size = _INT.unpack_from(answer, at)[0]
            at += 4 + size
            add((answer[at - size : at].decode()[cut:], make(Stat, stat(answer, at))))
            at += 68
        elif kind in (CHECK, DELETE):
            add(None)
        elif kind == ERROR and not done:
            raise _failure(answer, ops)
        else:
            raise ValueError(f"an answer to {op!r} of type {kind}")
    return results


def new_stat(zxid: int, time_ms: int, data: bytes) -> Stat:
    """Of a znode that is new."""
    return Stat(zxid, zxid, time_ms, time_ms, 0, 0, 0, 0, len(data), 0, zxid)


def _failure(answer: bytes, ops: Sequence[Op]) -> TransactionFailed:
    """Each operation has a code: 0 before the one at fault, its error, then RuntimeInconsistency."""
    codes = [_INT.unpack_from(answer, HEADER + 13 * n + 9)[0] for n in range(len(ops))]
    for index, code in enumerate(codes):
        if code not in (0, _RUNTIME_INCONSISTENCY):
            return TransactionFailed(index, from_code(code, ops[index].path))
    return TransactionFailed(0, from_code(codes[0], ops[0].path))


def encode_multi_read(xid: int, opcode: int, paths: Sequence[str], chroot: str = "") -> bytes:
    """GET_DATA or GET_CHILDREN, without watches (ZooKeeper 3.6 and later)."""
    parts = [_REQUEST.pack(xid, MULTI_READ)]
    head = _OP_PATH.pack
    for path in paths:
        data = real_path(chroot, path).encode()
        parts.append(head(opcode, 0, -1, len(data)) + data + b"\0")
    parts.append(_END)
    return b"".join(parts)


def decode_data_reads(answer: bytes, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
    """None if the znode does not exist. Raises any other error."""
    found: list[tuple[bytes, Stat] | None] = []
    add = found.append
    at = HEADER
    header, integer, stat, make = _OP.unpack_from, _INT.unpack_from, _STAT.unpack_from, tuple.__new__
    for path in paths:
        kind = header(answer, at)[0]
        at += 9
        size = integer(answer, at)[0]
        at += 4
        if kind == GET_DATA:
            end = at + max(size, 0)
            add((answer[at:end], make(Stat, stat(answer, end))))
            at = end + 68
        elif kind == ERROR and size == NO_NODE:
            add(None)
        else:
            raise _read_error(kind, size, path)
    return found


def decode_children_reads(answer: bytes, paths: Sequence[str]) -> list[list[str] | None]:
    """As `decode_data_reads`."""
    found: list[list[str] | None] = []
    at = HEADER
    for path in paths:
        kind = _OP.unpack_from(answer, at)[0]
        at += 9
        if kind == GET_CHILDREN:
            children, at = decode_strings(answer, at)
            found.append(children)
            continue
        code = _INT.unpack_from(answer, at)[0]
        at += 4
        if kind != ERROR or code != NO_NODE:
            raise _read_error(kind, code, path)
        found.append(None)
    return found


def _read_error(kind: int, code: int, path: str) -> ZkError | ValueError:
    return from_code(code, path) if kind == ERROR else ValueError(f"an answer to a read of {path} of type {kind}")


def decode_strings(answer: bytes, at: int) -> tuple[list[str], int]:
    integer = _INT.unpack_from
    count = integer(answer, at)[0]
    at += 4
    strings = []
    for _ in range(count):
        end = at + 4 + integer(answer, at)[0]
        strings.append(answer[at + 4 : end].decode())
        at = end
    return strings, at


def decode_pairs(answer: bytes, at: int) -> list[tuple[str, str]]:
    count = max(_INT.unpack_from(answer, at)[0], 0)
    at += 4
    found = []
    for _ in range(count):
        first, at = decode_buffer(answer, at)
        second, at = decode_buffer(answer, at)
        found.append((first.decode(errors="replace"), second.decode(errors="replace")))
    return found


def decode_buffer(answer: bytes, at: int) -> tuple[bytes, int]:
    """Null reads as empty. Returns the offset of the end too."""
    size = max(_INT.unpack_from(answer, at)[0], 0)
    end = at + 4 + size
    if end > len(answer):
        raise ValueError("a buffer longer than its packet")
    return answer[at + 4 : end], end


def decode_stat(answer: bytes, at: int) -> Stat:
    return Stat._make(_STAT.unpack_from(answer, at))


def encode_set_watches(xid: int, since_zxid: int, paths: Sequence[Sequence[str]], chroot: str = "") -> bytes:
    """A change after `since_zxid` is reported at once. `paths`: for data, exists, children."""
    parts = [pack(">iiq", xid, SET_WATCHES, since_zxid)]
    for kind in paths:
        parts.append(_INT.pack(len(kind)))
        parts.extend(ustring(real_path(chroot, path)) for path in kind)
    return b"".join(parts)


def size_of(op: Op, chroot: str = "") -> int:
    """How many bytes an operation takes in a transaction, with the longest ACL."""
    path = chroot + op.path
    size = OP_OVERHEAD + (len(path) if path.isascii() else len(path.encode())) + 4
    if isinstance(op, SetData):
        return size + 4 + len(op.data)
    if isinstance(op, Create):
        return size + 4 + len(op.data) + ACL_ROOM
    return size


def split_paths(paths: Sequence[str], limit: int, overhead: int) -> Iterator[Sequence[str]]:
    """Groups of at most `limit` bytes, each path counted with `overhead`; none is empty."""
    start, size = 0, 0
    for index, path in enumerate(paths):
        # UTF-8 takes at most four bytes a character: no need to encode just to measure.
        cost = overhead + (len(path) if path.isascii() else 4 * len(path))
        if size + cost > limit and index > start:
            yield paths[start:index]
            start, size = index, 0
        size += cost
    if start < len(paths):
        yield paths[start:]
