"""CRC-32C of large batches without a module in C: kafka-python's table takes 0.1 s for a megabyte, this some ms.

A checksum is the remainder of a polynomial over GF(2). x^6777 + x^484 + x^100 + 1 is a multiple of CRC-32C's
polynomial, and so are its squares, its squares' squares and so on: they fold a long message onto a shorter one that has
the same remainder, by shifts of whole integers. The table does the rest.
"""

from kafka.record.util import calc_crc32c

_HIGHEST, _OTHERS = 6777, (484, 100, 0)
"""The exponents of the multiple."""
_BEGIN = 0xFFFFFFFF
"""What the first four bytes are combined with, before the checksum and at its end."""


def crc32c(data: bytes) -> int:
    bits = 8 * len(data)
    if bits < 2 * _HIGHEST:
        return int(calc_crc32c(memoryview(data)))
    # The lowest bit of the first byte has the highest exponent.
    value = int.from_bytes(data, "little") ^ _BEGIN
    doublings = (bits // _HIGHEST).bit_length() - 1
    for doubling in range(doublings, -1, -1):
        highest = _HIGHEST << doubling
        while True:
            folded = min(bits - highest, highest - (_OTHERS[0] << doubling)) & ~7
            if folded <= 0:
                break
            top = value & ((1 << folded) - 1)
            value >>= folded
            for other in _OTHERS:
                value ^= top << (highest - (other << doubling) - folded)
            bits -= folded
    return int(calc_crc32c(memoryview((value ^ _BEGIN).to_bytes(bits // 8, "little"))))
