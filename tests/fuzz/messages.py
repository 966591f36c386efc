"""Requests from their schemas, with any values; many of them name what exists."""

from random import Random
from typing import Any
from uuid import UUID

from kafka.protocol.schemas.fields import codecs
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol.messages import REQUESTS
from kafka_reassign_rpc.protocol.versions import ApiKey

BROKERS = (701, 702, 703)
TOPICS = ("fuzz-0", "fuzz-1", "fuzz-2", "__consumer_offsets", "")
INTEGERS = (
    -(1 << 63),
    -(1 << 31),
    -2,
    -1,
    0,
    0,
    0,
    1,
    1,
    1,
    2,
    2,
    3,
    3,
    4,
    1000,
    100_000,
    (1 << 31) - 1,
    (1 << 63) - 1,
)
TEXTS = ("", "1", "3", "retention.ms", "min.insync.replicas", "User:a", "a/b", "²", "\x00", "\x1b[31m", "n" * 249)
LONG_TEXT = "n" * 32_700
TIMEOUTS = (-1, 0, 1, 1000)
OF_BROKERS = ("broker", "replica", "leader", "isr", "node")
"""What the names of fields with brokers' ids have in them."""

_BITS = {codecs.Int8: 8, codecs.Int16: 16, codecs.Int32: 32, codecs.Int64: 64}


class Request:
    """A recipe for one request: the same generator's state gives the same message, but for what is asked to be large.

    arrays, texts   names of the arrays and texts that the message has in this version, at any depth, without those in
                    tagged fields
    """

    def __init__(self, seed: int, key: int, version: int) -> None:
        self._seed = seed
        self._class = REQUESTS[key]
        self._version = version
        self._spares_brokers = key == ApiKey.CONTROLLED_SHUTDOWN  # they would have to start again
        self.arrays: list[str] = []
        self.texts: list[str] = []
        self._find(self._class._struct)

    def message(self, *, array: str = "", count: int = 0, text: str = "", size: int = 0, tagged: bool = True) -> Any:
        """The message. `array` gets `count` elements that are the same; `text` gets so many characters or bytes. What
        contains them is there. `tagged`: with its tagged fields."""
        rng = Random(self._seed)
        self._tagged = tagged
        self._array, self._count, self._text, self._size = array, count, text, size
        return self._structure(rng, self._class._struct, self._class, "")

    def _find(self, structure: StructField, path: str = "") -> None:
        for field in structure.fields.values():
            if not field.for_version_q(self._version) or field.tag is not None:
                continue
            name = f"{path}/{field.name}"
            if isinstance(field, ArrayField):
                self.arrays.append(name)
                if isinstance(field.array_of, StructField):
                    self._find(field.array_of, name)
                    continue
                field = field.array_of  # noqa: PLW2901
            if isinstance(field, StructField):
                self._find(field, name)
            elif field._type not in (*_BITS, codecs.Boolean, codecs.Float64, codecs.UUID, codecs.UnsignedInt16):
                self.texts.append(name)

    def _structure(self, rng: Random, structure: StructField, cls: Any, path: str) -> Any:
        values = {
            field.name: self._value(rng, field, f"{path}/{field.name}")
            for field in structure.fields.values()
            if field.for_version_q(self._version) and (self._tagged or field.tag is None)
        }
        return cls(version=self._version, **values)

    def _value(self, rng: Random, field: Any, path: str) -> Any:
        is_null = rng.random() < 0.15 and field.nullable_for_version_q(self._version)
        wanted = (self._array or self._text).startswith(path)
        if isinstance(field, ArrayField):
            count = rng.choice((0, 1, 1, 2, 3))
            values = [self._element(rng, field.array_of, path) for _ in range(max(1, count))]
            if path == self._array:
                return values[:1] * self._count
            if wanted:
                return values[:1]  # so that what is large is there once
            return None if is_null else values[:count]
        value = self._element(rng, field, path)
        return None if is_null and not wanted else value

    def _element(self, rng: Random, field: Any, path: str) -> Any:
        if isinstance(field, StructField):
            return self._structure(rng, field, field.data_class, path)
        value = _plain(rng, field._type, path.rpartition("/")[2], () if self._spares_brokers else BROKERS)
        if path == self._text:
            return "x" * self._size if isinstance(value, str) else bytes(self._size)
        return value


def _plain(rng: Random, codec: Any, name: str, brokers: tuple[int, ...]) -> Any:
    if codec in _BITS:
        limit = 1 << (_BITS[codec] - 1)
        of_broker = bool(brokers) and any(word in name for word in OF_BROKERS) and rng.random() < 0.7
        number = rng.choice(brokers if of_broker else TIMEOUTS if "timeout" in name else INTEGERS)
        return max(-limit, min(limit - 1, number))
    if codec is codecs.UnsignedInt16:
        return rng.choice((0, 1, 65_535))
    if codec is codecs.Boolean:
        return rng.random() < 0.5
    if codec is codecs.Float64:
        return rng.choice((0.0, -1.0, float("inf"), 1e308))
    if codec is codecs.UUID:
        return rng.choice((None, UUID(int=1), UUID(int=rng.getrandbits(128))))
    if codec is codecs.BitField:
        return {rng.randrange(31)}
    if codec is codecs.Bytes:
        return rng.randbytes(rng.choice((0, 1, 20, 200)))
    if "name" in name or "topic" in name:
        return rng.choice((*TOPICS, *TOPICS, *TEXTS))
    return LONG_TEXT if rng.random() < 0.01 else rng.choice(TEXTS)
