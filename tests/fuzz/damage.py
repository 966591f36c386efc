"""Changes bytes of what was well-formed."""

from random import Random

_NUMBERS = [bytes.fromhex(text) for text in ("0000", "ffff", "7fff", "8000", "7fffffff", "ffffffff", "80000000")]


def damaged(rng: Random, data: bytes, most: int = 5) -> bytes:
    """`data` with one to `most` places changed, removed, doubled or made an extreme number."""
    found = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randint(0, len(found))
        to = min(len(found), at + rng.randint(1, 8))
        how = rng.randrange(5)
        if how == 0:
            found[at:to] = rng.randbytes(to - at)
        elif how == 1:
            del found[at:to]
        elif how == 2:
            found[at:at] = found[at:to]
        elif how == 3:
            number = rng.choice(_NUMBERS)
            found[at : at + len(number)] = number
        elif at < len(found):
            found[at] ^= 1 << rng.randrange(8)
    return bytes(found)
