"""What is a finding: in the server's log, in an answer, in what an honest client has seen. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.zookeeper import znode_paths

UNKNOWN_SERVER_ERROR = -1
AS_STOCK = (f"{znode_paths.TOPICS}/", "Not all brokers have rack information")
"""Beginnings of messages with which a stock controller answers UNKNOWN_SERVER_ERROR too: a state cannot be read; a
registered broker has no rack, and others have."""

DEFECTS = re.compile(
    r"Traceback \(most recent call last\)|Task exception|never retrieved|a defect|cannot answer API|RuntimeWarning"
    r"|Fatal Python error|socket\.accept\(\) out of system resource|cannot be made"
)
LOST = re.compile(r"ZooKeeper session \S+ is over|the controllership ends|ZooKeeper connection lost")
LINES_SHOWN = 40
"""Of the log, from the first line that is a finding."""


class Finding(NamedTuple):
    """`kind` names the rule, `text` says what was seen, `about` is what findings of a kind are counted by."""

    kind: str
    text: str
    about: str = ""


def in_log(lines: Iterable[str]) -> Iterator[Finding]:
    """The first defect and the first lost session in the server's log."""
    lines = list(lines)
    for kind, pattern in (("log", DEFECTS), ("session", LOST)):
        for number, line in enumerate(lines):
            if pattern.search(line):
                yield Finding(kind, "\n".join(lines[max(0, number - 1) : number + LINES_SHOWN]))
                break


def in_answer(answer: Any, what: object) -> Iterator[Finding]:
    """UNKNOWN_SERVER_ERROR anywhere in an answer to `what`, but for AS_STOCK."""
    if _has_unknown_error(answer.to_dict()):
        about = f"UNKNOWN_SERVER_ERROR in {type(answer).__name__}"
        yield Finding("answer", f"{about} to {what}: {str(answer)[:2_000]}", about)


def _has_unknown_error(value: object) -> bool:
    if isinstance(value, Mapping):
        if value.get("error_code") == UNKNOWN_SERVER_ERROR:
            is_topic = "name" in value and "error_message" not in value  # an old version, which has no message
            return not (is_topic or str(value.get("error_message")).startswith(AS_STOCK))
        return any(map(_has_unknown_error, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_unknown_error, value))


def in_waits(waits: Mapping[str, float], limit: float | None) -> Iterator[Finding]:
    """The longest waits of an honest client, by what it waited for, in seconds. `limit` None: any is fine."""
    for kind, seconds in waits.items():
        if limit is not None and seconds > limit:
            yield Finding("wait", f"an honest client waited {seconds:.3f} s ({kind}), the limit is {limit:g} s")


def in_memory(most: int, limit: int) -> Iterator[Finding]:
    """The server's resident memory at its most, in bytes."""
    if most > limit:
        yield Finding("memory", f"{most / 2**20:.0f} MiB of resident memory, the limit is {limit / 2**20:.0f} MiB")
