"""Java's login configuration (JAAS), of a `sasl.jaas.config` or of a file with sections: `Client { … };` is the one for
ZooKeeper.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="it is secret";

Source: Kafka's JaasConfig, the JDK's javax.security.auth.login.Configuration. No error and no `repr` shows an option's
value.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told_path

JAAS_FILE = "java.security.auth.login.config"
"""This Java system property, here a setting, names the file."""
SERVER_SECTION = "KafkaServer"
MAX_BYTES = 1 << 20
FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<quoted>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<mark>[{};=])"""
    r"""|(?P<word>[^\s{};="']+)""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class JaasEntry(NamedTuple):
    module: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasEntry({self.module}, options {', '.join(self.options) or 'none'})"

    def option(self, name: str) -> str | None:
        return self.options.get(name) or None


class _Tokens:
    """Distinguishes the marks `{ } ; =` from words that look like them."""

    def __init__(self, text: str, what: str) -> None:
        self._all = list(_tokens(text, what))
        self._what = what
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at == len(self._all)

    def is_mark(self, mark: str) -> bool:
        return not self.done and self._all[self._at] == (True, mark)

    def word(self, meaning: str) -> str:
        if self.done or self._all[self._at][0]:
            raise self.error(f"it lacks {meaning}")
        self._at += 1
        return self._all[self._at - 1][1]

    def mark(self, mark: str) -> None:
        if not self.is_mark(mark):
            raise self.error(f"it lacks a {mark!r}")
        self._at += 1

    def error(self, reason: str) -> BadSetting:
        return BadSetting(f"{self._what} is no login configuration: {reason} (part {self._at + 1})")


def _tokens(text: str, what: str) -> Iterator[tuple[bool, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadSetting(f"{what} is no login configuration: a quotation mark at character {at + 1} is alone")
        at = match.end()
        if match["mark"]:
            yield True, match["mark"]
        elif match["quoted"]:
            yield False, re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), match["quoted"][1:-1], flags=re.S)
        elif match["word"]:
            yield False, match["word"]


def _entry(tokens: _Tokens) -> JaasEntry:
    module = tokens.word("the class of a login module")
    flag = tokens.word("a control flag")
    if flag.lower() not in FLAGS:
        raise tokens.error(f"no control flag ({', '.join(FLAGS)}) after the class of the login module")
    options = {}
    while not tokens.is_mark(";"):
        name = tokens.word("a ';' at the end of an entry")
        tokens.mark("=")
        options[name] = tokens.word("the value of an option")
    tokens.mark(";")
    return JaasEntry(module, options)


def parse_entry(text: str, what: str) -> JaasEntry:
    """`what` names the text in errors. Raises BadSetting."""
    if len(text) > MAX_BYTES:
        raise BadSetting(f"{what} is longer than {MAX_BYTES} characters")
    tokens = _Tokens(text, what)
    found = _entry(tokens)
    if not tokens.done:
        raise tokens.error("it has more than one entry")
    return found


def parse_sections(text: str, what: str) -> dict[str, tuple[JaasEntry, ...]]:
    """Raises BadSetting."""
    tokens = _Tokens(text, what)
    found: dict[str, tuple[JaasEntry, ...]] = {}
    while not tokens.done:
        name = tokens.word("the name of a section")
        if name in found:
            raise tokens.error("a section is repeated")
        tokens.mark("{")
        entries = []
        while not tokens.is_mark("}"):
            entries.append(_entry(tokens))
        tokens.mark("}")
        tokens.mark(";")
        found[name] = tuple(entries)
    return found


def read_file(path: str, what: str) -> dict[str, tuple[JaasEntry, ...]]:
    """`what` names the setting with its path. Raises BadSetting."""
    try:
        text = read_bounded(Path(path), MAX_BYTES).decode()
    except OSError as error:
        raise BadSetting(f"{what}: cannot read {told_path(path)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadSetting(f"{what}: {path} is not UTF-8") from None
    return parse_sections(text, f"{what}: {path}")


def server_entries(path: str, listener: str) -> tuple[JaasEntry, ...]:
    """The listener's own section wins over the common one (Kafka's JaasContext.loadServerContext).
    Raises BadSetting.
    """
    sections = read_file(path, JAAS_FILE)
    return sections.get(f"{listener.lower()}.{SERVER_SECTION}") or sections.get(SERVER_SECTION, ())
