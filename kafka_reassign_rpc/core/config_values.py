"""Parses the values of settings and dynamic configs, which any client may have written. None: invalid."""

from collections.abc import Collection, Iterable
from functools import lru_cache

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
