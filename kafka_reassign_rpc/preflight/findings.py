"""The result of a check: findings, each with a level, and with advice unless all is well."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

SHOWN = 5
"""Names that a finding lists."""


class Level(StrEnum):
    """UNSAFE: a server must not control this cluster as it is. WARNING: an operator should know before."""

    OK = "OK"
    WARNING = "WARNING"
    UNSAFE = "UNSAFE"


class Finding(NamedTuple):
    """One thing that was looked at. `subject` is a word that stays the same from version to version."""

    level: Level
    subject: str
    text: str
    advice: str = ""


def fine(subject: str, text: str) -> Finding:
    return Finding(Level.OK, subject, text)


def warning(subject: str, text: str, advice: str) -> Finding:
    return Finding(Level.WARNING, subject, text, advice)


def unsafe(subject: str, text: str, advice: str) -> Finding:
    return Finding(Level.UNSAFE, subject, text, advice)


def is_safe(findings: Iterable[Finding]) -> bool:
    return all(one.level is not Level.UNSAFE for one in findings)


def some(names: Iterable[object]) -> str:
    """The first few names, and how many more there are."""
    found = [str(name) for name in names]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def lines(findings: Sequence[Finding]) -> list[str]:
    """One line for each finding, and the verdict."""
    width = max(len(level) for level in Level)
    shown = [
        f"{one.level:<{width}}  {one.subject}: {one.text}{f'. What to do: {one.advice}' if one.advice else ''}"
        for one in findings
    ]
    verdict = "It is safe" if is_safe(findings) else "It is NOT safe"
    return [*shown, f"{verdict} for a kafka-reassign-rpc server to control this cluster."]


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """The same for programs."""
    return {"safe": is_safe(findings), "findings": [one._asdict() for one in findings]}
