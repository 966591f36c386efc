"""The result of a check: findings, each with a level, and with advice unless all is well; and the commands that cure
what it finds, with the addresses of the cluster in them. Pure.

The commands are Kafka's own tools where Kafka has one, else ours. The brokers' properties are called
`server.properties`.

None takes away what cannot be had back: a topic, a state, configs that somebody has set, or may have. The advice says
in words what an operator may delete, once they have looked. And none is printed once KRaft has the cluster
(`under_kraft_findings`).
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kafka_reassign_rpc.support.counted import first_of, those
from kafka_reassign_rpc.support.typed_commands import Connection, command
from kafka_reassign_rpc.zookeeper import znode_paths

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


Command = tuple[str, ...]
"""The words of a command of ZooKeeper's shell."""
Commands = tuple[str, ...]
SNAPSHOT, PLAN, LEFT = "snapshot", "plan-heal", "left.json"
"""What the commands write into the folder in which they run."""
PROPERTIES = "server.properties"
LEAVE = "`kafka-reassign-rpc leave` takes away what is ours, step by step"
MOVE_REPLICAS = "`kafka-reassign-rpc export`, `plan heal` and `submit` move them to live brokers"


class Cures(NamedTuple):
    """Where the cluster is, as an operator's shell needs it.

    zookeeper   its zookeeper.connect
    brokers     brokers that have answered, and the file of a client that logs in to them; None: none has, so no
                command can name one
    to_shell    the flag of Kafka's shell with the file of its TLS to ZooKeeper; empty: without TLS
    of_ours     the flags of `check` that our other commands for ZooKeeper need too
    """

    zookeeper: str
    brokers: Connection | None = None
    to_shell: str = ""
    of_ours: str = ""

    def shell(self, *commands: Command) -> Commands:
        """Commands of `zookeeper-shell.sh`, all in one run of it. None where a path or its data cannot be typed."""
        if not all(_can_be_typed(word) for words in commands for word in words):
            return ()
        tool = _words("zookeeper-shell.sh", shlex.quote(self.zookeeper), self.to_shell)
        if len(commands) > 1:
            lines = (shlex.quote(" ".join(map(_as_typed, words))) for words in commands)
            return (f"printf '%s\\n' {' '.join(lines)} | {tool}",)
        return tuple(f"{tool} {shlex.join(words)}" for words in commands)

    def delete(self, paths: Iterable[str]) -> Commands:
        return self.shell(*(("delete", one) for one in paths))

    def elect(self, deleted: Iterable[str] = ()) -> Commands:
        """The new controller reads everything again, without these znodes. Nothing is done where KRaft has taken
        `/controller` since the check.
        """
        [look] = self.shell(("get", znode_paths.CONTROLLER))
        is_krafts = f"{look} | grep '\"kraftControllerEpoch\":[0-9]'"
        return tuple(f"{is_krafts} || {one}" for one in self.delete((*deleted, znode_paths.CONTROLLER)))

    def leave(self) -> Commands:
        return (
            _words(
                "kafka-reassign-rpc leave",
                "--zookeeper-connect",
                shlex.quote(self.zookeeper),
                self.of_ours,
                f"--export {LEFT} --yes",
            ),
        )

    def open_znodes(self) -> Commands:
        tool = "zookeeper-security-migration.sh --zookeeper.acl=unsecure --zookeeper.connect"
        return (_words(tool, shlex.quote(self.zookeeper), self.to_shell.replace("-zk-", "--zk-")),)

    def heal(self) -> Commands:
        return (
            *self._asks("kafka-reassign-rpc export", "--out", SNAPSHOT),
            *((f"kafka-reassign-rpc plan heal --snapshot {SNAPSHOT} --out {PLAN}",) if self.brokers else ()),
            *self._asks("kafka-reassign-rpc submit", "--plan", PLAN, "--execute"),
        )

    def cancel(self) -> Commands:
        """As Kafka's tool it would take away all throttles of the brokers, also those that somebody wants."""
        return self._asks("kafka-reassign", "--cancel", "--preserve-throttles")

    def _asks(self, tool: str, *words: str) -> Commands:
        """Hosts are those that brokers have registered."""
        return () if self.brokers is None else (self.brokers.filled(command(tool, *words)),)


def without_lines(names: Iterable[str]) -> Commands:
    pattern = "|".join(re.escape(name) for name in names)
    return (f"sed -i -E '/^({pattern})=/d' {PROPERTIES}",)


def with_line(name: str, value: str) -> Commands:
    return (f"sed -i 's/^{re.escape(name)}=.*/{name}={value}/' {PROPERTIES}",)


def _words(*words: str) -> str:
    return " ".join(one for one in words if one)


def _can_be_typed(word: str) -> bool:
    """A line break would begin another command."""
    return word.isprintable() and not ("'" in word and '"' in word)


def _as_typed(word: str) -> str:
    """The shell of ZooKeeper reads it so from its input."""
    if not any(map(str.isspace, word)):
        return word
    return f"'{word}'" if '"' in word else f'"{word}"'
