"""Chance that is the same everywhere: it depends on a partition's name, the seed and the round, never on who asks."""

from zlib import crc32

_MASK = 2**64 - 1
WHOLE = 2**64
"""`mix` gives 0 … WHOLE - 1."""


def key_of(topic: str, index: int) -> int:
    """A number for a partition, the same in every process."""
    return crc32(topic.encode()) << 32 | index


def mix(key: int, salt: int) -> int:
    """64 bits that look like chance (splitmix64)."""
    mixed = (key * 0xD1342543DE82EF95 + salt * 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)
