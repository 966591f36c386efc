"""DescribeLogDirs answers of brokers with very many replicas, read in slices. Objects for 100,000 replicas would hold
up the event loop for a quarter of a second. This reader takes only the sizes, straight out of the bytes, and also
trusts no length.
"""

import struct
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from kafka_reassign_rpc.protocol.decoder_source import skip_tags, varint
from kafka_reassign_rpc.protocol.frame_errors import BadLength, BadText, RemoteProtocolError, Truncated

MAX_VERSION = 4
"""Version 5 adds no field that the product needs."""
FLEXIBLE_SINCE = 2
BLOCK = 5_000
"""Replicas that are read at once: about a millisecond."""

_REPLICA = struct.Struct(">iqq?")
_REPLICA_AND_TAGS = struct.Struct(">iqq?B")
_BYTES = struct.Struct(">qq")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class Dir(NamedTuple):
    """Sizes in bytes, by topic and partition; `total` and `usable` bytes of the dir's volume; None: unknown. Future
    replicas, which are being copied from another dir of the same broker, are not in it. `idle`: those that the broker
    neither leads nor follows, since it tells no lag (ReplicaManager.getLogEndOffsetLag).
    """

    error: int
    path: str
    sizes: dict[str, dict[int, int | None]]
    total: int | None = None
    usable: int | None = None
    idle: Mapping[str, Set[int]] = {}


def _known(size: int) -> int | None:
    return size if size >= 0 else None


class LogDirsReader:
    """`error` and `dirs` are complete when `read` has ended."""

    def __init__(self, body: bytes, version: int) -> None:
        self._data = body
        self._version = version
        self._flexible = version >= FLEXIBLE_SINCE
        self._pos = 0
        self.error = 0
        self.dirs: list[Dir] = []

    def read(self) -> Iterator[None]:
        """Raises RemoteProtocolError."""
        try:
            yield from self._read()
        except RemoteProtocolError:
            raise
        except (struct.error, IndexError):
            raise Truncated("DescribeLogDirsResponse: the frame ends inside a field") from None
        except UnicodeDecodeError as error:
            raise BadText(f"DescribeLogDirsResponse: not UTF-8: {error.reason}") from None

    def _read(self) -> Iterator[None]:
        self._pos += 4  # throttle_time_ms
        if self._version >= 3:
            self.error = self._int16()
        for _ in range(self._count(least=4)):
            error, path = self._int16(), self._text()
            sizes: dict[str, dict[int, int | None]] = {}
            idle: dict[str, set[int]] = {}
            for _ in range(self._count(least=3)):
                name = self._text()
                found = sizes.setdefault(name, {})
                without_lag: set[int] = set()
                yield from self._replicas(found, without_lag)
                if without_lag:
                    idle.setdefault(name, set()).update(without_lag)
                self._tags()
            total = usable = None
            if self._version >= 4:
                total, usable = map(_known, _BYTES.unpack_from(self._data, self._pos))
                self._pos += _BYTES.size
            self._tags()
            self.dirs.append(Dir(error, path, sizes, total, usable, idle))
        self._tags()

    def _replicas(self, into: dict[int, int | None], idle: set[int]) -> Iterator[None]:
        layout = _REPLICA_AND_TAGS if self._flexible else _REPLICA
        left = self._count(least=layout.size)
        while left:
            count = min(left, BLOCK)
            stop = self._pos + count * layout.size
            block = self._data[self._pos : stop]
            if self._flexible and any(block[layout.size - 1 :: layout.size]):
                self._replicas_with_tags(count, into, idle)
            else:
                into.update(
                    [(one[0], one[1] if one[1] >= 0 else None) for one in layout.iter_unpack(block) if not one[3]]
                )
                idle.update([one[0] for one in layout.iter_unpack(block) if one[2] < 0 and not one[3]])
                self._pos = stop
            left -= count
            yield

    def _replicas_with_tags(self, count: int, into: dict[int, int | None], idle: set[int]) -> None:
        """No broker is known to send tagged fields, but one may."""
        for _ in range(count):
            index, size, lag, is_future = _REPLICA.unpack_from(self._data, self._pos)
            self._pos += _REPLICA.size
            self._tags()
            if not is_future:
                into[index] = _known(size)
                if lag < 0:
                    idle.add(index)

    def _count(self, *, least: int) -> int:
        if self._flexible:
            count, self._pos = varint(self._data, self._pos)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(self._data, self._pos)
            self._pos += 4
        if count < 0 or count * least > len(self._data) - self._pos:
            raise BadLength(f"DescribeLogDirsResponse: {count} elements in {len(self._data) - self._pos} bytes")
        return int(count)

    def _text(self) -> str:
        if self._flexible:
            size, self._pos = varint(self._data, self._pos)
            size -= 1
        else:
            size = self._int16()
        stop = self._pos + size
        if size < 0 or stop > len(self._data):
            raise BadLength(f"DescribeLogDirsResponse: a text of {size} bytes")
        text = self._data[self._pos : stop].decode()
        self._pos = stop
        return text

    def _int16(self) -> int:
        (value,) = _INT16.unpack_from(self._data, self._pos)
        self._pos += 2
        return int(value)

    def _tags(self) -> None:
        if self._flexible:
            if self._data[self._pos]:
                self._pos = skip_tags(self._data, self._pos)
            else:
                self._pos += 1
