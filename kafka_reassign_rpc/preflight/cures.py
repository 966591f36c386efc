"""The commands that cure what a check finds, with the addresses of the cluster in them. Pure.

They are Kafka's own tools where Kafka has one, else ours. The brokers' properties are called `server.properties`.

None takes away what cannot be had back: a topic, a state, configs that somebody has set, or may have. The advice says
in words what an operator may delete, once they have looked. And none is printed once KRaft has the cluster
(`under_kraft_findings`).
"""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from kafka_reassign_rpc.support.typed_commands import Connection, command
from kafka_reassign_rpc.zookeeper import znode_paths

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
