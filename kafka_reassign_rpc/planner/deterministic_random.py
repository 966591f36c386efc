"""Random numbers that every process gets: they depend only on partition, seed and round."""

from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

if TYPE_CHECKING:
    import numpy.typing as npt

Bits = TypeVar("Bits", int, "npt.NDArray[Any]")
_MASK = 2**64 - 1
RANDOM_RANGE = 2**64
"""`random_bits` gives 0 … RANDOM_RANGE - 1."""


def partition_key(topic: str, index: int) -> int:
    return crc32(topic.encode()) << 32 | index


def random_bits(key: Bits, salt: Any) -> Bits:
    """64 bits, by splitmix64. `key`, and `salt` with it, may be columns of uint64: these keep no more of a product."""
    mixed: Bits = (key * 0xD1342543DE82EF95 + (salt * 0x9E3779B97F4A7C15 & _MASK)) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    mixed ^= mixed >> 31
    return mixed
