r"""Parses the values of settings and dynamic configs, which any client may have written (None: invalid), and reads and
prints them as Java does: Python's `int`, `float`, `str.strip` and `\s` accept other texts. Time grows with the length
of the text alone. Also addresses, as Java prints them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from struct import unpack
from unicodedata import category, decimal

from kafka_reassign_rpc.support.bounded_text import whole_number

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
MOST_BROKERS = 5_000
"""That a list names, or an answer."""
BROKER_IDS = f"ids of brokers with commas between them, at most {MOST_BROKERS}"
"""What `parse_brokers` expects."""


def flag(text: str) -> bool | None:
    word = text.strip().lower()
    return word == "true" if word in ("true", "false") else None


def number(text: str, low: int, high: int) -> int | None:
    return whole_number(text.strip(), low, high)


@lru_cache(maxsize=4)
def parse_brokers(text: str) -> frozenset[int] | None:
    """The ids in a list; None: it is no list of broker ids. Each new topic needs it, so it is cached."""
    return broker_ids([item for item in text.split(",") if item.strip()])


def broker_ids(items: Collection[str]) -> frozenset[int] | None:
    """An id has one form, or taking 3 out of a list (AlterConfigOp.SUBTRACT) would leave 03 there."""
    if len(items) > MOST_BROKERS:
        return None
    ids: set[int] = set()
    for item in map(str.strip, items):
        number = whole_number(item, 0, INT32)
        if number is None or str(number) != item:
            return None
        ids.add(number)
    return frozenset(ids)


def listed(brokers: Iterable[int]) -> str:
    """As `parse_brokers` reads it."""
    return ",".join(map(str, sorted(brokers)))


TOPICS = "topics"
BROKERS = "brokers"

DEFAULT = "<default>"
"""The name of the default entity. Among brokers: the cluster-wide configs."""


_TRIMMED = "".join(map(chr, range(0x21)))
"""What String.trim removes."""
_WHITESPACE = " \t\n\x0b\f\r"
r"""What `\\s` of a java.util.regex.Pattern matches."""
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_DIGITS_OF_INT64 = 19


def trim(text: str) -> str:
    return text.strip(_TRIMMED)


def boolean(text: str) -> bool | None:
    upper = text.upper()  # not lower: Java takes a long s for an s
    if len(upper) != len(text) or upper not in ("TRUE", "FALSE"):
        return None
    return upper == "TRUE"


def integer(text: str, bound: int) -> int | None:
    """Integer.parseInt and the like, in digits of any script: from -`bound` to `bound` - 1, or None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or not all(one <= "\uffff" and category(one) == "Nd" for one in digits):
        return None
    plain = "".join([str(decimal(one)) for one in digits]).lstrip("0")
    if len(plain) > _DIGITS_OF_INT64:
        return None
    value = int(plain or "0")
    value = -value if text[0] == "-" else value
    return value if -bound <= value < bound else None


def double(text: str) -> float | None:
    """Double.parseDouble."""
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.rstrip("fFdD") if text[-1] in "fFdD" else text)
        except OverflowError:
            return float("-inf" if text[0] == "-" else "inf")
    if not _DOUBLE.fullmatch(text):
        return None
    return float(text if text.endswith(("NaN", "Infinity")) else text.rstrip("fFdD"))


def double_text(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 (NaN)
        return str(value).replace("nan", "NaN").replace("inf", "Infinity")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"


def items(text: str) -> list[str]:
    """ConfigDef's LIST."""
    return [item.strip(_WHITESPACE) for item in text.split(",")] if text else []


def metadata_version(text: str, versions: Sequence[str], in_production: str) -> int | None:
    """MetadataVersion.fromVersionString: the index in `versions`, or None. `3.0` is the last of 3.0.

    versions        all that a release of Kafka knows, in order
    in_production   the last finished one; later ones have no short name
    """
    parts = text.split(".")
    while len(parts) > 1 and not parts[-1]:  # as String.split leaves out empty ones at the end
        parts.pop()
    count = 3 if text.startswith("0.") else 2
    key = text if len(parts) <= count else ".".join(parts[:count])
    if key in versions:
        return versions.index(key)
    for place in range(versions.index(in_production), -1, -1):
        release, _, revision = versions[place].partition("-")
        if revision and release == key:
            return place
    return None


KEPT = 4096


@lru_cache(KEPT)
def java_host(address: str) -> str:
    """`::1` gives `0:0:0:0:0:0:0:1`, `::ffff:10.0.0.7` gives `10.0.0.7`."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except AddressValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    groups = ":".join(f"{one:x}" for one in unpack(">8H", found.packed))
    return f"{groups}%{found.scope_id}" if found.scope_id else groups
