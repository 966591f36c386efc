"""The result of a check: findings, each with a level, and with advice unless all is well."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kafka_reassign_rpc.support.counted import first_of, those
from kafka_reassign_rpc.support.typed_commands import Connection

SHOWN = 5
"""Names that a finding lists."""


class Level(StrEnum):
    """UNSAFE: what the check asks about must not be done with the cluster as it is. WARNING: an operator should know
    before.
    """

    OK = "OK"
    WARNING = "WARNING"
    UNSAFE = "UNSAFE"


class Finding(NamedTuple):
    """`subject` is a word that stays the same from version to version. `commands` do as the advice says; none: no
    command can.
    """

    level: Level
    subject: str
    text: str
    advice: str = ""
    commands: tuple[str, ...] = ()


def filled(found: Sequence[Finding], brokers: Connection | None) -> list[Finding]:
    """Puts the connection to the brokers into the commands, also those of the advice, if it is known."""
    if brokers is None:
        return [*found]
    fill = brokers.filled
    return [one._replace(advice=fill(one.advice), commands=tuple(map(fill, one.commands))) for one in found]


def fine(subject: str, text: str) -> Finding:
    return Finding(Level.OK, subject, text)


def warning(subject: str, text: str, advice: str, commands: tuple[str, ...] = ()) -> Finding:
    return Finding(Level.WARNING, subject, text, advice, commands)


def unsafe(subject: str, text: str, advice: str, commands: tuple[str, ...] = ()) -> Finding:
    return Finding(Level.UNSAFE, subject, text, advice, commands)


def is_safe(findings: Iterable[Finding]) -> bool:
    return all(one.level is not Level.UNSAFE for one in findings)


def some(names: Iterable[object]) -> str:
    return first_of([*names], SHOWN)


def partition_names(partitions: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{topic}-{index}" for topic, index in sorted(partitions)]


def some_brokers(ids: Iterable[int], verb: str = "") -> str:
    """Returns `broker 4`, or with a verb `broker 4 has`, `brokers 4, 5 have`."""
    return those([*ids], verb=verb, most=SHOWN)


class Question(NamedTuple):
    """`verdict` follows "It is safe" or "It is NOT safe"; `key` is its name in JSON."""

    key: str
    verdict: str


TO_CONTROL = Question("safe", "for a kafka-reassign-rpc server to control this cluster")
TO_SERVE = Question("safe", "for a kafka-reassign-rpc server to be put in front of this cluster")
TO_LEAVE = Question("may_go", "for these brokers to go")
TO_MIGRATE = Question("ready", "to begin the migration of this cluster to KRaft")


def every(names: Iterable[str]) -> str:
    """All names, for findings where each has to be corrected."""
    return ", ".join(names)


def lines(findings: Sequence[Finding], question: Question = TO_CONTROL) -> list[str]:
    width = max(len(level) for level in Level)
    shown = []
    for one in findings:
        said = f"{one.text.removesuffix('.')}. What to do: {one.advice}" if one.advice else one.text
        shown.append(f"{one.level:<{width}}  {one.subject}: {said}")
        shown += [f"{'':<{width}}      {command}" for command in one.commands]
    verdict = "It is safe" if is_safe(findings) else "It is NOT safe"
    return [*shown, f"{verdict} {question.verdict}."]


def document(findings: Sequence[Finding], question: Question = TO_CONTROL) -> dict[str, Any]:
    return {question.key: is_safe(findings), "findings": [one._asdict() for one in findings]}
